"""The customer's own limits: what they say, and that nothing goes past them."""

import pytest

from agent.bridge.allow import Limits, Rate, read_limits
from bus.link import TaskKind


def test_without_limits_everything_of_this_version_is_allowed() -> None:
    limits = read_limits(None)
    assert [limits.refusal(kind, ("shop",)) for kind in TaskKind] == [""] * len(TaskKind)


@pytest.mark.parametrize("kind", TaskKind)
def test_read_only_means_that_nothing_is_written(kind: TaskKind) -> None:
    limits = read_limits({"readOnly": "true"})
    assert bool(limits.refusal(kind, ())) == kind.writes


def test_only_the_named_kinds_and_namespaces_are_allowed() -> None:
    limits = read_limits({"kinds": "sync, tree", "namespaces": "shop-*\nblog"})
    assert limits.refusal(TaskKind.SYNC, ("shop-eu",)) == ""
    assert "kind put" in limits.refusal(TaskKind.PUT, ("shop-eu",))
    assert "namespace kube-system" in limits.refusal(TaskKind.SYNC, ("blog", "kube-system"))
    assert "namespace (cluster)" in limits.refusal(TaskKind.SYNC, ("",))


@pytest.mark.parametrize(
    "data",
    [
        {"readonly": "true"},
        {"readOnly": "maybe"},
        {"kinds": "sync,everything"},
        {"maxPerMinute": "many"},
    ],
    ids=str,
)
def test_limits_that_cannot_be_understood_allow_nothing_that_writes(data: dict[str, str]) -> None:
    limits = read_limits(data)
    assert "cannot be understood" in limits.refusal(TaskKind.SYNC, ("shop",))
    assert limits.shown()["readOnly"] is True


def test_the_rate_counts_any_minute() -> None:
    rate = Rate()
    assert [rate.admits(2, now) for now in (0, 1, 2, 59, 60.5, 60.6)] == [
        *(True, True, False, False),
        *(True, False),
    ]


def test_what_is_shown_is_what_holds() -> None:
    assert Limits().shown() == {
        "kinds": ["*"],
        "namespaces": ["*"],
        "maxPerMinute": 100,
        "readOnly": False,
        "configMaps": [],
    }
