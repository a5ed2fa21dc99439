"""Which objects of a namespace are orphaned, and whose change may make one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from agent.ingress.watch_asks import asks_of_orphans
from agent.kube.live_change import LiveChange
from bus.events import CompareApp
from bus.identity import ResourceKey
from handlers.application.destination import IN_CLUSTER, RegisteredCluster
from handlers.comparison.orphaned_resources import is_made_by_kubernetes, looks_at, orphans, warns
from handlers.ports import LiveObject
from tests.unit.handlers.application.builders import application, project

HERE = RegisteredCluster(cluster=IN_CLUSTER)
OWN = ResourceKey("", "ConfigMap", "shop", "own")


def live(
    kind: str, name: str, group: str = "", app: str = "", owners: tuple[str, ...] = ()
) -> LiveObject:
    key = ResourceKey(group, kind, "shop", name)
    tracking = f"{app}:{group}/{kind}:shop/{name}" if app else ""
    return LiveObject(
        key=key, version="v1", uid=name, resource_version="1", tracking=tracking, owners=owners
    )


def names(*lives: LiveObject, ignore: Any = ()) -> list[str]:
    rules = project({"orphanedResources": {"ignore": list(ignore)}})
    found = orphans(rules, lives, {OWN}, lambda identity: identity == "other")
    return sorted(key.name for key in found)


def test_what_no_application_has_is_orphaned() -> None:
    left, others, own = (
        live("Secret", "left"),
        live("Secret", "o", app="other"),
        live("ConfigMap", "own"),
    )
    assert names(left, others, own) == ["left"]


def test_what_an_application_left_that_is_gone_is_orphaned() -> None:
    assert names(live("Secret", "left", app="gone")) == ["left"]


def test_a_project_that_does_not_ask_has_no_orphans() -> None:
    assert orphans(project({}), [live("Secret", "left")], (), lambda _: False) == ()
    assert orphans(None, [live("Secret", "left")], (), lambda _: False) == ()


@pytest.mark.parametrize(
    "lives",
    [
        [live("ServiceAccount", "default")],
        [live("ConfigMap", "kube-root-ca.crt")],
        [live("Event", "web.1")],
        [live("Lease", "x", group="coordination.k8s.io")],
        [live("Service", "web", app="other"), live("Endpoints", "web")],
        [
            live("StatefulSet", "db", group="apps", app="other"),
            live("PersistentVolumeClaim", "data-db-0"),
        ],
    ],
    ids=lambda lives: lives[-1].key.kind,
)
def test_what_kubernetes_makes_of_itself_is_not(lives: list[LiveObject]) -> None:
    assert names(*lives) == []


@pytest.mark.parametrize(
    ("stateful", "claim"),
    [("db", "data-db-0"), ("db-2", "data-db-2-17"), ("a-b", "my-data-a-b-0"), ("db", "a-db-db-1")],
)
def test_a_claim_of_a_stateful_set_is_known_whatever_dashes_it_has(
    stateful: str, claim: str
) -> None:
    made = live("StatefulSet", stateful, group="apps", app="other")
    assert names(made, live("PersistentVolumeClaim", claim)) == []


class CountingKeys(dict[ResourceKey, LiveObject]):
    """Objects by key, that count how often one is looked for and refuse to be walked through."""

    looks = 0

    def __contains__(self, key: object) -> bool:
        self.looks += 1
        return super().__contains__(key)

    def __iter__(self) -> Iterator[ResourceKey]:
        raise AssertionError("each claim would walk through all objects of its namespace")


def test_a_claim_costs_as_many_looks_as_its_name_has_dashes() -> None:
    """Its tenant makes thousands of both; their product would hold up every other tenant."""
    sets = [live("StatefulSet", f"db{number}", group="apps") for number in range(100)]
    here = CountingKeys({one.key: one for one in sets})
    claim = live("PersistentVolumeClaim", "my-data-other-0").key
    assert not is_made_by_kubernetes(claim, here)
    assert here.looks == 2


@pytest.mark.parametrize("name", ["data-db", "data-db-x", "db-0", "data-other-0"])
def test_a_claim_of_no_stateful_set_is_orphaned(name: str) -> None:
    stateful = live("StatefulSet", "db", group="apps", app="other")
    assert names(stateful, live("PersistentVolumeClaim", name)) == [name]


@pytest.mark.parametrize(
    ("rule", "left"),
    [
        ({"kind": "Secret"}, ["b"]),
        ({"kind": "Secret", "name": "a"}, ["b"]),
        ({"kind": "Secret", "name": "c*"}, ["a", "b"]),
        ({"group": "*", "kind": "*"}, []),
        ({"group": "apps", "kind": "*"}, ["a", "b"]),
        ({"kind": 1}, ["a", "b"]),
        ("Secret", ["a", "b"]),
    ],
    ids=str,
)
def test_a_project_may_ignore_some(rule: Any, left: list[str]) -> None:
    assert names(live("Secret", "a"), live("ConfigMap", "b"), ignore=[rule]) == left


PERMITTED = {
    "orphanedResources": {},
    "destinations": [{"server": IN_CLUSTER.server, "namespace": "shop"}],
}


@pytest.mark.parametrize(
    ("rules", "namespace", "registered"),
    [
        (PERMITTED, "kube-system", HERE),
        (PERMITTED, "", HERE),
        ({**PERMITTED, "destinations": []}, "shop", HERE),
        (PERMITTED, "shop", RegisteredCluster(cluster=IN_CLUSTER, project="others")),
        (PERMITTED, "shop", RegisteredCluster(cluster=IN_CLUSTER, namespaces=("web",))),
        ({**PERMITTED, "orphanedResources": None}, "shop", HERE),
    ],
    ids=["denied", "no namespace", "nothing", "of another project", "beyond", "not asked for"],
)
def test_a_namespace_that_is_not_permitted_is_not_looked_at(
    rules: dict[str, Any], namespace: str, registered: RegisteredCluster
) -> None:
    there = {"destination": {"server": IN_CLUSTER.server, "namespace": namespace}}
    assert looks_at(application(), project(PERMITTED), HERE)
    assert not looks_at(application(there), project(rules), registered)


def test_the_namespace_of_an_application_that_the_project_does_not_admit_is_not_looked_at() -> None:
    tenants = application(metadata={"name": "web", "namespace": "tenant"})
    assert not looks_at(tenants, project(PERMITTED), HERE)


def test_a_kind_that_the_project_denies_is_not_looked_at() -> None:
    rules = project(
        {"orphanedResources": {}, "namespaceResourceBlacklist": [{"group": "", "kind": "Secret"}]}
    )
    found = orphans(rules, [live("Secret", "a"), live("ConfigMap", "b")], (), lambda _: False)
    assert [key.kind for key in found] == ["ConfigMap"]


@pytest.mark.parametrize(
    ("written", "warned"), [({"warn": True}, True), ({}, False), ({"warn": False}, False)], ids=str
)
def test_only_a_project_that_says_so_warns(written: Any, *, warned: bool) -> None:
    assert warns(project({"orphanedResources": written})) is warned


def test_an_object_that_came_or_went_is_looked_at_again_in_its_namespace() -> None:
    here = application()
    elsewhere = application({"destination": {"namespace": "other"}}, metadata={"name": "api"})
    one, owned = live("Secret", "a"), live("Secret", "a", owners=("u",))

    def asked(before: LiveObject | None, after: LiveObject | None) -> tuple[CompareApp, ...]:
        return asks_of_orphans(LiveChange(before=before, after=after), (here, elsewhere))

    assert asked(None, one) == asked(one, None) == (CompareApp(app=here.key),)
    assert asked(one, live("Secret", "a", app="other")) == (CompareApp(app=here.key),)
    assert asked(one, one) == asked(None, owned) == ()
