"""Store usage tells how full each stream and bucket of the agent is, and raises alarms.

A stream that keeps history is meant to be full: its oldest message is dropped. Where fullness loses
work instead (an ask, a command, a report, the result of a task), 80 % is an alarm.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
import nats.errors
from nats.js import JetStreamContext

from bus.carrier import CarrierError
from bus.subjects import AgentScope
from bus.topology import Sizes, bucket_stream, buckets, streams

ALARM_PART = 0.8


class UsageUnknownError(CarrierError):
    """The server does not say how full its streams are."""


class StoreUsage(msgspec.Struct, frozen=True, kw_only=True):
    """Bytes of one stream, or of the whole NATS account where that has a limit."""

    name: str
    used: int
    limit: int
    guarded: bool = True
    """Whether a full store would lose work."""

    @property
    def alarm(self) -> str:
        """The warning for a person; empty below 80 %, and where being full is normal."""
        if not self.guarded or self.used < self.limit * ALARM_PART:
            return ""
        part = self.used / self.limit
        return f"{self.name} is {part:.0%} full ({self.used} of {self.limit} bytes)"


async def usage(
    jetstream: JetStreamContext, scope: AgentScope, sizes: Sizes
) -> tuple[StoreUsage, ...]:
    """Measure all streams and buckets; raises UsageUnknownError."""
    guarded = {plan.name: plan.loses_work_when_full for plan in streams(scope, sizes)}
    guarded |= {bucket_stream(plan.name): True for plan in buckets(scope, sizes)}
    try:
        found = [await _stream(jetstream, name, guarded=guarded[name]) for name in guarded]
        return (*found, *await _account(jetstream))
    except (nats.errors.Error, OSError) as error:
        raise UsageUnknownError(f"the usage of the streams is unknown: {error!r}") from error


def alarms(found: Iterable[StoreUsage]) -> tuple[str, ...]:
    return tuple(one.alarm for one in found if one.alarm)


async def _stream(jetstream: JetStreamContext, name: str, *, guarded: bool) -> StoreUsage:
    info = await jetstream.stream_info(name)
    limit = info.config.max_bytes or 0
    return StoreUsage(name=name, used=info.state.bytes, limit=limit, guarded=guarded and limit > 0)


async def _account(jetstream: JetStreamContext) -> tuple[StoreUsage, ...]:
    """Measure all users of the NATS account together; a server without a limit says -1."""
    info = await jetstream.account_info()
    limit = info.limits.max_storage
    if limit <= 0:
        return ()
    return (StoreUsage(name="the account's store", used=info.storage, limit=limit),)
