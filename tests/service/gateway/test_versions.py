"""Agents older and newer than the service by two versions: taken as far as both understand."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from bus.link import PROTOCOL, Ack, Fenced, Item, Welcome
from service.store.tables import agents, applications, facts
from tests.service.client import Connection, Identity, Outbox, application, connect
from tests.service.world import World

OLDEST, NEWEST = PROTOCOL
NEWER = {
    "protocol": [NEWEST, NEWEST + 2],
    "version": "99.2.0",
    "capabilities": ["task.sync", "task.teleport"],
    "allowed": {"kinds": ["*"], "planets": ["mars"]},
    "fromTheFuture": {"deep": [1, 2, 3]},
}


async def say_hello(link: Connection, identity: Identity, **more: Any) -> None:
    """As somebody writes it who knows our frames from another version."""
    least = {"account": identity.account, "agent": identity.agent, "instance": "i", "epoch": "e"}
    hello = {"frame": "Hello", **least, "protocol": list(PROTOCOL), "version": "0.0.1", **more}
    await link.socket.send_str(json.dumps(hello))


async def test_a_newer_agent_is_understood_as_far_as_it_goes(world: World) -> None:
    outbox, identity = Outbox(epoch="e"), await world.enrolled()
    told = [_plain(outbox.state(application(name))) for name in ("shop", "gizmo")]
    told[0] |= {"signature": "of a later version"}
    told[1] |= {"type": "gizmo.v3", "body": {**told[1]["body"], "kind": "Gizmo"}}
    async with connect(identity) as link:
        await say_hello(link, identity, **NEWER)
        assert (await link.until(Welcome)).protocol == NEWEST
        frame = {"frame": "Items", "items": told, "compressed": False}
        await link.socket.send_str(json.dumps(frame))
        assert (await link.until(Ack)).through == 2
        await link.put([outbox.fact("fact.quantum.leaped.v7", "argocd/shop", {"to": "1969"})])
    assert {row.name for row in await world.rows(applications)} == {"shop"}
    assert [row.type for row in await world.rows(facts)] == ["fact.quantum.leaped.v7"]
    (row,) = await world.rows(agents)
    assert row.agent_version == "99.2.0"


async def test_an_older_agent_that_says_the_least_is_taken_in(world: World) -> None:
    outbox, identity = Outbox(epoch="e"), await world.enrolled()
    async with connect(identity) as link:
        await say_hello(link, identity)
        await link.until(Welcome)
        assert (await link.put([outbox.state(application("shop"))])).through == 1
    assert {row.name for row in await world.rows(applications)} == {"shop"}


@pytest.mark.parametrize(
    ("protocol", "side"),
    [([OLDEST - 2, OLDEST - 1], "agent"), ([NEWEST + 1, NEWEST + 2], "service")],
    ids=["too old", "too new"],
)
async def test_who_speaks_no_common_version_is_told_which_side_to_upgrade(
    world: World, protocol: list[int], side: str
) -> None:
    identity, other = await world.enrolled(), await world.enrolled("other")
    outbox = Outbox()
    async with connect(identity) as link, connect(other) as good:
        await good.hello(other, outbox.epoch)
        await say_hello(link, identity, protocol=protocol)
        fenced = await link.until(Fenced)
        assert (await good.put([outbox.state(application("shop"))])).through == 1
    assert f"upgrade the {side}" in fenced.reason
    assert fenced.retry_after == 0


def _plain(item: Item) -> dict[str, Any]:
    return dict(json.loads(msgspec.json.encode(item)))
