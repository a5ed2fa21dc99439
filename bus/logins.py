"""Logins define what each user of an agent's bus may do, derived from the topology. Pure.

    agent       provisions, publishes asks and facts, takes work; publishes no command
    bridge      publishes commands and reports; reads facts and keeps results
    subscriber  reads facts, new and retained; changes nothing

A standby has the agent's and the bridge's login: it takes over within the same process, and which
replica acts is decided by the Lease, not by NATS. No login may delete a stream. Each login has an
inbox of its own, or it could read what the server answers to the others.

Permissions do not bound where the server sends an answer: each request names the subject, and the
server publishes there. So subscribers live in an account of their own, which holds no
stream and into which the facts are imported: an answer cannot leave the account.
"""

from __future__ import annotations

from enum import StrEnum

import msgspec

from bus.subjects import AgentScope, Branch
from bus.topology import (
    REPORT_READER,
    WORK_QUEUES,
    BucketName,
    StreamName,
    bucket_stream,
    stream_names,
)

_API = "$JS.API"
AGENTS_ACCOUNT = "gitops-agents"


class BusLogin(StrEnum):
    AGENT = "agent"
    BRIDGE = "bridge"
    SUBSCRIBER = "subscriber"


def account_of(scope: AgentScope, login: BusLogin) -> str:
    """Name the NATS account: all agents share one, the subscribers of each agent have their own."""
    return scope.name("subscribers") if login is BusLogin.SUBSCRIBER else AGENTS_ACCOUNT


class ExportedSubjects(msgspec.Struct, frozen=True, kw_only=True):
    """The subjects that the agents' account exports to the subscribers' account."""

    facts: str
    reads: str


def shared(scope: AgentScope) -> ExportedSubjects:
    return ExportedSubjects(facts=_facts(scope), reads=_direct(StreamName.FACT.name_in(scope)))


class Permissions(msgspec.Struct, frozen=True, kw_only=True):
    """Subjects in NATS's notation; every other subject is denied."""

    publish: tuple[str, ...]
    subscribe: tuple[str, ...]


def inbox_prefix(scope: AgentScope, login: BusLogin) -> str:
    """Name the subjects to which the server answers this login."""
    return f"_INBOX.{scope.name(login)}"


def permissions(scope: AgentScope, login: BusLogin) -> Permissions:
    granted = {BusLogin.AGENT: _agent, BusLogin.BRIDGE: _bridge, BusLogin.SUBSCRIBER: _subscriber}[
        login
    ]
    facts = (_facts(scope),) if login is BusLogin.SUBSCRIBER else ()
    return Permissions(
        publish=granted(scope), subscribe=(f"{inbox_prefix(scope, login)}.>", *facts)
    )


def _agent(scope: AgentScope) -> tuple[str, ...]:
    published = (Branch.ASK, Branch.FACT, Branch.DEAD)
    consumed = (StreamName.ASK, StreamName.COMMAND, StreamName.FACT)
    return (
        *(f"{scope.prefix}.{branch}.>" for branch in published),
        f"{_API}.INFO",
        *(
            f"{_API}.STREAM.{verb}.{name}"
            for name in stream_names(scope)
            for verb in ("INFO", "CREATE", "UPDATE")
        ),
        *(one for stream in consumed for one in _consuming(stream.name_in(scope))),
        # Not of facts, where the bridge has a consumer.
        *(f"{_API}.CONSUMER.DELETE.{stream.name_in(scope)}.*" for stream in WORK_QUEUES),
        *_reading(StreamName.FACT.name_in(scope)),
        f"{_API}.STREAM.MSG.GET.{StreamName.DEAD.name_in(scope)}",
        *_bucket(scope, BucketName.SEEN),
    )


def _bridge(scope: AgentScope) -> tuple[str, ...]:
    published = (Branch.COMMAND, Branch.UP)
    reports, facts = StreamName.UP.name_in(scope), StreamName.FACT.name_in(scope)
    return (
        *(f"{scope.prefix}.{branch}.>" for branch in published),
        *(f"{_API}.STREAM.INFO.{name}" for name in stream_names(scope)),
        f"{_API}.STREAM.UPDATE.{reports}",
        f"{_API}.STREAM.PURGE.{reports}",
        f"{_API}.DIRECT.GET.{reports}",
        *_consuming(facts, REPORT_READER),
        *_reading(facts),
        *_bucket(scope, BucketName.RESULTS),
        *_bucket(scope, BucketName.LINK),
    )


def _subscriber(scope: AgentScope) -> tuple[str, ...]:
    """Grant no consumer: a push consumer could be pointed at any subject of the account."""
    return (shared(scope).reads,)


def _reading(stream: str) -> tuple[str, ...]:
    return (f"{_API}.STREAM.INFO.{stream}", _direct(stream))


def _direct(stream: str) -> str:
    return f"{_API}.DIRECT.GET.{stream}"


def _consuming(stream: str, name: str = "") -> tuple[str, ...]:
    """Grant any consumer of the stream, or only the one of this name."""
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
        f"{_API}.CONSUMER.LIST.{stream}",
        f"{_API}.CONSUMER.MSG.NEXT.{stream}.*",
        f"$JS.ACK.{stream}.>",
    )


def _bucket(scope: AgentScope, bucket: BucketName) -> tuple[str, ...]:
    name = scope.name(bucket)
    stream = bucket_stream(name)
    return (
        f"$KV.{name}.>",
        f"{_API}.STREAM.INFO.{stream}",
        f"{_API}.STREAM.MSG.GET.{stream}",
        f"{_API}.DIRECT.GET.{stream}.>",
    )


def _facts(scope: AgentScope) -> str:
    return f"{scope.prefix}.{Branch.FACT}.>"
