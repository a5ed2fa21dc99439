"""What scripts of discovery and of actions return becomes offers and changes."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from handlers.actions.action import ActionChangeKind, ActionError
from handlers.actions.listing import DISABLED_BY_SCRIPT, ActionOffer, DiscoveryError, discovered
from handlers.actions.script_changes import script_changes

LIVE: dict[str, Any] = {
    "apiVersion": "example.com/v1",
    "kind": "Thing",
    "metadata": {"name": "a", "namespace": "n"},
    "spec": {"size": 1, "labels": {}, "items": [{"more": {}}]},
    "status": {"phase": "Old"},
}


def answered(value: object) -> bytes:
    return msgspec.json.encode(value)


def changed(value: object) -> list[tuple[str, Any]]:
    return [(one.kind.value, one.content) for one in script_changes(answered(value), LIVE)]


def test_a_table_by_name_is_a_list_of_actions() -> None:
    answer = {
        "restart": [],
        "pause": {"disabled": True, "iconClass": "x", "displayName": "Hold"},
        "scale": {"params": [{"name": "replicas", "type": "number"}]},
    }

    assert discovered(answered(answer)) == (
        ActionOffer(name="pause", disabled=True, title="Hold", why=DISABLED_BY_SCRIPT),
        ActionOffer(name="restart"),
        ActionOffer(name="scale", params=("replicas",)),
    )


@pytest.mark.parametrize("answer", [None, []], ids=repr)
def test_an_empty_answer_is_no_action(answer: object) -> None:
    assert discovered(answered(answer)) == ()


@pytest.mark.parametrize("answer", ["x", 1, ["x"], {"a": 3}], ids=repr)
def test_another_answer_is_refused(answer: object) -> None:
    with pytest.raises(DiscoveryError, match="expected a table of actions"):
        discovered(answered(answer))


def test_an_object_becomes_a_patch_and_one_of_its_status() -> None:
    wanted = {**LIVE, "spec": {**LIVE["spec"], "size": 2}, "status": {"phase": "New"}}

    assert changed(wanted) == [
        (ActionChangeKind.PATCH_STATUS, {"status": {"phase": "New"}}),
        (ActionChangeKind.PATCH, {"spec": {"size": 2}}),
    ]


def test_empty_tables_stay_what_they_were() -> None:
    spec = {"size": 1, "labels": [], "items": [{"more": []}]}

    assert changed({**LIVE, "spec": spec}) == []


def test_a_list_patches_the_object_and_creates_others() -> None:
    other = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "b"}}
    wanted = {**LIVE, "spec": {"size": 2}}
    made = changed(
        [
            {"operation": "create", "resource": other},
            {"operation": "patch", "resource": wanted},
        ]
    )

    assert made == [
        (ActionChangeKind.CREATE, other),
        (ActionChangeKind.PATCH, {"spec": {"size": 2, "labels": None, "items": None}}),
    ]


@pytest.mark.parametrize(
    "answer",
    [
        None,
        [],
        "x",
        [{"operation": "create"}],
        [{"operation": "delete", "resource": LIVE}],
        [{"operation": "patch", "resource": {**LIVE, "kind": "Other"}}],
        [{"operation": "create", "resource": LIVE}] * 101,
    ],
    ids=["nothing", "empty", "text", "no resource", "delete", "another object", "too many"],
)
def test_an_answer_that_is_no_change_is_refused(answer: object) -> None:
    with pytest.raises(ActionError):
        script_changes(answered(answer), LIVE)
