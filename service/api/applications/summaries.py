"""Application summaries: rows of the projection as the API shows them, with their commits.

A summary is made of the row that the projection keeps for lists. The whole object, spec and status,
is read for one application only, in `applications`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Literal

from sqlalchemy import Select, select

from bus.status import HealthStatus, SyncStatus
from service.api.agent_tasks.task_answers import TaskTarget, agent_status
from service.api.applications.commits import CommitInfo, CommitKey, commit_in, commits_of
from service.gateway.agent_status import AgentStatus
from service.http.call import ApiCall
from service.http.endpoint import ResponseModel
from service.http.fields import text_of
from service.projection.application_status import Attention
from service.store.tables import agents, applications

Phase = Literal["", "Running", "Terminating", "Failed", "Error", "Succeeded"]
"""An OperationPhase, or empty before the first operation."""


class ApplicationAgent(ResponseModel, frozen=True, kw_only=True):
    id: str
    name: str
    status: AgentStatus


class RunningDeployment(ResponseModel, frozen=True, kw_only=True):
    """The deployment that runs; `rolledBack` while it is an earlier one than Git wants.

    `commit` is the running revision's own. `by` is a name, or `automated`.
    """

    revision: str
    commit: CommitInfo
    since: str | None
    by: str
    rolled_back: bool


class DesiredRevision(ResponseModel, frozen=True, kw_only=True):
    """What `targetRevision` means now, with the commit of that revision."""

    revision: str
    commit: CommitInfo


class ApplicationCause(ResponseModel, frozen=True, kw_only=True):
    """The deepest ill object: `object` is `group/kind/namespace/name`."""

    object: str
    health: str
    reason: str
    message: str
    since: str


class ApplicationSyncFailure(ResponseModel, frozen=True, kw_only=True):
    """A sync that failed; `retrying`: the agent tries it again."""

    object: str
    message: str
    revision: str
    since: str
    retries: int
    retrying: bool


class ApplicationCondition(ResponseModel, frozen=True, kw_only=True):
    type: str
    message: str
    since: str
    """The time of its last transition; empty where the agent gave none."""


class ApplicationSummary(ResponseModel, frozen=True, kw_only=True):
    """Of the agent's newest report; `as_of` says how old that is."""

    id: str
    agent: ApplicationAgent
    namespace: str
    name: str
    project: str
    environment: str
    region: str
    service: str
    labels: dict[str, str]
    repository: str
    path: str
    target_revision: str
    revision: str
    running: RunningDeployment
    wanted: DesiredRevision
    sync: SyncStatus
    sync_failure: ApplicationSyncFailure | None
    attention: Attention
    health: HealthStatus
    cause: ApplicationCause | None
    health_message: str
    phase: Phase
    automated: bool
    images: list[str]
    conditions: list[ApplicationCondition]
    sync_since: str | None
    health_since: str | None
    as_of: str
    suspect: bool


class ApplicationDetail(ApplicationSummary, frozen=True, kw_only=True):
    """`version` is what If-Match takes; a change of the status leaves it equal."""

    version: str
    spec: dict[str, Any]
    status: dict[str, Any]
    annotations: dict[str, str]


class ApplicationRow(TaskTarget, frozen=True, kw_only=True):
    """An application of the projection, with the columns of its agent."""

    id: str
    environment: str
    region: str
    service: str
    labels: dict[str, str]
    repository: str
    path: str
    target_revision: str
    revision: str
    sync: str
    health: str
    health_message: str
    phase: str
    automated: bool
    images: list[str]
    conditions: list[dict[str, Any]]
    running_revision: str
    running_since: datetime | None
    running_by: str
    rolled_back: bool
    cause: dict[str, Any] | None
    commits: dict[str, Any]
    sync_failure: dict[str, Any] | None
    attention: str
    sync_since: datetime | None
    health_since: datetime | None
    as_of: datetime
    suspect: bool


def selected() -> Select[Any]:
    return select(
        applications,
        agents.c.name.label("agent_name"),
        agents.c.state.label("agent_state"),
        agents.c.heard_at.label("agent_heard_at"),
        agents.c.connected.label("agent_connected"),
    ).join(agents, agents.c.id == applications.c.agent_id)


async def applications_of(
    rows: Sequence[ApplicationRow], call: ApiCall
) -> list[ApplicationSummary]:
    """Make summaries, with the commits of running and target revisions looked up at once."""
    commits = await commits_of(call, {at for row in rows for at in (_runs(row), _wants(row))})
    return [_application(row, call, commits) for row in rows]


def _runs(row: ApplicationRow) -> CommitKey:
    return CommitKey(row.agent_id, row.repository, row.running_revision)


def _wants(row: ApplicationRow) -> CommitKey:
    return CommitKey(row.agent_id, row.repository, row.revision)


def _application(
    row: ApplicationRow, call: ApiCall, commits: Mapping[CommitKey, CommitInfo]
) -> ApplicationSummary:
    agent = ApplicationAgent(
        id=row.agent_id,
        name=row.agent_name,
        status=agent_status(row, call.now),
    )
    times: dict[str, Any] = {
        name: text_of(getattr(row, name)) for name in ("sync_since", "health_since", "as_of")
    }
    plain: dict[str, Any] = {name: getattr(row, name) for name in _PLAIN}
    running = RunningDeployment(
        revision=row.running_revision,
        commit=commit_in(row.commits, commits[_runs(row)]),
        since=text_of(row.running_since),
        by=row.running_by,
        rolled_back=row.rolled_back,
    )
    return ApplicationSummary(
        agent=agent,
        images=list(row.images),
        running=running,
        wanted=DesiredRevision(
            revision=row.revision, commit=commit_in(row.commits, commits[_wants(row)])
        ),
        cause=_cause(row.cause),
        sync_failure=_sync_failure(row.sync_failure),
        attention=Attention(row.attention),
        **plain,
        **times,
    )


def _cause(found: Mapping[str, Any] | None) -> ApplicationCause | None:
    """Defaults are left out where it is kept."""
    return ApplicationCause(**{name: found.get(name, "") for name in _CAUSE}) if found else None


def _sync_failure(found: Mapping[str, Any] | None) -> ApplicationSyncFailure | None:
    return ApplicationSyncFailure(**{name: found[name] for name in _FAILURE}) if found else None


_MADE = frozenset(
    {
        "agent",
        "images",
        "running",
        "wanted",
        "cause",
        "sync_failure",
        "attention",
        "sync_since",
        "health_since",
        "as_of",
    }
)
_PLAIN = tuple(name for name in ApplicationSummary.__struct_fields__ if name not in _MADE)
_CAUSE = ApplicationCause.__struct_fields__
_FAILURE = ApplicationSyncFailure.__struct_fields__
