"""An Application is deployed with the rights of the ServiceAccount that its project names."""

from __future__ import annotations

from typing import Any

from handlers.application.impersonation_settings import ENABLED
from playground.rights import until_permitted, user_of
from tests.flows.agent_fixture import SERVER, AgentFixture, conditions, config_map, is_synced
from tests.flows.test_projects import SECRET, limit
from tests.support import eventually

RBAC = "/apis/rbac.authorization.k8s.io/v1/namespaces/{}"
WRITE = ["get", "list", "create", "patch", "delete"]


async def test_the_account_of_the_project_may_what_its_role_permits(agent: AgentFixture) -> None:
    await _settings(agent)
    await _account(agent, resources=["configmaps"])
    account = {"server": SERVER, "namespace": "*", "defaultServiceAccount": "deployer"}
    await limit(agent, destinationServiceAccounts=[account])
    agent.commit({"web/a.yaml": config_map("a"), "web/b.yaml": config_map("b")})
    healing = {"automated": {"prune": True, "selfHeal": True}, "retry": {"limit": 0}}
    await agent.apply_app(
        "web",
        "web",
        project="limited",
        syncPolicy=healing,
        metadata={"finalizers": ["resources-finalizer.argocd.argoproj.io"]},
    )
    await agent.until_synced("web", within=120)

    agent.commit({"web/s.yaml": SECRET, "web/b.yaml": None})
    app = await agent.until(lambda app: "SyncError" in conditions(app), app="web", within=120)
    user = f"system:serviceaccount:{agent.destination}:deployer"
    assert user in conditions(app)["SyncError"]
    assert "secrets" in conditions(app)["SyncError"]
    assert await agent.get("secrets/s") is None

    await _account(agent, resources=["configmaps", "secrets"])
    await agent.patch_app("web", {"operation": {"sync": {"prune": True}}})
    await agent.until(is_synced, app="web", within=120)
    assert await agent.get("secrets/s") is not None
    await agent.until_gone("configmaps/b")

    await _account(agent, resources=["secrets"])
    await agent.delete_app("web")
    app = await agent.until(lambda app: "DeletionError" in conditions(app), app="web", within=120)
    assert user in conditions(app)["DeletionError"]
    await _account(agent, resources=["configmaps", "secrets"])
    await eventually(lambda: agent.known("web") is None, within=120, what="the end of it")
    await agent.until_gone("configmaps/a")


async def _settings(agent: AgentFixture) -> None:
    await agent.apply_settings("argocd-cm", {ENABLED: "true"})


async def _account(agent: AgentFixture, *, resources: list[str]) -> None:
    """Make the account, and a Role that permits these kinds and no other."""
    space, group = agent.destination, "rbac.authorization.k8s.io"
    metadata = {"name": "deployer", "namespace": space}
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata}
    role = {
        "kind": "Role",
        "rules": [{"apiGroups": [""], "resources": resources, "verbs": WRITE}],
    }
    binding = {
        "kind": "RoleBinding",
        "roleRef": {"apiGroup": group, "kind": "Role", "name": "deployer"},
        "subjects": [{"kind": "ServiceAccount", "name": "deployer", "namespace": space}],
    }
    await agent.api.apply(f"/api/v1/namespaces/{space}/serviceaccounts/deployer", account)
    for plural, one in (("roles", role), ("rolebindings", binding)):
        body: dict[str, Any] = {"apiVersion": f"{group}/v1", "metadata": metadata, **one}
        await agent.api.apply(f"{RBAC.format(space)}/{plural}/deployer", body)
    user = user_of(space, "deployer")
    for resource in ("configmaps", "secrets"):
        rule = {"apiGroups": [""], "resources": [resource], "verbs": WRITE}
        permitted = resource in resources
        await until_permitted(agent.api, user, rule, space, permitted=permitted)
