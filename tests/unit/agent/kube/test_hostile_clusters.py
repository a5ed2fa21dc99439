"""A destination cluster that answers what no API server does ends its own contact only."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

import orjson
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from agent.kube import cluster_session, discovery, list_watch
from agent.kube.cluster_auth import ClusterTls, NoAuth
from agent.kube.cluster_secret import ClusterSecret
from agent.kube.cluster_session import ClusterSession
from agent.kube.index import LiveIndex
from agent.kube.list_watch import pages
from agent.kube.memory_budget import MemoryBudget, MemoryBudgetError
from agent.kube.own_session import SessionSources
from agent.kube.session_state import SessionState
from bus.identity import ResourceKey
from handlers.application.destination import DestinationCluster, RegisteredCluster
from handlers.ports import ClusterUnreachableError, LiveObject
from tests.unit.agent.kube.kube_fixture import until
from tests.unit.agent.kube.test_transport import answered

KUBE_SYSTEM = "/api/v1/namespaces/kube-system"
TOYS = "/apis/toys.example/v1/toys"
TOY = {"metadata": {"name": "t", "uid": "t", "resourceVersion": "4"}}
USUAL: dict[str, Any] = {
    "/version": {"gitVersion": "v1.31.0"},
    KUBE_SYSTEM: {"metadata": {"name": "kube-system", "uid": "u"}},
    "/api": {"kind": "APIVersions", "versions": []},
    "/apis": {
        "kind": "APIGroupList",
        "groups": [{"versions": [{"groupVersion": "toys.example/v1"}]}],
    },
    "/apis/toys.example/v1": {
        "groupVersion": "toys.example/v1",
        "resources": [{"name": "toys", "kind": "Toy", "verbs": ["list", "watch"]}],
    },
    TOYS: {"metadata": {"resourceVersion": "5"}, "items": [TOY]},
}
"""Of a small cluster of one kind."""


HELD = LiveObject(
    key=ResourceKey("", "ConfigMap", "", "m"),
    version="v1",
    uid="",
    resource_version="1",
    body=b"{  }",
)


def no_listener(_session: ClusterSession, _index: LiveIndex) -> None: ...


@asynccontextmanager
async def contact(
    answers: Mapping[str, Any],
    on_index: Callable[[ClusterSession, LiveIndex], None] = no_listener,
    budget: Callable[[], MemoryBudget] = MemoryBudget,
) -> AsyncIterator[tuple[ClusterSession, asyncio.Task[None]]]:
    """The session of a cluster that answers as usual but for these paths, and its task."""
    spoken = {**USUAL, **answers}

    async def answer(request: web.Request) -> web.StreamResponse:
        if "watch" in request.query:
            stream = web.StreamResponse()
            await stream.prepare(request)
            await asyncio.Event().wait()
        found = spoken.get(request.path)
        if found is None:
            return web.Response(status=404)
        if isinstance(found, web.Response):
            return web.Response(status=found.status, body=found.body)
        return web.Response(body=found if isinstance(found, bytes) else orjson.dumps(found))

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", answer)
    async with TestServer(app) as server:
        url = str(server.make_url("")).rstrip("/")
        secret = ClusterSecret(
            secret="argocd/toys",
            registered=RegisteredCluster(cluster=DestinationCluster(server=url, name="toys")),
            auth=NoAuth(),
            tls=ClusterTls(),
        )
        sources = SessionSources(
            new_index=lambda: LiveIndex("argocd"), own_uid=lambda: "", new_budget=budget
        )
        session = ClusterSession(secret, sources, on_index)
        task = asyncio.ensure_future(session.run())
        try:
            yield session, task
        finally:
            task.cancel()
            await asyncio.wait([task])


async def settled(session: ClusterSession, task: asyncio.Task[None]) -> None:
    await until(lambda: task.done() or session.state is not SessionState.CONNECTING)
    assert not task.done(), task.exception()


UNREADABLE = {
    "a page of a proxy": b"<html>Sign in</html>",
    "a namespace without a name": {"metadata": {"uid": "u"}},
    "no object": [],
}


@pytest.mark.parametrize("answer", UNREADABLE.values(), ids=UNREADABLE)
async def test_what_is_no_namespace_fails_the_session_with_the_address(answer: object) -> None:
    async with contact({KUBE_SYSTEM: answer}) as (session, task):
        await settled(session, task)
        assert session.state is SessionState.FAILED
        assert f"no API server answers at {session.cluster.server}" in session.message


MALFORMED = {
    "a version of 5000 digits": {TOYS: {"metadata": {"resourceVersion": "9" * 5000}, "items": []}},
    "verbs that are a number": {
        "/apis/toys.example/v1": {"resources": [{"name": "toys", "kind": "Toy", "verbs": 5}]}
    },
    "versions that are a number": {"/api": {"kind": "APIVersions", "versions": 5}},
}


@pytest.mark.parametrize("answers", MALFORMED.values(), ids=MALFORMED)
async def test_what_has_the_wrong_shape_reads_as_absent(answers: Mapping[str, object]) -> None:
    async with contact(answers) as (session, task):
        await settled(session, task)
        assert session.state is SessionState.SUCCESSFUL


async def test_an_error_that_nobody_foresaw_ends_no_more_than_one_contact() -> None:
    def listen(_session: ClusterSession, index: LiveIndex) -> None:
        index.all_changes.subscribe(break_down)

    def break_down(_before: object, _after: object) -> None:
        raise TypeError("a reader's defect, with a secret")

    async with contact({}, listen) as (session, task):
        await settled(session, task)
        assert session.state is SessionState.FAILED
        assert "its answers broke the contact (TypeError)" in session.message
        assert "secret" not in session.message


async def test_a_session_that_is_cancelled_while_it_fails_ends() -> None:
    """A TaskGroup that is cancelled tells only of the failure."""
    ending: list[asyncio.Task[None]] = []

    def listen(_session: ClusterSession, index: LiveIndex) -> None:
        index.all_changes.subscribe(break_down)

    def break_down(_before: object, _after: object) -> None:
        ending[0].cancel()
        raise TypeError

    async with contact({}, listen) as (_session, task):
        ending.append(task)
        await until(task.done)
        assert task.cancelled()


SMALL = {
    "objects": lambda: MemoryBudget(objects=1),
    "bytes": lambda: MemoryBudget(size=1000),
}


@pytest.mark.parametrize("budget", SMALL.values(), ids=SMALL)
async def test_a_cluster_with_too_much_fails_and_nothing_of_it_is_kept(
    budget: Callable[[], MemoryBudget],
) -> None:
    owners = [{"uid": "o" * 600}]
    toys = [
        {"metadata": {"name": it, "uid": it, "resourceVersion": "4", "ownerReferences": owners}}
        for it in ("one", "two")
    ]
    many = {TOYS: {"metadata": {"resourceVersion": "5"}, "items": toys}}
    async with contact(many, budget=budget) as (session, task):
        await until(lambda: task.done() or "more than the agent keeps" in session.message)
        assert not task.done()
        await until(lambda: not session.is_open)


async def test_what_left_a_cluster_leaves_its_budget() -> None:
    budget = MemoryBudget(objects=1, size=len(HELD.key.name) + len(HELD.body))
    for _ in range(3):
        budget.note(None, HELD)
        budget.note(HELD, HELD)
        budget.note(HELD, None)
    budget.note(None, HELD)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0):
            await budget.exceeded()
    budget.note(None, HELD)
    with pytest.raises(MemoryBudgetError, match="1 objects and 5 bytes"):
        await budget.exceeded()


async def test_a_list_without_end_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(list_watch, "_MOST_PAGES", 3)

    async def endless(_: web.Request) -> web.Response:
        return web.json_response({"metadata": {"continue": "more"}, "items": []})

    async with answered(endless) as client:
        with pytest.raises(ClusterUnreachableError, match="the list /toys does not end"):
            async for _page in pages(client, "/toys"):
                pass


async def test_a_cluster_of_too_many_kinds_is_not_followed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(discovery, "MOST_KINDS", 1)
    toys = {"name": "toys", "kind": "Toy", "verbs": ["list", "watch"]}
    answers = {"/apis/toys.example/v1": {"resources": [toys, {**toys, "kind": "Doll"}]}}
    async with contact(answers) as (session, task):
        await until(lambda: session._contact is not None)
        assert session._contact is not None
        with pytest.raises(ClusterUnreachableError, match="serves 2 kinds"):
            await session._contact.live.look()
        assert not task.done()


async def test_an_answer_that_is_too_long_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster_session, "_LARGEST_ANSWER", 1000)
    async with contact({"/version": b" " * 2000}) as (session, task):
        await settled(session, task)
        assert "sent an answer of more than 1000 bytes" in session.message
