"""Which objects can be seen, and what is said of those that cannot."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from aiohttp import web

from agent.kube import watch
from agent.kube.session_state import SessionState
from agent.kube.watch import WatchState
from bus.identity import ResourceKey
from tests.unit.agent.kube.kube_fixture import until
from tests.unit.agent.kube.test_hostile_clusters import TOYS, contact, settled

TOY = ResourceKey("toys.example", "Toy", "", "t")
MAPS = "/api/v1/configmaps"
WITH_MAPS: dict[str, Any] = {
    "/api": {"kind": "APIVersions", "versions": ["v1"]},
    "/api/v1": {
        "groupVersion": "v1",
        "resources": [{"name": "configmaps", "kind": "ConfigMap", "verbs": ["list", "watch"]}],
    },
    MAPS: {"metadata": {"resourceVersion": "5"}, "items": []},
}


def answering(code: int, message: str = "") -> web.Response:
    return web.json_response({"kind": "Status", "code": code, "message": message}, status=code)


async def test_what_is_watched_or_not_served_has_no_gap() -> None:
    async with contact({}) as (session, task):
        await settled(session, task)

        assert session.live.coverage_gap(TOY) == ""
        assert session.live.coverage_gap(ResourceKey("", "ConfigMap", "shop", "a")) == ""


UNSEEN: dict[str, tuple[Mapping[str, Any], str]] = {
    "no right": ({TOYS: answering(403, "toys is forbidden")}, "grant it get, list and watch"),
    "its own server is away": (
        {"/apis/toys.example/v1": answering(503)},
        "repair or delete its APIService",
    ),
    "nothing but errors": ({TOYS: answering(500, "conversion webhook failed")}, "webhook failed"),
}


@pytest.mark.parametrize(("answers", "words"), UNSEEN.values(), ids=UNSEEN)
async def test_a_kind_that_cannot_be_seen_is_named_and_others_are_seen(
    answers: Mapping[str, Any], words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watch, "_ERRORS_TO_BELIEVE", 2)
    async with contact({**WITH_MAPS, **answers}) as (session, task):
        await settled(session, task)

        assert session.state is SessionState.SUCCESSFUL
        assert words in session.live.coverage_gap(TOY)
        assert "Toy.toys.example" in session.live.coverage_gap(TOY)
        assert session.live.coverage_gap(ResourceKey("", "ConfigMap", "shop", "a")) == ""


async def test_a_server_that_gives_errors_for_every_kind_is_not_ready(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(watch, "_ERRORS_TO_BELIEVE", 2)
    async with contact({TOYS: answering(500, "etcd is away")}) as (session, task):
        await until(lambda: task.done() or _refused(session))
        assert not task.done()
        assert session.state is SessionState.CONNECTING
        assert not session.is_open


def _refused(session: Any) -> bool:
    contact_ = session._contact
    return contact_ is not None and bool(contact_.live._watches.being(WatchState.REFUSED))
