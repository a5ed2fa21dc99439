"""Agents older and newer than the service by two versions: taken as far as both understand."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from bus.link import PROTOCOL, Ack, Fenced, LinkItem, Welcome
from service.store.tables import agents, applications, facts
from tests.service.fake_agent import (
    AgentConnection,
    AgentIdentity,
    FakeOutbox,
    application,
    connect,
)
from tests.service.service_fixture import RunningService

OLDEST, NEWEST = PROTOCOL
NEWER = {
    "protocol": [NEWEST, NEWEST + 2],
    "version": "99.2.0",
    "capabilities": ["task.sync", "task.teleport"],
    "allowed": {"kinds": ["*"], "planets": ["mars"]},
    "fromTheFuture": {"deep": [1, 2, 3]},
}


async def send_hello(link: AgentConnection, identity: AgentIdentity, **more: Any) -> None:
    """As somebody writes it who knows our frames from another version."""
    least = {"account": identity.account, "agent": identity.agent, "instance": "i", "epoch": "e"}
    hello = {"frame": "Hello", **least, "protocol": list(PROTOCOL), "version": "0.0.1", **more}
    await link.socket.send_str(json.dumps(hello))


async def test_a_newer_agent_is_understood_as_far_as_it_goes(
    running_service: RunningService,
) -> None:
    outbox, identity = FakeOutbox(epoch="e"), await running_service.enrolled()
    states = [_plain(outbox.state(application(name))) for name in ("shop", "gizmo")]
    states[0] |= {"signature": "of a later version"}
    states[1] |= {"type": "gizmo.v3", "body": {**states[1]["body"], "kind": "Gizmo"}}
    async with connect(identity) as link:
        await send_hello(link, identity, **NEWER)
        assert (await link.until(Welcome)).protocol == NEWEST
        frame = {"frame": "Items", "items": states, "compressed": False}
        await link.socket.send_str(json.dumps(frame))
        assert (await link.until(Ack)).through == 2
        await link.put([outbox.fact("fact.quantum.leaped.v7", "argocd/shop", {"to": "1969"})])
    assert {row.name for row in await running_service.rows(applications)} == {"shop"}
    assert [row.type for row in await running_service.rows(facts)] == ["fact.quantum.leaped.v7"]
    (row,) = await running_service.rows(agents)
    assert row.agent_version == "99.2.0"


async def test_an_older_agent_that_says_the_least_is_taken_in(
    running_service: RunningService,
) -> None:
    outbox, identity = FakeOutbox(epoch="e"), await running_service.enrolled()
    async with connect(identity) as link:
        await send_hello(link, identity)
        await link.until(Welcome)
        assert (await link.put([outbox.state(application("shop"))])).through == 1
    assert {row.name for row in await running_service.rows(applications)} == {"shop"}


@pytest.mark.parametrize(
    ("protocol", "side"),
    [([OLDEST - 2, OLDEST - 1], "agent"), ([NEWEST + 1, NEWEST + 2], "service")],
    ids=["too old", "too new"],
)
async def test_an_agent_without_a_common_version_learns_which_side_to_upgrade(
    running_service: RunningService, protocol: list[int], side: str
) -> None:
    identity, other = await running_service.enrolled(), await running_service.enrolled("other")
    outbox = FakeOutbox()
    async with connect(identity) as link, connect(other) as good:
        await good.hello(other, outbox.epoch)
        await send_hello(link, identity, protocol=protocol)
        fenced = await link.until(Fenced)
        assert (await good.put([outbox.state(application("shop"))])).through == 1
    assert f"upgrade the {side}" in fenced.reason
    assert fenced.retry_after == 0


def _plain(item: LinkItem) -> dict[str, Any]:
    return dict(json.loads(msgspec.json.encode(item)))
