"""What the bus does when NATS dies, comes back, or does not let us in."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
import structlog

from agent.loopback import free_port
from bus.carrier import CarrierError
from bus.dispatch_observer import DispatchOutcome
from bus.events import (
    AssessApp,
    CompareApp,
    DeleteApp,
    RefreshApp,
    RenderFailed,
    StepOperation,
)
from bus.jetstream import Bus, BusSettings, CarrierUnreachableError
from bus.status import Reason
from playground.server import Server
from tests.support import eventually
from tests.unit.bus.dispatch_fixture import (
    APP,
    DispatchRecorder,
    GateHandler,
    always_open,
    app,
    dispatching,
    holds,
    route_of,
    settings_of,
)

FAILED = RenderFailed(app=APP, reason=Reason.YAML_INVALID, message="line 3")


def failed(number: int) -> RenderFailed:
    return RenderFailed(app=app(number), reason=Reason.YAML_INVALID, message=f"line {number}")


async def test_nothing_is_lost_when_nats_is_killed_and_comes_back(own_nats: Server) -> None:
    """Published before, meanwhile and after; handled likewise; each heard, and stored once."""

    async def render(ask: RefreshApp) -> tuple[RenderFailed]:
        return (failed(int(ask.app.name.removeprefix("app-"))),)

    report = always_open()
    routes = route_of(render, RefreshApp), route_of(report, RenderFailed)
    async with (
        Bus.open(settings_of(own_nats.url, ack_wait=2)) as bus,
        asyncio.TaskGroup() as tasks,
    ):
        await bus.provision()
        async with dispatching(bus, *routes):
            before = [RefreshApp(app=app(number)) for number in range(100)]
            await bus.publish(*before)
            await eventually(lambda: len(report.left) > 10)
            own_nats.kill()
            await eventually(lambda: not bus.is_connected)
            during = [RefreshApp(app=app(number)) for number in range(100, 200)]
            publishing = tasks.create_task(bus.publish(*during))
            await own_nats.start()
            await eventually(lambda: bus.is_connected)
            await publishing
            await bus.publish(*(RefreshApp(app=app(number)) for number in range(200, 300)))
            await eventually(lambda: len({fact.app for fact in report.left}) == 300)
            await holds(bus, ASK=0, FACT=300)


async def test_work_that_outlives_the_servers_crash_is_finished_and_its_result_arrives(
    own_nats: Server,
) -> None:
    door, report, watch = GateHandler(emitted=(FAILED,)), always_open(), DispatchRecorder()
    routes = route_of(door, RefreshApp), route_of(report, RenderFailed)
    async with Bus.open(settings_of(own_nats.url, ack_wait=2)) as bus:
        await bus.provision()
        async with dispatching(bus, *routes, watch=watch):
            await bus.publish(RefreshApp(app=APP))
            await eventually(lambda: door.came)
            own_nats.kill()
            await eventually(lambda: not bus.is_connected)
            door.open.set()
            await eventually(lambda: door.left)
            await own_nats.start()
            await eventually(lambda: report.left == [FAILED])
            await eventually(lambda: watch.outcomes("refreshapp") == [DispatchOutcome.HANDLED])


async def test_what_is_said_once_arrives_although_nats_was_away_too_long(own_nats: Server) -> None:
    """As of a handler whose status is written: run again, it has nothing more to say."""
    door, report, watch = GateHandler(emitted=(FAILED,)), always_open(), DispatchRecorder()
    routes = route_of(door, RefreshApp), route_of(report, RenderFailed)
    settings = settings_of(own_nats.url, ack_wait=2, publish_seconds=3)
    async with Bus.open(settings) as bus:
        await bus.provision()
        async with dispatching(bus, *routes, watch=watch):
            await bus.publish(RefreshApp(app=APP))
            await eventually(lambda: door.came)
            own_nats.kill()
            await eventually(lambda: not bus.is_connected)
            door.open.set()
            await eventually(lambda: watch.outcomes("refreshapp") == [DispatchOutcome.LOST])
            door.emitted = ()
            await own_nats.start()
            await eventually(lambda: report.left == [FAILED])
            await holds(bus, ASK=0, FACT=1)


async def test_the_agent_says_when_nats_is_lost_and_when_it_is_back(own_nats: Server) -> None:
    async with Bus.open(settings_of(own_nats.url)) as bus:
        with structlog.testing.capture_logs() as logs:
            own_nats.kill()
            await eventually(lambda: not bus.is_connected)
            await own_nats.start()
            await eventually(lambda: bus.is_connected)
    logged = [(log["log_level"], log["event"]) for log in logs]
    assert ("warning", "bus lost") in logged
    assert ("info", "bus back") in logged


async def test_a_handler_goes_on_by_itself_although_its_consumer_was_deleted(
    own_nats: Server,
) -> None:
    handler = always_open()
    async with Bus.open(settings_of(own_nats.url)) as bus:
        await bus.provision()
        async with dispatching(bus, route_of(handler, RefreshApp, name="render")):
            await bus.connection.jetstream.delete_consumer(bus.scope.name("ASK"), "render")
            await bus.publish(RefreshApp(app=APP))
            await eventually(lambda: handler.left)


async def test_a_nats_that_lost_its_disk_is_provisioned_again(
    own_nats: Server, tmp_path: Path
) -> None:
    handler = always_open()
    async with Bus.open(settings_of(own_nats.url)) as bus:
        await bus.provision()
        async with dispatching(bus, route_of(handler, RefreshApp)):
            for kind in ("ASK", "CMD", "FACT", "UP", "DEAD"):
                await bus.connection.jetstream.delete_stream(bus.scope.name(kind))
            await bus.publish(RefreshApp(app=APP))
            await eventually(lambda: handler.left)


async def test_a_publish_gives_up_at_its_deadline_and_says_what_was_not_stored(
    own_nats: Server,
) -> None:
    async with Bus.open(settings_of(own_nats.url, publish_seconds=0.5)) as bus:
        await bus.provision()
        own_nats.kill()
        with pytest.raises(CarrierError, match=r"did not store 1 messages .*ask\.render"):
            await bus.publish(RefreshApp(app=APP))


async def test_a_drain_does_not_wait_for_a_nats_that_is_away(own_nats: Server) -> None:
    events = (RefreshApp, CompareApp, AssessApp, StepOperation, DeleteApp, RenderFailed)
    routes = [route_of(always_open(), event) for event in events]
    async with Bus.open(settings_of(own_nats.url)) as bus:
        await bus.provision()
        async with asyncio.timeout(60), dispatching(bus, *routes):
            own_nats.kill()
            await eventually(lambda: not bus.is_connected)


async def test_a_cancelled_publish_leaves_nothing_behind(own_nats: Server) -> None:
    async with Bus.open(settings_of(own_nats.url)) as bus:
        await bus.provision()
        own_nats.kill()
        await eventually(lambda: not bus.is_connected)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.2):
                await bus.publish(RefreshApp(app=APP))
        await own_nats.start()
        await eventually(lambda: bus.is_connected)
        await bus.publish(RefreshApp(app=APP))
        assert bus.publisher.in_flight == 0


async def test_nats_that_is_not_there_is_named_without_the_password() -> None:
    url = f"nats://jane:secret@127.0.0.1:{free_port()}"
    with pytest.raises(CarrierUnreachableError, match=r"NATS at 127\.0\.0\.1:\d+ ") as failure:
        async with Bus.open(BusSettings(url=url, connect_seconds=0.3)):
            pass
    assert "secret" not in str(failure.value)


def test_settings_do_not_show_their_secrets() -> None:
    shown = repr(BusSettings(url="nats://nats:4222", password="hunter2", token="s3cr3t"))
    assert "hunter2" not in shown
    assert "s3cr3t" not in shown
