"""The control plane's chart: what it says, that an API server takes it, and that it runs.

No image runs here: the containers' commands are started as processes, with the containers' own
variables and the Secrets they name.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from agent.child_process import ChildProcess, ChildProgram
from agent.loopback import answers_ok, free_port
from bus.spans import OtlpSettings, Sampler, SamplerKind, otlp_settings
from bus.spans.settings import VARIABLES
from deploy import render
from handlers.ports.rendering import RenderError
from playground.kubernetes import ControlPlane
from sandbox.client import Sandbox
from service.keys.key_file import generate
from service.settings import PREFIX, ServiceSettings
from tests.databases import new_database
from tests.paths import REPOSITORY
from tests.unit.deploy.chart_values import Object, the
from tests.unit.deploy.object_installer import Installer, installer
from tests.unit.deploy.test_applied import space

ROOT = REPOSITORY
COMMAND = (sys.executable, "-c", "from cli.main import main; main()")
VARIANTS: Mapping[str, Mapping[str, Any]] = {
    "defaults": {},
    "own-ways": {
        "publicUrl": "https://gitops.example",
        "database": {"urlSecret": "postgres", "connections": 4, "ownerUrlSecret": "owner"},
        "key": {"secret": "keys"},
        "admin": {"name": "root", "passwordSecret": "first-user"},
        "image": {"repository": "registry.example/gitops", "tag": "1.2.3"},
        "imagePullSecrets": [{"name": "registry"}],
        "replicas": 3,
        "trustedProxies": ["10.0.0.0/8", "fd00::/8"],
        "env": [{"name": "GITOPS_SERVICE_ROOTS_SECONDS", "value": "30"}],
        "traces": {
            "endpoint": "http://collector.observability:4318",
            "headersSecret": "collector",
            "serviceName": "prod service",
            "resourceAttributes": "deployment.environment.name=prod",
            "sampler": "parentbased_traceidratio",
            "samplerArgument": "0.1",
        },
        "networkPolicy": {"allowedFrom": [{"namespaceSelector": {}}]},
    },
    "bare": {"networkPolicy": {"enabled": False}, "podDisruptionBudget": {"enabled": False}},
}
every_variant = pytest.mark.parametrize("variant", VARIANTS)


async def chart(sandbox: Sandbox, variant: str, namespace: str = "gitops") -> tuple[Object, ...]:
    return await render.service_chart(sandbox, VARIANTS[variant], namespace)


def pod_of(objects: tuple[Object, ...]) -> dict[str, Any]:
    found: dict[str, Any] = the("Deployment", objects)["spec"]["template"]["spec"]
    return found


@every_variant
async def test_every_variable_is_a_setting_of_the_service(sandbox: Sandbox, variant: str) -> None:
    pod = pod_of(await chart(sandbox, variant))
    known = {f"{PREFIX}{name.upper()}" for name in ServiceSettings.model_fields} | set(VARIABLES)
    for container in (*pod["initContainers"], *pod["containers"]):
        assert {it["name"] for it in container["env"]} <= known


@every_variant
async def test_it_has_no_right_in_the_cluster_and_runs_as_nobody(
    sandbox: Sandbox, variant: str
) -> None:
    objects = await chart(sandbox, variant)
    assert not {it["kind"] for it in objects} & {"ServiceAccount", "Role", "ClusterRole", "Secret"}
    pod = pod_of(objects)
    assert pod["automountServiceAccountToken"] is False
    assert pod["securityContext"]["runAsNonRoot"] is True
    for container in (*pod["initContainers"], *pod["containers"]):
        assert container["securityContext"]["readOnlyRootFilesystem"] is True
        assert container["resources"]["requests"]


@every_variant
async def test_no_secret_stands_in_a_value(sandbox: Sandbox, variant: str) -> None:
    pod = pod_of(await chart(sandbox, variant))
    for container in (*pod["initContainers"], *pod["containers"]):
        (url,) = [it for it in container["env"] if it["name"] == f"{PREFIX}DATABASE_URL"]
        assert "value" not in url
        assert url["valueFrom"]["secretKeyRef"]["key"] == "url"


async def test_cookies_are_secure_unless_the_public_url_is_not(sandbox: Sandbox) -> None:
    async def secure(url: str) -> str:
        pod = pod_of(await render.service_chart(sandbox, {"publicUrl": url}, "gitops"))
        env = {it["name"]: it.get("value", "") for it in pod["containers"][0]["env"]}
        return str(env[f"{PREFIX}SECURE_COOKIES"])

    assert [await secure(it) for it in ("", "https://a.example", "http://a.example")] == [
        "true",
        "true",
        "false",
    ]


async def test_traces_go_to_the_collector_of_the_values(sandbox: Sandbox) -> None:
    objects = await chart(sandbox, "own-ways")
    env = {it["name"]: it for it in pod_of(objects)["containers"][0]["env"]}
    assert otlp_settings({name: it.get("value", "") for name, it in env.items()}) == OtlpSettings(
        exports=True, sampler=Sampler(kind=SamplerKind.PARENT_RATIO, ratio=0.1)
    )
    headers = env["OTEL_EXPORTER_OTLP_HEADERS"]["valueFrom"]["secretKeyRef"]
    assert headers == {"name": "collector", "key": "headers"}
    rules = the("NetworkPolicy", objects)["spec"]["egress"]
    assert 4318 in {port["port"] for rule in rules for port in rule["ports"]}
    plain = pod_of(await chart(sandbox, "defaults"))["containers"][0]["env"]
    assert not [it for it in plain if it["name"].startswith("OTEL_")]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"traces": {"endpoint": "http://me:password@collector"}}, "/traces/endpoint'"),
        ({"replicas": 0}, "/replicas': minimum"),
        ({"database": {"urlSecret": ""}}, "/database/urlSecret'"),
        ({"key": {"secret": ""}}, "/key/secret'"),
        ({"publicUrl": "gitops.example"}, "/publicUrl'"),
        ({"database": {"url": "postgresql://me:password@host/db"}}, "'url' not allowed"),
    ],
)
async def test_a_wrong_value_is_refused_and_named(
    sandbox: Sandbox, values: Mapping[str, Any], message: str
) -> None:
    with pytest.raises(RenderError) as refused:
        await render.service_chart(sandbox, values, "gitops")
    assert message in refused.value.message


@pytest.fixture
async def installing(control_plane: ControlPlane) -> AsyncIterator[Installer]:
    async with installer(control_plane.access) as found:
        yield found


@every_variant
async def test_every_variant_is_applied_in_a_restricted_namespace_unwarned(
    sandbox: Sandbox, installing: Installer, namespace: str, variant: str
) -> None:
    assert await installing.apply([space(namespace)], dry_run=False) == {}
    objects = await chart(sandbox, variant, namespace)
    assert await installing.apply(objects, dry_run=False) == {}
    assert await installing.apply(objects, dry_run=False) == {}


async def test_the_base_is_the_chart_and_its_namespace(sandbox: Sandbox) -> None:
    built = await render.kustomized(sandbox, render.FOLDER, "service-base")
    (space_,) = [it for it in built if it["kind"] == "Namespace"]
    assert space_["metadata"]["name"] == render.SERVICE_NAMESPACE
    rest = sorted((it for it in built if it is not space_), key=str)
    assert rest == sorted(await chart(sandbox, "defaults"), key=str)


async def test_two_replicas_of_the_chart_serve_one_database(
    sandbox: Sandbox, postgres_url: str, tmp_path: Path
) -> None:
    """Migrated by the init container; the first user's password is the Secret's."""
    url = await new_database(postgres_url, "chart")
    (tmp_path / "password").write_text("correct horse battery")
    generate(tmp_path / "service.key")
    pod = pod_of(await chart(sandbox, "own-ways"))
    command, environment = started(pod["initContainers"][0], url, tmp_path)
    migrated = partial(subprocess.run, command, env=environment, check=True, timeout=180)
    await asyncio.to_thread(migrated)
    ports = (free_port(), free_port())
    async with AsyncExitStack() as stack:
        for port in ports:
            command, environment = started(pod["containers"][0], url, tmp_path, port)
            environment[f"{PREFIX}METRICS_PORT"] = str(metrics_port := free_port())
            probe = pod["containers"][0]["readinessProbe"]["httpGet"]["path"]
            program = ChildProgram(
                name=f"service-{port}",
                command=command,
                folder=tmp_path / str(port),
                environment=environment,
                ready_within=120.0,
                stop_grace=20.0,
            )
            ready = answers_ok(f"http://127.0.0.1:{metrics_port}{probe}")
            await stack.enter_async_context(ChildProcess(program, ready))
        http = await stack.enter_async_context(aiohttp.ClientSession())
        for port in ports:
            place = f"http://127.0.0.1:{port}/api/v1/login"
            body = {"name": "root", "password": "correct horse battery"}
            async with http.post(place, json=body) as answer:
                assert answer.status == 200, await answer.text()
                assert "Secure" in answer.headers["Set-Cookie"]


def started(
    container: Mapping[str, Any], url: str, folder: Path, port: int = 0
) -> tuple[tuple[str, ...], dict[str, str]]:
    """The command, and the variables as a kubelet would fill them in; addresses are this host's."""
    mounts = {it["name"]: it["mountPath"] for it in container.get("volumeMounts", ())}
    admin, key = mounts.get("admin", "/none"), "/etc/gitops/key"
    variables = {it["name"]: it.get("value", url) for it in container["env"]}
    variables = {
        name: value.replace(admin, str(folder)).replace(key, str(folder))
        for name, value in variables.items()
    }
    here = {f"{PREFIX}HOST": "127.0.0.1", f"{PREFIX}PORT": str(port), "PYTHONPATH": str(ROOT)}
    return (*COMMAND, *container["args"]), {**os.environ, **variables, **here}
