"""What `argocd-cm` says: acted on, told, or a reason to hold automated syncs."""

from __future__ import annotations

import pytest

from bus.identity import ResourceKey
from handlers.application.argo_settings import ROWS, ArgoSettings, Row, read_settings
from tests.paths import REPOSITORY
from tests.unit.handlers.application.builders import application

WEB = ResourceKey("apps", "Deployment", "shop", "web")
EXCLUSIONS = """
- apiGroups: ["cilium.io"]
  kinds: [CiliumIdentity]
  clusters: ["*"]
- apiGroups: ["*.kyverno.io"]
"""


def test_nothing_written_is_nothing_said() -> None:
    assert read_settings(None) == read_settings({}) == ArgoSettings()


def test_exclusions_and_inclusions_are_read() -> None:
    settings = read_settings({"resource.exclusions": EXCLUSIONS, "resource.inclusions": ""})
    assert settings.resources.excludes("cilium.io", "CiliumIdentity", "https://any")
    assert settings.resources.excludes("reports.kyverno.io", "AdmissionReport")
    assert not settings.resources.excludes("cilium.io", "CiliumNetworkPolicy")
    assert settings.unsupported == ()


GLOBAL = """
- projectName: org
  labelSelector:
    matchExpressions:
    - {key: tier, operator: In, values: [prod, stage]}
"""


def test_global_projects_are_read() -> None:
    settings = read_settings({"globalProjects": GLOBAL})
    (entry,) = settings.global_projects
    assert entry.project_name == "org"
    assert entry.label_selector.selects({"tier": "prod"})
    assert not entry.label_selector.selects({"tier": "dev"})
    assert settings.unsupported == ()


HOLDING = {
    "exclusions that are no list": {"resource.exclusions": "apiGroups: x"},
    "exclusions that are no YAML": {"resource.exclusions": "- {"},
    "customizations that are no map": {"resource.customizations": "- x"},
    "an installation id": {"installationID": "one"},
    "global projects that are no list": {"globalProjects": "projectName: base"},
    "a global project without a name": {"globalProjects": "- labelSelector: {}"},
    "a selector with a wrong operator": {
        "globalProjects": "- projectName: base\n  labelSelector:\n    matchExpressions:\n"
        "    - {key: team, operator: Is, values: [a]}"
    },
    "enforced impersonation": {"application.sync.impersonation.enforced": "true"},
    "no cluster of its own": {"cluster.inClusterEnabled": "false"},
}


@pytest.mark.parametrize("data", HOLDING.values(), ids=HOLDING)
def test_what_makes_a_sync_harmful_holds_every_automated_sync(data: dict[str, str]) -> None:
    (found,) = read_settings(data).holding(application(), (WEB,))
    (key,) = data
    assert key in found.message
    assert found.harmful


def test_the_health_scripts_are_acted_on() -> None:
    data = {
        "resource.customizations": "a/B: {health.lua: return nil}",
        "resource.customizations.health.apps_Deployment": "return {}",
        "resource.customizations.useOpenLibs.apps_Deployment": "true",
    }
    settings = read_settings(data)

    assert settings.unsupported == ()
    assert sorted(settings.health_scripts.exact) == ["a/B", "apps/Deployment"]


REMARKS = {
    "tracking": {"application.resourceTrackingMethod": "label"},
    "a tool": {"helm.enable": "false"},
    "an action": {"resource.customizations.actions.apps_Deployment": "discovery.lua: return {}"},
    "an action in the map": {"resource.customizations": "a/B: {actions: 'x'}"},
    "a known type in the map": {"resource.customizations": "a/B: {knownTypeFields: []}"},
    "a health that is no text": {"resource.customizations": "a/B: {health.lua: [1]}"},
    "a path": {"kustomize.path.v5": "/bin/kustomize"},
}


@pytest.mark.parametrize("data", REMARKS.values(), ids=REMARKS)
def test_the_rest_is_told_and_holds_nothing(data: dict[str, str]) -> None:
    settings = read_settings(data)
    assert len(settings.unsupported) == 1
    assert settings.holding(application(), (WEB,)) == ()


def test_defaults_and_the_keys_of_the_server_are_not_told() -> None:
    data = {"helm.enable": "true", "application.resourceTrackingMethod": "annotation", "url": "x"}
    assert read_settings(data) == ArgoSettings()


HEALING = application({"syncPolicy": {"automated": {"selfHeal": True}}})
IGNORING = {
    "a split key": {"resource.customizations.ignoreDifferences.apps_Deployment": "x"},
    "all kinds": {"resource.customizations.ignoreDifferences.all": "x"},
    "the map": {"resource.customizations": "apps/Deployment: {ignoreDifferences: x}"},
    "a glob of the map": {"resource.customizations": "'*/*': {ignoreDifferences: x}"},
}


@pytest.mark.parametrize("data", IGNORING.values(), ids=IGNORING)
def test_ignored_differences_hold_where_such_an_object_would_be_healed(
    data: dict[str, str],
) -> None:
    settings = read_settings(data)
    assert len(settings.holding(HEALING, (WEB,))) == 1
    assert settings.holding(application({"syncPolicy": {"automated": {}}}), (WEB,)) == ()


def test_ignored_differences_of_another_kind_hold_nothing() -> None:
    settings = read_settings({"resource.customizations.ignoreDifferences.batch_Job": "x"})
    assert settings.holding(HEALING, (WEB,)) == ()


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.key)
def test_the_documents_name_every_setting(row: Row) -> None:
    text = (REPOSITORY / "docs" / "compatibility.md").read_text()
    _, _, table = text.partition("`argocd-cm`, followed live:")
    word = row.key.removeprefix("resource.customizations") if row.key.endswith(".") else row.key
    assert word in table
