"""What the cluster's owner lets the control plane do: the ConfigMap as a value."""

import pytest

from bus.identity import ResourceKey
from bus.link import TaskKind
from handlers.application.destination import DestinationCluster
from handlers.control_plane.policy import ControlPlanePolicy, read_policy

CONFIG_MAP = ResourceKey("", "ConfigMap", "shop", "a")
CLUSTER_ROLE = ResourceKey("rbac.authorization.k8s.io", "ClusterRole", "", "a")


@pytest.mark.parametrize("kind", TaskKind)
def test_without_a_config_map_the_control_plane_may_only_look(kind: TaskKind) -> None:
    policy = read_policy(None)
    assert bool(policy.refusal(kind, ("shop",))) == kind.counts_as_write
    assert "its owner allows more by making one" in policy.refusal(TaskKind.PUT, ("shop",))


@pytest.mark.parametrize("kind", TaskKind)
def test_read_only_means_that_nothing_is_written(kind: TaskKind) -> None:
    policy = read_policy({"readOnly": "true"})
    assert bool(policy.refusal(kind, ())) == kind.counts_as_write


def test_previews_of_changes_count_as_writes_because_they_answer_guesses() -> None:
    policy = read_policy({"maxPerMinute": "0"})
    assert "in any minute" in policy.refusal(TaskKind.OBJECT_PREVIEW, ())
    assert policy.refusal(TaskKind.LIVE, ()) == ""
    closed = read_policy({"readOnly": "true"})
    assert "readOnly" in closed.refusal(TaskKind.OBJECT_PREVIEW, ())


def test_only_the_named_kinds_and_namespaces_are_allowed() -> None:
    policy = read_policy({"kinds": "sync, tree", "namespaces": "shop-*\nblog"})
    assert policy.refusal(TaskKind.SYNC, ("shop-eu",)) == ""
    assert "kind put" in policy.refusal(TaskKind.PUT, ("shop-eu",))
    assert "namespace kube-system" in policy.refusal(TaskKind.SYNC, ("blog", "kube-system"))
    assert "namespace (cluster)" in policy.refusal(TaskKind.SYNC, ("",))


def test_an_edit_of_a_live_object_needs_override() -> None:
    """A policy that was written before there were edits permits none."""
    assert '`override: "true"`' in read_policy({"namespaces": "shop-*"}).edit_problem()
    assert '`override: "true"`' in read_policy(None).edit_problem()
    assert read_policy({"override": "true"}).edit_problem() == ""


@pytest.mark.parametrize(
    "data",
    [
        {"readonly": "true"},
        {"readOnly": "maybe"},
        {"clusterScoped": "perhaps"},
        {"override": "2"},
        {"kinds": "sync,everything"},
        {"maxPerMinute": "many"},
        {"maxReadsPerMinute": "-1"},
    ],
    ids=str,
)
def test_a_policy_that_cannot_be_understood_allows_nothing_that_writes(
    data: dict[str, str],
) -> None:
    policy = read_policy(data)
    assert "cannot be understood" in policy.refusal(TaskKind.SYNC, ("shop",))
    assert "cannot be understood" in policy.object_problem(CONFIG_MAP, namespaced=True)
    assert policy.shown()["readOnly"] is True


@pytest.mark.parametrize(
    ("data", "key", "verdict"),
    [
        ({}, CONFIG_MAP, "permitted"),
        ({}, CLUSTER_ROLE, "denied"),
        ({"clusterScoped": "true"}, CLUSTER_ROLE, "permitted"),
        ({"namespaces": "shop"}, CONFIG_MAP, "permitted"),
        ({"namespaces": "blog"}, CONFIG_MAP, "denied"),
        ({"objectKinds": "ConfigMap"}, CONFIG_MAP, "permitted"),
        ({"objectKinds": "Deployment.apps, Service"}, CONFIG_MAP, "denied"),
        ({"objectKinds": "*, !ConfigMap"}, CONFIG_MAP, "denied"),
        (
            {"objectKinds": "*, !*.rbac.authorization.k8s.io", "clusterScoped": "true"},
            CLUSTER_ROLE,
            "denied",
        ),
        (None, CONFIG_MAP, "denied"),
    ],
)
def test_an_object_is_held_against_namespace_scope_and_kind(
    data: dict[str, str] | None, key: ResourceKey, verdict: str
) -> None:
    problem = read_policy(data).object_problem(key, namespaced=bool(key.namespace))
    assert (problem == "") == (verdict == "permitted")


def test_a_bare_namespace_is_made_where_its_name_is_permitted_and_nowhere_else() -> None:
    policy = read_policy({"namespaces": "shop-*"})
    assert policy.creates_namespace("shop-eu")
    assert not policy.creates_namespace("kube-public")
    assert not read_policy({"objectKinds": "ConfigMap"}).creates_namespace("shop-eu")
    assert not read_policy(None).creates_namespace("shop-eu")


@pytest.mark.parametrize(
    ("pattern", "server", "permitted"),
    [
        ("https://*.example:6443", "https://prod.example:6443", True),
        ("https://*.example:6443", "https://evil.test/x.example:6443", False),
        ("https://ranch.example/k8s/clusters/*", "https://ranch.example/k8s/clusters/c-1", True),
        ("https://ranch.example/k8s/clusters/*", "https://ranch.example/k8s/clusters/c/1", False),
        ("*", "https://evil.test/x.example:6443", True),
    ],
)
def test_no_path_stands_for_the_host_of_a_permitted_server(
    pattern: str, server: str, *, permitted: bool
) -> None:
    cluster = DestinationCluster.at(server)
    assert (read_policy({"clusters": pattern}).cluster_problem(cluster) == "") is permitted


def test_what_is_shown_is_what_holds() -> None:
    assert ControlPlanePolicy().shown() == {
        "kinds": ["*"],
        "clusters": ["in-cluster"],
        "namespaces": ["*"],
        "objectKinds": ["*"],
        "clusterScoped": False,
        "override": False,
        "overrideWindow": False,
        "exec": False,
        "maxPerMinute": 100,
        "maxReadsPerMinute": 600,
        "readOnly": False,
        "configMaps": [],
    }
