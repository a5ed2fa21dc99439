"""One connection of an agent as a state machine: (state, input, time) -> frames and effects. Pure.

Inputs are the agent's frames, wishes of the rest of the service, the passing of time, and what came
of earlier effects. socket.py does the reading and writing, carry.py the effects; neither decides.

    waiting for Hello -> open -> over

Everything that happens to be sent twice, late or never is met here: duplicates and gaps by the
cursor, silence by the beat, a lost answer by the next minute's roots.
"""

from __future__ import annotations

from typing import assert_never

import msgspec

from bus.link import (
    PROTOCOL,
    Ack,
    Beat,
    Bodies,
    Bucket,
    Cancel,
    Chunk,
    Credit,
    DownFrame,
    End,
    Fenced,
    Hello,
    Items,
    Missing,
    Roots,
    Welcome,
)
from service.gateway import effects as fx
from service.gateway import looking as look
from service.gateway.links import Wish
from service.gateway.opening import Opened
from service.gateway.sessions import Caller
from service.projection.writer import Stored

POLICY = 1008
AGAIN_LATER = 1013
HELLO_WITHIN = 10.0
SILENT_BEATS = 3
_LOOK_EVERY = 5.0
_MISSING_EVERY = 2.0
_HEARD_EVERY = 5.0
_BURST_SECONDS = 4.0


class Terms(msgspec.Struct, frozen=True, kw_only=True):
    """What this service offers every agent."""

    beat_seconds: float = 15.0
    roots_seconds: float = 60.0
    items_per_second: float = 5000.0
    protocol: tuple[int, int] = PROTOCOL


class Link(msgspec.Struct, frozen=True, kw_only=True):
    """All that is remembered of one connection."""

    caller: Caller
    terms: Terms
    began: float
    heard_at: float
    expires_at: float
    hello: Hello | None = None
    opened: Opened | None = None
    cursor: int = 0
    quarantined: bool = False
    over: bool = False
    beat_at: float = 0.0
    told_at: float = 0.0
    offered_at: float = 0.0
    missing_at: float = 0.0
    last_sent: float = 0.0
    """By the agent's clock: echoed."""
    allowance: float = 0.0
    allowance_at: float = 0.0
    looking: look.Looking = look.Looking()


class Step(msgspec.Struct, frozen=True, kw_only=True):
    link: Link
    frames: tuple[DownFrame, ...] = ()
    effects: tuple[fx.Effect, ...] = ()
    wait: float = 0.0
    """Seconds before the next frame is read: the agent sends more than it may."""


def new_link(caller: Caller, terms: Terms, now: float) -> Link:
    return Link(
        caller=caller,
        terms=terms,
        began=now,
        heard_at=now,
        beat_at=now,
        expires_at=caller.expires_at,
        allowance=terms.items_per_second * _BURST_SECONDS,
        allowance_at=now,
    )


def step(link: Link, given: fx.Input, now: float) -> Step:
    """What to send and to do; nothing at all once the connection is over."""
    if link.over:
        return Step(link=link)
    match given:
        case Hello() | Items() | Roots() | Bucket() | Bodies() | Beat() | Chunk() | End():
            return _frame(msgspec.structs.replace(link, heard_at=now), given, now)
        case fx.Tick():
            return _tick(link, now)
        case Wish():
            return _wish(link, given)
        case Opened():
            return _opened(link, given, now)
        case Stored():
            return _stored(link, given, now)
        case fx.Refused():
            return _end(link, given.reason)
        case fx.RootsCompared():
            return _roots_compared(link, given, now)
        case fx.MembersCompared():
            return _members_compared(link, given)
        case fx.Believed():
            believed = msgspec.structs.replace(link, quarantined=False)
            return Step(link=believed, effects=(fx.OfferTasks(first=True),))
        case fx.Offered():
            return Step(link=link, frames=given.frames)
        case _:
            assert_never(given)


def _frame(
    link: Link, frame: Hello | Items | Roots | Bucket | Bodies | Beat | Chunk | End, now: float
) -> Step:
    if isinstance(frame, Hello):
        return _hello(link, frame)
    if link.opened is None:
        return _broken(link, "the first frame is Hello, and nothing before its Welcome")
    match frame:
        case Items():
            return _items(link, frame, now)
        case Roots():
            return _roots(link, frame)
        case Bucket():
            looked, found = look.take_bucket(link.looking, frame)
            link = msgspec.structs.replace(link, looking=looked)
            return Step(link=link, effects=() if found is None else (found,))
        case Bodies():
            return _bodies(link, frame)
        case Beat():
            return _beat(link, frame, now)
        case Chunk() | End():
            return Step(link=link, effects=(fx.Relay(part=frame),))
        case _:
            assert_never(frame)


def _hello(link: Link, hello: Hello) -> Step:
    low, high = link.terms.protocol
    if link.hello is not None:
        return _broken(link, "Hello came a second time")
    if (hello.account, hello.agent) != (link.caller.account, link.caller.agent):
        return _end(link, "the session belongs to another agent")
    if hello.protocol[1] < low or hello.protocol[0] > high:
        side = "agent" if hello.protocol[1] < low else "service"
        spoken = f"{hello.protocol[0]} to {hello.protocol[1]}"
        return _end(
            link,
            f"the agent speaks link protocol {spoken}, the service {low} to {high}:"
            f" upgrade the {side}",
        )
    link = msgspec.structs.replace(link, hello=hello)
    return Step(link=link, effects=(fx.Open(hello=hello),))


def _opened(link: Link, opened: Opened, now: float) -> Step:
    hello = link.hello
    link = msgspec.structs.replace(
        link,
        opened=opened,
        cursor=opened.cursor,
        quarantined=opened.scope.quarantined,
        told_at=now,
        offered_at=now,
    )
    welcome = Welcome(
        session=f"{opened.scope.agent_id}/{opened.fence}",
        fence=opened.fence,
        acked=opened.cursor,
        quarantined=opened.scope.quarantined,
        beat_seconds=link.terms.beat_seconds,
        roots_seconds=link.terms.roots_seconds,
        server_time=now,
        protocol=min(link.terms.protocol[1], hello.protocol[1] if hello else 1),
    )
    running = hello.running if hello else ()
    offer = () if link.quarantined else (fx.OfferTasks(running=running, first=True),)
    return Step(link=link, frames=(welcome,), effects=offer)


def _items(link: Link, frame: Items, now: float) -> Step:
    link, wait = _spend(link, len(frame.items), now)
    return Step(link=link, effects=(fx.Store(items=frame.items),), wait=wait)


def _spend(link: Link, count: int, now: float) -> tuple[Link, float]:
    """A bucket of tokens: who has spent more than there is waits until it is earned."""
    rate = link.terms.items_per_second
    earned = link.allowance + (now - link.allowance_at) * rate
    left = min(earned, rate * _BURST_SECONDS) - count
    return msgspec.structs.replace(link, allowance=left, allowance_at=now), max(0.0, -left / rate)


def _stored(link: Link, stored: Stored, now: float) -> Step:
    """The acknowledgement, after the transaction; a gap is told at most each two seconds."""
    moved = stored.cursor > link.cursor
    believed = link.quarantined and not stored.quarantined
    link = msgspec.structs.replace(
        link, cursor=max(link.cursor, stored.cursor), quarantined=stored.quarantined
    )
    frames: tuple[DownFrame, ...] = (Ack(through=stored.cursor),)
    if stored.gap and (moved or now - link.missing_at >= _MISSING_EVERY):
        link = msgspec.structs.replace(link, missing_at=now)
        frames = (*frames, Missing(after=stored.cursor))
    return Step(link=link, frames=frames, effects=(fx.OfferTasks(first=True),) if believed else ())


def _roots(link: Link, roots: Roots) -> Step:
    """Hashes over items that we do not have yet say nothing."""
    if roots.through > link.cursor:
        return Step(link=link, frames=(Missing(after=link.cursor),))
    looked = msgspec.structs.replace(link.looking, roots=roots.kinds)
    link = msgspec.structs.replace(link, looking=looked)
    return Step(link=link, effects=(fx.CompareRoots(kinds=roots.kinds),))


def _roots_compared(link: Link, found: fx.RootsCompared, now: float) -> Step:
    if not found.differing:
        looked = msgspec.structs.replace(link.looking, looks={}, wanted={}, doubted={})
        link = msgspec.structs.replace(link, looking=looked)
        return Step(link=link, effects=(fx.Believe(),) if link.quarantined else ())
    if found.again:
        return Step(link=link)
    looked, frames = look.begin(link.looking, found.differing, now)
    return Step(link=msgspec.structs.replace(link, looking=looked), frames=tuple(frames))


def _members_compared(link: Link, seen: fx.MembersCompared) -> Step:
    looked, frames, doubt = look.decide(link.looking, seen)
    link = msgspec.structs.replace(link, looking=looked)
    return Step(link=link, frames=tuple(frames), effects=() if doubt is None else (doubt,))


def _bodies(link: Link, bodies: Bodies) -> Step:
    looked = look.take_bodies(link.looking, bodies)
    link = msgspec.structs.replace(link, looking=looked)
    stored: tuple[fx.Effect, ...] = (fx.StoreBodies(bodies=bodies),)
    if look.answered(looked) and looked.roots:
        again = fx.CompareRoots(kinds=dict(looked.roots), again=True)
        stored = (*stored, again)
    return Step(link=link, effects=stored)


def _beat(link: Link, beat: Beat, now: float) -> Step:
    """An echo of our last beat tells the way there and back, and how far the clocks are apart."""
    link = msgspec.structs.replace(link, last_sent=beat.sent_at)
    if not beat.echo:
        return Step(link=link, frames=(Beat(sent_at=now, echo=beat.sent_at),))
    round_trip = max(0.0, now - beat.echo)
    skew = beat.sent_at + round_trip / 2 - now
    heard = fx.Heard(round_trip_ms=_ms(round_trip), clock_skew_ms=_ms(skew))
    return Step(link=msgspec.structs.replace(link, told_at=now), effects=(heard,))


def _ms(seconds: float) -> int:
    """As milliseconds that fit their column, whatever the other clock says."""
    if seconds != seconds:  # noqa: PLR0124  only NaN differs from itself
        return 0
    return round(max(-2_000_000.0, min(2_000_000.0, seconds)) * 1000)


def _tick(link: Link, now: float) -> Step:
    if link.opened is None:
        late = now - link.began > HELLO_WITHIN
        return _broken(link, "no Hello within ten seconds") if late else Step(link=link)
    if now - link.heard_at > SILENT_BEATS * link.terms.beat_seconds:
        return _broken(link, "nothing was heard for three heartbeats")
    if now > link.expires_at:
        return _end(link, "the session is over: prove possession of the key again", 1.0)
    frames: tuple[DownFrame, ...] = ()
    found: tuple[fx.Effect, ...] = ()
    if now - link.beat_at >= link.terms.beat_seconds:
        frames = (Beat(sent_at=now, echo=link.last_sent),)
        link = msgspec.structs.replace(link, beat_at=now)
    if now - link.told_at >= _HEARD_EVERY and link.heard_at > link.told_at:
        found = (fx.Heard(),)
        link = msgspec.structs.replace(link, told_at=now)
    if now - link.offered_at >= _LOOK_EVERY and not link.quarantined:
        found = (*found, fx.OfferTasks())
        link = msgspec.structs.replace(link, offered_at=now)
    return Step(link=link, frames=frames, effects=found)


def _wish(link: Link, wanted: Wish) -> Step:
    if wanted.revoked:
        return _end(link, "the agent was revoked")
    if wanted.extend:
        longer = max(link.expires_at, wanted.extend)
        return Step(link=msgspec.structs.replace(link, expires_at=longer))
    if link.opened is None:
        return Step(link=link)
    if wanted.fence:
        newer = wanted.fence > link.opened.fence
        return _end(link, "another instance of this agent took over") if newer else Step(link=link)
    if wanted.cancel:
        return Step(link=link, frames=(Cancel(id=wanted.cancel),))
    if wanted.stream:
        return Step(link=link, frames=(Credit(task=wanted.stream, chunks=wanted.credit),))
    if wanted.resync:
        kinds = dict(link.looking.roots)
        return Step(link=link, effects=(fx.CompareRoots(kinds=kinds),) if kinds else ())
    offers = wanted.offer and not link.quarantined
    return Step(link=link, effects=(fx.OfferTasks(),) if offers else ())


def _end(link: Link, reason: str, retry_after: float = 0.0) -> Step:
    """With a frame that says why, for the agent to show."""
    return Step(
        link=msgspec.structs.replace(link, over=True),
        frames=(Fenced(reason=reason, retry_after=retry_after),),
        effects=(fx.Close(code=POLICY, reason=reason),),
    )


def _broken(link: Link, reason: str) -> Step:
    link = msgspec.structs.replace(link, over=True)
    return Step(link=link, effects=(fx.Close(code=POLICY, reason=reason),))
