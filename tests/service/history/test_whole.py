"""From an agent's socket to the ledger and the audit, through the running service."""

from __future__ import annotations

from datetime import timedelta

import msgspec
import pytest

from bus.events import Fact
from bus.events.registry import wire_type
from service.store.tables import audit, changes, drifts
from tests.service.client import Outbox, application, connect
from tests.service.history.said import APP, START, WEB, detail, differs, finished, synced
from tests.service.world import World, open_service, settings

pytestmark = pytest.mark.flow


async def test_what_an_agent_tells_becomes_a_drift_that_was_healed(database_url: str) -> None:
    told: tuple[Fact, ...] = (
        synced(),
        differs(WEB, details=(detail(WEB, "spec.replicas", manager="kubectl-edit"),)),
        finished(),
    )
    async with open_service(settings(database_url)) as service:
        world = World(service)
        outbox, identity = Outbox(), await world.enrolled(environment="dev")
        async with connect(identity) as link:
            await link.hello(identity, outbox.epoch)
            items = [outbox.state(application("shop"))]
            items += [outbox.fact(wire_type(it), str(APP), msgspec.to_builtins(it)) for it in told]
            for number, item in enumerate(items):
                time = (START + timedelta(seconds=number)).isoformat()
                await link.put([msgspec.structs.replace(item, time=time)])
        (drift,) = await world.rows(drifts)
        types = {it.type for it in await world.rows(changes)}
        records = {(it.action, it.actor) for it in await world.rows(audit)}
    assert (drift.object, drift.actor, drift.ended_how) == (WEB, "kubectl-edit", "healed")
    assert drift.fields == ["spec.replicas"]
    assert {"drift.began", "drift.ended", "fact", "application.changed"} <= types
    assert {("drift.began", "kubectl-edit"), ("application.synced", "automated sync")} <= records
