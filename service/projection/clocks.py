"""Times that agents tell, on the service's clock. Pure.

Two facts of two clusters stand in one timeline, so both have to be on one clock. How far an agent's
clock is apart was measured by its heartbeats; a difference that is not larger than what such a
measure is good for changes nothing.
"""

from __future__ import annotations

from datetime import datetime, timedelta

import msgspec

from service.projection.values import Batch, FactRow

NOT_APART = timedelta(seconds=2)


def on_our_clock(batch: Batch, skew_ms: int | None, now: datetime) -> Batch:
    """`skew_ms`: by how much the agent's clock is ahead; None: not measured yet."""
    ahead = timedelta(milliseconds=skew_ms or 0)
    if abs(ahead) < NOT_APART:
        return batch
    facts = tuple(_moved(fact, ahead, now) for fact in batch.facts)
    return msgspec.structs.replace(batch, facts=facts)


def _moved(fact: FactRow, ahead: timedelta, now: datetime) -> FactRow:
    """Never later than now: what we hear of has happened."""
    try:
        time = min(fact.time - ahead, now)
    except OverflowError:
        return fact
    return msgspec.structs.replace(fact, time=time, agent_time=fact.time)
