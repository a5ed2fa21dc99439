"""Outcomes of effects: the welcome, acknowledgements, questions about what differs. Pure."""

from __future__ import annotations

from typing import assert_never

import msgspec

from bus.link import Ack, DownFrame, Missing, Welcome
from service.gateway import effects as fx
from service.gateway import reconcile_state as look
from service.gateway.link_opening import OpenedLink
from service.gateway.link_state import LinkState, LinkStep, believed, ended
from service.projection.writer import StoredBatch

_MISSING_EVERY = 2.0
Compared = fx.RootsCompared | fx.MembersCompared
Outcome = (
    OpenedLink
    | StoredBatch
    | fx.LinkRefusal
    | Compared
    | fx.EpochActivated
    | fx.TasksOffered
    | fx.PongReceived
)


def step(link: LinkState, came: Outcome, now: float) -> LinkStep:
    match came:
        case OpenedLink():
            return _opened(link, came, now)
        case StoredBatch():
            return _stored(link, came, now)
        case fx.LinkRefusal():
            return ended(link, came.reason, came.retry_after)
        case fx.RootsCompared() | fx.MembersCompared():
            return _compared(link, came, now)
        case fx.EpochActivated() | fx.TasksOffered() | fx.PongReceived():
            return _noted(link, came)
        case _:
            assert_never(came)


def _opened(link: LinkState, opened: OpenedLink, now: float) -> LinkStep:
    hello = link.hello
    link = msgspec.structs.replace(
        link,
        opened=opened,
        cursor=opened.cursor,
        quarantined=opened.scope.quarantined,
        announced_at=now,
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
    return LinkStep(link=link, frames=(welcome,), effects=(fx.PingAgent(), *offer, *_heads(link)))


def _heads(link: LinkState) -> tuple[fx.Effect, ...]:
    """What the agent brings counts before it is told of anything newer."""
    if link.hello is None or not link.keeps_heads:
        return ()
    return (fx.KeepAuditHeads(heads=link.hello.heads), fx.SendAuditHead())


def _stored(link: LinkState, stored: StoredBatch, now: float) -> LinkStep:
    """The acknowledgement, after the transaction; a gap is told at most each two seconds."""
    moved = stored.cursor > link.cursor
    accepted = link.quarantined and not stored.quarantined
    link = believed(link) if accepted else link
    link = msgspec.structs.replace(
        link,
        cursor=max(link.cursor, stored.cursor),
        reconciliation=look.hold(link.reconciliation, stored.held),
    )
    sent: tuple[DownFrame, ...] = (Ack(through=stored.cursor),)
    if stored.gap and (moved or now - link.missing_at >= _MISSING_EVERY):
        link = msgspec.structs.replace(link, missing_at=now)
        sent = (*sent, Missing(after=stored.cursor))
    return LinkStep(
        link=link, frames=sent, effects=(fx.OfferTasks(first=True),) if accepted else ()
    )


def _compared(link: LinkState, came: Compared, now: float) -> LinkStep:
    match came:
        case fx.RootsCompared():
            return _roots_compared(link, came, now)
        case fx.MembersCompared():
            return _members_compared(link, came)
        case _:
            assert_never(came)


def _roots_compared(link: LinkState, found: fx.RootsCompared, now: float) -> LinkStep:
    if not found.differing:
        looked = msgspec.structs.replace(
            link.reconciliation, looks={}, awaited={}, doubted={}, held={}
        )
        link = msgspec.structs.replace(link, reconciliation=looked)
        return LinkStep(link=link, effects=(fx.ActivateEpoch(),) if link.quarantined else ())
    if found.again:
        return LinkStep(link=link)
    looked, sent = look.begin(link.reconciliation, found.differing, now)
    return LinkStep(link=msgspec.structs.replace(link, reconciliation=looked), frames=tuple(sent))


def _members_compared(link: LinkState, seen: fx.MembersCompared) -> LinkStep:
    """Where nothing differs any more, both sides may be in step by now."""
    looked, sent, doubt = look.decide(link.reconciliation, seen)
    link = msgspec.structs.replace(link, reconciliation=looked)
    effects: tuple[fx.Effect, ...] = (doubt,) if doubt else ()
    if not sent and look.answered(looked):
        effects = (*effects, fx.CompareRoots(kinds=dict(looked.roots), again=True))
    return LinkStep(link=link, frames=tuple(sent), effects=effects)


def _noted(
    link: LinkState, came: fx.EpochActivated | fx.TasksOffered | fx.PongReceived
) -> LinkStep:
    match came:
        case fx.EpochActivated():
            return LinkStep(link=believed(link), effects=(fx.OfferTasks(first=True),))
        case fx.TasksOffered():
            return LinkStep(link=link, frames=came.frames)
        case fx.PongReceived():
            return LinkStep(link=msgspec.structs.replace(link, round_trip=max(0.0, came.took)))
        case _:
            assert_never(came)
