"""Logins: who may do what on the bus of one agent, derived from the topology. Pure.

    agent       provisions, asks, tells facts, takes work; publishes no command
    bridge      publishes commands and reports; reads facts and keeps results
    subscriber  reads facts, live and kept; changes nothing

A standby has the agent's and the bridge's login: it takes over within the same process, and which
replica acts is decided by the Lease, not by NATS. No login may delete a stream. Each login has an
inbox of its own, or it could read what the server answers to the others.
"""

from __future__ import annotations

from enum import StrEnum

import msgspec

from bus.subjects import Branch, Scope
from bus.topology import REPORT_READER, Bucket, Stream, bucket_stream, stream_names

_API = "$JS.API"


class Login(StrEnum):
    AGENT = "agent"
    BRIDGE = "bridge"
    SUBSCRIBER = "subscriber"


class Permissions(msgspec.Struct, frozen=True, kw_only=True):
    """Subjects as NATS writes them; what is not listed is denied."""

    publish: tuple[str, ...]
    subscribe: tuple[str, ...]


def inbox_prefix(scope: Scope, login: Login) -> str:
    """Where the server's answers to this login go."""
    return f"_INBOX.{scope.name(login)}"


def permissions(scope: Scope, login: Login) -> Permissions:
    granted = {Login.AGENT: _agent, Login.BRIDGE: _bridge, Login.SUBSCRIBER: _subscriber}[login]
    heard = (_facts(scope),) if login is Login.SUBSCRIBER else ()
    return Permissions(
        publish=granted(scope), subscribe=(f"{inbox_prefix(scope, login)}.>", *heard)
    )


def _agent(scope: Scope) -> tuple[str, ...]:
    spoken = (Branch.ASK, Branch.FACT, Branch.DEAD)
    worked = (Stream.ASK, Stream.COMMAND, Stream.FACT)
    return (
        *(f"{scope.prefix}.{branch}.>" for branch in spoken),
        f"{_API}.INFO",
        *(
            f"{_API}.STREAM.{verb}.{name}"
            for name in stream_names(scope)
            for verb in ("INFO", "CREATE", "UPDATE")
        ),
        *(one for stream in worked for one in _consuming(stream.name_in(scope))),
        *_reading(Stream.FACT.name_in(scope)),
        f"{_API}.STREAM.MSG.GET.{Stream.DEAD.name_in(scope)}",
        *_bucket(scope, Bucket.SEEN),
    )


def _bridge(scope: Scope) -> tuple[str, ...]:
    spoken = (Branch.COMMAND, Branch.UP)
    reports, facts = Stream.UP.name_in(scope), Stream.FACT.name_in(scope)
    return (
        *(f"{scope.prefix}.{branch}.>" for branch in spoken),
        *(f"{_API}.STREAM.INFO.{name}" for name in stream_names(scope)),
        f"{_API}.STREAM.UPDATE.{reports}",
        f"{_API}.STREAM.PURGE.{reports}",
        f"{_API}.DIRECT.GET.{reports}",
        *_consuming(facts, REPORT_READER),
        *_reading(facts),
        *_bucket(scope, Bucket.RESULTS),
        *_bucket(scope, Bucket.LINK),
    )


def _subscriber(scope: Scope) -> tuple[str, ...]:
    """No consumer: one that pushes could be pointed at any subject of the account."""
    return _reading(Stream.FACT.name_in(scope))


def _reading(stream: str) -> tuple[str, ...]:
    return (f"{_API}.STREAM.INFO.{stream}", f"{_API}.DIRECT.GET.{stream}")


def _consuming(stream: str, name: str = "") -> tuple[str, ...]:
    """Any consumer of the stream, or the one of this name."""
    if name:
        return (
            f"{_API}.CONSUMER.CREATE.{stream}.{name}.>",
            f"{_API}.CONSUMER.INFO.{stream}.{name}",
            f"{_API}.CONSUMER.MSG.NEXT.{stream}.{name}",
            f"$JS.ACK.{stream}.{name}.>",
        )
    return (
        f"{_API}.CONSUMER.CREATE.{stream}",
        f"{_API}.CONSUMER.CREATE.{stream}.>",
        f"{_API}.CONSUMER.INFO.{stream}.*",
        f"{_API}.CONSUMER.MSG.NEXT.{stream}.*",
        f"$JS.ACK.{stream}.>",
    )


def _bucket(scope: Scope, bucket: Bucket) -> tuple[str, ...]:
    name = scope.name(bucket)
    stream = bucket_stream(name)
    return (
        f"$KV.{name}.>",
        f"{_API}.STREAM.INFO.{stream}",
        f"{_API}.STREAM.MSG.GET.{stream}",
        f"{_API}.DIRECT.GET.{stream}.>",
    )


def _facts(scope: Scope) -> str:
    return f"{scope.prefix}.{Branch.FACT}.>"
