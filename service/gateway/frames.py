"""The agent's frames: each says what to store or to compare, and what to answer. Pure."""

from __future__ import annotations

import math
from typing import assert_never

import msgspec

from bus.link import (
    Beat,
    Bodies,
    Bucket,
    Chunk,
    End,
    Hello,
    ItemKind,
    Items,
    KeptHeads,
    Missing,
    Roots,
)
from service.gateway import effects as fx
from service.gateway import looking as look
from service.gateway.bounds import AGAIN_AFTER, broken_bound
from service.gateway.link import BURST_SECONDS, Link, Step, broken, ended

Frame = Items | Roots | Bucket | Bodies | Beat | Chunk | End | KeptHeads
_LARGEST_SKEW = 2_000_000.0
"""Seconds: what its column can hold."""


def step(link: Link, frame: Hello | Frame, now: float) -> Step:
    problem = broken_bound(frame)
    if problem:
        return ended(link, problem, AGAIN_AFTER)
    if isinstance(frame, Hello):
        return _hello(link, frame)
    if link.opened is None:
        return broken(link, "the first frame is Hello, and nothing before its Welcome")
    return _open(link, frame, now)


def _open(link: Link, frame: Frame, now: float) -> Step:
    match frame:
        case Items():
            return _items(link, frame, now)
        case Beat():
            return _beat(link, frame, now)
        case Chunk() | End() | KeptHeads():
            return Step(link=link, effects=(_passed_on(frame),))
        case Roots() | Bucket() | Bodies():
            return _held(link, frame)
        case _:
            assert_never(frame)


def _passed_on(frame: Chunk | End | KeptHeads) -> fx.Effect:
    return fx.KeepHeads(heads=frame.heads) if isinstance(frame, KeptHeads) else fx.Relay(part=frame)


def _hello(link: Link, hello: Hello) -> Step:
    if link.hello is not None:
        return broken(link, "Hello came a second time")
    if (hello.account, hello.agent) != (link.caller.account, link.caller.agent):
        return ended(link, "the session belongs to another agent")
    apart = _apart(hello.protocol, link.terms.protocol)
    if apart:
        return ended(link, apart)
    link = msgspec.structs.replace(link, hello=hello)
    return Step(link=link, effects=(fx.Open(hello=hello),))


def _apart(theirs: tuple[int, int], ours: tuple[int, int]) -> str:
    """Why there is no version that both speak; empty where there is."""
    if theirs[1] >= ours[0] and theirs[0] <= ours[1]:
        return ""
    side = "agent" if theirs[1] < ours[0] else "service"
    return (
        f"the agent speaks link protocol {theirs[0]} to {theirs[1]},"
        f" the service {ours[0]} to {ours[1]}: upgrade the {side}"
    )


def _items(link: Link, frame: Items, now: float) -> Step:
    """Stored; an agent that has spent its allowance waits until it is earned.

    A task that ended makes room for the next.
    """
    rate = link.terms.items_per_second
    earned = link.allowance + max(0.0, now - link.allowance_at) * rate
    left = min(earned, rate * BURST_SECONDS) - len(frame.items)
    link = msgspec.structs.replace(link, allowance=left, allowance_at=now)
    wait = max(0.0, -left / rate)
    stored = fx.Store(items=frame.items)
    if link.quarantined or not any(item.kind is ItemKind.TASK for item in frame.items):
        return Step(link=link, effects=(stored,), wait=wait)
    return Step(link=link, effects=(stored, fx.OfferTasks()), wait=wait)


def _beat(link: Link, beat: Beat, now: float) -> Step:
    """Answered where it asks (no echo); tells how far the clocks are apart."""
    link = msgspec.structs.replace(link, last_sent=beat.sent_at)
    answer = () if beat.echo else (Beat(sent_at=now, echo=beat.sent_at),)
    if link.round_trip is None:
        return Step(link=link, frames=answer)
    skew = beat.sent_at + link.round_trip / 2 - now
    heard = fx.Heard(round_trip_ms=_ms(link.round_trip), clock_skew_ms=_ms(skew))
    link = msgspec.structs.replace(link, told_at=now)
    return Step(link=link, frames=answer, effects=(heard,))


def _ms(seconds: float) -> int:
    """Whatever the other clock says."""
    if math.isnan(seconds):
        return 0
    return round(max(-_LARGEST_SKEW, min(_LARGEST_SKEW, seconds)) * 1000)


def _held(link: Link, frame: Roots | Bucket | Bodies) -> Step:
    match frame:
        case Roots():
            return _roots(link, frame)
        case Bucket():
            looked, found = look.take_bucket(link.looking, frame)
            link = msgspec.structs.replace(link, looking=looked)
            return Step(link=link, effects=() if found is None else (found,))
        case Bodies():
            return _bodies(link, frame)
        case _:
            assert_never(frame)


def _roots(link: Link, roots: Roots) -> Step:
    """Hashes over items that we do not have yet say nothing, unless asking for them was in vain."""
    if roots.through > link.cursor != link.asked_after:
        link = msgspec.structs.replace(link, asked_after=link.cursor)
        return Step(link=link, frames=(Missing(after=link.cursor),))
    looked = msgspec.structs.replace(link.looking, roots=roots.kinds)
    link = msgspec.structs.replace(link, looking=looked)
    return Step(link=link, effects=(fx.CompareRoots(kinds=roots.kinds),))


def _bodies(link: Link, bodies: Bodies) -> Step:
    """When the last one asked for is there, look whether both sides are in step now.

    What nobody asked for is left out, and so is a tombstone of what no look missed: it would go
    round the guard against many deletions.
    """
    bodies = look.asked_for(link.looking, bodies)
    looked = look.take_bodies(link.looking, bodies)
    link = msgspec.structs.replace(link, looking=looked)
    stored = fx.StoreBodies(bodies=bodies)
    if not look.answered(looked) or not looked.roots:
        return Step(link=link, effects=(stored,))
    again = fx.CompareRoots(kinds=dict(looked.roots), again=True)
    return Step(link=link, effects=(stored, again))
