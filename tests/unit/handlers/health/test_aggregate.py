"""The health of an application."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bus.identity import ResourceKey
from bus.status import HealthStatus
from handlers.application.status import HealthState, ResourceStatus
from handlers.health.application_health import (
    BEST_TO_WORST,
    HealthMember,
    aggregate,
    is_ignored,
    with_health,
    worse,
)
from handlers.health.states import Health
from handlers.ports import LiveObject

H, P, D = HealthStatus.HEALTHY, HealthStatus.PROGRESSING, HealthStatus.DEGRADED


def member(status: HealthStatus | None, name: str = "x", **more: object) -> HealthMember:
    health = None if status is None else Health(status)
    key = ResourceKey("apps", "Deployment", "shop", name)
    return HealthMember(**{"key": key, "live": True, "health": health} | more)  # type: ignore[arg-type]


MISSING = member(None, live=False)


@pytest.mark.parametrize(
    ("members", "expected"),
    [
        pytest.param([], "Healthy", id="no objects"),
        pytest.param([member(H), member(D), member(P)], "Degraded", id="worst of"),
        pytest.param([member(H), member(None)], "Healthy", id="no health does not count"),
        pytest.param([member(None)], "Healthy", id="only objects without health"),
        pytest.param([member(H), member(D, ignored=True)], "Healthy", id="ignored does not count"),
        pytest.param([member(H), MISSING], "Healthy", id="missing does not worsen"),
        pytest.param([MISSING, MISSING], "Missing", id="none is there"),
        pytest.param([MISSING, member(H, ignored=True)], "Missing", id="a hook is no object"),
        pytest.param([member(H, ignored=True)], "Healthy", id="hooks only"),
    ],
)
def test_health_of_an_application(members: list[HealthMember], expected: str) -> None:
    assert aggregate(members).status.value == expected


@pytest.mark.parametrize(
    ("status", "expected"),
    [("Missing", "Healthy"), ("Unknown", "Healthy"), ("Degraded", "Degraded")],
)
def test_child_application_counts_only_when_it_says_something(status: str, expected: str) -> None:
    child = ResourceKey("argoproj.io", "Application", "argocd", "child")
    members = [member(H), member(HealthStatus(status), key=child)]
    assert aggregate(members).status.value == expected


def test_order_from_best_to_worst() -> None:
    assert [status.value for status in BEST_TO_WORST] == [
        "Healthy",
        "Suspended",
        "Progressing",
        "Missing",
        "Degraded",
        "Unknown",
    ]
    assert worse(D, P)
    assert not worse(H, H)


def test_message_names_up_to_three_causes() -> None:
    members = [member(D, name) for name in "dcba"] + [member(P, "other")]
    message = aggregate(members).message
    assert message == "Caused by Deployment a, Deployment b, Deployment c and 1 more"


@given(st.permutations([member(status, status) for status in (H, P, D, HealthStatus.SUSPENDED)]))
def test_order_of_members_does_not_matter(members: list[HealthMember]) -> None:
    assert aggregate(members) == Health(D, "Caused by Deployment Degraded")


@pytest.mark.parametrize(
    ("annotations", "expected"),
    [
        ({}, False),
        ({"argocd.argoproj.io/ignore-healthcheck": "true"}, True),
        ({"argocd.argoproj.io/ignore-healthcheck": "false"}, False),
        ({"argocd.argoproj.io/hook": "PreSync"}, True),
        ({"argocd.argoproj.io/hook": "Skip"}, True),
    ],
)
def test_hooks_and_told_objects_are_ignored(annotations: dict[str, str], *, expected: bool) -> None:
    assert is_ignored({"metadata": {"annotations": annotations}}) is expected


def test_an_entry_of_the_status_has_the_health_of_its_object() -> None:
    entry = ResourceStatus(group="apps", kind="Deployment", namespace="shop", name="x")
    live = LiveObject(
        key=ResourceKey("apps", "Deployment", "shop", "x"),
        version="v1",
        uid="u",
        resource_version="1",
        health=P,
        health_message="rolls out",
    )
    assert with_health(entry, live).health == HealthState(status=P, message="rolls out")
    assert with_health(entry, None).health == HealthState(status=HealthStatus.MISSING)
    assert with_health(entry, msgspec.structs.replace(live, health=None)).health is None
    hook = msgspec.structs.replace(entry, hook=True)
    assert with_health(hook, live).health is None
