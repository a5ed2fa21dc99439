"""What is written in Git is wrong: the place is named, and the cluster stays as it is.

Each fault comes with a commit that would also add one object and remove another: neither happens.
"""

from collections.abc import Mapping

import pytest

from bus.events import OperationStarted, RenderFailed, SyncSkipped
from bus.status import Reason
from tests.flows.agent_fixture import AgentFixture, conditions, config_map, is_synced
from tests.flows.evidence import a_fact, facts

HEALING = {"automated": {"prune": True, "selfHeal": True}}

CHART = "apiVersion: v2\nname: web\nversion: 1.0.0\n"
KUSTOMIZATION = "resources: [a.yaml, old.yaml]\n"

PATCHING_NOTHING = """
resources: [a.yaml, new.yaml]
patches:
- patch: |
    apiVersion: v1
    kind: ConfigMap
    metadata: {name: absent}
"""

Files = Mapping[str, str | None]

PLAIN: Files = {"web/a.yaml": config_map("a"), "web/old.yaml": config_map("old")}
HELM: Files = {
    "web/Chart.yaml": CHART,
    "web/templates/a.yaml": config_map("a"),
    "web/templates/old.yaml": config_map("old"),
}
KUSTOMIZE: Files = {"web/kustomization.yaml": KUSTOMIZATION, **PLAIN}
MOVED: Files = {"web/old.yaml": None, "web/new.yaml": config_map("new")}
MOVED_IN_CHART: Files = {
    "web/templates/old.yaml": None,
    "web/templates/new.yaml": config_map("new"),
}

FAULTS = [
    pytest.param(
        PLAIN,
        {**MOVED, "web/bad.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: [\n"},
        Reason.YAML_INVALID,
        ("web/bad.yaml", "line"),
        id="broken YAML",
    ),
    pytest.param(
        HELM,
        {**MOVED_IN_CHART, "web/templates/a.yaml": "name: {{ required `no name given` nil }}\n"},
        Reason.TEMPLATE_FAILED,
        ("web/templates/a.yaml", "no name given"),
        id="template error",
    ),
    pytest.param(
        KUSTOMIZE,
        {**MOVED, "web/kustomization.yaml": "resources: [a.yaml, new.yaml, absent.yaml]\n"},
        Reason.FILE_NOT_FOUND,
        ("absent.yaml",),
        id="kustomize resource that is not there",
    ),
    pytest.param(
        KUSTOMIZE,
        {**MOVED, "web/kustomization.yaml": PATCHING_NOTHING},
        Reason.KUSTOMIZE_FAILED,
        ("web", "no resource matches strategic merge patch", "absent"),
        id="kustomize error",
    ),
    pytest.param(
        PLAIN,
        {**MOVED, "web/twice.yaml": config_map("a")},
        Reason.DUPLICATE_OBJECT,
        ("ConfigMap", "a: the object is defined twice", "web/a.yaml", "web/twice.yaml"),
        id="duplicate object",
    ),
    pytest.param(
        PLAIN,
        {**MOVED, "web/bad.yaml": config_map("x").replace("ConfigMap", "Konfigmap")},
        Reason.UNKNOWN_KIND,
        ("web/bad.yaml", "Konfigmap x", "the cluster does not know Konfigmap"),
        id="unknown kind",
    ),
]


@pytest.mark.parametrize(("good", "bad", "reason", "words"), FAULTS)
async def test_bad_input_is_refused_with_its_place_and_nothing_is_applied_or_pruned(
    agent: AgentFixture, good: Files, bad: Files, reason: Reason, words: tuple[str, ...]
) -> None:
    agent.commit(good)
    await agent.apply_app("web", "web", syncPolicy=HEALING)
    before = await agent.until_synced("web")
    sha = agent.commit(bad)
    app = await agent.until(lambda app: "ComparisonError" in conditions(app), app="web")
    fact = await a_fact(agent.parts.bus, RenderFailed)
    assert (fact.reason, fact.revision) == (reason, sha)
    assert fact.message == conditions(app)["ComparisonError"]
    for word in words:
        assert word in fact.message
    assert app["status"]["sync"]["status"] == "Unknown"
    assert app["status"]["resources"] == before["status"]["resources"]
    assert len(await facts(agent.parts.bus, OperationStarted)) == 1
    assert await agent.get("configmaps/new") is None
    assert await agent.get("configmaps/old") is not None
    agent.commit({path: good.get(path) for path in bad})
    app = await agent.until(is_synced, app="web")
    assert conditions(app) == {}


async def test_the_last_good_commit_can_be_deployed_by_name_while_the_newest_is_broken(
    agent: AgentFixture,
) -> None:
    good = agent.commit(PLAIN)
    await agent.apply_app("web", "web", syncPolicy=HEALING)
    await agent.until_synced("web")
    agent.commit({"web/broken.yaml": "kind: ["})
    await agent.until(lambda app: "ComparisonError" in conditions(app), app="web")
    await agent.patch_app("web", {"operation": {"sync": {"revision": good}}})
    app = await agent.until(
        lambda app: (
            app["status"]["operationState"]["operation"]["sync"].get("revision") == good
            and app["status"]["operationState"]["phase"] in {"Succeeded", "Failed", "Error"}
        ),
        app="web",
    )
    assert app["status"]["operationState"]["phase"] == "Succeeded"
    app = await agent.until(lambda app: "ComparisonError" in conditions(app), app="web")
    assert "broken.yaml" in conditions(app)["ComparisonError"]


async def test_a_namespaced_object_without_a_namespace_is_refused_with_its_place(
    agent: AgentFixture,
) -> None:
    agent.commit(PLAIN)
    server = {"server": "https://kubernetes.default.svc"}
    await agent.apply_app("web", "web", syncPolicy=HEALING, destination=server)
    app = await agent.until(lambda app: "ComparisonError" in conditions(app), app="web")
    logged = conditions(app)["ComparisonError"]
    assert "web/a.yaml" in logged
    assert "ConfigMap a: the object is namespaced and names no namespace" in logged
    fact = await a_fact(agent.parts.bus, RenderFailed)
    assert (fact.reason, fact.message) == (Reason.NAMESPACE_MISSING, logged)
    assert await facts(agent.parts.bus, OperationStarted) == []
    await agent.apply_app("web", "web", syncPolicy=HEALING)
    app = await agent.until_synced("web")
    assert conditions(app) == {}


SWITCHED = "{{ if .Values.wanted }}\n%s{{ end }}\n"
EMPTIED = [
    pytest.param(
        {
            "web/Chart.yaml": CHART,
            "web/values.yaml": "wanted: true\n",
            "web/templates/a.yaml": SWITCHED % config_map("a"),
        },
        {"web/values.yaml": "wanted: false\n"},
        id="chart",
    ),
    pytest.param(
        {"web/kustomization.yaml": "resources: [a.yaml]\n", "web/a.yaml": config_map("a")},
        {"web/kustomization.yaml": "resources: []\n"},
        id="kustomization",
    ),
]


@pytest.mark.parametrize(("full", "empty"), EMPTIED)
async def test_what_renders_to_nothing_prunes_nothing_unless_allow_empty(
    agent: AgentFixture, full: Files, empty: Files
) -> None:
    agent.commit(full)
    await agent.apply_app("web", "web", syncPolicy=HEALING)
    await agent.until_synced("web")
    sha = agent.commit(empty)
    app = await agent.until(lambda app: "SyncError" in conditions(app), app="web")
    logged = conditions(app)["SyncError"]
    assert f"{sha[:7]} renders to nothing" in logged
    assert "allowEmpty" in logged
    skipped = await a_fact(agent.parts.bus, SyncSkipped, revision=sha)
    assert (skipped.reason, skipped.message) == (Reason.NOTHING_RENDERED, logged)
    assert await agent.get("configmaps/a") is not None
    allowing = {"automated": {"prune": True, "allowEmpty": True}}
    await agent.apply_app("web", "web", syncPolicy=allowing)
    app = await agent.until(is_synced, app="web")
    assert conditions(app) == {}

    await agent.until_gone("configmaps/a")
