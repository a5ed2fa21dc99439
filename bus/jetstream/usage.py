"""Usage: how full each stream and bucket of the agent is, and whether a person should know.

A stream that keeps history is meant to be full: its oldest message gives way. Where fullness loses
work instead (an ask, a command, a report, the result of a task), 80 % is an alarm.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
import nats.errors
from nats.js import JetStreamContext

from bus.carrier import CarrierError
from bus.subjects import Scope
from bus.topology import Sizes, bucket_stream, buckets, streams

ALARM_PART = 0.8


class UsageUnknownError(CarrierError):
    """The server does not say how full its streams are."""


class StoreUsage(msgspec.Struct, frozen=True, kw_only=True):
    """Bytes of one stream, or of all of the account where it has a limit."""

    name: str
    used: int
    limit: int
    guarded: bool = True
    """Being full would lose work."""

    @property
    def alarm(self) -> str:
        """What a person should read; empty below 80 % and where being full is normal."""
        if not self.guarded or self.used < self.limit * ALARM_PART:
            return ""
        part = self.used / self.limit
        return f"{self.name} is {part:.0%} full ({self.used} of {self.limit} bytes)"


async def usage(jetstream: JetStreamContext, scope: Scope, sizes: Sizes) -> tuple[StoreUsage, ...]:
    """Raises UsageUnknownError."""
    guarded = {plan.name: plan.loses_work_when_full for plan in streams(scope, sizes)}
    guarded |= {bucket_stream(plan.name): True for plan in buckets(scope, sizes)}
    try:
        found = [await _stream(jetstream, name, guarded=guarded[name]) for name in guarded]
        return (*found, *await _account(jetstream))
    except (nats.errors.Error, OSError) as error:
        raise UsageUnknownError(f"the store's use is not known: {error!r}") from error


def alarms(found: Iterable[StoreUsage]) -> tuple[str, ...]:
    return tuple(one.alarm for one in found if one.alarm)


async def _stream(jetstream: JetStreamContext, name: str, *, guarded: bool) -> StoreUsage:
    info = await jetstream.stream_info(name)
    limit = info.config.max_bytes or 0
    return StoreUsage(name=name, used=info.state.bytes, limit=limit, guarded=guarded and limit > 0)


async def _account(jetstream: JetStreamContext) -> tuple[StoreUsage, ...]:
    """Of everybody who shares our account; a server without such a limit says -1."""
    info = await jetstream.account_info()
    limit = info.limits.max_storage
    if limit <= 0:
        return ()
    return (StoreUsage(name="the account's store", used=info.storage, limit=limit),)
