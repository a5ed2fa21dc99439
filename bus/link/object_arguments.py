"""ObjectArguments: the arguments of tasks about one live object, and the base of all arguments.

The table of `bus/link/tasks.py` says which kind of task takes which type.
"""

from __future__ import annotations

from typing import Any

from bus.link.wire import WireValue


class TaskArguments(WireValue, frozen=True, kw_only=True):
    """The base of the arguments of every kind."""


class ObjectArguments(TaskArguments, frozen=True, kw_only=True):
    """An object of the cluster; `namespace` is empty where the kind has none."""

    group: str = ""
    kind: str = ""
    namespace: str = ""
    name: str = ""


class LiveArguments(ObjectArguments, frozen=True, kw_only=True):
    """The object to read."""


class EventsArguments(ObjectArguments, frozen=True, kw_only=True):
    """The object whose events are read; without a name all objects of the application."""


class LinksArguments(ObjectArguments, frozen=True, kw_only=True):
    """The object whose deep links are evaluated; without a kind those of the Application.

    `project`: those of this AppProject, which the subject names too.
    """

    project: str = ""


class EventStreamArguments(EventsArguments, frozen=True, kw_only=True):
    """As for EventsArguments."""


class ActionsArguments(ObjectArguments, frozen=True, kw_only=True):
    """The object whose actions are listed."""


class ObjectPreviewArguments(ObjectArguments, frozen=True, kw_only=True):
    """One change of the object: an action with its parameters, a merge patch, or its deletion."""

    action: str = ""
    params: dict[str, str] = {}
    patch: dict[str, Any] = {}
    delete: bool = False


class RunActionArguments(ObjectArguments, frozen=True, kw_only=True):
    """`uid`, where it is not empty: of the object that the requester saw."""

    action: str = ""
    params: dict[str, str] = {}
    uid: str = ""


class EditObjectArguments(ObjectArguments, frozen=True, kw_only=True):
    """A JSON merge patch of the object that has this UID and this resourceVersion, if any.

    Masks in it stand for the values of the live object.
    """

    patch: dict[str, Any] = {}
    uid: str = ""
    resource_version: str = ""


class DeleteObjectArguments(ObjectArguments, frozen=True, kw_only=True):
    """`uid` is that of the object to delete, which the requester saw; a task without it is refused.

    `propagation` is foreground, background or orphan; `force`: without a grace period.
    """

    uid: str = ""
    propagation: str = "foreground"
    force: bool = False


class LogsArguments(ObjectArguments, frozen=True, kw_only=True):
    pod: str = ""
    container: str = ""
    tail: int = 200
    follow: bool = False
    since_seconds: int = 0
    previous: bool = False


class ExecArguments(ObjectArguments, frozen=True, kw_only=True):
    """A shell in a container of the pod `name`; without `container` in the pod's default one.

    Size of the terminal in characters; later sizes come as TerminalInput.
    """

    container: str = ""
    columns: int = 80
    rows: int = 24
