"""The agent's half of the link on real parts: sessions, what is told, and what outlives a cut."""

from bus.jetstream import Bus
from bus.link import TaskKind
from tests.flows.agent_fixture import AgentFixture, is_synced
from tests.flows.agent_process import bus_of
from tests.flows.fake_service_link import AUTOMATED, FILES, FakeServiceLink, acting, allow
from tests.support import eventually
from tests.unit.agent.bridge.fake_service import FakeService, quiet

FINISHED = "fact.operation.finished.v1"


async def test_an_agent_enrols_once_and_what_happens_is_told_in_order(
    link: FakeServiceLink,
) -> None:
    fake_service = link.fake_service
    await link.synced()
    await eventually(lambda: is_synced(fake_service.state("Application", link.web)))
    await quiet(fake_service)
    await eventually(lambda: FINISHED in [it.type for it in fake_service.facts])
    assert fake_service.enrolments == 1
    assert [item.sequence for item in fake_service.items] == sorted(
        {item.sequence for item in fake_service.items}
    )
    types = [item.type for item in fake_service.facts if item.subject == link.web]
    assert FINISHED in types


async def test_what_happened_while_the_service_was_away_arrives_when_it_is_back(
    linked_agent: AgentFixture, fake_service: FakeService
) -> None:
    linked_agent.commit(FILES)
    async with acting(linked_agent, fake_service):
        await fake_service.cut()
        fake_service.token = ""
        keys, fake_service.keys = fake_service.keys, {}
        await linked_agent.apply_app("web", "web", **AUTOMATED)
        await linked_agent.until_synced("web")
    fake_service.keys = keys
    async with acting(linked_agent, fake_service, times=2):
        await quiet(fake_service)
        await eventually(lambda: FINISHED in [it.type for it in fake_service.facts])
    assert len({item.id for item in fake_service.facts}) == len(fake_service.facts)
    assert fake_service.enrolments == 1


async def test_a_half_open_link_is_found_and_made_anew(
    linked_agent: AgentFixture, fake_service: FakeService
) -> None:
    fake_service.beat_seconds = 0.5
    async with acting(linked_agent, fake_service):
        fake_service.mute = True
        await eventually(lambda: not fake_service._sockets, what="the agent gives the dead link up")
        fake_service.mute = False
        await fake_service.connected(times=2)


async def test_an_acknowledgement_empties_the_outbox(link: FakeServiceLink) -> None:
    await link.synced()
    outbox = link.agent.parts.bus.outbox()

    async def empty() -> bool:
        position = await outbox.position()
        return position.first > position.newest > 0

    await eventually(empty)


async def test_the_customers_limits_are_checked_here_and_shown(
    linked_agent: AgentFixture, fake_service: FakeService
) -> None:
    await allow(linked_agent, readOnly="true")
    async with acting(linked_agent, fake_service) as link:
        assert fake_service.hellos[0].allowed["readOnly"] is True
        refused = await link.do(TaskKind.REFRESH)
        await allow(linked_agent, readOnly="false", namespaces="elsewhere")
        await fake_service.connected(times=2)
    assert (refused.code, fake_service.hellos[-1].allowed["namespaces"]) == (
        "not_allowed",
        ["elsewhere"],
    )


async def test_a_lost_outbox_is_a_new_epoch(
    linked_agent: AgentFixture, fake_service: FakeService
) -> None:
    async with acting(linked_agent, fake_service):
        pass
    async with bus_of(linked_agent.settings) as bus:
        await lose_outbox(bus)
    async with acting(linked_agent, fake_service, times=2):
        assert fake_service.hellos[0].epoch != fake_service.hellos[1].epoch


async def lose_outbox(bus: Bus) -> None:
    await bus.connection.jetstream.delete_stream(bus.scope.name("UP"))


async def test_a_service_that_knows_more_than_the_outbox_gets_a_new_epoch(
    link: FakeServiceLink,
) -> None:
    fake_service = link.fake_service
    fake_service.acked[fake_service.epoch] = 10_000
    await fake_service.cut()
    await fake_service.connected(times=3)
    assert len({hello.epoch for hello in fake_service.hellos}) == 2


async def test_a_service_that_was_restored_is_told_what_it_will_never_hear(
    linked_agent: AgentFixture, fake_service: FakeService
) -> None:
    async with acting(linked_agent, fake_service) as link:
        await link.synced()
        await quiet(fake_service)
    fake_service.acked[fake_service.epoch] = 0
    fake_service.states.clear()
    async with acting(linked_agent, fake_service, times=2):
        await eventually(lambda: any(it.type == "fact.outbox.gap.v1" for it in fake_service.facts))
        await quiet(fake_service)
        await eventually(lambda: fake_service.state("Application", link.web))


async def test_the_parts_the_agent_stands_on_are_told(link: FakeServiceLink) -> None:
    await eventually(lambda: link.fake_service.state("Component", "nats"))
    api_server = await eventually(lambda: link.fake_service.state("Component", "api-server"))
    assert api_server["status"]["status"] == "Healthy"
    assert api_server["status"]["version"]
