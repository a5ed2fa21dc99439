"""What we read of the service's answers; fields we do not know are let pass, for newer services.

With `--json` answers are printed as they came, so a shape here holds only what people are shown.
"""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec

from cli.far.errors import FarError

S = TypeVar("S", bound=msgspec.Struct)


class AgentOfIt(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    name: str
    status: str = ""


class Commit(msgspec.Struct, frozen=True, kw_only=True):
    author: str = ""
    message: str = ""


class Revision(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The revision that runs, or the one that Git wants; `by`, `since`: of what runs."""

    revision: str = ""
    commit: Commit = Commit()
    since: str | None = None
    by: str = ""
    rolled_back: bool = False


class Cause(msgspec.Struct, frozen=True, kw_only=True):
    """The deepest ill object: `object` is `group/kind/namespace/name`."""

    object: str
    reason: str = ""
    message: str = ""
    since: str = ""

    @property
    def sentence(self) -> str:
        return ": ".join(filter(None, (object_name(self.object), self.reason, self.message)))


class SyncFailure(msgspec.Struct, frozen=True, kw_only=True):
    object: str = ""
    message: str = ""
    retries: int = 0
    retrying: bool = False

    @property
    def sentence(self) -> str:
        again = f" (retrying, {self.retries} so far)" if self.retrying else ""
        return ": ".join(filter(None, (object_name(self.object), self.message))) + again


class App(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    id: str
    agent: AgentOfIt
    namespace: str
    name: str
    project: str = ""
    environment: str = ""
    repository: str = ""
    path: str = ""
    target_revision: str = ""
    revision: str = ""
    running: Revision = Revision()
    wanted: Revision = Revision()
    sync: str = "Unknown"
    sync_failure: SyncFailure | None = None
    health: str = "Unknown"
    cause: Cause | None = None
    health_message: str = ""
    phase: str = ""
    images: list[str] = []
    automated: bool = False
    conditions: list[dict[str, Any]] = []
    sync_since: str | None = None
    health_since: str | None = None
    as_of: str | None = None
    spec: dict[str, Any] = {}
    status: dict[str, Any] = {}

    @property
    def full_name(self) -> str:
        return f"{self.agent.name}/{self.namespace}/{self.name}"


class AppProject(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Argo CD's: what its applications may deploy, from where, to where."""

    id: str
    agent: AgentOfIt
    namespace: str
    name: str
    environment: str = ""
    description: str = ""
    applications: int = 0
    as_of: str | None = None
    spec: dict[str, Any] = {}

    @property
    def full_name(self) -> str:
        return f"{self.agent.name}/{self.namespace}/{self.name}"


class Task(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    id: str
    kind: str
    subject: str = ""
    actor: str = ""
    phase: str = ""
    code: str = ""
    message: str = ""
    result: Any = None
    created_at: str | None = None
    finished_at: str | None = None

    @property
    def ended(self) -> bool:
        return self.phase not in ("queued", "offered", "running")

    @property
    def succeeded(self) -> bool:
        return self.phase == "succeeded"


class Node(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    group: str = ""
    kind: str
    namespace: str = ""
    name: str
    health: str = ""
    health_message: str = ""
    sync: str = ""
    parents: list[str] = []
    info: list[str] = []


class Difference(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    path: str
    desired: Any = None
    live: Any = None


class Object(msgspec.Struct, frozen=True, kw_only=True):
    key: str
    desired: Any = None
    live: Any = None
    changes: list[Difference] = []


class Deployment(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    id: int
    revision: str = ""
    deployed_at: str | None = None
    initiated_by: str = ""
    author: str = ""
    message: str = ""


class Component(msgspec.Struct, frozen=True, kw_only=True):
    """What an agent stands on: NATS, the API server."""

    name: str
    status: str = ""
    version: str = ""
    message: str = ""


class Limits(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What the owner of a cluster lets this control plane do there."""

    kinds: list[str] = []
    namespaces: list[str] = []
    object_kinds: list[str] = []
    cluster_scoped: bool = True
    """What an older agent does not say it does not hold back either."""
    override: bool = True
    max_per_minute: int = 0
    read_only: bool = False


class Agent(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    id: str
    name: str
    environment: str = ""
    region: str = ""
    status: str = ""
    heard_at: str | None = None
    version: str = ""
    upgrade_available: str | None = None
    applications: int = 0
    quarantined: dict[str, Any] | None = None
    deletions: dict[str, Any] | None = None
    rebuilding_since: str | None = None


class AgentDetail(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """More of one agent: some of it in its own words, so no list of agents depends on it."""

    clock_skew_ms: int | None = None
    roots_in_step: bool | None = None
    roots_at: str | None = None
    allowed: Limits = Limits()
    components: list[Component] = []


class Drift(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    agent_name: str = ""
    subject: str = ""
    object: str = ""
    fields: list[dict[str, Any]] = []
    actor: str = ""
    began_at: str | None = None
    ended_at: str | None = None
    ended_how: str | None = ""
    seconds: float = 0.0


class AuditRecord(msgspec.Struct, frozen=True, kw_only=True):
    sequence: int
    time: str | None = None
    actor: str = ""
    action: str = ""
    resource: str = ""
    decision: str = ""
    outcome: str = ""


class Verified(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    ok: bool
    entries: int = 0
    anchors: int = 0
    trimmed: int = 0
    broken_at: int | None = None
    reason: str = ""


def object_name(key: str) -> str:
    """`Pod shop/web-1` of `/Pod/shop/web-1`: kind, and namespace and name."""
    group, _, rest = key.partition("/")
    kind, _, name = rest.partition("/")
    return f"{kind} {name.lstrip('/')}" if name else group or key


def read(plain: object, shape: type[S]) -> S:
    """Raises FarError where the service says something else than we can read."""
    try:
        return msgspec.convert(plain, shape)
    except msgspec.ValidationError as e:
        raise FarError(f"the service's answer cannot be read ({e}): versions differ") from e
