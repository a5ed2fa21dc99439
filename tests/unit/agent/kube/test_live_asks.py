from __future__ import annotations

from typing import Any

import msgspec
import orjson
import pytest

from agent.ingress.watch_asks import asks_for_change
from agent.kube.live_change import LiveChange
from agent.kube.summary import summarise
from bus.events.event import Ask
from bus.events.requests import AssessApp, CompareApp, DeleteApp
from bus.identity import AppKey
from bus.status import HealthStatus
from handlers.application.ignore_rules import ignore_rules, read_rule
from handlers.application.spec import IgnoreDifference
from handlers.ports import LiveObject
from tests.unit.agent.kube.object_samples import config_map, live

SHOP = AppKey("argocd", "shop")
SHELF = AppKey("argocd", "shelf")
BLUE = live()
RED = live(data={"colour": "red"})
SICK = msgspec.structs.replace(BLUE, health=HealthStatus.DEGRADED)
DYING = msgspec.structs.replace(BLUE, deleting=True)
NEXT = live(uid="uid-next")
UNTRACKED = live(app="")
SHELVED = live(app="shelf")
COPY = msgspec.structs.replace(BLUE, key=live("other").key)


def app_of(identity: str) -> AppKey | None:
    return {"shop": SHOP, "shelf": SHELF}.get(identity)


def asked(before: LiveObject | None, after: LiveObject | None, **words: Any) -> tuple[Ask, ...]:
    deleting = words.get("deleting", False)
    return asks_for_change(LiveChange(before=before, after=after), app_of, lambda _: deleting)


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        pytest.param(BLUE, RED, (CompareApp(app=SHOP),), id="content"),
        pytest.param(BLUE, None, (CompareApp(app=SHOP),), id="vanished"),
        pytest.param(None, BLUE, (CompareApp(app=SHOP),), id="appeared"),
        pytest.param(BLUE, NEXT, (CompareApp(app=SHOP),), id="recreated"),
        pytest.param(BLUE, SICK, (AssessApp(app=SHOP),), id="health"),
        pytest.param(BLUE, DYING, (AssessApp(app=SHOP),), id="deletion begun"),
        pytest.param(BLUE, BLUE, (), id="nothing"),
        pytest.param(BLUE, UNTRACKED, (CompareApp(app=SHOP),), id="tracking removed"),
        pytest.param(BLUE, SHELVED, (CompareApp(app=SHOP), CompareApp(app=SHELF)), id="moved"),
        pytest.param(UNTRACKED, None, (), id="of nobody"),
        pytest.param(COPY, None, (), id="copied annotation"),
        pytest.param(live(app="ghost"), None, (), id="of an unknown application"),
    ],
)
def test_a_change_asks_for(
    before: LiveObject | None, after: LiveObject | None, expected: tuple[Ask, ...]
) -> None:
    assert asked(before, after) == expected


def test_an_application_that_is_being_deleted_goes_on_when_an_object_vanished() -> None:
    assert asked(BLUE, None, deleting=True) == (DeleteApp(app=SHOP),)


def test_an_application_that_is_being_deleted_is_neither_compared_nor_assessed() -> None:
    assert asked(BLUE, RED, deleting=True) == asked(BLUE, SICK, deleting=True) == ()


COLOUR = ignore_rules(
    (), (read_rule(IgnoreDifference(kind="*", json_pointers=("/data/colour",)), "argocd-cm"),)
)
BOTH = live(data={"colour": "red", "size": "big"})
RED_AND_SICK = msgspec.structs.replace(RED, health=HealthStatus.DEGRADED)


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        pytest.param(BLUE, RED, (), id="ignored field"),
        pytest.param(BLUE, BOTH, (CompareApp(app=SHOP),), id="another field too"),
        pytest.param(BLUE, RED_AND_SICK, (AssessApp(app=SHOP),), id="ignored field and health"),
        pytest.param(BLUE, None, (CompareApp(app=SHOP),), id="vanished"),
        pytest.param(RED, NEXT, (CompareApp(app=SHOP),), id="recreated"),
    ],
)
def test_a_change_of_ignored_fields_alone_is_not_compared(
    before: LiveObject, after: LiveObject | None, expected: tuple[Ask, ...]
) -> None:
    change = LiveChange(before=before, after=after)
    assert asks_for_change(change, app_of, lambda _: False, COLOUR) == expected


def test_a_deletion_goes_on_when_a_hook_has_another_health() -> None:
    manifest = config_map()
    manifest["metadata"]["annotations"]["argocd.argoproj.io/hook"] = "PreDelete"
    hook = summarise(orjson.dumps(manifest))
    failed = msgspec.structs.replace(hook, health=HealthStatus.DEGRADED)
    assert asked(hook, failed, deleting=True) == (DeleteApp(app=SHOP),)
    assert asked(hook, hook, deleting=True) == ()
