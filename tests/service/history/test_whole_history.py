"""From an agent's socket to the ledger and the audit, through the running service."""

from __future__ import annotations

from datetime import timedelta

import msgspec

from bus.events import Fact
from bus.events.event import wire_type
from service.store.tables import audit, changes, drifts
from tests.service.fake_agent import FakeOutbox, application, connect
from tests.service.history.recorded_fact_samples import (
    APP,
    START,
    WEB,
    detail,
    differs,
    finished,
    synced,
)
from tests.service.service_fixture import RunningService, open_service, settings


async def test_facts_of_an_agent_become_a_drift_that_was_healed(database_url: str) -> None:
    published: tuple[Fact, ...] = (
        synced(),
        differs(WEB, details=(detail(WEB, "spec.replicas", manager="kubectl-edit"),)),
        finished(),
    )
    async with open_service(settings(database_url)) as service:
        running_service = RunningService(service)
        outbox, identity = FakeOutbox(), await running_service.enrolled(environment="dev")
        async with connect(identity) as link:
            await link.hello(identity, outbox.epoch)
            items = [outbox.state(application("shop"))]
            items += [
                outbox.fact(wire_type(it), str(APP), msgspec.to_builtins(it)) for it in published
            ]
            for number, item in enumerate(items):
                time = (START + timedelta(seconds=number)).isoformat()
                await link.put([msgspec.structs.replace(item, time=time)])
        (drift,) = await running_service.rows(drifts)
        types = {it.type for it in await running_service.rows(changes)}
        records = {(it.action, it.actor) for it in await running_service.rows(audit)}
    assert (drift.object, drift.actor, drift.ended_how) == (WEB, "kubectl-edit", "healed")
    assert drift.fields == ["spec.replicas"]
    assert {"drift.began", "drift.ended", "fact", "application.changed"} <= types
    assert {("drift.began", "kubectl-edit"), ("application.synced", "automated sync")} <= records
