"""Arguments of each kind of task, as types: what the service may put into `Task.arguments`.

Unknown fields are ignored, so that a newer service may say more; a field of the wrong type ends the
task as `invalid`, with the field's name.
"""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec

from agent.bridge.doing import TaskFailedError
from bus.link import Task
from handlers.command.options import option_problems

T = TypeVar("T", bound="Arguments")


class Arguments(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The base of all."""


class Object(Arguments, frozen=True, kw_only=True):
    """An object of the cluster; `namespace` is empty where the kind has none."""

    group: str = ""
    kind: str = ""
    namespace: str = ""
    name: str = ""


class Sync(Arguments, frozen=True, kw_only=True):
    """`options` stand in place of the Application's, for this operation only."""

    revision: str = ""
    prune: bool = False
    dry_run: bool = False
    resources: tuple[Object, ...] = ()
    options: tuple[str, ...] = ()
    override: bool = False
    """Who asks may do what the target and the options of the Application do not say."""


class Preview(Sync, frozen=True, kw_only=True):
    """Of a diff: at `revision` or at an entry of the history; `preview` asks what would be done."""

    history_id: int | None = None
    preview: bool = False


class Refresh(Arguments, frozen=True, kw_only=True):
    hard: bool = False


class Rollback(Arguments, frozen=True, kw_only=True):
    history_id: int
    prune: bool = False
    dry_run: bool = False


class Manifests(Arguments, frozen=True, kw_only=True):
    revision: str = ""


class SecretRef(Arguments, frozen=True, kw_only=True):
    """A Secret of the control namespace that holds the credential; `key`: only that entry of it."""

    name: str
    namespace: str = ""
    key: str = ""


class Put(Arguments, frozen=True, kw_only=True):
    """`manifest` of an Application or AppProject; else what a connection of `kind` consists of.

    `spec` holds the fields that Argo CD has for the kind, without credentials; those come as a
    reference, or `sealed`: a box for our key with JSON of such fields. `text` is public: a
    certificate, known hosts, a GnuPG key.
    """

    kind: str = "Application"
    manifest: dict[str, Any] | None = None
    create: bool = False
    """Refused where it exists."""
    name: str = ""
    url: str = ""
    type: str = ""
    project: str = ""
    text: str = ""
    spec: dict[str, Any] = {}
    secret_ref: SecretRef | None = None
    sealed: str = ""


class Delete(Arguments, frozen=True, kw_only=True):
    """`cascade`: what the application deployed goes with it."""

    kind: str = "Application"
    cascade: bool = True


class Refs(Arguments, frozen=True, kw_only=True):
    """`project`: as whose Application the repository is read."""

    url: str = ""
    project: str = ""
    limit: int = 500


class Logs(Object, frozen=True, kw_only=True):
    pod: str = ""
    container: str = ""
    tail: int = 200
    follow: bool = False
    since_seconds: int = 0
    previous: bool = False


def read(task: Task, kind: type[T]) -> T:
    """Raises msgspec.ValidationError, which names the field."""
    return msgspec.convert(task.arguments, kind)


def check_options(said: Sync) -> None:
    """Raises TaskFailedError that names every option that cannot be honoured."""
    problems = option_problems(said.options)
    if problems:
        raise TaskFailedError("unsupported", "; ".join(problems))
