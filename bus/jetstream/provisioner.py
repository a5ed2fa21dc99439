"""The provisioner makes the server's streams, consumers and buckets agree with the topology.

It is idempotent and upgrades an older topology: fields of the plan are set, fields that an operator
added stay. A change that NATS cannot make in place is refused before anything is touched.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

import nats.errors
import nats.js.errors
import structlog
from nats.js import JetStreamContext, api

from bus.carrier import CarrierError
from bus.subjects import AgentScope
from bus.topology import (
    DUPLICATE_WINDOW,
    SIZES,
    BucketPlan,
    ConsumerPlan,
    Sizes,
    StreamPlan,
    bucket_stream,
    buckets,
    streams,
)

log = structlog.get_logger()


class TopologyConflictError(CarrierError):
    """A stream, consumer or bucket of the server cannot be changed to the topology's."""


class ProvisionError(CarrierError):
    """The server did not answer, or this login may not provision."""


class FoundConsumer(NamedTuple):
    """A consumer on the server."""

    name: str
    settled: int
    """The sequence up to which it has settled every message."""


@dataclass(frozen=True, slots=True)
class Provisioner:
    jetstream: JetStreamContext
    scope: AgentScope
    replicas: int = 1
    sizes: Sizes = SIZES

    async def everything(self) -> None:
        await self.streams()
        for bucket in buckets(self.scope, self.sizes):
            await self.bucket(bucket)

    async def streams(self) -> None:
        for plan in streams(self.scope, self.sizes):
            await self.stream(plan)

    async def stream(self, plan: StreamPlan) -> None:
        desired = _stream_fields(plan, self.replicas)
        with _refusals(f"stream {plan.name}"):
            try:
                found = (await self.jetstream.stream_info(plan.name)).config
            except nats.js.errors.NotFoundError:
                await self.jetstream.add_stream(api.StreamConfig(**desired))
                log.info("stream created", stream=plan.name)
                return
            changed = _changed(desired, found)
            _refuse_impossible(plan.name, changed, found)
            if changed:
                await self.jetstream.update_stream(found.evolve(**changed))
                log.info("stream upgraded", stream=plan.name, changed=sorted(changed))

    async def consumer(self, plan: ConsumerPlan) -> None:
        desired = _consumer_fields(plan)
        with _refusals(f"consumer {plan.name} of stream {plan.stream}"):
            try:
                found = (await self.jetstream.consumer_info(plan.stream, plan.name)).config
            except nats.js.errors.NotFoundError:
                await self.jetstream.add_consumer(plan.stream, api.ConsumerConfig(**desired))
                return
            for fixed in ("deliver_policy", "opt_start_seq"):  # since the consumer was created
                desired.pop(fixed, None)
            if changed := _changed(desired, found):
                await self.jetstream.add_consumer(plan.stream, found.evolve(**changed))
                log.info("consumer upgraded", consumer=plan.name, changed=sorted(changed))

    async def consumers(self, stream: str) -> tuple[FoundConsumer, ...]:
        """List the consumers of a stream."""
        found: list[api.ConsumerInfo] = []
        with _refusals(f"the list of consumers of stream {stream}"):
            while page := await self.jetstream.consumers_info(stream, len(found)):
                found += page
        return tuple(
            FoundConsumer(one.name, one.ack_floor.stream_seq if one.ack_floor else 0)
            for one in found
        )

    async def drop_consumer(self, stream: str, name: str) -> None:
        """Delete a consumer; one that is gone already is no error."""
        with (
            _refusals(f"consumer {name} of stream {stream}"),
            suppress(nats.js.errors.NotFoundError),
        ):
            await self.jetstream.delete_consumer(stream, name)

    async def bucket(self, plan: BucketPlan) -> None:
        """Provision the bucket: one of `create_key_value` that drops its oldest key when full."""
        name, desired = bucket_stream(plan.name), _bucket_fields(plan, self.replicas)
        with _refusals(f"bucket {plan.name}"):
            try:
                found = (await self.jetstream.stream_info(name)).config
            except nats.js.errors.NotFoundError:
                await self.jetstream.create_key_value(
                    bucket=plan.name, ttl=plan.ttl, max_bytes=plan.max_bytes
                )
                found = (await self.jetstream.stream_info(name)).config
            if changed := _changed(desired, found):
                await self.jetstream.update_stream(found.evolve(**changed))
                log.info("bucket provisioned", bucket=plan.name, changed=sorted(changed))


def _stream_fields(plan: StreamPlan, replicas: int) -> dict[str, Any]:
    return {
        "name": plan.name,
        "description": plan.description,
        "subjects": list(plan.subjects),
        "retention": api.RetentionPolicy(plan.retention.value),
        "storage": api.StorageType.FILE,
        "discard": api.DiscardPolicy.NEW if plan.refuse_when_full else api.DiscardPolicy.OLD,
        "max_age": plan.max_age,
        "max_bytes": plan.max_bytes,
        "max_msg_size": plan.max_message_bytes,
        "max_msgs_per_subject": 1 if plan.latest_only else -1,
        "allow_direct": plan.direct,
        "duplicate_window": DUPLICATE_WINDOW,
        "num_replicas": replicas,
    }


def _bucket_fields(plan: BucketPlan, replicas: int) -> dict[str, Any]:
    return {
        "description": plan.description,
        "discard": api.DiscardPolicy.OLD,
        "max_age": plan.ttl,
        "max_bytes": plan.max_bytes,
        "max_msg_size": plan.max_value_bytes,
        "num_replicas": replicas,
    }


def _consumer_fields(plan: ConsumerPlan) -> dict[str, Any]:
    policy = api.DeliverPolicy.NEW if plan.only_new else api.DeliverPolicy.ALL
    subjects: dict[str, Any] = {"filter_subject": plan.subject}
    if plan.subjects:
        subjects = {"filter_subjects": list(plan.subjects)}
    begin: dict[str, Any] = {"inactive_threshold": plan.unused_for} if plan.unused_for else {}
    if plan.begins:
        policy = api.DeliverPolicy.BY_START_SEQUENCE
        begin["opt_start_seq"] = plan.begins
    return {
        "name": plan.name,
        "durable_name": plan.name,
        "deliver_policy": policy,
        "ack_policy": api.AckPolicy.EXPLICIT,
        "ack_wait": plan.ack_wait,
        "max_deliver": -1,
        "max_ack_pending": plan.max_ack_pending,
        **subjects,
        **begin,
    }


def _changed(desired: dict[str, Any], found: object) -> dict[str, Any]:
    return {name: value for name, value in desired.items() if getattr(found, name) != value}


def _refuse_impossible(name: str, changed: dict[str, Any], found: api.StreamConfig) -> None:
    for fixed in ("retention", "storage"):
        if fixed in changed:
            raise TopologyConflictError(
                f"stream {name} has {fixed} {getattr(found, fixed)!s}, this version needs "
                f"{changed[fixed].value}, and NATS cannot change it: drain and delete the stream, "
                "or use another agent name"
            )


@contextmanager
def _refusals(what: str) -> Iterator[None]:
    """Translate the server's refusals, with the name of the stream, consumer or bucket."""
    try:
        yield
    except nats.js.errors.BadRequestError as error:
        raise TopologyConflictError(f"{what} cannot be provisioned: {error.description}") from error
    except nats.js.errors.APIError as error:
        raise ProvisionError(f"{what} is not provisioned: {error.description}") from error
    except (nats.errors.Error, OSError) as error:
        raise ProvisionError(f"{what} is not provisioned: {error!r}") from error
