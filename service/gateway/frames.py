"""Frames of an agent: what each one stores or compares, and how it is answered. Pure."""

from __future__ import annotations

import math
from typing import assert_never

import msgspec

from bus.link import (
    Beat,
    Bodies,
    Chunk,
    End,
    HashBucket,
    Hello,
    ItemKind,
    Items,
    KeptHeads,
    Missing,
    Roots,
)
from service.gateway import effects as fx
from service.gateway import reconcile_state as look
from service.gateway.frame_bounds import AGAIN_AFTER, broken_bound
from service.gateway.link_state import (
    BURST_SECONDS,
    LinkState,
    LinkStep,
    broken,
    ended,
    with_credit,
)

Frame = Items | Roots | HashBucket | Bodies | Beat | Chunk | End | KeptHeads
_LARGEST_SKEW = 2_000_000.0
"""Seconds: what its column can hold."""
_SHOWN = 40
"""Characters of a task's id, which an agent may make up."""


def step(link: LinkState, frame: Hello | Frame, now: float) -> LinkStep:
    problem = broken_bound(frame)
    if problem:
        return ended(link, problem, AGAIN_AFTER)
    if isinstance(frame, Hello):
        return _hello(link, frame)
    if link.opened is None:
        return broken(link, "the first frame is Hello, and nothing before its Welcome")
    return _open(link, frame, now)


def _open(link: LinkState, frame: Frame, now: float) -> LinkStep:
    match frame:
        case Items():
            return _items(link, frame, now)
        case Beat():
            return _beat(link, frame, now)
        case Chunk():
            return _chunk(link, frame)
        case End():
            link = with_credit(link, frame.task, 0)
            return LinkStep(link=link, effects=(fx.RelayChunk(part=frame),))
        case KeptHeads():
            return LinkStep(link=link, effects=(fx.KeepAuditHeads(heads=frame.heads),))
        case Roots() | HashBucket() | Bodies():
            return _held(link, frame)
        case _:
            assert_never(frame)


def _chunk(link: LinkState, chunk: Chunk) -> LinkStep:
    """Each chunk costs one credit of its reader; a flood would reach all readers of the service."""
    credit = link.credit.get(chunk.task, 0)
    if not credit:
        task = chunk.task[:_SHOWN]
        return ended(link, f"a chunk of task {task} without credit from its reader", AGAIN_AFTER)
    link = with_credit(link, chunk.task, credit - 1)
    return LinkStep(link=link, effects=(fx.RelayChunk(part=chunk),))


def _hello(link: LinkState, hello: Hello) -> LinkStep:
    if link.hello is not None:
        return broken(link, "Hello came a second time")
    if (hello.account, hello.agent) != (link.caller.account, link.caller.agent):
        return ended(link, "the session belongs to another agent")
    apart = _apart(hello.protocol, link.terms.protocol)
    if apart:
        return ended(link, apart)
    link = msgspec.structs.replace(link, hello=hello)
    return LinkStep(link=link, effects=(fx.OpenLink(hello=hello),))


def _apart(theirs: tuple[int, int], own: tuple[int, int]) -> str:
    """Why there is no version that both speak; empty where there is."""
    if theirs[1] >= own[0] and theirs[0] <= own[1]:
        return ""
    side = "agent" if theirs[1] < own[0] else "service"
    return (
        f"the agent speaks link protocol {theirs[0]} to {theirs[1]},"
        f" the service {own[0]} to {own[1]}: upgrade the {side}"
    )


def _items(link: LinkState, frame: Items, now: float) -> LinkStep:
    """Stored; an agent that has spent its allowance waits until it is earned.

    A task that ended makes room for the next.
    """
    rate = link.terms.items_per_second
    earned = link.allowance + max(0.0, now - link.allowance_at) * rate
    left = min(earned, rate * BURST_SECONDS) - len(frame.items)
    link = msgspec.structs.replace(link, allowance=left, allowance_at=now)
    wait = max(0.0, -left / rate)
    stored = fx.StoreItems(items=frame.items)
    if link.quarantined or not any(item.kind is ItemKind.TASK for item in frame.items):
        return LinkStep(link=link, effects=(stored,), wait=wait)
    return LinkStep(link=link, effects=(stored, fx.OfferTasks()), wait=wait)


def _beat(link: LinkState, beat: Beat, now: float) -> LinkStep:
    """Answered where it asks (no echo); tells how far the clocks are apart."""
    link = msgspec.structs.replace(link, last_sent=beat.sent_at)
    answer = () if beat.echo else (Beat(sent_at=now, echo=beat.sent_at),)
    if link.round_trip is None:
        return LinkStep(link=link, frames=answer)
    skew = beat.sent_at + link.round_trip / 2 - now
    heard = fx.RecordHeartbeat(round_trip_ms=_ms(link.round_trip), clock_skew_ms=_ms(skew))
    link = msgspec.structs.replace(link, announced_at=now)
    return LinkStep(link=link, frames=answer, effects=(heard,))


def _ms(seconds: float) -> int:
    """Whatever the other clock says."""
    if math.isnan(seconds):
        return 0
    return round(max(-_LARGEST_SKEW, min(_LARGEST_SKEW, seconds)) * 1000)


def _held(link: LinkState, frame: Roots | HashBucket | Bodies) -> LinkStep:
    match frame:
        case Roots():
            return _roots(link, frame)
        case HashBucket():
            looked, found = look.take_bucket(link.reconciliation, frame)
            link = msgspec.structs.replace(link, reconciliation=looked)
            return LinkStep(link=link, effects=() if found is None else (found,))
        case Bodies():
            return _bodies(link, frame)
        case _:
            assert_never(frame)


def _roots(link: LinkState, roots: Roots) -> LinkStep:
    """Hashes over items that we do not have yet say nothing, unless asking for them was in vain."""
    if roots.through > link.cursor != link.asked_after:
        link = msgspec.structs.replace(link, asked_after=link.cursor)
        return LinkStep(link=link, frames=(Missing(after=link.cursor),))
    looked = msgspec.structs.replace(link.reconciliation, roots=roots.kinds)
    link = msgspec.structs.replace(link, reconciliation=looked)
    return LinkStep(link=link, effects=(fx.CompareRoots(kinds=roots.kinds),))


def _bodies(link: LinkState, bodies: Bodies) -> LinkStep:
    """When the last one asked for is there, look whether both sides are in step now.

    What nobody asked for is left out, and so is a tombstone of what no look missed: it would go
    round the guard against many deletions.
    """
    bodies = look.asked_for(link.reconciliation, bodies)
    looked = look.take_bodies(link.reconciliation, bodies)
    link = msgspec.structs.replace(link, reconciliation=looked)
    stored = fx.StoreBodies(bodies=bodies)
    if not look.answered(looked) or not looked.roots:
        return LinkStep(link=link, effects=(stored,))
    again = fx.CompareRoots(kinds=dict(looked.roots), again=True)
    return LinkStep(link=link, effects=(stored, again))
