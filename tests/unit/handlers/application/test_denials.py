"""Why an object is not permitted, and which list to change."""

from __future__ import annotations

from typing import Any

import pytest

from bus.identity import ResourceKey
from handlers.application.denials import denial, denials
from handlers.application.destination import DestinationCluster, RegisteredCluster
from handlers.application.spec import Destination
from handlers.manifest.kinds import KindInfo
from tests.unit.handlers.application.builders import SERVER, application, project

HERE = Destination(server=SERVER, namespace="shop")
SECRET = KindInfo(group="", version="v1", kind="Secret", plural="secrets", namespaced=True)
ROLE = KindInfo(group="rbac.x", version="v1", kind="Role", plural="roles", namespaced=False)
ANY_SECRET = [{"group": "", "kind": "Secret"}]
ANY_ROLE = [{"group": "*", "kind": "Role"}]

DENIED: dict[str, tuple[dict[str, Any], KindInfo, list[str]]] = {
    "namespaced, not listed": (
        {"namespaceResourceWhitelist": []},
        SECRET,
        ["add it to spec.namespaceResourceWhitelist"],
    ),
    "namespaced, listed as denied": (
        {"namespaceResourceBlacklist": ANY_SECRET},
        SECRET,
        ["remove it from spec.namespaceResourceBlacklist"],
    ),
    "elsewhere": ({"destinations": []}, SECRET, ["spec.destinations", "'shop'", SERVER]),
    "cluster, not listed": (
        {"clusterResourceWhitelist": []},
        ROLE,
        ["Role of rbac.x", "add it to spec.clusterResourceWhitelist"],
    ),
    "cluster, both": (
        {"clusterResourceWhitelist": [], "clusterResourceBlacklist": ANY_ROLE},
        ROLE,
        ["add it to spec.clusterResourceWhitelist and remove it from spec.clusterResourceBl"],
    ),
}


@pytest.mark.parametrize(("rules", "kind", "messages"), DENIED.values(), ids=DENIED)
def test_a_denial_names_the_project_and_the_list_to_change(
    rules: dict[str, Any], kind: KindInfo, messages: list[str]
) -> None:
    found = denial(project(rules), kind, name="web", destination=HERE)
    assert "AppProject 'default'" in found
    assert [one for one in messages if one not in found] == []


def test_what_is_permitted_is_not_denied() -> None:
    assert denial(project(), SECRET, name="web", destination=HERE) == ""


PROD = DestinationCluster(server="https://prod:6443", name="prod")
MAP = ResourceKey("", "ConfigMap", "shop", "web")


def denied(rules: dict[str, Any], **registered: Any) -> dict[ResourceKey, str]:
    there = application({"destination": {"name": "prod", "namespace": "shop"}})
    return denials(
        there, project(rules), (MAP,), RegisteredCluster(**{"cluster": PROD, **registered})
    )


def test_a_denial_by_one_identity_of_the_cluster_holds_for_the_other() -> None:
    everywhere = {"server": "*", "namespace": "*"}
    not_there = {"server": "!https://prod:6443", "namespace": "*"}
    assert not denied({"destinations": [everywhere]})
    assert denied({"destinations": [everywhere, not_there]})


def test_a_cluster_of_another_project_is_denied() -> None:
    assert not denied({}, project="default")
    assert "belongs to the AppProject 'team'" in denied({}, project="team")[MAP]


def test_a_project_may_permit_only_its_own_clusters() -> None:
    only = {"permitOnlyProjectScopedClusters": True}
    assert not denied(only, project="default")
    assert "needs `project: default`" in denied(only)[MAP]


def test_what_is_beyond_the_namespaces_of_the_cluster_is_denied() -> None:
    assert not denied({}, namespaces=("shop",))
    assert "add 'shop' to `namespaces`" in denied({}, namespaces=("blog",))[MAP]


@pytest.mark.parametrize(
    ("name", "is_denied"), [("", True), ("admin-1", True), ("web", False)], ids=repr
)
def test_a_name_that_is_still_generated_could_be_one_that_is_denied(
    name: str,
    is_denied: bool,  # noqa: FBT001  a table
) -> None:
    """A hook with generateName gets its name at the sync."""
    rules = {"clusterResourceBlacklist": [{"group": "*", "kind": "Role", "name": "admin-*"}]}
    assert bool(denial(project(rules), ROLE, name=name, destination=HERE)) is is_denied
