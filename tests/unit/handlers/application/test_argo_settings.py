"""What `argocd-cm` says: acted on, told, or a reason to hold automated syncs."""

from __future__ import annotations

import pytest

from bus.identity import ResourceKey
from handlers.application.argo_settings import ROWS, ArgoSettings, Row, read_settings
from handlers.application.health_scripts import CUSTOMIZATIONS
from handlers.application.ignore_rules import ignore_rules
from handlers.application.ignore_settings import IGNORE_DIFFERENCES, IGNORE_UPDATES
from handlers.application.known_types import known_fields
from tests.paths import REPOSITORY

WEB = ResourceKey("apps", "Deployment", "shop", "web")
EXCLUSIONS = """
- apiGroups: ["cilium.io"]
  kinds: [CiliumIdentity]
  clusters: ["*"]
- apiGroups: ["*.kyverno.io"]
"""


def test_nothing_written_is_nothing_said() -> None:
    assert read_settings(None) == read_settings({}) == ArgoSettings()


@pytest.mark.parametrize(("value", "expected"), [("false", False), ("true", True), ("", True)])
def test_the_agents_own_cluster_is_a_destination_unless_it_is_disabled(
    value: str, *, expected: bool
) -> None:
    settings = read_settings({"cluster.inClusterEnabled": value})
    assert (settings.in_cluster_enabled, settings.unsupported) == (expected, ())


def test_exclusions_and_inclusions_are_read() -> None:
    settings = read_settings({"resource.exclusions": EXCLUSIONS, "resource.inclusions": ""})
    assert settings.resources.excludes("cilium.io", "CiliumIdentity", "https://any")
    assert settings.resources.excludes("reports.kyverno.io", "AdmissionReport")
    assert not settings.resources.excludes("cilium.io", "CiliumNetworkPolicy")
    assert settings.unsupported == ()


@pytest.mark.parametrize(
    ("text", "interval"),
    [("", None), ("5m", 300.0), ("180", 180.0), ("0s", 0.0), ("0", 0.0), ("1s", 10.0)],
)
def test_the_time_between_two_looks_is_read(text: str, interval: float | None) -> None:
    settings = read_settings({"timeout.reconciliation": text})
    assert (settings.poll_interval, settings.unsupported) == (interval, ())


def test_a_time_that_is_none_leaves_the_agents_own() -> None:
    settings = read_settings({"timeout.reconciliation": "often"})
    (named,) = settings.unsupported
    assert (settings.poll_interval, named.harmful) == (None, False)
    assert "timeout.reconciliation of argocd-cm" in named.field
    assert "expected one like 30s" in named.consequence


def test_masked_annotations_are_read() -> None:
    settings = read_settings({"resource.sensitive.mask.annotations": "a.example/token, b ,,"})
    assert settings.masked_annotations == {"a.example/token", "b"}


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
    "an unknown tracking method": {"application.resourceTrackingMethod": "lable"},
    "a label key that is none": {"application.instanceLabelKey": "a b"},
    "global projects that are no list": {"globalProjects": "projectName: base"},
    "a global project without a name": {"globalProjects": "- labelSelector: {}"},
    "a selector with a wrong operator": {
        "globalProjects": "- projectName: base\n  labelSelector:\n    matchExpressions:\n"
        "    - {key: team, operator: Is, values: [a]}"
    },
    "enforced impersonation": {"application.sync.impersonation.enforced": "true"},
}


@pytest.mark.parametrize("data", HOLDING.values(), ids=HOLDING)
def test_what_makes_a_sync_harmful_holds_every_automated_sync(data: dict[str, str]) -> None:
    (found,) = read_settings(data).harmful
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
    "a tool": {"helm.valuesFileSchemes": "https"},
    "an action": {"resource.customizations.actions.apps_Deployment": "discovery.lua: [1]"},
    "an action in the map": {"resource.customizations": "a/B: {actions: 'x'}"},
    "a known type that is none": {
        "resource.customizations": "a/B: {knownTypeFields: [{field: spec.a, type: x/Y}]}"
    },
    "a known type without a field": {
        "resource.customizations.knownTypeFields.a_B": "[{type: core/Quantity}]"
    },
    "a known type at no path": {
        "resource.customizations.knownTypeFields.a_B": "[{field: spec..a, type: core/Quantity}]"
    },
    "a health that is no text": {"resource.customizations": "a/B: {health.lua: [1]}"},
    "a path": {"kustomize.path.v5": "/bin/kustomize"},
}


@pytest.mark.parametrize("data", REMARKS.values(), ids=REMARKS)
def test_the_rest_is_told_and_holds_nothing(data: dict[str, str]) -> None:
    settings = read_settings(data)
    assert len(settings.unsupported) == 1
    assert settings.harmful == ()


def test_defaults_and_the_keys_of_the_server_are_not_told() -> None:
    data = {"helm.enable": "true", "application.resourceTrackingMethod": "annotation", "url": "x"}
    assert read_settings(data).unsupported == ()


ALL = ResourceKey("example.com", "Thing", "shop", "one")
CONFIG = ResourceKey("", "ConfigMap", "shop", "one")
REPLICAS = "jsonPointers: [/spec/replicas]"
IGNORING: dict[str, tuple[dict[str, str], set[ResourceKey]]] = {
    "a split key": ({f"{IGNORE_DIFFERENCES}apps_Deployment": REPLICAS}, {WEB}),
    "a kind of the core group": ({f"{IGNORE_DIFFERENCES}ConfigMap": REPLICAS}, {CONFIG}),
    "all kinds": ({f"{IGNORE_DIFFERENCES}all": REPLICAS}, {WEB, ALL, CONFIG}),
    "the map, as text": (
        {CUSTOMIZATIONS: f"apps/Deployment: {{ignoreDifferences: '{REPLICAS}'}}"},
        {WEB},
    ),
    "the map, as YAML": (
        {CUSTOMIZATIONS: f"apps/Deployment:\n  ignoreDifferences:\n    {REPLICAS}"},
        {WEB},
    ),
    "a glob of the map": (
        {CUSTOMIZATIONS: f"'*/*': {{ignoreDifferences: '{REPLICAS}'}}"},
        {WEB, ALL, CONFIG},
    ),
    "a glob of a group": (
        {CUSTOMIZATIONS: f"'*.com/*': {{ignoreDifferences: '{REPLICAS}'}}"},
        {ALL},
    ),
    "other customizations of the map": (
        {CUSTOMIZATIONS: "apps/Deployment: {health.lua: x}"},
        set(),
    ),
}


@pytest.mark.parametrize(("data", "concerned"), IGNORING.values(), ids=IGNORING)
def test_rules_of_the_settings_concern_the_objects_of_their_kinds(
    data: dict[str, str], concerned: set[ResourceKey]
) -> None:
    rules = ignore_rules((), read_settings(data).ignore_rules)
    found = {key: rules.of(key) for key in (WEB, ALL, CONFIG)}
    assert {key for key, one in found.items() if one is not None} == concerned
    assert all(one is None or one.pointers == (("spec", "replicas"),) for one in found.values())


def test_a_key_for_a_kind_takes_the_place_of_the_map() -> None:
    data = {
        CUSTOMIZATIONS: "apps/Deployment: {ignoreDifferences: 'jsonPointers: [/spec/paused]'}",
        f"{IGNORE_DIFFERENCES}apps_Deployment": REPLICAS,
    }
    found = ignore_rules((), read_settings(data).ignore_rules).of(WEB)
    assert found is not None
    assert found.pointers == (("spec", "replicas"),)


UNREADABLE = {
    "no YAML": {f"{IGNORE_DIFFERENCES}apps_Deployment": "jsonPointers: ["},
    "no map": {f"{IGNORE_DIFFERENCES}apps_Deployment": "[/spec]"},
    "a field that is mistyped": {f"{IGNORE_DIFFERENCES}apps_Deployment": "jsonPointer: [/spec]"},
    "pointers that are no list": {f"{IGNORE_DIFFERENCES}apps_Deployment": "jsonPointers: /spec"},
    "two kinds in one key": {f"{IGNORE_DIFFERENCES}apps_v1_Deployment": REPLICAS},
    "no kind": {IGNORE_DIFFERENCES: REPLICAS},
}


@pytest.mark.parametrize("data", UNREADABLE.values(), ids=UNREADABLE)
def test_rules_of_the_settings_that_cannot_be_read_hold_automated_syncs(
    data: dict[str, str],
) -> None:
    settings = read_settings(data)
    (found,) = settings.harmful
    (key,) = data
    assert key in found.message
    assert settings.ignore_rules == ()


def test_rules_for_updates_are_read_apart_and_can_be_switched_off() -> None:
    data = {f"{IGNORE_UPDATES}apps_Deployment": REPLICAS}
    settings = read_settings(data)
    assert settings.ignore_rules == ()
    assert ignore_rules((), settings.update_rules).of(WEB) is not None
    off = {"resource.ignoreResourceUpdatesEnabled": "false"}
    assert read_settings(data | off).update_rules == ()


@pytest.mark.parametrize(
    ("options", "reported"),
    [
        ("ignoreAggregatedRoles: true", False),
        ("ignoreResourceStatusField: all", False),
        ("ignoreDifferencesOnResourceUpdates: true", False),
        ("ignoreResourceStatusField: none", True),
        ("ignoreResourceStatusField: crd", True),
        ("ignoreAggregatedRoles: false", True),
        ("ignoreDifferencesOnResourceUpdates: false", False),
        ("{", True),
    ],
)
def test_compare_options_are_told_where_they_ask_for_more(options: str, *, reported: bool) -> None:
    assert bool(read_settings({"resource.compareoptions": options}).unsupported) == reported


def test_rules_for_updates_leave_out_ignored_fields_where_the_options_say_so() -> None:
    data = {f"{IGNORE_DIFFERENCES}all": REPLICAS, f"{IGNORE_UPDATES}ConfigMap": REPLICAS}
    whole = read_settings(data)
    off = "ignoreDifferencesOnResourceUpdates: false"
    alone = read_settings(data | {"resource.compareoptions": off})
    assert whole.rules_of_updates == (*whole.ignore_rules, *whole.update_rules)
    assert alone.rules_of_updates == whole.update_rules


def test_tools_are_disabled_by_their_keys() -> None:
    data = {"helm.enable": "false", "kustomize.enable": "true"}
    settings = read_settings(data)
    assert (settings.tools.disabled, settings.unsupported) == ({"Helm"}, ())


def test_known_types_stand_in_a_key_and_in_the_map() -> None:
    data = {
        "resource.customizations": "'*.io/*': {knownTypeFields: [{field: a, type: core/Quantity}]}",
        "resource.customizations.knownTypeFields.x.io_B": "[{field: b, type: meta/v1/Duration}]",
    }
    rules = read_settings(data).known_types
    assert [one.field for one in known_fields(rules, "x.io", "B")] == ["a", "b"]
    assert [one.field for one in known_fields(rules, "y.io", "B")] == ["a"]
    assert known_fields(rules, "y.com", "B") == ()


def test_a_bad_pointer_of_the_settings_is_a_problem_with_its_key() -> None:
    settings = read_settings({f"{IGNORE_DIFFERENCES}all": "jsonPointers: [/data, data]"})
    (problem,) = ignore_rules((), settings.ignore_rules).problems
    assert problem.startswith(f"argocd-cm: {IGNORE_DIFFERENCES}all.jsonPointers[1]: 'data'")


@pytest.mark.parametrize("noun", ["application", "project", "resource"])
def test_links_that_cannot_be_read_are_told_and_hold_nothing(noun: str) -> None:
    (found,) = read_settings({f"{noun}.links": "- url: https://x"}).unsupported
    assert found.field == f"{noun}.links of argocd-cm"
    assert "title" in found.consequence
    assert not found.harmful


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.key)
def test_the_documents_name_every_setting(row: Row) -> None:
    text = (REPOSITORY / "docs" / "compatibility.md").read_text()
    _, _, table = text.partition("`argocd-cm`, followed live:")
    word = row.key.removeprefix("resource.customizations") if row.key.endswith(".") else row.key
    assert word in table
