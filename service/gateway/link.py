"""What is remembered of one connection, and what a step of it gives back. Values, and two ends."""

from __future__ import annotations

import msgspec

from bus.link import PROTOCOL, PROVEN, DownFrame, Fenced, Hello
from service.gateway import effects as fx
from service.gateway.looking import Looking
from service.gateway.opening import Opened
from service.gateway.sessions import Caller

POLICY = 1008
"""WebSocket close code: the other side broke a rule."""
AGAIN_LATER = 1013
HELLO_WITHIN = 10.0
SILENT_BEATS = 3
BURST_SECONDS = 4.0


class Terms(msgspec.Struct, frozen=True, kw_only=True):
    """What this service offers every agent."""

    beat_seconds: float = 15.0
    roots_seconds: float = 60.0
    items_per_second: float = 5000.0
    protocol: tuple[int, int] = PROTOCOL


class Link(msgspec.Struct, frozen=True, kw_only=True):
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
    head_at: float = 0.0
    asked_after: int = -1
    """The cursor when roots were ahead of it the last time."""
    round_trip: float | None = None
    """Seconds; None until the first ping was answered."""
    last_sent: float = 0.0
    """By the agent's clock: echoed."""
    allowance: float = 0.0
    """Items that may still be sent now."""
    allowance_at: float = 0.0
    looking: Looking = Looking()

    @property
    def keeps_heads(self) -> bool:
        """The agent knows of the audit's heads: an older one would not understand the frame."""
        return self.hello is not None and self.hello.protocol[1] >= PROVEN


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
        allowance=terms.items_per_second * BURST_SECONDS,
        allowance_at=now,
    )


def believed(link: Link) -> Link:
    """Its epoch is active now, whoever found that."""
    opened = link.opened
    if opened is None:
        return link
    scope = msgspec.structs.replace(opened.scope, quarantined=False)
    opened = msgspec.structs.replace(opened, scope=scope)
    return msgspec.structs.replace(link, opened=opened, quarantined=False)


def ended(link: Link, reason: str, retry_after: float = 0.0) -> Step:
    """With a frame that says why, for the agent to show."""
    return Step(
        link=msgspec.structs.replace(link, over=True),
        frames=(Fenced(reason=reason, retry_after=retry_after),),
        effects=(fx.Close(code=POLICY, reason=reason),),
    )


def broken(link: Link, reason: str) -> Step:
    """The other side is not one to tell things to."""
    link = msgspec.structs.replace(link, over=True)
    return Step(link=link, effects=(fx.Close(code=POLICY, reason=reason),))
