"""The classes of tasks: how urgent one is, and which namespaces it touches."""

from __future__ import annotations

from enum import StrEnum


class TaskPriority(StrEnum):
    """The class of a task, the most urgent first; each class has workers of its own."""

    INTERACTIVE = "interactive"
    CONTROL = "control"
    BULK = "bulk"


class TaskScope(StrEnum):
    """Which namespaces a task touches; the policy of the cluster's owner must permit them."""

    AGENT = "agent"
    """No namespace of the cluster."""
    APPLICATION = "application"
    """Where the Application of the subject deploys; and the namespace in the arguments, if any."""
    OBJECT = "object"
    """Likewise, of one object: without a namespace in the arguments it is the whole cluster."""
    WRITTEN = "written"
    """The control namespace, or all that an Application that is put or deleted touches."""
