"""Pushes hop by hop, and logs that pass through."""

import asyncio
from datetime import timedelta
from typing import Any

import msgspec
import pytest
from sqlalchemy import insert

from bus.events import OperationFinished
from bus.events.examples import example_of
from bus.link import Chunk, End
from service.gateway.task_streams import TaskStreams
from service.store import tables
from tests.service.api.api_fixture import ApiFixture


async def test_a_push_is_shown_hop_by_hop(api: ApiFixture) -> None:
    agent = await api.agent("prod")
    id_ = await api.application(agent, "shop", repository="https://git.example/r")
    hops = ("revision.resolved", "manifests.rendered", "app.compared", "operation.finished")
    rows = [
        {
            "agent_id": agent,
            "event_id": f"e{number}",
            "type": f"fact.{name}.v1",
            "subject": "git.example/r" if number == 0 else "argocd/shop",
            "correlation": "c1",
            "time": api.clock() - timedelta(seconds=10) + timedelta(milliseconds=100 * number),
            "body": {"revision": "abc", "phase": "Succeeded"},
        }
        for number, name in enumerate(hops)
    ]
    async with api.engine.begin() as connection:
        await connection.execute(insert(tables.facts), rows)
    viewer = await api.person("viewer")
    (push,) = (await viewer.get(f"/applications/{id_}/pushes")).body["items"]
    assert [(it["name"], it["ms"]) for it in push["hops"]] == [
        ("revision.resolved.v1", 0),
        ("manifests.rendered.v1", 100),
        ("app.compared.v1", 100),
        ("operation.finished.v1", 100),
    ]
    assert (push["commit"]["id"], push["totalMs"]) == ("abc", 300)
    (seen,) = (await viewer.get("/fleet")).body["pushes"]
    assert (seen["commit"], seen["applications"], seen["synced"]) == ("abc", 1, 1)


async def test_author_and_message_are_shown_wherever_a_commit_is_shown(api: ApiFixture) -> None:
    agent = await api.agent("prod")
    where = {"repository": "HTTPS://Git.Example:443/r", "revision": "abc", "health": "Degraded"}
    id_ = await api.application(agent, "shop", **where)
    await report(api, agent, "shop", {"history": [{"id": 3, "revision": "abc"}]})
    other = {"revision": "zzz", "commit": {"author": "Bo", "message": "Another branch"}}
    commit = {"author": "Jane", "message": "Fix it", "time": "2026-01-01T12:00:00Z"}
    await insert_push(
        api,
        agent,
        ("revision.resolved", "https://git.example/r", other),
        ("revision.resolved", "https://git.example/r", {"revision": "abc", "commit": commit}),
        ("operation.finished", "argocd/shop", {"revision": "abc"}),
    )
    viewer = await api.person("viewer")
    (push,) = (await viewer.get(f"/applications/{id_}/pushes")).body["items"]
    (deployed,) = (await viewer.get(f"/applications/{id_}/history")).body["items"]
    fleet = (await viewer.get("/fleet")).body
    assert push["commit"] == {"id": "abc", **commit}
    pushed = (deployed, fleet["needYou"][0], fleet["pushes"][0])
    assert [(it["author"], it["message"]) for it in pushed] == [("Jane", "Fix it")] * 3


async def test_a_deployment_before_the_first_fact_has_the_author_that_the_agent_read(
    api: ApiFixture,
) -> None:
    commit = {"author": "Jane", "message": "Start", "time": "2026-01-01T12:00:00Z"}
    agent = await api.agent("prod")
    id_ = await api.application(agent, "shop", revision="abc", commits={"abc": commit})
    await report(api, agent, "shop", {"history": [{"id": 1, "revision": "abc"}]})
    viewer = await api.person("viewer")
    (deployed,) = (await viewer.get(f"/applications/{id_}/history")).body["items"]
    assert (deployed["author"], deployed["message"]) == ("Jane", "Start")


async def test_a_fact_of_the_timeline_has_the_sentence_of_the_command_line(
    api: ApiFixture,
) -> None:
    agent = await api.agent("prod")
    id_ = await api.application(agent, "shop")
    finished = example_of(OperationFinished)
    body = msgspec.to_builtins(finished)
    newer = ("shop.opened", "argocd/shop", {"word": "of a later agent"})
    await insert_push(api, agent, ("operation.finished", "argocd/shop", body), newer)
    viewer = await api.person("viewer")
    for path in ("/timeline", f"/applications/{id_}/timeline"):
        pushed = {it["type"]: it["sentence"] for it in (await viewer.get(path)).body["items"]}
        assert pushed == {
            "operation.finished.v1": finished.sentence,
            "shop.opened.v1": "shop opened",
        }


async def test_a_commit_that_no_agent_told_of_has_its_id_only(api: ApiFixture) -> None:
    agent = await api.agent("prod")
    where = {"repository": "https://git.example/r", "revision": "abc", "health": "Degraded"}
    await api.application(agent, "shop", **where)
    await insert_push(
        api, agent, ("revision.resolved", "https://git.example/r", {"revision": "abc"})
    )
    viewer = await api.person("viewer")
    (one,) = (await viewer.get("/fleet")).body["needYou"]
    assert (one["commit"], one["author"], one["message"]) == ("abc", "", "")


async def insert_push(
    api: ApiFixture, agent: str, *pushed: tuple[str, str, dict[str, Any]], correlation: str = "c1"
) -> None:
    """Facts of one push, in order."""
    rows = [
        {
            "agent_id": agent,
            "event_id": f"{correlation} {number}",
            "type": f"fact.{name}.v1",
            "subject": subject,
            "correlation": correlation,
            "time": api.clock() - timedelta(seconds=10 - number),
            "body": body,
        }
        for number, (name, subject, body) in enumerate(pushed)
    ]
    async with api.engine.begin() as connection:
        await connection.execute(insert(tables.facts), rows)


async def report(api: ApiFixture, agent: str, name: str, status: dict[str, Any]) -> None:
    """The state of an application, as its agent tells it."""
    mine = {"agent_id": agent, "epoch": "e1"}
    state = {"kind": "Application", "subject": f"argocd/{name}", "as_of": api.clock()}
    async with api.engine.begin() as connection:
        await connection.execute(insert(tables.epochs).values(**mine, state="active"))
        body = {"status": status}
        await connection.execute(insert(tables.objects).values(**mine, **state, body=body))


@pytest.mark.parametrize("stream", ["logs?pod=shop-1", "events/stream"])
async def test_streams_pass_through_and_are_stored_nowhere(api: ApiFixture, stream: str) -> None:
    agent = await api.agent("prod")
    id_ = await api.application(agent, "shop")
    viewer = await api.person("viewer")
    streams = TaskStreams(engine=api.engine, signals=api.dependencies.signals)
    async with asyncio.TaskGroup() as group:
        reading = group.create_task(viewer.get(f"/applications/{id_}/{stream}"))
        task = await _task(api)
        await streams.relay(agent, Chunk(task=task, number=1, text="x7canary line\n", dropped=2))
        await streams.relay(agent, End(task=task, reason="done"))
    text = reading.result().raw.decode()
    assert "x7canary line" in text
    assert "event: dropped\ndata: 2" in text
    assert "event: end" in text
    assert "x7canary" not in str(await api.rows("tasks")) + str(await api.rows("changes"))
    (task_row,) = await api.rows("tasks")
    assert task_row.phase == "cancelled"


async def test_refused_logs_say_why(api: ApiFixture) -> None:
    id_ = await api.application(await api.agent("prod"), "shop")
    viewer = await api.person("viewer")
    async with asyncio.TaskGroup() as group:
        reading = group.create_task(viewer.get(f"/applications/{id_}/logs?pod=shop-1"))
        await api.answer("failed", code="not_allowed", message="read-only")
    assert "read-only" in reading.result().raw.decode()


async def _task(api: ApiFixture) -> str:
    async with asyncio.timeout(120):
        rows: list[Any] = []
        while not rows:
            await asyncio.sleep(0.01)
            rows = await api.rows("tasks")
    return str(rows[0].id)


async def test_only_pushes_are_pushes_and_failures_are_counted(api: ApiFixture) -> None:
    agent = await api.agent("prod")
    ids = [
        await api.application(agent, name, repository="https://git.example/r")
        for name in ("good", "bad")
    ]
    pushed = ("revision.resolved", "https://git.example/r", {"revision": "new"})
    done = {"revision": "new", "phase": "Succeeded"}
    refused = {"revision": "new", "failed": [{"resource": "/Pod/a/b", "status": "SyncFailed"}]}
    await insert_push(
        api,
        agent,
        pushed,
        ("operation.finished", "argocd/good", done),
        ("resources.applied", "argocd/bad", refused),
    )
    invented = {"revision": "nope", "phase": "Error", "message": "no such revision"}
    healed = {"revision": "old", "phase": "Succeeded"}
    for number, body in enumerate((invented, healed)):
        fact = ("operation.finished", "argocd/good", body)
        await insert_push(api, agent, fact, correlation=f"by hand {number}")
    viewer = await api.person("viewer")
    (push,) = (await viewer.get("/fleet")).body["pushes"]
    assert (push["commit"], push["applications"]) == ("new", 2)
    assert (push["synced"], push["failed"]) == (1, 1)
    (seen,) = (await viewer.get(f"/applications/{ids[1]}/pushes")).body["items"]
    assert (seen["outcome"], seen["message"]) == ("failed", "Pod b")
