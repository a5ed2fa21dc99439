"""Whatever a hostile control plane asks, it sees no Secret and nothing of other namespaces."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator

import pytest

from bus.link import TaskKind, TaskResult
from tests.faults.hostile_service.hostile import Hostile
from tests.flows.agent_fixture import config_map


@pytest.fixture
def canary() -> str:
    return f"c4nary-{uuid.uuid4().hex}"


@pytest.fixture
async def spied(hostile: Hostile, canary: str) -> AsyncIterator[Hostile]:
    """A person's application: a Secret in the permitted namespace, a ConfigMap in another."""
    secret = f"apiVersion: v1\nkind: Secret\nmetadata: {{name: db}}\nstringData: {{p: {canary}}}\n"
    other = (
        "apiVersion: v1\nkind: ConfigMap\n"
        f"metadata: {{name: other, namespace: {hostile.victim}}}\ndata: {{a: {canary}-too}}\n"
    )
    hostile.agent.commit({"web/db.yaml": secret, "web/other.yaml": other})
    await hostile.agent.apply_app("web", "web", syncPolicy={"automated": {}})
    await hostile.agent.until_synced("web")
    yield hostile
    assert not [frame for frame in hostile.link.fake_service.raw if canary in frame]


async def test_live_shows_no_value_of_a_secret(spied: Hostile) -> None:
    space = spied.agent.destination
    shown = await spied.do(TaskKind.LIVE, "web", kind="Secret", namespace=space, name="db")
    assert set(shown.body["data"]) == {"p"}


@pytest.mark.parametrize("where", ["", "kube-system", "*"])
async def test_no_object_of_another_namespace_is_named(spied: Hostile, where: str) -> None:
    target = {"kind": "ConfigMap", "name": "other", "namespace": where or spied.victim}
    refused = await spied.do(TaskKind.LIVE, "web", **target)
    assert refused.code in ("not_allowed", "not_found")


async def test_the_agents_own_keys_are_not_shown(spied: Hostile) -> None:
    for name in ("gitops-agent-link", "argocd-secret"):
        target = {"kind": "Secret", "namespace": spied.agent.namespace, "name": name}
        refused = await spied.do(TaskKind.LIVE, "web", **target)
        assert refused.code in ("not_allowed", "not_found")


async def test_tree_diff_and_events_keep_to_the_permitted_namespace(spied: Hostile) -> None:
    for kind in (TaskKind.TREE, TaskKind.DIFF, TaskKind.EVENTS):
        answer = await spied.do(kind, "web")
        assert "other" not in names(answer), kind


def names(answer: TaskResult) -> set[str]:
    body = answer.body
    found = {one.get("name", "") for one in body.get("nodes", ())}
    found |= {one["key"].rpartition("/")[2] for one in body.get("objects", ())}
    return found | {one["object"].rpartition("/")[2] for one in body.get("items", ())}


async def test_an_object_named_in_git_is_not_read_from_another_namespace(
    spied: Hostile, canary: str
) -> None:
    """A manifest of the same name would have shown the live object beside it."""
    spied.agent.commit(
        {
            "evil/a.yaml": config_map("a"),
            "evil/other.yaml": (
                "apiVersion: v1\nkind: ConfigMap\n"
                f"metadata: {{name: other, namespace: {spied.victim}}}\ndata: {{a: mine}}\n"
            ),
        }
    )
    await spied.put_app("evil", "evil", syncPolicy={})
    await spied.do(TaskKind.REFRESH, "evil")
    await spied.agent.until(lambda app: app.get("status", {}).get("sync"), app="evil")
    answer = await spied.do(TaskKind.DIFF, "evil")
    live = await spied.do(
        TaskKind.LIVE, "evil", kind="ConfigMap", namespace=spied.victim, name="other"
    )
    assert live.code in ("not_allowed", "not_found")
    assert canary not in repr(answer.body)


async def test_logs_of_no_pod_of_another_application(spied: Hostile) -> None:
    for namespace in ("", "kube-system", spied.victim):
        refused = await spied.do(TaskKind.LOGS, "web", pod="any", namespace=namespace)
        assert refused.code in ("not_allowed", "not_found")
