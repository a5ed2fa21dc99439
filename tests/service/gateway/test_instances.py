"""Instances that agents tell: kept in step with the last state, and with the epoch that counts."""

from __future__ import annotations

from typing import Any

from bus.link import StateBody
from service.app import now
from service.gateway import epochs as believing
from service.rooms_follow import FOLLOWERS
from service.store.tables import agents, epochs, instances
from tests.service.client import Outbox, application, connect
from tests.service.world import World


def running(name: str, *pods: str) -> StateBody:
    said: list[dict[str, Any]] = [
        {"uid": f"uid-{pod}", "namespace": "web", "name": pod, "images": ["web:1"], "ready": True}
        for pod in pods
    ]
    status = {"pods": said, "leftOut": 0}
    return StateBody(kind="Instances", namespace="argocd", name=name, status=status)


async def pods(world: World) -> set[str]:
    return {row.pod for row in await world.rows(instances)}


async def test_the_last_list_counts_and_a_tombstone_ends_it(world: World) -> None:
    identity, outbox = await world.enrolled(), Outbox()
    async with connect(identity) as link:
        await link.hello(identity, outbox.epoch)
        await link.put([outbox.state(application("shop"))])
        await link.put([outbox.state(running("shop", "old", "kept"))])
        await link.put([outbox.state(running("shop", "kept", "new"))])
        assert await pods(world) == {"kept", "new"}
        await link.put([outbox.gone("Instances", "argocd/shop")])
        assert await pods(world) == set()


async def test_a_pod_without_uid_or_of_another_shape_harms_no_other(world: World) -> None:
    identity, outbox = await world.enrolled(), Outbox()
    body = running("shop", "good")
    body.status["pods"] += ["nonsense", {"name": "no uid"}, {"uid": "u", "images": "x", "ready": 1}]
    async with connect(identity) as link:
        await link.hello(identity, outbox.epoch)
        await link.put([outbox.state(application("shop")), outbox.state(body)])
    found = {row.uid: (row.pod, row.images, row.ready) for row in await world.rows(instances)}
    assert found == {"uid-good": ("good", ["web:1"], True), "u": ("", [], False)}


async def test_instances_of_an_epoch_go_with_it(world: World) -> None:
    identity, first, second = await world.enrolled(), Outbox(), Outbox()
    async with connect(identity) as link:
        await link.hello(identity, first.epoch)
        await link.put([first.state(application("shop")), first.state(running("shop", "old"))])
    async with connect(identity) as link:
        await link.hello(identity, second.epoch)
        others = [second.state(application(f"other-{number}")) for number in range(3)]
        await link.put([*others, second.state(running("other-1", "new"))])
        assert await pods(world) == {"old"}
        (agent,) = await world.rows(agents)
        states = {row.epoch: row.state for row in await world.rows(epochs)}
        assert states[second.epoch] == "quarantined"
        async with world.service.parts.engine.begin() as connection:
            await believing.accept(connection, agent.id, second.epoch, now(), FOLLOWERS)
    assert await pods(world) == {"new"}
