"""One connection of an agent as a state machine: (state, input, time) -> frames and effects. Pure.

Inputs are the agent's frames (frames.py), what came of earlier effects (outcomes.py), wishes of the
rest of the service and the passing of time (here). socket.py does the reading and writing, carry.py
the effects; neither decides.

    waiting for Hello -> open -> over

Everything that happens to be sent twice, late or never is met here: duplicates and gaps by the
cursor, silence by the beat, a lost answer by the next minute's roots.
"""

from __future__ import annotations

from typing import assert_never

import msgspec

from bus.link import (
    Beat,
    Bodies,
    Bucket,
    Cancel,
    Chunk,
    Credit,
    DownFrame,
    End,
    Hello,
    Items,
    KeptHeads,
    Roots,
)
from service.gateway import effects as fx
from service.gateway import frames, outcomes
from service.gateway import looking as look
from service.gateway.link import HELLO_WITHIN, SILENT_BEATS, Link, Step, broken, ended
from service.gateway.links import Wish
from service.gateway.opening import Opened
from service.projection.writer import Stored

_OFFER_EVERY = 5.0
_HEARD_EVERY = 5.0


def step(link: Link, given: fx.Input, now: float) -> Step:
    """What to send and to do; nothing at all once the connection is over."""
    if link.over:
        return Step(link=link)
    match given:
        case (
            Hello()
            | Items()
            | Roots()
            | Bucket()
            | Bodies()
            | Beat()
            | Chunk()
            | End()
            | KeptHeads()
        ):
            return frames.step(msgspec.structs.replace(link, heard_at=now), given, now)
        case fx.Tick():
            return _tick(link, now)
        case Wish():
            return _wish(link, given, now)
        case (
            Opened()
            | Stored()
            | fx.Refused()
            | fx.RootsCompared()
            | fx.MembersCompared()
            | fx.Believed()
            | fx.Offered()
            | fx.Pong()
        ):
            return outcomes.step(link, given, now)
        case _:
            assert_never(given)


def _tick(link: Link, now: float) -> Step:
    if link.opened is None:
        late = now - link.began > HELLO_WITHIN
        return broken(link, "no Hello within ten seconds") if late else Step(link=link)
    if now - link.heard_at > SILENT_BEATS * link.terms.beat_seconds:
        return broken(link, "nothing was heard for three heartbeats")
    if now > link.expires_at:
        return ended(link, "the session is over: prove possession of the key again", 1.0)
    return _due(link, now)


def _due(link: Link, now: float) -> Step:
    """What is done by the clock: the beat, a sign of life for people, a look at the tasks."""
    sent: tuple[DownFrame, ...] = ()
    found: tuple[fx.Effect, ...] = ()
    if now - link.beat_at >= link.terms.beat_seconds:
        sent, found = (Beat(sent_at=now, echo=link.last_sent),), (fx.Ping(),)
        link = msgspec.structs.replace(link, beat_at=now)
    if now - link.told_at >= _HEARD_EVERY and link.heard_at > link.told_at:
        found = (*found, fx.Heard())
        link = msgspec.structs.replace(link, told_at=now)
    if now - link.offered_at >= _OFFER_EVERY and not link.quarantined:
        found = (*found, fx.OfferTasks())
        link = msgspec.structs.replace(link, offered_at=now)
    if link.keeps_heads and now - link.head_at >= link.terms.roots_seconds:
        found = (*found, fx.TellHead())
        link = msgspec.structs.replace(link, head_at=now)
    return Step(link=link, frames=sent, effects=found)


def _wish(link: Link, wanted: Wish, now: float) -> Step:
    if wanted.extend:
        longer = max(link.expires_at, wanted.extend)
        return Step(link=msgspec.structs.replace(link, expires_at=longer))
    reason, retry_after = _over(link, wanted)
    if reason:
        return ended(link, reason, retry_after)
    return Step(link=link) if link.opened is None else _wish_open(link, wanted, now)


def _over(link: Link, wanted: Wish) -> tuple[str, float]:
    """Why the link ends, and after how many seconds the agent may come back."""
    if wanted.revoked:
        return "the agent was revoked", 0.0
    if wanted.leaving:
        return "this replica of the service ends: connect to another", 1.0
    if link.opened is not None and wanted.fence > link.opened.fence:
        return "another instance of this agent took over", 0.0
    return "", 0.0


def _wish_open(link: Link, wanted: Wish, now: float) -> Step:
    if wanted.believed:
        return outcomes.step(link, fx.Believed(), now)
    if wanted.deletions:
        return _accepted(link)
    if wanted.resync:
        kinds = dict(link.looking.roots)
        return Step(link=link, effects=(fx.CompareRoots(kinds=kinds),) if kinds else ())
    offers = wanted.offer and not link.quarantined
    effects = (fx.OfferTasks(),) if offers else ()
    return Step(link=link, frames=_passed_on(wanted), effects=effects)


def _accepted(link: Link) -> Step:
    looked, sent = look.accept(link.looking)
    return Step(link=msgspec.structs.replace(link, looking=looked), frames=tuple(sent))


def _passed_on(wanted: Wish) -> tuple[DownFrame, ...]:
    if wanted.cancel:
        return (Cancel(id=wanted.cancel),)
    if wanted.stream:
        return (Credit(task=wanted.stream, chunks=wanted.credit),)
    return ()
