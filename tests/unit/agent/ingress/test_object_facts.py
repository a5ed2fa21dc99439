"""What the watches see of an object becomes a bounded number of facts."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import pairwise
from typing import Any

import msgspec
import orjson
import pytest
from prometheus_client import Counter

from agent.ingress.object_changes import object_change
from agent.ingress.object_facts import ObjectFacts
from agent.kube.live_change import LiveChange
from agent.kube.summary import summarise
from bus.carrier import CarrierError
from bus.envelope import MAX_EVENT_BYTES
from bus.events import Event, ObjectChanged
from bus.events.object_facts import WatchChange
from bus.status import HealthStatus
from handlers.application.application import Application, Metadata
from handlers.application.spec import ApplicationSpec
from handlers.ports import LiveObject
from tests.support import eventually
from tests.unit.agent.kube.object_samples import config_map, live

SERVER = "https://kubernetes.default.svc"
HEALTHY, DEGRADED = HealthStatus.HEALTHY, HealthStatus.DEGRADED


def app(name: str = "shop") -> Application:
    return Application(
        metadata=Metadata(name=name, namespace="argocd"),
        spec=ApplicationSpec(),
    )


def change(before: LiveObject | None, after: LiveObject | None) -> LiveChange:
    return LiveChange(before=before, after=after)


def painted(colour: str, *, name: str = "settings", by: str = "") -> LiveObject:
    found = live(name, version=hash(colour) % 1000, data={"colour": colour})
    return msgspec.structs.replace(found, written_by=by)


class OpenBus:
    """Keeps what is published; `away` is what the next call raises."""

    def __init__(self) -> None:
        self.rounds: list[tuple[ObjectChanged, ...]] = []
        self.away: CarrierError | None = None

    @property
    def facts(self) -> list[ObjectChanged]:
        return [fact for facts in self.rounds for fact in facts]

    async def publish(self, *events: Event, **_: Any) -> None:
        away, self.away = self.away, None
        if away is not None:
            raise away
        self.rounds.append(tuple(one for one in events if isinstance(one, ObjectChanged)))


def facts_on(bus: OpenBus) -> ObjectFacts:
    return ObjectFacts(bus.publish, left_out_counter())


def left_out_counter() -> Counter:
    return Counter("left_out", "Left out.", registry=None)


@asynccontextmanager
async def running(facts: ObjectFacts) -> AsyncIterator[None]:
    task = asyncio.create_task(facts.run())
    try:
        yield
    finally:
        task.cancel()


def test_an_edit_names_its_paths_and_its_writer_and_no_value() -> None:
    found = object_change(
        change(painted("blue"), painted("secret-red", by="kubectl-edit")), ours=False
    )

    assert found is not None
    assert (found.kind, found.fields) == (WatchChange.MODIFIED, ("data.colour",))
    assert found.managers == ("kubectl-edit",)
    assert b"secret-red" not in msgspec.json.encode(found)


def test_an_apply_of_ours_is_told_under_our_manager() -> None:
    found = object_change(change(painted("blue"), painted("red", by="kubectl-edit")), ours=True)
    assert found is not None
    assert found.managers == ("argocd-controller",)


def test_of_a_deleted_object_nobody_is_said_to_have_written_it() -> None:
    found = object_change(change(painted("blue", by="kubectl-edit"), None), ours=False)
    assert found is not None
    assert (found.kind, found.managers) == (WatchChange.DELETED, ())


def test_a_change_of_the_status_counts_where_it_changes_the_health() -> None:
    well = msgspec.structs.replace(live(), health=HEALTHY)
    ill = msgspec.structs.replace(well, health=DEGRADED, written_by="kubectl-edit")
    found = object_change(change(well, ill), ours=False)

    assert found is not None
    assert (found.health_before, found.health, found.fields) == (HEALTHY, DEGRADED, ())
    assert found.managers == ()
    worded = msgspec.structs.replace(well, health_message="other words")
    assert object_change(change(well, worded), ours=False) is None


def test_hostile_names_leave_the_fact_within_the_size_of_an_event() -> None:
    keys = {f"{number}" + "\x01\U0001f600" * 2000: "x" for number in range(20)}
    before = summarise(orjson.dumps({**config_map(), "data": {}}))
    after = summarise(orjson.dumps({**config_map(version=11), "data": keys}))
    after = msgspec.structs.replace(after, written_by="\x02" * 128)
    found = object_change(change(before, after), ours=False)

    assert found is not None
    for number in range(20):
        later = msgspec.structs.replace(found, managers=(f"{number}" + "\x02" * 20,))
        found = found.then(later)
    assert len(msgspec.json.encode(found)) < MAX_EVENT_BYTES / 2


def test_several_changes_are_summed_up_from_the_first_to_the_last() -> None:
    steps = [
        change(None, msgspec.structs.replace(painted("blue", by="a"), health=DEGRADED)),
        change(painted("blue"), msgspec.structs.replace(painted("red", by="b"), health=HEALTHY)),
    ]
    first, second = (object_change(step, ours=False) for step in steps)

    assert first is not None
    assert second is not None
    together = first.then(second)
    assert (together.kind, together.changes) == (WatchChange.ADDED, 2)
    assert (together.health_before, together.health) == (None, HEALTHY)
    assert (together.fields, together.managers) == (("data.colour",), ("a", "b"))


async def test_what_comes_between_two_facts_of_an_object_is_one_fact() -> None:
    bus = OpenBus()
    facts = facts_on(bus)
    colours = [f"colour-{number}" for number in range(100)]
    for before, after in pairwise(colours):
        facts.put(app(), SERVER, change(painted(before), painted(after, by="ci")), ours=False)
    async with running(facts):
        await eventually(lambda: bus.facts)

    (fact,) = bus.facts
    assert (fact.changes, fact.object, fact.server) == (99, "/ConfigMap/web/settings", SERVER)
    assert fact.sentence == "ConfigMap settings changed by ci: data.colour"


async def test_a_round_serves_every_application_before_the_rest_of_the_busiest() -> None:
    bus = OpenBus()
    facts = facts_on(bus)
    for number in range(1000):
        facts.put(app("busy"), SERVER, change(None, live(f"c{number}")), ours=False)
    for name in ("a", "b"):
        facts.put(app(name), SERVER, change(None, live(name)), ours=False)
    async with running(facts):
        await eventually(lambda: bus.rounds)

    first = bus.rounds[0]
    assert len(first) == 200
    assert {fact.app.name for fact in first} == {"busy", "a", "b"}
    assert len(facts) == 1002 - len(bus.facts)


async def test_what_waits_is_bounded_and_what_is_left_out_is_counted() -> None:
    left_out = left_out_counter()
    facts = ObjectFacts(OpenBus().publish, left_out)
    for number in range(6000):
        facts.put(app("flood"), SERVER, change(None, live(f"c{number}")), ours=False)
    facts.put(app("calm"), SERVER, change(None, live("calm")), ours=False)

    assert len(facts) == 5001
    assert next(iter(left_out.collect())).samples[0].value == 1000


async def test_facts_go_on_after_the_bus_was_away() -> None:
    bus = OpenBus()
    facts = facts_on(bus)
    bus.away = CarrierError("away")
    facts.put(app(), SERVER, change(None, live("lost")), ours=False)
    async with running(facts):
        await eventually(lambda: bus.away is None)
        facts.put(app(), SERVER, change(None, live("found")), ours=False)
        await eventually(lambda: bus.facts)

    assert [fact.object for fact in bus.facts] == ["/ConfigMap/web/found"]


@pytest.mark.parametrize("kind", list(WatchChange))
def test_every_change_has_its_word(kind: WatchChange) -> None:
    fact = ObjectChanged(
        app=app().key,
        object="apps/Deployment/web/web",
        server=SERVER,
        change=kind,
        health_before=HEALTHY,
        health=DEGRADED,
    )
    word = {"ADDED": "added", "MODIFIED": "changed", "DELETED": "deleted"}[kind]
    assert fact.sentence == f"Deployment web {word}: health Healthy → Degraded"
