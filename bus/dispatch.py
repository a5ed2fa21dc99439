"""Dispatch: the way of one delivery. Call the room, publish what it says, acknowledge.

Publishing comes before acknowledging: a crash in between repeats the room, and the server drops
the repeated results by their message ids. What a room raises is read as a verdict here and nowhere
else; this module holds the only broad `except` of the program, because a bug in one room must not
stop the house.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import assert_never

import structlog

from bus.carrier import CarrierError, Publisher, RefusedError
from bus.codec import Message
from bus.dead import dead_letter
from bus.events import Event
from bus.failures import Failures
from bus.observer import Hop, Observer, Outcome
from bus.sender import Cause, Sender
from bus.taken import Poison, Taken
from bus.trace import Trace
from bus.verdicts import Reject, Retry

log = structlog.get_logger()


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """How a room's call ended: what is to be published, and what becomes of the delivery."""

    outcome: Outcome
    events: tuple[Event, ...] = ()
    messages: tuple[Message, ...] = ()
    reason: str = ""
    after: float = 0.0


@dataclass(slots=True, kw_only=True)
class Dispatch:
    sender: Sender
    publisher: Publisher
    observer: Observer
    failures: Failures
    _owed: tuple[Message, ...] = ()
    """Results that the carrier did not take in time: a room that runs again may not repeat them."""

    async def handle(self, item: Taken | Poison) -> None:
        match item:
            case Poison():
                await self._bury(item)
            case Taken():
                with structlog.contextvars.bound_contextvars(
                    app=item.envelope.subject,
                    event_id=item.envelope.id,
                    correlation=item.envelope.correlation,
                    room=item.route.name,
                ):
                    await self._handle(item)
            case _:
                assert_never(item)

    async def skip(self, item: Taken | Poison) -> None:
        """A newer ask of the same subject waits: this one is done without a call."""
        await item.delivery.ack()
        if isinstance(item, Taken):
            self._observe(item, Said(outcome=Outcome.MERGED), _span(item), time.monotonic())

    async def _bury(self, item: Poison) -> None:
        if item.refused is not None:
            log.warning("command refused", room=item.route.name, reason=item.reason)
        else:
            log.error("message is no event", room=item.route.name, reason=item.reason)
        try:
            await self._dead_letter(item, item.reason)
            await self._tell_refused(item)
            await item.delivery.ack()
        except CarrierError as error:
            log.warning("dead letter not written", room=item.route.name, reason=str(error))
            await item.delivery.nak(self.failures.back_off)

    async def _handle(self, item: Taken) -> None:
        waited = max(0.0, time.time() - item.envelope.time.timestamp())
        self.observer.on_taken(item.route, item.envelope, waited)
        started, span = time.monotonic(), _span(item)
        said = await self._settled(item, await self._call(item, span))
        self._observe(item, said, span, started)

    async def _settled(self, item: Taken, said: Said) -> Said:
        """What became of it in the end, if the carrier had something against it."""
        try:
            await self._settle(item, said)
        except CarrierError as error:
            if isinstance(error, RefusedError) and said.messages:
                return await self._settled(item, self._failed(item, error))
            log.warning("results not published", reason=str(error))
            self._owed = (*self._owed, *said.messages)
            await item.delivery.nak(self.failures.back_off)
            return Said(outcome=Outcome.LOST, reason=str(error))
        return said

    async def _call(self, item: Taken, span: Trace) -> Said:
        try:
            async with asyncio.timeout(item.route.timeout):
                events = await item.route.room(item.event)
            return self._said(item, span, Outcome.HANDLED, events)
        except Retry as verdict:
            return self._retried(item, span, verdict)
        except Reject as verdict:
            return Said(outcome=Outcome.REJECTED, reason=verdict.reason)
        except Exception as error:  # noqa: BLE001  a bug in one room must not stop the house
            return self._failed(item, error)

    def _said(self, item: Taken, span: Trace, outcome: Outcome, events: Sequence[Event]) -> Said:
        turn = item.delivery.deliveries if outcome is Outcome.RETRIED else 0
        cause = Cause(envelope=item.envelope, room=item.route.name, span=span, turn=turn)
        messages = self.sender.results(cause, events)
        return Said(outcome=outcome, events=tuple(events), messages=tuple(messages))

    def _retried(self, item: Taken, span: Trace, verdict: Retry) -> Said:
        said = self._said(item, span, Outcome.RETRIED, _events(verdict.say))
        return replace(said, reason=verdict.reason, after=verdict.after)

    def _failed(self, item: Taken, error: Exception) -> Said:
        """A bug, or a room that took too long: again with back-off, dead on the last attempt."""
        attempts = self.failures.add(item.route.name, item.sequence)
        log.error("room failed", attempt=attempts, of=item.route.attempts, exc_info=error)
        reason = _describe(error, item.route.timeout)
        if attempts >= item.route.attempts:
            return Said(outcome=Outcome.DEAD, reason=f"{reason} (attempt {attempts})")
        return Said(outcome=Outcome.FAILED, reason=reason, after=self.failures.delay(attempts))

    async def _settle(self, item: Taken, said: Said) -> None:
        await self._tell_owed()
        if said.messages:
            await self.publisher.publish(said.messages)
        match said.outcome:
            case Outcome.RETRIED | Outcome.FAILED:
                await item.delivery.nak(said.after)
                return
            case Outcome.REJECTED | Outcome.DEAD:
                await self._dead_letter(item, said.reason)
            case _:
                pass
        await item.delivery.ack()
        self.failures.forget(item.route.name, item.sequence)

    async def _tell_owed(self) -> None:
        """What is owed goes out first; the carrier drops what it had taken after all."""
        owed, self._owed = self._owed, ()
        if not owed:
            return
        try:
            await self.publisher.publish(owed)
        except RefusedError as error:
            log.exception("results refused", count=len(owed), reason=str(error))
        except CarrierError:
            self._owed = (*owed, *self._owed)
            raise

    async def _dead_letter(self, item: Taken | Poison, reason: str) -> None:
        letter = dead_letter(self.sender.scope, item.route.name, item.delivery, reason)
        await self.publisher.publish((letter,))
        self.observer.on_dead(item.route, reason)

    async def _tell_refused(self, item: Poison) -> None:
        """Once, however often the delivery comes: its id is made of the delivery's sequence."""
        if item.refused is None:
            return
        once = f"refused:{item.route.name}:{item.sequence}"
        fact = self.sender.first(item.refused, correlation="", trace=Trace.start(), message_id=once)
        await self.publisher.publish((fact,))

    def _observe(self, item: Taken, said: Said, span: Trace, started: float) -> None:
        seconds = time.monotonic() - started
        self.observer.on_handled(
            Hop(
                route=item.route,
                envelope=item.envelope,
                event=item.event,
                span=span,
                started=time.time() - seconds,
                seconds=seconds,
                outcome=said.outcome,
                results=said.events,
                reason=said.reason,
            )
        )


def _span(item: Taken) -> Trace:
    trace = item.envelope.trace
    return trace.child() if trace else Trace.start()


def _events(said: Sequence[object]) -> tuple[Event, ...]:
    return tuple(event for event in said if isinstance(event, Event))


def _describe(error: Exception, timeout: float) -> str:
    text = str(error)
    if isinstance(error, TimeoutError) and not text:
        return f"TimeoutError: no answer within {timeout:g} s"
    return f"{type(error).__name__}: {text}"
