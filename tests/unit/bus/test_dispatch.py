"""What the dispatcher promises of every delivery, on a real NATS."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence

import pytest
from nats.js import api

from bus.carrier import Publisher, RefusedError
from bus.dispatch_observer import DispatchOutcome
from bus.envelope import Message
from bus.events import (
    CompareApp,
    Event,
    RefreshApp,
    RenderFailed,
    SyncApp,
    SyncSkipped,
)
from bus.identity import AppKey
from bus.jetstream import Bus, DispatchOptions
from bus.route import Reject, Retry
from bus.status import Reason
from bus.subjects import subject_of
from bus.trace import Trace
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
    stored,
)


class CutOff:
    """The real publisher, and then never a return: where a crash would hit."""

    def __init__(self, publisher: Publisher) -> None:
        self.publisher = publisher
        self.reached = asyncio.Event()

    async def publish(self, messages: Sequence[Message]) -> None:
        await self.publisher.publish(messages)
        self.reached.set()
        await asyncio.Event().wait()


ASK = RefreshApp(app=APP)
FAILED = RenderFailed(app=APP, reason=Reason.YAML_INVALID, message="line 3")
SKIPPED = SyncSkipped(app=APP, reason=Reason.ALREADY_SYNCED, message="nothing to do")


@pytest.fixture
async def bus(nats_url: str) -> AsyncIterator[Bus]:
    async with Bus.open(settings_of(nats_url)) as bus:
        await bus.provision()
        yield bus


async def dead_letters(bus: Bus) -> list[Message]:
    """Read without a consumer: the stream is short."""
    name, letters = bus.scope.name("DEAD"), []
    for sequence in range(1, await stored(bus, "DEAD") + 1):
        raw = await bus.connection.jetstream.get_msg(name, sequence)
        letters.append(
            Message(subject=raw.subject or "", headers=raw.headers or {}, data=raw.data or b"")
        )
    return letters


async def test_an_ask_is_handled_its_result_is_a_fact_and_nothing_is_left(bus: Bus) -> None:
    render, report = always_open(FAILED), always_open()
    routes = route_of(render, RefreshApp), route_of(report, RenderFailed)
    async with dispatching(bus, *routes):
        await bus.publish(ASK)
        await eventually(lambda: report.left)
    assert (render.left, report.left) == ([ASK], [FAILED])
    await holds(bus, ASK=0)
    assert await stored(bus, "FACT") == 1


async def test_one_fact_is_heard_by_every_handler_that_has_a_route_for_it(bus: Bus) -> None:
    one, other = always_open(), always_open()
    routes = (
        route_of(one, RenderFailed, name="report"),
        route_of(other, RenderFailed, name="notify"),
    )
    async with dispatching(bus, *routes):
        await bus.publish(FAILED)
        await eventually(lambda: one.left and other.left)
    assert one.left == other.left == [FAILED]


async def test_a_chain_keeps_correlation_cause_and_trace(bus: Bus) -> None:
    watch, trace = DispatchRecorder(), Trace.start()
    routes = route_of(always_open(FAILED), RefreshApp), route_of(always_open(), RenderFailed)
    async with dispatching(bus, *routes, watch=watch):
        (first,) = await bus.publish(ASK, trace=trace)
        await eventually(lambda: len(watch.hops) == 2)
    asked, failed = sorted(watch.hops, key=lambda hop: hop.started)
    assert (asked.envelope.id, asked.envelope.correlation, asked.envelope.cause) == (
        first,
        first,
        "",
    )
    assert (failed.envelope.correlation, failed.envelope.cause) == (first, first)
    assert asked.envelope.trace == trace
    assert failed.envelope.trace == asked.span
    assert {trace.trace_id} == {hop.span.trace_id for hop in watch.hops}
    assert len({trace.span_id, asked.span.span_id, failed.span.span_id}) == 3
    assert asked.results == (FAILED,)


async def test_a_poison_message_is_a_dead_letter_with_its_reason_and_blocks_nobody(
    bus: Bus,
) -> None:
    render, watch = always_open(), DispatchRecorder()
    poison = Message(
        subject=subject_of(bus.scope, ASK),
        headers={"ce-id": "7", "ce-type": "ask.render.v9", "Nats-Msg-Id": "7"},
        data=b"\x00garbage",
    )
    async with dispatching(bus, route_of(render, RefreshApp, name="render"), watch=watch):
        await bus.publisher.publish([poison])
        await bus.publish(RefreshApp(app=app(1)))
        await eventually(lambda: render.left and watch.dead)
    (letter,) = await dead_letters(bus)
    assert letter.data == poison.data
    assert letter.headers["ce-id"] == "7"
    assert "ask.render.v9" in letter.headers["dead-reason"]
    assert (letter.headers["dead-handler"], letter.headers["dead-subject"]) == (
        "render",
        poison.subject,
    )
    assert letter.subject.endswith(".dead.render")
    await holds(bus, ASK=0)


async def test_an_event_of_another_type_on_a_handlers_subject_is_a_dead_letter(bus: Bus) -> None:
    watch = DispatchRecorder()
    stray = Message(
        subject=subject_of(bus.scope, ASK),
        headers={"ce-id": "8", "ce-type": "ask.compare.v1"},
        data=b'{"app":{"namespace":"a","name":"b"}}',
    )
    async with dispatching(bus, route_of(always_open(), RefreshApp), watch=watch):
        await bus.publisher.publish([stray])
        await eventually(lambda: watch.dead)
    assert "ask.compare.v1" in watch.dead[0]


async def test_reject_is_a_dead_letter_at_once(bus: Bus) -> None:
    watch = DispatchRecorder()

    async def handler(ask: RefreshApp) -> Sequence[Event]:
        raise Reject("no such application")

    async with dispatching(bus, route_of(handler, RefreshApp), watch=watch):
        await bus.publish(ASK)
        await eventually(lambda: watch.hops)
    assert watch.outcomes() == [DispatchOutcome.REJECTED]
    (letter,) = await dead_letters(bus)
    assert letter.headers["dead-reason"] == "no such application"
    await holds(bus, ASK=0)


async def test_retry_says_its_facts_every_time_and_goes_on_beyond_the_attempts(bus: Bus) -> None:
    watch, report, turns = DispatchRecorder(), always_open(), iter(range(7))

    async def handler(ask: RefreshApp) -> Sequence[Event]:
        if next(turns) < 6:
            raise Retry("not reachable", after=0.02, emit=(FAILED,))
        return (SKIPPED,)

    routes = (
        route_of(handler, RefreshApp, name="render", attempts=2),
        route_of(report, RenderFailed),
        route_of(always_open(), SyncSkipped),
    )
    async with dispatching(bus, *routes, watch=watch):
        await bus.publish(ASK)
        await eventually(lambda: len(report.left) == 6 and watch.outcomes("syncskipped"))
    assert watch.outcomes("render") == [DispatchOutcome.RETRIED] * 6 + [DispatchOutcome.HANDLED]
    assert await stored(bus, "DEAD") == 0


async def test_a_bug_is_tried_again_and_is_dead_after_the_last_attempt(bus: Bus) -> None:
    watch = DispatchRecorder()

    async def handler(ask: RefreshApp) -> Sequence[Event]:
        raise ZeroDivisionError("by zero")

    async with dispatching(bus, route_of(handler, RefreshApp, attempts=3), watch=watch):
        await bus.publish(ASK)
        await eventually(lambda: watch.dead)
    assert watch.outcomes() == [
        DispatchOutcome.FAILED,
        DispatchOutcome.FAILED,
        DispatchOutcome.DEAD,
    ]
    (letter,) = await dead_letters(bus)
    assert letter.headers["dead-reason"] == "ZeroDivisionError: by zero (attempt 3)"
    assert letter.headers["dead-deliveries"] == "3"


async def test_a_handler_that_takes_too_long_is_cancelled_and_counts_as_a_failure(bus: Bus) -> None:
    watch, door = DispatchRecorder(), GateHandler()
    async with dispatching(bus, route_of(door, RefreshApp, timeout=0.05, attempts=2), watch=watch):
        await bus.publish(ASK)
        await eventually(lambda: watch.dead)
    assert watch.outcomes() == [DispatchOutcome.FAILED, DispatchOutcome.DEAD]
    assert "no answer within 0.05 s" in watch.dead[0]


async def test_a_handler_that_says_too_much_fails_with_the_size(bus: Bus) -> None:
    watch = DispatchRecorder()
    handler = always_open(RenderFailed(app=APP, reason=Reason.YAML_INVALID, message="x" * 9000))
    async with dispatching(bus, route_of(handler, RefreshApp, attempts=1), watch=watch):
        await bus.publish(ASK)
        await eventually(lambda: watch.dead)
    assert "EventTooLargeError" in watch.dead[0]


async def test_a_result_that_the_server_refuses_counts_as_a_failure(bus: Bus) -> None:
    watch, jetstream = DispatchRecorder(), bus.connection.jetstream
    facts = (await jetstream.stream_info(bus.scope.name("FACT"))).config
    await jetstream.update_stream(facts.evolve(max_msg_size=10))
    async with dispatching(bus, route_of(always_open(FAILED), RefreshApp, attempts=2), watch=watch):
        await bus.publish(ASK)
        await eventually(lambda: watch.dead)
    assert watch.outcomes() == [DispatchOutcome.FAILED, DispatchOutcome.DEAD]
    assert watch.dead[0].startswith("RefusedError")


async def test_what_the_server_refuses_is_said_to_the_publisher(bus: Bus) -> None:
    huge = Message(subject=subject_of(bus.scope, ASK), headers={}, data=b"x" * 100_000)
    with pytest.raises(RefusedError, match="size"):
        await bus.publisher.publish([huge])


async def test_long_work_is_not_delivered_twice(nats_url: str) -> None:
    async with Bus.open(settings_of(nats_url, ack_wait=3)) as bus:
        await bus.provision()
        slow = GateHandler()
        async with dispatching(bus, route_of(slow, RefreshApp, timeout=120)):
            await bus.publish(ASK, RefreshApp(app=app(1)))
            await eventually(lambda: len(slow.came) == 2)
            for number in range(2):  # each is a round of the server's clock past `ack_wait`
                await unacknowledged_is_delivered_again(bus, number)
            slow.open.set()
            await eventually(lambda: len(slow.left) == 2)
        consumer = await bus.connection.jetstream.consumer_info(bus.scope.name("ASK"), "refreshapp")
        assert consumer.delivered.consumer_seq == 2


async def unacknowledged_is_delivered_again(bus: Bus, number: int) -> None:
    """A message nobody keeps alive, on a consumer with the same `ack_wait`: our clock."""
    jetstream, stream = bus.connection.jetstream, bus.scope.name("FACT")
    name, latest = f"clock-{number}", api.DeliverPolicy.LAST
    config = api.ConsumerConfig(name=name, ack_wait=bus.ack_wait, deliver_policy=latest)
    await bus.publish(FAILED)
    await jetstream.add_consumer(stream, config)
    clock = await jetstream.pull_subscribe_bind(stream=stream, consumer=name)
    first = (await clock.fetch(1))[0]
    again = (await clock.fetch(1, timeout=60))[0]
    assert again.metadata.sequence.stream == first.metadata.sequence.stream


async def test_of_asks_about_one_thing_only_the_newest_waits(bus: Bus) -> None:
    watch, door = DispatchRecorder(), GateHandler()

    async def delivered() -> bool:
        jetstream, stream = bus.connection.jetstream, bus.scope.name("ASK")
        last = (await jetstream.stream_info(stream)).state.last_seq
        consumer = await jetstream.consumer_info(stream, "refreshapp")
        return bool(consumer.delivered and consumer.delivered.stream_seq == last)

    async with dispatching(bus, route_of(door, RefreshApp), watch=watch):
        await bus.publish(ASK)
        await eventually(lambda: door.came)
        for ask in (ASK, ASK, ASK, ASK, RefreshApp(app=APP, hard=True)):
            await bus.publish(ask)
            await eventually(delivered)  # or the server would merge it with the next
        await eventually(lambda: watch.outcomes() == [DispatchOutcome.MERGED] * 4)
        door.open.set()
        await eventually(lambda: len(door.left) == 2)
    assert door.left == [ASK, RefreshApp(app=APP, hard=True)]


async def test_asks_that_wait_at_the_server_are_merged_there(bus: Bus) -> None:
    handler = always_open()
    await bus.publish(ASK, ASK, ASK, RefreshApp(app=APP, hard=True))
    await holds(bus, ASK=1)
    async with dispatching(bus, route_of(handler, RefreshApp)):
        await eventually(lambda: handler.left)
    assert handler.left == [RefreshApp(app=APP, hard=True)]


async def test_commands_are_never_merged(bus: Bus) -> None:
    door = GateHandler()
    commands = [SyncApp(app=APP, id=str(number), actor="jane") for number in range(5)]
    async with dispatching(bus, route_of(door, SyncApp)):
        await bus.publish(*commands)
        await eventually(lambda: door.came)
        door.open.set()
        await eventually(lambda: len(door.left) == 5)
    assert door.left == commands


async def test_a_command_that_is_sent_again_is_done_once(bus: Bus) -> None:
    handler, watch = always_open(), DispatchRecorder()
    async with dispatching(bus, route_of(handler, SyncApp), watch=watch):
        for _ in range(3):
            await bus.publish(SyncApp(app=APP, id="the same", actor="jane"))
        await bus.publish(SyncApp(app=APP, id="the last", actor="jane"))
        await eventually(lambda: handler.left and handler.left[-1].id == "the last")
    assert [command.id for command in handler.left] == ["the same", "the last"]


async def test_a_message_id_makes_a_repeat_harmless_and_a_new_ask_with_another_is_heard(
    bus: Bus,
) -> None:
    await bus.publish(FAILED, message_id="delivery-1")
    await bus.publish(FAILED, message_id="delivery-1")
    assert await stored(bus, "FACT") == 1
    await bus.publish(FAILED, message_id="delivery-2")
    assert await stored(bus, "FACT") == 2


async def test_work_of_one_lane_is_serial_and_of_two_lanes_parallel(bus: Bus) -> None:
    render, compare = GateHandler(), GateHandler()
    routes = route_of(render, RefreshApp), route_of(compare, CompareApp)
    async with dispatching(bus, *routes):
        await bus.publish(ASK)
        await eventually(lambda: render.came)
        await bus.publish(CompareApp(app=APP), CompareApp(app=app(1)))
        await eventually(lambda: compare.came)
        assert compare.came == [CompareApp(app=app(1))]
        compare.open.set()
        render.open.set()
        await eventually(lambda: len(compare.left) == 2)
    assert compare.left[-1] == CompareApp(app=APP)


async def test_drain_finishes_what_is_in_work_and_leaves_the_rest_to_the_next(bus: Bus) -> None:
    door, watch = GateHandler(emitted=(FAILED,)), DispatchRecorder()

    async def nobody_asks() -> bool:
        jetstream, stream = bus.connection.jetstream, bus.scope.name("ASK")
        return not (await jetstream.consumer_info(stream, "refreshapp")).num_waiting

    async with dispatching(bus, route_of(door, RefreshApp), watch=watch) as dispatcher:
        await bus.publish(ASK)
        await eventually(lambda: door.came)
        dispatcher.stop()
        await eventually(nobody_asks)
        await bus.publish(RefreshApp(app=app(1)))
        door.open.set()
    assert door.left == [ASK]
    assert watch.outcomes() == [DispatchOutcome.HANDLED]
    await holds(bus, ASK=1, FACT=1)


async def test_what_the_drains_deadline_cuts_off_is_handed_back_at_once(bus: Bus) -> None:
    door, successor = GateHandler(), always_open()
    impatient = DispatchOptions(drain_seconds=0.1, concurrency=1)
    async with dispatching(bus, route_of(door, RefreshApp), options=impatient) as dispatcher:
        await bus.publish(ASK, RefreshApp(app=app(1)))
        await eventually(lambda: dispatcher.held == 2)
    assert door.left == []
    async with dispatching(bus, route_of(successor, RefreshApp)):
        await eventually(lambda: len(successor.left) == 2)


async def test_a_dispatcher_that_is_cancelled_leaves_nothing_that_takes(bus: Bus) -> None:
    door, successor = GateHandler(), always_open()
    cancelled = bus.dispatcher([route_of(door, RefreshApp)])
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(cancelled.run())
        await cancelled.ready()
        await bus.publish(ASK)
        await eventually(lambda: door.came)
        running.cancel()
    async with dispatching(bus, route_of(successor, RefreshApp)):
        await bus.publish(*(RefreshApp(app=app(number)) for number in range(100)))
        await eventually(lambda: len(successor.left) == 101)
    assert door.came == [ASK]
    assert bus.connection.on_back == []


async def test_a_handler_cut_off_before_it_was_acknowledged_runs_again_and_says_nothing_twice(
    nats_url: str,
) -> None:
    """As a crash between publish and acknowledgement: the second results have the same ids."""
    async with Bus.open(settings_of(nats_url, ack_wait=3)) as bus:
        await bus.provision()
        handler, watch = always_open(FAILED, SKIPPED), DispatchRecorder()
        first = bus.dispatcher([route_of(handler, RefreshApp, name="render")], watch)
        crash = first.dispatch.publisher = CutOff(bus.publisher)
        async with asyncio.TaskGroup() as tasks:
            running = tasks.create_task(first.run())
            await first.ready()
            await bus.publish(ASK)
            await eventually(crash.reached.is_set)
            running.cancel()
        assert await stored(bus, "FACT") == 2
        async with dispatching(bus, route_of(handler, RefreshApp, name="render"), watch=watch):
            await eventually(lambda: watch.outcomes() == [DispatchOutcome.HANDLED])
        assert handler.left == [ASK, ASK]
        await holds(bus, ASK=0, FACT=2)


async def test_ten_thousand_waiting_messages_are_processed_in_bounded_batches(bus: Bus) -> None:
    handled, held = set[AppKey](), set[int]()

    async def handler(ask: RefreshApp) -> Sequence[Event]:
        handled.add(ask.app)
        held.add(dispatcher.held)
        return ()

    route = route_of(handler, RefreshApp)
    await bus.provision([route])
    await bus.publish(*(RefreshApp(app=app(number)) for number in range(10_000)))
    assert await stored(bus, "ASK") == 10_000
    async with dispatching(bus, route) as dispatcher:
        await eventually(lambda: len(handled) == 10_000)
    assert max(held) <= bus.settings.inbox_limit
    await holds(bus, ASK=0)


async def test_who_may_no_longer_act_publishes_and_acknowledges_nothing(bus: Bus) -> None:
    handler, watch, allowed = always_open(FAILED), DispatchRecorder(), list[bool]()
    options = DispatchOptions(back_off=0.05, may_act=lambda: bool(allowed))
    async with dispatching(bus, route_of(handler, RefreshApp), watch=watch, options=options):
        await bus.publish(ASK)
        await eventually(lambda: watch.outcomes()[:1] == [DispatchOutcome.LOST])
        await holds(bus, ASK=1, FACT=0)
        allowed.append(True)
        await holds(bus, ASK=0, FACT=1)
