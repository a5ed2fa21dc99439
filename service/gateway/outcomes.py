"""What came of effects: the welcome, acknowledgements, questions about what differs. Pure."""

from __future__ import annotations

from typing import assert_never

import msgspec

from bus.link import Ack, DownFrame, Missing, Welcome
from service.gateway import effects as fx
from service.gateway import looking as look
from service.gateway.link import Link, Step, believed, ended
from service.gateway.opening import Opened
from service.projection.writer import Stored

_MISSING_EVERY = 2.0
Compared = fx.RootsCompared | fx.MembersCompared
Outcome = Opened | Stored | fx.Refused | Compared | fx.Believed | fx.Offered | fx.Pong


def step(link: Link, came: Outcome, now: float) -> Step:
    match came:
        case Opened():
            return _opened(link, came, now)
        case Stored():
            return _stored(link, came, now)
        case fx.Refused():
            return ended(link, came.reason, came.retry_after)
        case fx.RootsCompared() | fx.MembersCompared():
            return _compared(link, came, now)
        case fx.Believed() | fx.Offered() | fx.Pong():
            return _noted(link, came)
        case _:
            assert_never(came)


def _opened(link: Link, opened: Opened, now: float) -> Step:
    hello = link.hello
    link = msgspec.structs.replace(
        link,
        opened=opened,
        cursor=opened.cursor,
        quarantined=opened.scope.quarantined,
        told_at=now,
        offered_at=now,
        head_at=now,
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
    return Step(link=link, frames=(welcome,), effects=(fx.Ping(), *offer, *_heads(link)))


def _heads(link: Link) -> tuple[fx.Effect, ...]:
    """What the agent brings counts before it is told of anything newer."""
    if link.hello is None or not link.keeps_heads:
        return ()
    return (fx.KeepHeads(heads=link.hello.heads), fx.TellHead())


def _stored(link: Link, stored: Stored, now: float) -> Step:
    """The acknowledgement, after the transaction; a gap is told at most each two seconds."""
    moved = stored.cursor > link.cursor
    accepted = link.quarantined and not stored.quarantined
    link = believed(link) if accepted else link
    link = msgspec.structs.replace(link, cursor=max(link.cursor, stored.cursor))
    sent: tuple[DownFrame, ...] = (Ack(through=stored.cursor),)
    if stored.gap and (moved or now - link.missing_at >= _MISSING_EVERY):
        link = msgspec.structs.replace(link, missing_at=now)
        sent = (*sent, Missing(after=stored.cursor))
    return Step(link=link, frames=sent, effects=(fx.OfferTasks(first=True),) if accepted else ())


def _compared(link: Link, came: Compared, now: float) -> Step:
    match came:
        case fx.RootsCompared():
            return _roots_compared(link, came, now)
        case fx.MembersCompared():
            return _members_compared(link, came)
        case _:
            assert_never(came)


def _roots_compared(link: Link, found: fx.RootsCompared, now: float) -> Step:
    if not found.differing:
        looked = msgspec.structs.replace(link.looking, looks={}, wanted={}, doubted={})
        link = msgspec.structs.replace(link, looking=looked)
        return Step(link=link, effects=(fx.Believe(),) if link.quarantined else ())
    if found.again:
        return Step(link=link)
    looked, sent = look.begin(link.looking, found.differing, now)
    return Step(link=msgspec.structs.replace(link, looking=looked), frames=tuple(sent))


def _members_compared(link: Link, seen: fx.MembersCompared) -> Step:
    """Where nothing differs any more, both sides may be in step by now."""
    looked, sent, doubt = look.decide(link.looking, seen)
    link = msgspec.structs.replace(link, looking=looked)
    effects: tuple[fx.Effect, ...] = (doubt,) if doubt else ()
    if not sent and look.answered(looked):
        effects = (*effects, fx.CompareRoots(kinds=dict(looked.roots), again=True))
    return Step(link=link, frames=tuple(sent), effects=effects)


def _noted(link: Link, came: fx.Believed | fx.Offered | fx.Pong) -> Step:
    match came:
        case fx.Believed():
            return Step(link=believed(link), effects=(fx.OfferTasks(first=True),))
        case fx.Offered():
            return Step(link=link, frames=came.frames)
        case fx.Pong():
            return Step(link=msgspec.structs.replace(link, round_trip=max(0.0, came.took)))
        case _:
            assert_never(came)
