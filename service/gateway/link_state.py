"""The state of one link, and the result of a step of it. Values only."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from bus.link import PROTOCOL, PROVEN, DownFrame, Fenced, Hello
from service.gateway import effects as fx
from service.gateway.link_opening import OpenedLink
from service.gateway.reconcile_state import Reconciliation
from service.gateway.sessions import SessionHolder

POLICY = 1008
"""WebSocket close code: the other side broke a rule."""
AGAIN_LATER = 1013
HELLO_WITHIN = 10.0
SILENT_BEATS = 3
BURST_SECONDS = 4.0


class SessionTerms(msgspec.Struct, frozen=True, kw_only=True):
    """What this service offers every agent."""

    beat_seconds: float = 15.0
    roots_seconds: float = 60.0
    items_per_second: float = 5000.0
    protocol: tuple[int, int] = PROTOCOL


class LinkState(msgspec.Struct, frozen=True, kw_only=True):
    caller: SessionHolder
    terms: SessionTerms
    began: float
    heard_at: float
    expires_at: float
    hello: Hello | None = None
    opened: OpenedLink | None = None
    cursor: int = 0
    quarantined: bool = False
    over: bool = False
    beat_at: float = 0.0
    announced_at: float = 0.0
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
    reconciliation: Reconciliation = Reconciliation()
    credit: Mapping[str, int] = {}
    """Chunks that the agent may still send of each stream, by task; streams end with their link."""

    @property
    def keeps_heads(self) -> bool:
        """The agent knows of the audit's heads: an older one would not understand the frame."""
        return self.hello is not None and self.hello.protocol[1] >= PROVEN


class LinkStep(msgspec.Struct, frozen=True, kw_only=True):
    link: LinkState
    frames: tuple[DownFrame, ...] = ()
    effects: tuple[fx.Effect, ...] = ()
    wait: float = 0.0
    """Seconds before the next frame is read: the agent sends more than it may."""


def new_link(caller: SessionHolder, terms: SessionTerms, now: float) -> LinkState:
    return LinkState(
        caller=caller,
        terms=terms,
        began=now,
        heard_at=now,
        beat_at=now,
        expires_at=caller.expires_at,
        allowance=terms.items_per_second * BURST_SECONDS,
        allowance_at=now,
    )


def believed(link: LinkState) -> LinkState:
    """Its epoch is active now, whoever found that."""
    opened = link.opened
    if opened is None:
        return link
    scope = msgspec.structs.replace(opened.scope, quarantined=False)
    opened = msgspec.structs.replace(opened, scope=scope)
    return msgspec.structs.replace(link, opened=opened, quarantined=False)


def with_credit(link: LinkState, task: str, chunks: int) -> LinkState:
    """Let the agent send so many chunks of the task's stream from now on."""
    credit = {known: left for known, left in link.credit.items() if known != task}
    if chunks > 0:
        credit[task] = chunks
    return msgspec.structs.replace(link, credit=credit)


def ended(link: LinkState, reason: str, retry_after: float = 0.0) -> LinkStep:
    """With a frame that says why, for the agent to show."""
    return LinkStep(
        link=msgspec.structs.replace(link, over=True),
        frames=(Fenced(reason=reason, retry_after=retry_after),),
        effects=(fx.CloseLink(code=POLICY, reason=reason),),
    )


def broken(link: LinkState, reason: str) -> LinkStep:
    """The other side is not one to tell things to."""
    link = msgspec.structs.replace(link, over=True)
    return LinkStep(link=link, effects=(fx.CloseLink(code=POLICY, reason=reason),))
