"""Instances that agents tell: kept in step with the last state, and with the epoch that counts."""

from __future__ import annotations

from typing import Any

from bus.link import StateBody
from service.gateway import epochs as believing
from service.history.batch_follower import FOLLOWERS
from service.lifecycle import now
from service.store.tables import agents, epochs, instances
from tests.service.fake_agent import FakeOutbox, application, connect
from tests.service.service_fixture import RunningService


def running(name: str, *pods: str) -> StateBody:
    reported_pods: list[dict[str, Any]] = [
        {"uid": f"uid-{pod}", "namespace": "web", "name": pod, "images": ["web:1"], "ready": True}
        for pod in pods
    ]
    status = {"pods": reported_pods, "leftOut": 0}
    return StateBody(kind="Instances", namespace="argocd", name=name, status=status)


async def pods(running_service: RunningService) -> set[str]:
    return {row.pod for row in await running_service.rows(instances)}


async def test_the_last_list_counts_and_a_tombstone_ends_it(
    running_service: RunningService,
) -> None:
    identity, outbox = await running_service.enrolled(), FakeOutbox()
    async with connect(identity) as link:
        await link.hello(identity, outbox.epoch)
        await link.put([outbox.state(application("shop"))])
        await link.put([outbox.state(running("shop", "old", "kept"))])
        await link.put([outbox.state(running("shop", "kept", "new"))])
        assert await pods(running_service) == {"kept", "new"}
        await link.put([outbox.gone("Instances", "argocd/shop")])
        assert await pods(running_service) == set()


async def test_a_pod_without_uid_or_of_another_shape_harms_no_other(
    running_service: RunningService,
) -> None:
    identity, outbox = await running_service.enrolled(), FakeOutbox()
    body = running("shop", "good")
    body.status["pods"] += ["nonsense", {"name": "no uid"}, {"uid": "u", "images": "x", "ready": 1}]
    async with connect(identity) as link:
        await link.hello(identity, outbox.epoch)
        await link.put([outbox.state(application("shop")), outbox.state(body)])
    found = {
        row.uid: (row.pod, row.images, row.ready) for row in await running_service.rows(instances)
    }
    assert found == {"uid-good": ("good", ["web:1"], True), "u": ("", [], False)}


async def test_instances_of_an_epoch_go_with_it(running_service: RunningService) -> None:
    identity, first, second = await running_service.enrolled(), FakeOutbox(), FakeOutbox()
    async with connect(identity) as link:
        await link.hello(identity, first.epoch)
        await link.put([first.state(application("shop")), first.state(running("shop", "old"))])
    async with connect(identity) as link:
        await link.hello(identity, second.epoch)
        others = [second.state(application(f"other-{number}")) for number in range(3)]
        await link.put([*others, second.state(running("other-1", "new"))])
        assert await pods(running_service) == {"old"}
        (agent,) = await running_service.rows(agents)
        states = {row.epoch: row.state for row in await running_service.rows(epochs)}
        assert states[second.epoch] == "quarantined"
        async with running_service.service.dependencies.engine.begin() as connection:
            await believing.accept(connection, agent.id, second.epoch, now(), FOLLOWERS)
    assert await pods(running_service) == {"new"}
