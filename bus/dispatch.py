"""Dispatch handles one delivery: call the handler, publish its events, acknowledge.

Publishing comes before acknowledging: a crash in between repeats the handler, and the server drops
the repeated results by their message ids. What a handler raises is read as a verdict here and
nowhere else; this module holds the only broad `except` of the program, because a bug in one handler
must not stop the others.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import assert_never

import structlog

from bus.carrier import CarrierError, Publisher, RefusedError
from bus.dead_letters import Failures, dead_letter
from bus.dispatch_observer import DispatchHop, DispatchOutcome, DispatchWatcher
from bus.envelope import Message
from bus.event_sender import EventOrigin, EventSender
from bus.events import Event
from bus.route import Reject, Retry
from bus.taken_delivery import DecodedDelivery, PoisonDelivery
from bus.trace import Trace

log = structlog.get_logger()


def always() -> bool:
    """Answer for a process that acts alone."""
    return True


@dataclass(frozen=True, slots=True, kw_only=True)
class DispatchResult:
    """The result of one call of a handler: what to publish, and how to settle the delivery."""

    outcome: DispatchOutcome
    events: tuple[Event, ...] = ()
    messages: tuple[Message, ...] = ()
    reason: str = ""
    after: float = 0.0


@dataclass(slots=True, kw_only=True)
class Dispatch:
    sender: EventSender
    publisher: Publisher
    observer: DispatchWatcher
    failures: Failures
    may_act: Callable[[], bool] = always
    """Whether results may be published: not by a process that others may have replaced."""
    _owed: tuple[Message, ...] = ()
    """Results that the carrier did not take in time. A handler that runs again may come to others,
    so these are published before anything else."""

    async def handle(self, item: DecodedDelivery | PoisonDelivery) -> None:
        match item:
            case PoisonDelivery():
                await self._bury(item)
            case DecodedDelivery():
                with structlog.contextvars.bound_contextvars(
                    app=item.envelope.subject,
                    event_id=item.envelope.id,
                    correlation=item.envelope.correlation,
                    handler=item.route.name,
                ):
                    await self._handle(item)
            case _:
                assert_never(item)

    async def skip(self, item: DecodedDelivery | PoisonDelivery) -> None:
        """Settle an ask without calling its handler: a newer ask of the same subject waits."""
        await item.delivery.ack()
        if isinstance(item, DecodedDelivery):
            result, span = DispatchResult(outcome=DispatchOutcome.MERGED), self._span(item)
            self._observe(item, result, span, time.monotonic())

    async def _bury(self, item: PoisonDelivery) -> None:
        if item.refused is not None:
            log.warning("command refused", handler=item.route.name, reason=item.reason)
        else:
            log.error("message is no event", handler=item.route.name, reason=item.reason)
        try:
            await self._dead_letter(item, item.reason)
            await self._publish_refusal(item)
            await item.delivery.ack()
        except CarrierError as error:
            log.warning("dead letter not written", handler=item.route.name, reason=str(error))
            await item.delivery.nak(self.failures.back_off)

    async def _handle(self, item: DecodedDelivery) -> None:
        waited = max(0.0, time.time() - item.envelope.time.timestamp())
        self.observer.on_taken(item.route, item.envelope, waited)
        started, span = time.monotonic(), self._span(item)
        result = await self._settled(item, await self._call(item, span))
        self._observe(item, result, span, started)

    async def _settled(self, item: DecodedDelivery, result: DispatchResult) -> DispatchResult:
        """Settle the delivery; return the result that it has after the carrier's answer.

        Results that the carrier refuses for good are a bug of the handler, counted as one. Results
        that it did not take in time may be stored or not: the delivery comes again, and they are
        published again before it, with the same message ids.
        """
        try:
            await self._settle(item, result)
        except CarrierError as error:
            if isinstance(error, RefusedError) and result.messages:
                return await self._settled(item, self._failed(item, error))
            log.warning("results not published", reason=str(error))
            self._owed = (*self._owed, *result.messages)
            await item.delivery.nak(self.failures.back_off)
            return DispatchResult(outcome=DispatchOutcome.LOST, reason=str(error))
        return result

    async def _call(self, item: DecodedDelivery, span: Trace) -> DispatchResult:
        try:
            async with asyncio.timeout(item.route.timeout):
                events = await item.route.handler(item.event)
            return self._result(item, span, DispatchOutcome.HANDLED, events)
        except Retry as verdict:
            return self._retried(item, span, verdict)
        except Reject as verdict:
            return DispatchResult(outcome=DispatchOutcome.REJECTED, reason=verdict.reason)
        except Exception as error:  # noqa: BLE001  a bug in one handler must not stop the others
            return self._failed(item, error)

    def _result(
        self, item: DecodedDelivery, span: Trace, outcome: DispatchOutcome, events: Sequence[Event]
    ) -> DispatchResult:
        # A retry publishes too; its turn keeps those ids apart from the final results' ids.
        turn = item.delivery.deliveries if outcome is DispatchOutcome.RETRIED else 0
        cause = EventOrigin(envelope=item.envelope, handler=item.route.name, span=span, turn=turn)
        messages = self.sender.results(cause, events)
        return DispatchResult(outcome=outcome, events=tuple(events), messages=tuple(messages))

    def _retried(self, item: DecodedDelivery, span: Trace, verdict: Retry) -> DispatchResult:
        result = self._result(item, span, DispatchOutcome.RETRIED, _events(verdict.emit))
        return replace(result, reason=verdict.reason, after=verdict.after)

    def _failed(self, item: DecodedDelivery, error: Exception) -> DispatchResult:
        """Count a bug or a timeout: retry with back-off, dead letter on the last attempt."""
        attempts = self.failures.add(item.route.name, item.sequence)
        log.error("handler failed", attempt=attempts, of=item.route.attempts, exc_info=error)
        reason = _describe(error, item.route.timeout)
        if attempts >= item.route.attempts:
            return DispatchResult(
                outcome=DispatchOutcome.DEAD, reason=f"{reason} (attempt {attempts})"
            )
        return DispatchResult(
            outcome=DispatchOutcome.FAILED, reason=reason, after=self.failures.delay(attempts)
        )

    async def _settle(self, item: DecodedDelivery, result: DispatchResult) -> None:
        if not self.may_act():
            raise CarrierError("others may act in the stead of this replica")
        await self._publish_owed()
        if result.messages:
            await self.publisher.publish(result.messages)
        match result.outcome:
            case DispatchOutcome.RETRIED | DispatchOutcome.FAILED:
                await item.delivery.nak(result.after)
                return
            case DispatchOutcome.REJECTED | DispatchOutcome.DEAD:
                await self._dead_letter(item, result.reason)
            case _:
                pass
        await item.delivery.ack()
        self.failures.forget(item.route.name, item.sequence)

    async def _publish_owed(self) -> None:
        """Publish earlier results first; the server drops those that it had stored after all."""
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

    async def _dead_letter(self, item: DecodedDelivery | PoisonDelivery, reason: str) -> None:
        letter = dead_letter(self.sender.scope, item.route.name, item.delivery, reason)
        await self.publisher.publish((letter,))
        self.observer.on_dead(item.route, reason)

    async def _publish_refusal(self, item: PoisonDelivery) -> None:
        """Publish the refusal once per delivery: its id is made of the delivery's sequence."""
        if item.refused is None:
            return
        once = f"refused:{item.route.name}:{item.sequence}"
        trace = self.sender.sampler.span(None)
        fact = self.sender.first(item.refused, correlation="", trace=trace, message_id=once)
        await self.publisher.publish((fact,))

    def _span(self, item: DecodedDelivery) -> Trace:
        return self.sender.sampler.span(item.envelope.trace)

    def _observe(
        self, item: DecodedDelivery, result: DispatchResult, span: Trace, started: float
    ) -> None:
        seconds = time.monotonic() - started
        self.observer.on_handled(
            DispatchHop(
                route=item.route,
                envelope=item.envelope,
                event=item.event,
                span=span,
                started=time.time() - seconds,
                seconds=seconds,
                outcome=result.outcome,
                results=result.events,
                reason=result.reason,
            )
        )


def _events(emitted: Sequence[object]) -> tuple[Event, ...]:
    return tuple(event for event in emitted if isinstance(event, Event))


def _describe(error: Exception, timeout: float) -> str:
    text = str(error)
    if isinstance(error, TimeoutError) and not text:
        return f"TimeoutError: no answer within {timeout:g} s"
    return f"{type(error).__name__}: {text}"
