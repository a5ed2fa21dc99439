"""How an agent of version 0.1 reads a task: its types, as they were, and no others.

Do not follow changes of bus/link here: agents of that version are in clusters, and a service must
be understood by them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec


class AgentTask(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    id: str
    kind: str
    subject: str
    actor: str
    arguments: dict[str, Any] = {}
    clazz: str = "interactive"
    precondition: dict[str, str] = {}
    not_after: str = ""
    fence: int = 0
    traceparent: str = ""
    tracestate: str = ""


class AgentOffer(msgspec.Struct, frozen=True, kw_only=True, tag_field="frame", tag="Offer"):
    task: AgentTask


class AgentArguments(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The base of what each kind takes."""


class AgentObject(AgentArguments, frozen=True, kw_only=True):
    group: str = ""
    kind: str = ""
    namespace: str = ""
    name: str = ""


class AgentSync(AgentArguments, frozen=True, kw_only=True):
    revision: str = ""
    prune: bool = False
    dry_run: bool = False
    resources: tuple[AgentObject, ...] = ()
    options: tuple[str, ...] = ()
    override: bool = False


class AgentPreview(AgentSync, frozen=True, kw_only=True):
    history_id: int | None = None
    preview: bool = False


class AgentRefresh(AgentArguments, frozen=True, kw_only=True):
    hard: bool = False


class AgentRollback(AgentArguments, frozen=True, kw_only=True):
    history_id: int
    prune: bool = False
    dry_run: bool = False


class AgentManifests(AgentArguments, frozen=True, kw_only=True):
    revision: str = ""


class AgentSecretRef(AgentArguments, frozen=True, kw_only=True):
    name: str
    namespace: str = ""
    key: str = ""


class AgentPut(AgentArguments, frozen=True, kw_only=True):
    kind: str = "Application"
    manifest: dict[str, Any] | None = None
    create: bool = False
    name: str = ""
    url: str = ""
    type: str = ""
    project: str = ""
    text: str = ""
    spec: dict[str, Any] = {}
    secret_ref: AgentSecretRef | None = None
    sealed: str = ""


class AgentDelete(AgentArguments, frozen=True, kw_only=True):
    kind: str = "Application"
    cascade: bool = True


class AgentRefs(AgentArguments, frozen=True, kw_only=True):
    url: str = ""
    project: str = ""
    limit: int = 500


class AgentLogs(AgentObject, frozen=True, kw_only=True):
    pod: str = ""
    container: str = ""
    tail: int = 200
    follow: bool = False
    since_seconds: int = 0
    previous: bool = False


ARGUMENTS: Mapping[str, type[AgentArguments]] = {
    "sync": AgentSync,
    "refresh": AgentRefresh,
    "terminate": AgentArguments,
    "rollback": AgentRollback,
    "put": AgentPut,
    "delete": AgentDelete,
    "refs": AgentRefs,
    "manifests": AgentManifests,
    "diff": AgentPreview,
    "live": AgentObject,
    "tree": AgentArguments,
    "events": AgentObject,
    "event-stream": AgentObject,
    "logs": AgentLogs,
}


def arguments_at(task: AgentTask) -> AgentArguments:
    return msgspec.convert(task.arguments, ARGUMENTS[task.kind])
