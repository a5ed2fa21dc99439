"""Kinds that cannot be seen: other kinds go on, and no deletion concludes from what is missing."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from bus.identity import ResourceKey
from bus.metadata_keys import DEPLOYED_TO
from handlers.delete.deployed_objects import GAP
from playground.kubeapi import KubeApi, KubeApiError
from playground.kubernetes import ControlPlane
from tests.flows.agent_fixture import SERVER, AgentFixture, conditions, config_map
from tests.flows.test_exclusions import HEALING
from tests.flows.test_kube_live import definition
from tests.support import eventually
from tests.unit.agent.kube.kube_fixture import following, opened, until

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
API_SERVICES = "/apis/apiregistration.k8s.io/v1/apiservices"
FINALIZER = {"finalizers": ["resources-finalizer.argocd.argoproj.io"]}


@asynccontextmanager
async def created(api: KubeApi, collection: str, body: dict[str, Any]) -> AsyncIterator[str]:
    path = f"{collection}/{body['metadata']['name']}"
    await api.create(collection, body)
    try:
        yield path
    finally:
        await api.delete(path)


def away(group: str) -> dict[str, Any]:
    """An API whose server does not exist."""
    spec = {
        "group": group,
        "version": "v1",
        "groupPriorityMinimum": 100,
        "versionPriority": 100,
        "insecureSkipTLSVerify": True,
        "service": {"name": "nobody", "namespace": "default"},
    }
    name = f"v1.{group}"
    head = {"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService"}
    return {**head, "metadata": {"name": name}, "spec": spec}


async def test_an_aggregated_api_that_is_away_keeps_no_other_kind_from_being_listed(
    control_plane: ControlPlane, namespace: str
) -> None:
    group = f"away.{namespace}.example"
    async with (
        control_plane.api() as api,
        created(api, API_SERVICES, away(group)),
        opened(control_plane.kubeconfig, namespaces=(namespace,)) as agent,
        following(agent),
    ):
        key = ResourceKey(group, "Toy", namespace, "bear")
        await until(lambda: "repair or delete its APIService" in agent.live.coverage_gap(key))
        assert agent.live.coverage_gap(ResourceKey("", "ConfigMap", namespace, "a")) == ""


def with_conversion(group: str, url: str) -> dict[str, Any]:
    """The definition with a second version, to which this webhook converts; empty: nobody."""
    plain = definition(group)
    (first,) = plain["spec"]["versions"]
    review = {"conversionReviewVersions": ["v1"], "clientConfig": {"url": url}}
    webhook = {"strategy": "Webhook", "webhook": review}
    versions = [{**first, "name": "v2", "storage": False}, first]
    conversion = webhook if url else {"strategy": "None", "webhook": None}
    return {"spec": {"versions": versions, "conversion": conversion}}


async def test_a_deletion_waits_for_a_kind_whose_conversion_webhook_is_away(
    agent: AgentFixture,
) -> None:
    """Another application goes on meanwhile; nothing is left when the webhook is back."""
    group = f"{agent.destination}.example"
    async with created(agent.api, DEFINITIONS, definition(group)) as toys:
        toy = f"apiVersion: {group}/v1\nkind: Toy\nmetadata: {{name: bear}}\n"
        agent.commit({"toys/bear.yaml": toy, "web/a.yaml": config_map("a")})
        await agent.apply_app("toys", "toys", metadata=FINALIZER, syncPolicy=HEALING)
        await agent.until_synced("toys")

        await agent.api.patch(toys, with_conversion(group, "https://127.0.0.1:1/convert"))
        live, key = agent.parts.live, ResourceKey(group, "Toy", agent.destination, "bear")
        await eventually(lambda: bool(live.coverage_gap(key)), within=120)
        await agent.delete_app("toys")
        await agent.until(
            lambda app: conditions(app).get("DeletionError", "").startswith(GAP), app="toys"
        )
        await agent.apply_app("web", "web", syncPolicy=HEALING)
        await agent.until_synced("web")
        assert (await agent.app("toys"))["metadata"]["finalizers"] == FINALIZER["finalizers"]

        await agent.api.patch(toys, with_conversion(group, ""))
        await eventually(lambda: is_absent(agent, "toys"), within=120)
        await agent.until_gone(f"{group}/v1/toys/bear")


async def test_a_deletion_waits_where_another_cluster_answers_than_the_one_deployed_to(
    agent: AgentFixture,
) -> None:
    agent.commit({"web/a.yaml": config_map("a")})
    await agent.apply_app("web", "web", metadata=FINALIZER, syncPolicy=HEALING)
    app = await agent.until_synced("web")
    uid, _, server = app["metadata"]["annotations"][DEPLOYED_TO].partition(" ")
    system = await agent.api.get("/api/v1/namespaces/kube-system")
    assert (uid, server) == (system["metadata"]["uid"], SERVER)

    await agent.patch_app("web", deployed_to(f"{uuid.uuid4()} {SERVER}"))
    await agent.delete_app("web")
    await agent.until(
        lambda app: "another cluster answers" in conditions(app).get("DeletionError", ""), app="web"
    )
    assert await agent.get("configmaps/a") is not None

    await agent.patch_app("web", deployed_to(None))
    await eventually(lambda: is_absent(agent, "web"), within=120)
    await agent.until_gone("configmaps/a")


def deployed_to(value: str | None) -> dict[str, Any]:
    return {"metadata": {"annotations": {DEPLOYED_TO: value}}}


async def is_absent(agent: AgentFixture, name: str) -> bool:
    try:
        await agent.app(name)
    except KubeApiError as error:
        return error.code == 404
    return False
