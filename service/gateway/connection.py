"""The link of one agent as a state machine: (state, input, time) -> frames and effects. Pure.

Inputs are the agent's frames (frames.py), outcomes of earlier effects (effect_outcomes.py), link
signals of the rest of the service, and the clock. agent_socket.py reads and writes, and
effect_runner.py carries the effects out; neither decides.

    waiting for Hello -> open -> over

Frames that come twice, late or never are met here: duplicates and gaps by the cursor, silence by
the heartbeat, a lost answer by the roots of the next minute.
"""

from __future__ import annotations

from typing import assert_never

import msgspec

from bus.link import (
    Beat,
    Bodies,
    Cancel,
    Chunk,
    Credit,
    DownFrame,
    End,
    HashBucket,
    Hello,
    Items,
    KeptHeads,
    Roots,
)
from service.gateway import effect_outcomes, frames
from service.gateway import effects as fx
from service.gateway import reconcile_state as look
from service.gateway.link_opening import OpenedLink
from service.gateway.link_state import (
    HELLO_WITHIN,
    SILENT_BEATS,
    LinkState,
    LinkStep,
    broken,
    ended,
    with_credit,
)
from service.projection.writer import StoredBatch
from service.store.link_signals import LinkSignal

_OFFER_EVERY = 5.0
_HEARD_EVERY = 5.0


def step(link: LinkState, event: fx.Input, now: float) -> LinkStep:
    """Decide what to send and to do; nothing at all once the connection is over."""
    if link.over:
        return LinkStep(link=link)
    match event:
        case (
            Hello()
            | Items()
            | Roots()
            | HashBucket()
            | Bodies()
            | Beat()
            | Chunk()
            | End()
            | KeptHeads()
        ):
            return frames.step(msgspec.structs.replace(link, heard_at=now), event, now)
        case fx.ClockTick():
            return _tick(link, now)
        case LinkSignal():
            return _signal(link, event, now)
        case (
            OpenedLink()
            | StoredBatch()
            | fx.LinkRefusal()
            | fx.RootsCompared()
            | fx.MembersCompared()
            | fx.EpochActivated()
            | fx.TasksOffered()
            | fx.PongReceived()
        ):
            return effect_outcomes.step(link, event, now)
        case _:
            assert_never(event)


def _tick(link: LinkState, now: float) -> LinkStep:
    if link.opened is None:
        late = now - link.began > HELLO_WITHIN
        return broken(link, "no Hello within ten seconds") if late else LinkStep(link=link)
    if now - link.heard_at > SILENT_BEATS * link.terms.beat_seconds:
        return broken(link, "nothing was heard for three heartbeats")
    if now > link.expires_at:
        return ended(link, "the session is over: prove possession of the key again", 1.0)
    return _due(link, now)


def _due(link: LinkState, now: float) -> LinkStep:
    """What is done by the clock: the beat, a sign of life for people, a look at the tasks."""
    sent: tuple[DownFrame, ...] = ()
    found: tuple[fx.Effect, ...] = ()
    if now - link.beat_at >= link.terms.beat_seconds:
        sent, found = (Beat(sent_at=now, echo=link.last_sent),), (fx.PingAgent(),)
        link = msgspec.structs.replace(link, beat_at=now)
    if now - link.announced_at >= _HEARD_EVERY and link.heard_at > link.announced_at:
        found = (*found, fx.RecordHeartbeat())
        link = msgspec.structs.replace(link, announced_at=now)
    if now - link.offered_at >= _OFFER_EVERY and not link.quarantined:
        found = (*found, fx.OfferTasks())
        link = msgspec.structs.replace(link, offered_at=now)
    if link.keeps_heads and now - link.head_at >= link.terms.roots_seconds:
        found = (*found, fx.SendAuditHead())
        link = msgspec.structs.replace(link, head_at=now)
    return LinkStep(link=link, frames=sent, effects=found)


def _signal(link: LinkState, signal: LinkSignal, now: float) -> LinkStep:
    if signal.extend:
        longer = max(link.expires_at, signal.extend)
        return LinkStep(link=msgspec.structs.replace(link, expires_at=longer))
    reason, retry_after = _over(link, signal)
    if reason:
        return ended(link, reason, retry_after)
    return LinkStep(link=link) if link.opened is None else _signal_open(link, signal, now)


def _over(link: LinkState, signal: LinkSignal) -> tuple[str, float]:
    """Why the link ends, and after how many seconds the agent may come back."""
    if signal.revoked:
        return "the agent was revoked", 0.0
    if signal.leaving:
        return "this replica of the service ends: connect to another", 1.0
    if link.opened is not None and signal.fence > link.opened.fence:
        return "another instance of this agent took over", 0.0
    return "", 0.0


def _signal_open(link: LinkState, signal: LinkSignal, now: float) -> LinkStep:
    if signal.believed:
        return effect_outcomes.step(link, fx.EpochActivated(), now)
    if signal.deletions:
        return _accepted(link)
    if signal.resync:
        kinds = dict(link.reconciliation.roots)
        return LinkStep(link=link, effects=(fx.CompareRoots(kinds=kinds),) if kinds else ())
    if signal.stream:
        left = link.credit.get(signal.stream, 0)
        link = with_credit(link, signal.stream, left + signal.credit)
    offers = signal.offer and not link.quarantined
    effects = (fx.OfferTasks(),) if offers else ()
    return LinkStep(link=link, frames=_passed_on(signal), effects=effects)


def _accepted(link: LinkState) -> LinkStep:
    looked, sent = look.accept(link.reconciliation)
    return LinkStep(link=msgspec.structs.replace(link, reconciliation=looked), frames=tuple(sent))


def _passed_on(signal: LinkSignal) -> tuple[DownFrame, ...]:
    if signal.cancel:
        return (Cancel(id=signal.cancel),)
    if signal.typed is not None:
        return (signal.typed,)
    if signal.stream:
        return (Credit(task=signal.stream, chunks=signal.credit),)
    return ()
