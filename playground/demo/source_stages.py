"""Stages of the scene `sources`: a chart of a registry, two sources, SSH, and signed commits.

What they deploy is looked at in the cluster, what is refused also in the service, as the dashboard
shows it.
"""

from __future__ import annotations

from typing import Any

from playground.demo.repository import NAMESPACE
from playground.demo.running_demo import RunningDemo
from playground.demo.source_objects import (
    HOSTS_CONFIG_MAP,
    KEYS_CONFIG_MAP,
    SIGNED_PROJECT,
    catalogue,
    config_map,
    deploy_key_secret,
    deployed_folder,
    deployment,
    orders,
    registry_secret,
    signed_project,
    values,
)
from playground.demo.stage import DemoStage, observe, spoken

_CONTROL = f"/api/v1/namespaces/{NAMESPACE}"
_PROJECTS = f"/apis/argoproj.io/v1alpha1/namespaces/{NAMESPACE}/appprojects"
_GOOD = "Synced, Healthy"
_SHORT = 7


async def _chart_of_a_registry(demo: RunningDemo) -> str:
    hosts = demo.sources
    await demo.api.create(f"{_CONTROL}/secrets", registry_secret(hosts.registry.address))
    await hosts.push_chart("1.0.0")
    await demo.laptop.create(catalogue(hosts.registry.address))
    return await _chart_is(demo, "1.0.0")


async def _new_version(demo: RunningDemo) -> str:
    await demo.sources.push_chart("1.1.0")
    return await _chart_is(demo, "1.1.0")


async def _chart_is(demo: RunningDemo, version: str) -> str:
    async def seen() -> str:
        app = await demo.application("catalogue")
        words = spoken(app)
        good = _revision(app) == version and words.endswith(_GOOD)
        if not good:
            return ""
        return f"{words} at version {version}; it runs {await _image(demo, 'catalogue')}"

    return await observe(demo, seen)


async def _two_sources(demo: RunningDemo) -> str:
    await demo.laptop.create(orders(demo.sources.registry.address, demo.repository.url))
    return await _greets(demo, "welcome", "1.0.0")


async def _push_of_values(demo: RunningDemo) -> str:
    demo.repository.commit(values("good morning"), message="orders: another greeting")
    return await _greets(demo, "good morning", "1.0.0")


async def _greets(demo: RunningDemo, greeting: str, version: str) -> str:
    head = demo.repository.head()

    async def seen() -> str:
        app = await demo.application("orders")
        words, revisions = spoken(app), app.get("status", {}).get("sync", {}).get("revisions")
        if not (words.endswith(_GOOD) and revisions == [version, head]):
            return ""
        data = (await demo.api.get("/api/v1/namespaces/demo/configmaps/orders"))["data"]
        if data != {"chart": version, "greeting": greeting}:
            return ""
        return f"{words}; chart {version}, values {head[:_SHORT]}: {greeting!r}"

    return await observe(demo, seen)


async def _unknown_host(demo: RunningDemo) -> str:
    hosts = demo.sources
    hosts.ledger.commit(deployment("ledger", "1.0"), message="ledger 1.0")
    secret = deploy_key_secret(hosts.ledger_url, hosts.deploy_key.private())
    await demo.api.create(f"{_CONTROL}/secrets", secret)
    await demo.laptop.create(deployed_folder("ledger", hosts.ledger_url))

    async def seen() -> str:
        message = _condition(await demo.application("ledger"))
        return f"refused: {message}" if HOSTS_CONFIG_MAP in message else ""

    return await observe(demo, seen)


async def _known_host(demo: RunningDemo) -> str:
    lines = {"ssh_known_hosts": demo.sources.ssh.known_hosts}
    body = config_map(HOSTS_CONFIG_MAP, lines)
    await demo.api.apply(f"{_CONTROL}/configmaps/{HOSTS_CONFIG_MAP}", body)
    return await _runs(demo, "ledger", "1.0")


async def _push_by_ssh(demo: RunningDemo) -> str:
    demo.sources.ledger.commit(deployment("ledger", "1.1"), message="ledger 1.1")
    return await _runs(demo, "ledger", "1.1")


async def _signed(demo: RunningDemo) -> str:
    hosts, key = demo.sources, demo.sources.signing_key
    body = config_map(KEYS_CONFIG_MAP, {key.id: key.armoured})
    await demo.api.apply(f"{_CONTROL}/configmaps/{KEYS_CONFIG_MAP}", body)
    await demo.api.create(_PROJECTS, signed_project(key.id))
    files = deployment("payments", "1.0")
    hosts.payments.commit(files, message="payments 1.0", sign=hosts.sign)
    app = deployed_folder("payments", hosts.payments.url, SIGNED_PROJECT)
    await demo.laptop.create(app)
    return f"{await _runs(demo, 'payments', '1.0')}; signed by {key.id}"


async def _unsigned(demo: RunningDemo) -> str:
    payments = demo.sources.payments
    made = payments.commit(deployment("payments", "2.0"), message="payments 2.0")

    async def seen() -> str:
        found = await demo.service.application("laptop", "payments")
        messages = [one["message"] for one in found["conditions"]] if found else []
        message = next((it for it in messages if made[:_SHORT] in it), "")
        image = await _image(demo, "payments")
        if not message or not image.endswith(":1.0"):
            return ""
        return f"the service shows: {message}; it still runs {image}"

    return await observe(demo, seen)


async def _runs(demo: RunningDemo, name: str, tag: str) -> str:
    async def seen() -> str:
        app = await demo.application(name)
        if _condition(app) or not spoken(app).endswith(_GOOD):
            return ""
        image = await _image(demo, name)
        return f"{spoken(app)}; it runs {image}" if image.endswith(f":{tag}") else ""

    return await observe(demo, seen)


async def _image(demo: RunningDemo, name: str) -> str:
    found = await demo.api.get(f"/apis/apps/v1/namespaces/demo/deployments/{name}")
    return str(found["spec"]["template"]["spec"]["containers"][0]["image"])


def _revision(app: dict[str, Any]) -> str:
    return str(app.get("status", {}).get("sync", {}).get("revision", ""))


def _condition(app: dict[str, Any]) -> str:
    conditions = app.get("status", {}).get("conditions", [])
    return next((str(one["message"]) for one in conditions if one["type"] == "ComparisonError"), "")


SOURCE_STAGES = (
    DemoStage(
        name="a chart of an OCI registry",
        expected="an application follows the versions 1.x of a chart; the first is deployed",
        run=_chart_of_a_registry,
    ),
    DemoStage(
        name="a new version of the chart",
        expected="the registry itself tells the agent of version 1.1.0, which is deployed",
        run=_new_version,
    ),
    DemoStage(
        name="an application of two sources",
        expected="the chart is of the registry, in version 1.0.0; its values are in Git",
        run=_two_sources,
    ),
    DemoStage(
        name="push of values",
        expected="a commit to the values changes what is deployed; the chart stays",
        run=_push_of_values,
    ),
    DemoStage(
        name="a host of SSH that nobody knows",
        expected="there is a key to log in, but nothing says that the host is the right one",
        run=_unknown_host,
    ),
    DemoStage(
        name="the host is known",
        expected=f"its line is in {HOSTS_CONFIG_MAP}: the repository is read and deployed",
        run=_known_host,
    ),
    DemoStage(
        name="a push, fetched by SSH",
        expected="the next commit is deployed",
        run=_push_by_ssh,
    ),
    DemoStage(
        name="a repository whose commits are signed",
        expected="the project demands a signature of one key; the commit has it, and is deployed",
        run=_signed,
    ),
    DemoStage(
        name="a push that nobody signed",
        expected="it is refused, and the service says why; it stays so for you to sign it",
        run=_unsigned,
    ),
)
