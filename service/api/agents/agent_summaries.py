"""Agent summaries: rows of agents as the API shows them, with what each reported of itself."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from service.gateway.agent_status import AgentStatus, status_of
from service.http.call import ApiCall
from service.http.endpoint import ResponseModel
from service.http.fields import text_of
from service.projection.row_writes import rebuilding


class QuarantinedEpoch(ResponseModel, frozen=True, kw_only=True):
    """A new life of the agent's outbox that is not believed yet."""

    epoch: str
    reason: str
    since: str


class DeletionHold(ResponseModel, frozen=True, kw_only=True):
    """So many objects are missing at once that nobody believes it yet."""

    kinds: dict[str, int]
    since: str


class AgentPolicy(ResponseModel, frozen=True, kw_only=True):
    """What the owner of a cluster lets this control plane do there, as its agent reported it.

    An agent that has not connected reports nothing, and an older one leaves fields out.
    """

    kinds: list[str] | UnsetType = UNSET
    namespaces: list[str] | UnsetType = UNSET
    object_kinds: list[str] | UnsetType = UNSET
    cluster_scoped: bool | UnsetType = UNSET
    override: bool | UnsetType = UNSET
    override_window: bool | UnsetType = UNSET
    exec: bool | UnsetType = UNSET
    max_per_minute: int | UnsetType = UNSET
    max_reads_per_minute: int | UnsetType = UNSET
    read_only: bool | UnsetType = UNSET
    config_maps: list[str] | UnsetType = UNSET
    problem: str | UnsetType = UNSET


class AgentComponent(ResponseModel, frozen=True, kw_only=True):
    """A part that an agent needs: NATS, the API server."""

    name: str
    status: str
    message: str
    version: str


class AgentSummary(ResponseModel, frozen=True, kw_only=True):
    id: str
    name: str
    environment: str
    region: str
    labels: dict[str, str]
    organisation: str | None
    project: str | None
    status: AgentStatus
    heard_at: str | None
    connected_at: str | None
    round_trip_ms: int | None
    clock_skew_ms: int | None
    version: str
    """Of the agent's program."""
    upgrade_available: str | None
    """The service's own version where the agent's is older; null: none."""
    capabilities: list[str]
    allowed: AgentPolicy
    components: list[AgentComponent]
    roots_in_step: bool | None
    roots_at: str | None
    applications: int
    quarantined: QuarantinedEpoch | None
    deletions: DeletionHold | None
    """Held by the guard against mass deletion: until a second look, or until they are accepted."""
    rebuilding_since: str | None
    """What it tells was dropped, and is being asked for again."""
    edition: int
    """Counts its changes here: what If-Match takes."""


class AgentRow(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    organisation_id: str | None
    project_id: str | None
    name: str
    environment: str
    region: str
    labels: dict[str, str]
    state: str
    agent_version: str
    capabilities: list[str]
    allowed: dict[str, Any]
    components: list[dict[str, Any]]
    connected: bool
    connected_at: datetime | None
    heard_at: datetime | None
    round_trip_ms: int | None
    clock_skew_ms: int | None
    roots_in_step: bool | None
    roots_at: datetime | None
    doubted: dict[str, Any]
    rebuilt_at: datetime | None
    version: int
    applications: int
    quarantined: dict[str, Any] | None


def agent_of(row: AgentRow, call: ApiCall) -> AgentSummary:
    quarantined = row.quarantined
    return AgentSummary(
        organisation=row.organisation_id,
        project=row.project_id,
        status=status_of(row.state, row.heard_at, call.now, connected=row.connected),
        heard_at=text_of(row.heard_at),
        connected_at=text_of(row.connected_at),
        roots_at=text_of(row.roots_at),
        capabilities=list(row.capabilities),
        version=row.agent_version,
        upgrade_available=upgrade_for(row.agent_version),
        edition=row.version,
        quarantined=QuarantinedEpoch(**quarantined) if quarantined else None,
        deletions=_deletions(row.doubted),
        rebuilding_since=text_of(rebuilding(row.rebuilt_at, call.now, in_step=row.roots_in_step)),
        allowed=_policy(row.allowed),
        components=[_component(it) for it in row.components],
        **{name: getattr(row, name) for name in _PLAIN},
    )


def _component(reported: Mapping[str, Any]) -> AgentComponent:
    return AgentComponent(**{name: str(reported.get(name, "")) for name in _COMPONENT})


def _policy(reported: Mapping[str, Any]) -> AgentPolicy:
    """The agent's own words: one that cannot be read must not hide the agent."""
    try:
        return msgspec.convert(reported, AgentPolicy)
    except msgspec.ValidationError as error:
        return AgentPolicy(problem=f"the agent reported what cannot be read: {error}")


def _deletions(doubted: Mapping[str, Any]) -> DeletionHold | None:
    if not doubted:
        return None
    kinds = {kind: it["count"] for kind, it in doubted.items()}
    return DeletionHold(kinds=kinds, since=min(it["since"] for it in doubted.values()))


_COMPONENT = AgentComponent.__struct_fields__
_PLAIN = (
    "id",
    "name",
    "environment",
    "region",
    "labels",
    "round_trip_ms",
    "clock_skew_ms",
    "roots_in_step",
    "applications",
)


def upgrade_for(agent: str) -> str | None:
    """Our own version where the agent's is older; None: nothing to do, or nothing known."""
    try:
        own = version("plumbline")
    except PackageNotFoundError:
        return None
    return own if agent and _numbers(agent) < _numbers(own) else None


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(it) for it in re.findall(r"\d+", text)[:3])
