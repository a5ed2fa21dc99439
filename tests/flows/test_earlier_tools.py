"""What kubectl, Helm or Argo CD applied before us: what Git drops of it goes, others' stays."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from tests.flows.agent_fixture import AgentFixture, is_synced
from tests.support import eventually

HEALING = {"automated": {"prune": True, "selfHeal": True}}
GIT = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - {name: web, image: "registry.example/web:1.0", env: [{name: COLOUR, value: blue}]}
"""
MORE = GIT.replace(
    "{name: COLOUR, value: blue}", "{name: COLOUR, value: blue}, {name: OLD, value: x}"
)


def deployment(destination: str, *, replicas: int | None = None, paused: bool = True) -> Any:
    """As an earlier tool has written it: with a variable and a pause that Git does not have."""
    env = [{"name": "COLOUR", "value": "blue"}, {"name": "OLD", "value": "x"}]
    container = {"name": "web", "image": "registry.example/web:1.0", "env": env}
    labels = {"app": "web"}
    count = {} if replicas is None else {"replicas": replicas}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": destination},
        "spec": {
            **count,
            "paused": paused,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
        },
    }


def variables(live: dict[str, Any] | None) -> list[str]:
    assert live is not None
    container = live["spec"]["template"]["spec"]["containers"][0]
    return [one["name"] for one in container.get("env", [])]


async def written_by(agent: AgentFixture, manager: str, **parts: Any) -> None:
    path = f"/apis/apps/v1/namespaces/{agent.destination}/deployments"
    body = orjson.dumps(deployment(agent.destination, **parts))
    await agent.parts.client.create(path, body, {"fieldManager": manager})


@pytest.mark.parametrize("manager", ["kubectl-client-side-apply", "helm", "argocd-controller"])
async def test_a_field_of_an_earlier_tool_goes_at_the_first_sync(
    agent: AgentFixture, manager: str
) -> None:
    await written_by(agent, manager)
    agent.commit({"web/web.yaml": GIT})
    await agent.apply_app("web", "web", syncPolicy=HEALING)

    await agent.until_synced("web")

    live = await agent.get("apps/v1/deployments/web")
    assert variables(live) == ["COLOUR"]
    assert live is not None
    assert "paused" not in live["spec"]


async def test_server_side_apply_true_and_false_have_the_same_outcome(agent: AgentFixture) -> None:
    agent.commit({"web/web.yaml": GIT})
    seen = []
    for written in ("true", "false"):
        await written_by(agent, "kubectl-client-side-apply", replicas=2)
        policy = {**HEALING, "syncOptions": [f"ServerSideApply={written}"]}
        metadata = {"finalizers": ["resources-finalizer.argocd.argoproj.io"]}
        await agent.apply_app(written, "web", metadata=metadata, syncPolicy=policy)
        app = await agent.until_synced(written)
        live = await agent.get("apps/v1/deployments/web")
        assert live is not None
        kinds = [one["type"] for one in app["status"].get("conditions", [])]
        seen.append((live["spec"], variables(live), kinds))
        await agent.delete_app(written)

        await agent.until_gone("apps/v1/deployments/web")
        await eventually(lambda name=written: agent.known(name) is None, what="its deletion")
    assert seen[0] == seen[1]
    assert seen[0][1:] == (["COLOUR"], [])


async def test_a_field_of_the_named_manager_goes_at_the_first_sync(agent: AgentFixture) -> None:
    await written_by(agent, "spinnaker")
    agent.commit({"web/web.yaml": GIT})
    note = {"argocd.argoproj.io/client-side-apply-migration-manager": "spinnaker"}
    await agent.apply_app("web", "web", metadata={"annotations": note}, syncPolicy=HEALING)

    await agent.until_synced("web")

    live = await agent.get("apps/v1/deployments/web")
    assert variables(live) == ["COLOUR"]
    assert live is not None
    assert "paused" not in live["spec"]


async def test_an_adopted_object_is_out_of_sync_until_what_git_drops_is_gone(
    agent: AgentFixture,
) -> None:
    """A person applies by hand between two syncs, with what Git does not have."""
    agent.commit({"web/web.yaml": GIT})
    await agent.apply_app("web", "web", syncPolicy={"automated": {}})
    await agent.until_synced("web")
    path = f"/apis/apps/v1/namespaces/{agent.destination}/deployments/web"
    env = [{"name": "COLOUR", "value": "blue"}, {"name": "OLD", "value": "x"}]
    pod = {"containers": [{"name": "web", "image": "registry.example/web:1.0", "env": env}]}
    patch = {"spec": {"template": {"spec": pod}}}
    await agent.parts.client.merge_patch(path, patch, {"fieldManager": "kubectl-client-side-apply"})

    await agent.until(lambda app: app["status"]["sync"]["status"] == "OutOfSync", app="web")

    await agent.apply_app("web", "web", syncPolicy=HEALING)
    await agent.until_synced("web")
    assert variables(await agent.get("apps/v1/deployments/web")) == ["COLOUR"]


async def test_a_field_that_kubectl_created_and_git_had_goes_when_git_drops_it(
    agent: AgentFixture,
) -> None:
    await written_by(agent, "kubectl-create", paused=False)
    agent.commit({"web/web.yaml": MORE})
    await agent.apply_app("web", "web", syncPolicy=HEALING)
    await agent.until_synced("web")

    sha = agent.commit({"web/web.yaml": GIT})
    await agent.patch_app(
        "web", {"metadata": {"annotations": {"argocd.argoproj.io/refresh": "normal"}}}
    )

    await agent.until(
        lambda app: is_synced(app) and app["status"]["sync"]["revision"] == sha, app="web"
    )
    assert variables(await agent.get("apps/v1/deployments/web")) == ["COLOUR"]


async def test_the_count_of_an_autoscaler_stays(agent: AgentFixture) -> None:
    await written_by(agent, "kubectl-client-side-apply", replicas=2)
    path = f"/apis/apps/v1/namespaces/{agent.destination}/deployments/web/scale"
    scale = {"spec": {"replicas": 3}}
    await agent.parts.client.merge_patch(path, scale, {"fieldManager": "kube-controller-manager"})
    agent.commit({"web/web.yaml": GIT})
    await agent.apply_app("web", "web", syncPolicy=HEALING)

    await agent.until_synced("web")

    live = await agent.get("apps/v1/deployments/web")
    assert live is not None
    assert (live["spec"]["replicas"], variables(live)) == (3, ["COLOUR"])


MIGRATING_NOTHING = ["ServerSideApply=true", "ClientSideApplyMigration=false"]


async def test_a_sync_without_the_migration_leaves_the_fields(agent: AgentFixture) -> None:
    await written_by(agent, "helm", paused=False)
    agent.commit({"web/web.yaml": GIT})
    policy = {**HEALING, "syncOptions": MIGRATING_NOTHING}
    await agent.apply_app("web", "web", syncPolicy=policy)

    await agent.until_synced("web")

    assert variables(await agent.get("apps/v1/deployments/web")) == ["COLOUR", "OLD"]
