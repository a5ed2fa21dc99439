"""The agent's half of the link on real parts: sessions, what is told, and what outlives a cut."""

import pytest

from bus.jetstream import Bus
from bus.link import TaskKind
from tests.bridge.farend import FarEnd, quiet
from tests.flows.house import House, is_synced
from tests.flows.near import AUTOMATED, FILES, Near, acting, allow
from tests.flows.outside import bus_of
from tests.support import eventually

pytestmark = pytest.mark.flow


async def test_an_agent_enrols_once_and_what_happens_is_told_in_order(near: Near) -> None:
    far = near.far
    await near.synced()
    await eventually(lambda: is_synced(far.state("Application", near.web)))
    await quiet(far)
    assert far.enrolments == 1
    assert [item.sequence for item in far.items] == sorted({item.sequence for item in far.items})
    told = [item.type for item in far.facts if item.subject == near.web]
    assert "fact.operation.finished.v1" in told


async def test_what_happened_while_the_service_was_away_arrives_when_it_is_back(
    linked: House, far: FarEnd
) -> None:
    linked.commit(FILES)
    async with acting(linked, far):
        await far.cut()
        far.token = ""
        keys, far.keys = far.keys, {}
        await linked.apply_app("web", "web", **AUTOMATED)
        await linked.until_synced("web")
    far.keys = keys
    async with acting(linked, far, times=2):
        await quiet(far)
    told = [item.type for item in far.facts]
    assert "fact.operation.finished.v1" in told
    assert len({item.id for item in far.facts}) == len(far.facts)
    assert far.enrolments == 1


async def test_a_half_open_link_is_found_and_made_anew(linked: House, far: FarEnd) -> None:
    far.beat_seconds = 0.5
    async with acting(linked, far):
        far.mute = True
        await eventually(lambda: not far._sockets, what="the agent gives the dead link up")
        far.mute = False
        await far.connected(times=2)


async def test_an_acknowledgement_empties_the_outbox(near: Near) -> None:
    await near.synced()
    outbox = near.agent.parts.bus.outbox()

    async def empty() -> bool:
        standing = await outbox.standing()
        return standing.first > standing.newest > 0

    await eventually(empty)


async def test_the_customers_limits_are_checked_here_and_shown(linked: House, far: FarEnd) -> None:
    await allow(linked, readOnly="true")
    async with acting(linked, far) as near:
        assert far.hellos[0].allowed["readOnly"] is True
        refused = await near.do(TaskKind.REFRESH)
        await allow(linked, readOnly="false", namespaces="elsewhere")
        await far.connected(times=2)
    assert (refused.code, far.hellos[-1].allowed["namespaces"]) == ("not_allowed", ["elsewhere"])


async def test_a_lost_outbox_is_a_new_epoch(linked: House, far: FarEnd) -> None:
    async with acting(linked, far):
        pass
    async with bus_of(linked.settings) as bus:
        await lose_outbox(bus)
    async with acting(linked, far, times=2):
        assert far.hellos[0].epoch != far.hellos[1].epoch


async def lose_outbox(bus: Bus) -> None:
    await bus.connection.jetstream.delete_stream(bus.scope.name("UP"))


async def test_a_service_that_knows_more_than_the_outbox_gets_a_new_epoch(near: Near) -> None:
    far = near.far
    far.acked[far.epoch] = 10_000
    await far.cut()
    await far.connected(times=3)
    assert len({hello.epoch for hello in far.hellos}) == 2


async def test_a_service_that_was_restored_is_told_what_it_will_never_hear(
    linked: House, far: FarEnd
) -> None:
    async with acting(linked, far) as near:
        await near.synced()
        await quiet(far)
    far.acked[far.epoch] = 0
    far.states.clear()
    async with acting(linked, far, times=2):
        await eventually(lambda: any(it.type == "fact.outbox.gap.v1" for it in far.facts))
        await quiet(far)
        assert far.state("Application", near.web)


async def test_the_parts_the_agent_stands_on_are_told(near: Near) -> None:
    await eventually(lambda: near.far.state("Component", "nats"))
    api_server = await eventually(lambda: near.far.state("Component", "api-server"))
    assert api_server["status"]["status"] == "Healthy"
    assert api_server["status"]["version"]
