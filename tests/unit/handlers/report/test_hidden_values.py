"""What is hidden in an object stays hidden, however a change moves it or what stands beside it."""

from __future__ import annotations

from typing import Any

import pytest

from handlers.application.patch import patched
from handlers.report.hidden_values import (
    RevealedValueError,
    check_edit,
    hidden_texts,
    unrevealed,
    without,
)
from handlers.report.known_secrets import KnownSecrets
from handlers.report.redaction import Redaction
from handlers.report.restored_objects import UnknownMaskError, restored

GATE = Redaction(salt=b"salt", known=KnownSecrets(b"salt"))
CONTAINER: dict[str, Any] = {
    "name": "web",
    "image": "web:1",
    "args": ["--password", "correcthorse", "--token=battery"],
    "env": [{"name": "DB_PASSWORD", "value": "hunter2"}, {"name": "LEVEL", "value": "info"}],
}


def deployment(**container: Any) -> dict[str, Any]:
    containers = [{**CONTAINER, **container}]
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "shop"},
        "spec": {"template": {"spec": {"containers": containers}}},
    }


LIVE = deployment()
SHOWN: dict[str, Any] = GATE.manifest(LIVE)["spec"]["template"]["spec"]["containers"][0]
ARGS, ENV = SHOWN["args"], SHOWN["env"]


def edited(**container: Any) -> dict[str, Any]:
    """The object after an edit of the container as it was shown."""
    patch = {"spec": {"template": {"spec": {"containers": [{**SHOWN, **container}]}}}}
    after = patched(LIVE, restored(patch, LIVE, GATE))
    check_edit(LIVE, patch, after, GATE)
    return after


@pytest.mark.parametrize(
    "change",
    [
        {"env": [{**ENV[0], "name": "GREETING"}, ENV[1]]},
        {"env": [{**ENV[0], "name": "GREETING"}]},
        {"env": [{"name": "LEVEL", "value": ENV[0]["value"]}]},
        {"args": ["--verbose", *ARGS[1:]]},
        {"args": [ARGS[1]]},
        {"args": [ARGS[1], *ARGS[2:]]},
        {"command": ARGS[:2], "args": []},
        {"args": [f"x{ARGS[2]}"]},
    ],
    ids=["renamed", "renamed alone", "moved", "flag", "alone", "shifted", "elsewhere", "inside"],
)
def test_a_hidden_value_is_not_moved_to_where_it_is_shown(change: dict[str, Any]) -> None:
    with pytest.raises((RevealedValueError, UnknownMaskError)):
        edited(**change)


@pytest.mark.parametrize(
    ("live", "patch"),
    [
        ({"mysql": {"args": ["-phunter2"], "image": "mysql:8"}}, {"mysql": {"image": "web:1"}}),
        ({"entry": {"name": "password", "value": "hunter2"}}, {"entry": {"name": "greeting"}}),
        ({"entry": {"name": "password", "value": 12345}}, {"entry": {"name": "greeting"}}),
        ({"made": {"kind": "Secret", "data": {"a": "aHVudGVy"}}}, {"made": {"kind": None}}),
    ],
    ids=["program", "name", "number", "kind"],
)
def test_a_sibling_that_hides_a_value_is_not_taken_away(
    live: dict[str, Any], patch: dict[str, Any]
) -> None:
    with pytest.raises(RevealedValueError, match="would show a hidden value"):
        check_edit(live, patch, patched(live, patch), GATE)


def test_other_edits_keep_hidden_values() -> None:
    assert edited(image="web:2") == deployment(image="web:2")
    assert edited(env=[ENV[1], ENV[0]]) == deployment(env=CONTAINER["env"][::-1])
    assert edited(args=[*ARGS, "-v"]) == deployment(args=[*CONTAINER["args"], "-v"])
    known = [{"name": "GREETING", "value": "hello"}, CONTAINER["env"][1]]
    assert edited(env=known) == deployment(env=known)


def test_a_guess_of_a_hidden_value_is_an_edit_like_any_other() -> None:
    guess = [{"name": "GREETING", "value": "hunter2"}]
    assert edited(env=guess) == deployment(env=guess)


def test_hidden_texts_are_found_whole_and_in_parts_and_masked_in_messages() -> None:
    hidden = hidden_texts(LIVE, GATE)
    assert {"hunter2", "correcthorse", "battery"} <= hidden
    assert hidden.isdisjoint({"web", "info", "LEVEL", "--password", "--token="})
    message = without('env: {Value: "hunter2"}, args --token=battery, battery', hidden)
    assert message == 'env: {Value: "(hidden)"}, args (hidden), (hidden)'
    assert without(r'was "a\"b\nc"', {'a"b\nc'}) == 'was "(hidden)"'


def test_a_created_object_shows_no_hidden_value_of_its_source() -> None:
    made = {"spec": {"note": "hunter2", "level": "info", "all": ["correcthorse"]}}
    shown = unrevealed(made, hidden_texts(LIVE, GATE))
    assert shown == {"spec": {"note": "(hidden)", "level": "info", "all": ["(hidden)"]}}
