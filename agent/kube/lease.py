"""A Lease of coordination.k8s.io as a value, taken and released. Pure."""

from __future__ import annotations

from datetime import datetime

import msgspec

API_VERSION = "coordination.k8s.io/v1"


class LeaseSpec(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    holder_identity: str | None = None
    lease_duration_seconds: int | None = None
    acquire_time: str | None = None
    renew_time: str | None = None
    lease_transitions: int | None = None


class LeaseMeta(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    name: str
    namespace: str
    resource_version: str = ""
    annotations: dict[str, str] = {}


class Lease(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    metadata: LeaseMeta
    spec: LeaseSpec = LeaseSpec()
    api_version: str = API_VERSION
    kind: str = "Lease"

    @property
    def holder(self) -> str:
        """The holder; empty where the lease was released."""
        return self.spec.holder_identity or ""


def taken(lease: Lease, identity: str, seconds: float, now: datetime) -> Lease:
    """Take the lease; the times are for readers, no decision uses them."""
    renewed = now.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    keeps = lease.holder == identity
    existed = bool(lease.metadata.resource_version)
    spec = LeaseSpec(
        holder_identity=identity,
        lease_duration_seconds=max(1, round(seconds)),
        acquire_time=lease.spec.acquire_time if keeps else renewed,
        renew_time=renewed,
        lease_transitions=(lease.spec.lease_transitions or 0) + (existed and not keeps),
    )
    return msgspec.structs.replace(lease, spec=spec)


def released(lease: Lease) -> Lease:
    spec = msgspec.structs.replace(lease.spec, holder_identity="", lease_duration_seconds=1)
    return msgspec.structs.replace(lease, spec=spec)
