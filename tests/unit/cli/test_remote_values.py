"""The pure parts of talking to the service: words, refusals, names, events."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any

import pytest

from cli.output import Exit
from cli.remote import change_waiting, tables
from cli.remote.app_list import _filters
from cli.remote.app_sync import _resource
from cli.remote.change_waiting import ServerEvent
from cli.remote.contexts import SavedLogin, ServiceContext, ServiceContexts
from cli.remote.errors import ServiceError, error_of
from cli.remote.events import of_event, of_fact
from cli.remote.formatting import age, clean, lasting, short

NOW = datetime(2026, 11, 21, 10, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("time", "text"),
    [
        ("2026-11-21T09:59:59.900Z", "now"),
        ("2026-11-21T09:59:20Z", "40 s"),
        ("2026-11-21T11:56:00+02:00", "4 min"),
        ("2026-11-21T07:00:00Z", "3 h"),
        ("2026-11-01T10:00:00Z", "20 d"),
        (None, ""),
        ("yesterday", ""),
    ],
)
def test_ages_are_said_in_the_unit_that_fits(time: str | None, text: str) -> None:
    assert age(time, NOW) == text


@pytest.mark.parametrize(("seconds", "text"), [(0.0, "< 1 s"), (0.4, "< 1 s"), (61.0, "1 min")])
def test_what_lasted_a_moment_is_not_said_to_be_now(seconds: float, text: str) -> None:
    assert lasting(seconds) == text


def test_what_others_wrote_cannot_command_a_terminal() -> None:
    assert clean("a\x1b[2Jb\rc\nd\x9be") == "a [2Jb c d e"


def test_a_commit_is_short_and_a_branch_is_whole() -> None:
    assert (short("a" * 40), short("release/1.2")) == ("aaaaaaa", "release/1.2")


@pytest.mark.parametrize("word", ["Healthy", "OutOfSync", "lost", "running", "denied", "Strange"])
def test_a_status_says_its_word_beside_its_shape(word: str) -> None:
    assert tables.status(word).plain.endswith(word)


def test_shapes_differ_where_only_colour_would() -> None:
    good, bad = tables.status("Healthy").plain[0], tables.status("Degraded").plain[0]
    assert good != bad


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (400, Exit.REFUSED),
        (401, Exit.FORBIDDEN),
        (403, Exit.FORBIDDEN),
        (404, Exit.BAD_INPUT),
        (409, Exit.REFUSED),
        (422, Exit.BAD_INPUT),
        (429, Exit.REFUSED),
        (503, Exit.REFUSED),
        (504, Exit.TIMEOUT),
    ],
)
def test_a_refusal_has_its_exit_code(status: int, code: Exit) -> None:
    assert error_of(status, b'{"detail": "no"}').code is code


def test_a_problem_is_told_as_sentences() -> None:
    raw = b'{"detail": "too long", "field": "name", "remedy": "Choose a shorter one."}'
    assert str(error_of(409, raw)) == "too long (field name). Choose a shorter one."


def test_an_answer_of_somebody_else_is_told_as_that() -> None:
    assert "502, and not in its own words" in str(error_of(502, b"<html>bad gateway</html>"))


def test_a_login_is_not_shown_with_its_secret() -> None:
    context = ServiceContext(url="https://x", login=SavedLogin.TOKEN, secret="gt_hush", csrf="hush")
    assert "hush" not in repr(ServiceContexts(current="x", known={"x": context}))


def test_values_of_one_field_are_alternatives() -> None:
    pairs = ["health=Degraded", "health=Missing", "label=a=b"]
    assert _filters(pairs) == {"health": "Degraded,Missing", "label": "a=b"}


@pytest.mark.parametrize("text", ["health", "health=", "colour=red", "limit=1"])
def test_a_filter_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(ServiceError, match="--where: expected FIELD=VALUE"):
        _filters([text])


def test_a_core_object_has_an_empty_group() -> None:
    found = {"group": "", "kind": "ConfigMap", "namespace": "shop", "name": "site"}
    assert _resource("/ConfigMap/shop/site") == found


async def test_events_are_read_from_lines_and_beats_are_passed_over() -> None:
    async def lines() -> AsyncIterator[bytes]:
        for line in (b": beat\n", b"\n", b"id: 7\n", b"event: fact\n", b'data: {"a":1}\n', b"\n"):
            yield line

    assert [it async for it in change_waiting.read_events(lines())] == [
        ServerEvent(name="fact", id="7", data={"a": 1})
    ]


FACT: dict[str, Any] = {
    "id": "7",
    "eventId": "e",
    "agent": "a1",
    "agentName": "prod",
    "type": "app.compared.v1",
    "subject": "argocd/shop",
    "project": "default",
    "environment": "prod",
    "correlation": "c",
    "time": "2026-11-21T10:00:00Z",
    "body": {"status": "OutOfSync", "revision": "a" * 40, "app": "argocd/shop", "changed": 2},
}


def test_a_fact_is_the_same_entry_replayed_and_followed() -> None:
    names = ("subject", "correlation", "body")
    body = {name: FACT[name] for name in names} | {"time": "2026-11-21T11:00:00+01:00", "id": "e"}
    data = {"agent": "a1", "project": "default", "body": {**body, "type": "fact.app.compared.v1"}}
    followed = of_event(ServerEvent(name="fact", id="9", data=data)).structured
    assert followed.pop("position") == "9"
    assert followed == of_fact(FACT).structured
