"""The API server says no to one object: it is told why, its neighbours are applied.

The operation then fails, or tries again as its policy says.
"""

from collections.abc import Mapping
from typing import Any

from bus.events import OperationFinished, ResourcesApplied
from bus.status import OperationPhase
from playground.kubeapi import KubeApiError
from tests.flows.agent_fixture import AgentFixture, conditions, config_map
from tests.flows.evidence import a_fact, ended, facts, phase, refused, results
from tests.support import eventually

ONCE = {"automated": {}, "retry": {"limit": 0}}
POLICIES = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"
BINDINGS = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings"


async def assert_refused(agent: AgentFixture, words: tuple[str, ...]) -> None:
    """`bad` says why, everywhere a person looks; `good` of the same wave is there."""
    app = await agent.until(ended, app="web")
    assert phase(app) == "Failed"
    why = refused(app)
    assert why.keys() == {"bad"}
    for word in words:
        assert word in why["bad"]
    assert results(app)["good"] == "created"
    assert await agent.get("configmaps/good") is not None
    assert why["bad"] in conditions(app)["SyncError"]
    applied = await a_fact(agent.parts.bus, ResourcesApplied)
    assert [one.message for one in applied.failed] == [why["bad"]]
    finished = await a_fact(agent.parts.bus, OperationFinished)
    assert finished.phase is OperationPhase.FAILED
    assert why["bad"] in finished.message


async def test_an_immutable_field(agent: AgentFixture) -> None:
    path = f"/api/v1/namespaces/{agent.destination}/configmaps/bad"
    fixed = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "bad"}}
    await agent.api.apply(path, {**fixed, "immutable": True, "data": {"key": "theirs"}})
    agent.commit({"web/a.yaml": config_map("bad", key="ours"), "web/b.yaml": config_map("good")})
    await agent.apply_app("web", "web", syncPolicy=ONCE)
    await assert_refused(agent, ("immutable",))


async def test_a_quota(agent: AgentFixture) -> None:
    quotas = f"/api/v1/namespaces/{agent.destination}/resourcequotas"
    await agent.api.create(quotas, quota(services=0))
    await until_counted(agent)
    agent.commit({"web/a.yaml": SERVICE, "web/b.yaml": config_map("good")})
    await agent.apply_app("web", "web", syncPolicy=ONCE)
    await assert_refused(agent, ("exceeded quota: few", "services"))


async def test_an_admission_policy(agent: AgentFixture) -> None:
    await forbid_the_name_bad(agent)
    agent.commit({"web/a.yaml": config_map("bad"), "web/b.yaml": config_map("good")})
    await agent.apply_app("web", "web", syncPolicy=ONCE)
    try:
        await assert_refused(agent, ("denied request: nothing here is called bad",))
    finally:
        for path in (BINDINGS, POLICIES):
            await agent.api.delete(f"{path}/{agent.destination}")


async def test_what_is_refused_is_tried_again_by_policy_and_succeeds_when_it_is_allowed(
    agent: AgentFixture,
) -> None:
    quotas = f"/api/v1/namespaces/{agent.destination}/resourcequotas"
    await agent.api.create(quotas, quota(services=0))
    await until_counted(agent)
    agent.commit({"web/a.yaml": SERVICE, "web/b.yaml": config_map("good")})
    backoff = {"duration": "500ms", "factor": 1, "maxDuration": "1s"}
    policy = {"automated": {}, "retry": {"limit": 500, "backoff": backoff}}
    await agent.apply_app("web", "web", syncPolicy=policy)
    app = await agent.until(is_retrying, app="web")
    assert phase(app) == "Running"
    assert "exceeded quota" in refused(app)["bad"]
    await agent.api.patch(f"{quotas}/few", {"spec": {"hard": {"services": "1"}}})
    app = await agent.until(lambda app: phase(app) == "Succeeded", app="web")
    assert refused(app) == {}
    assert conditions(app) == {}
    await a_fact(agent.parts.bus, OperationFinished)
    finished = await facts(agent.parts.bus, OperationFinished)
    assert [one.phase for one in finished] == [OperationPhase.SUCCEEDED]


def is_retrying(app: Mapping[str, Any]) -> bool:
    return bool(app.get("status", {}).get("operationState", {}).get("retryCount")) and bool(
        refused(app)
    )


SERVICE = "apiVersion: v1\nkind: Service\nmetadata: {name: bad}\nspec: {ports: [{port: 80}]}\n"


def quota(**hard: int) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "few"},
        "spec": {"hard": {name: str(number) for name, number in hard.items()}},
    }


async def until_counted(agent: AgentFixture) -> None:
    """A quota counts from when admission has seen what its controller wrote."""
    services = f"/api/v1/namespaces/{agent.destination}/services?dryRun=All"
    service = {"metadata": {"name": "bad"}, "spec": {"ports": [{"port": 80}]}}

    async def counted() -> bool:
        try:
            await agent.api.create(services, service)
        except KubeApiError as error:
            return "exceeded quota" in str(error)
        return False

    await eventually(counted)


async def forbid_the_name_bad(agent: AgentFixture) -> None:
    """Return when the API server acts on it, which it does a moment after it was told."""
    policy, binding = admission(agent.destination)
    await agent.api.create(POLICIES, policy)
    await agent.api.create(BINDINGS, binding)
    maps = f"/api/v1/namespaces/{agent.destination}/configmaps"

    async def forbids() -> bool:
        try:
            await agent.api.create(f"{maps}?dryRun=All", {"metadata": {"name": "bad"}})
        except KubeApiError as error:
            return error.code == 422
        return False

    await eventually(forbids)


def admission(namespace: str) -> tuple[dict[str, Any], dict[str, Any]]:
    rule = {
        "apiGroups": [""],
        "apiVersions": ["v1"],
        "operations": ["CREATE"],
        "resources": ["configmaps"],
    }
    here = {"matchLabels": {"kubernetes.io/metadata.name": namespace}}
    validation = {
        "expression": "object.metadata.name != 'bad'",
        "message": "nothing here is called bad",
    }
    policy = {
        "metadata": {"name": namespace},
        "spec": {
            "matchConstraints": {"resourceRules": [rule], "namespaceSelector": here},
            "validations": [validation],
        },
    }
    binding = {
        "metadata": {"name": namespace},
        "spec": {"policyName": namespace, "validationActions": ["Deny"]},
    }
    return policy, binding
