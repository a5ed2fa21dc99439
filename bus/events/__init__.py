"""The types of all events: asks, commands and facts. Import them from this package.

An event carries a key and references, never the state itself; it stays under 8 KiB.
"""

from __future__ import annotations

from bus.events.event import Ask, Command, Event, EventKind, Fact
from bus.events.facts import (
    AppDeleted,
    CommandRefused,
    Commit,
    Compared,
    HealthAssessed,
    ManifestsRendered,
    RefreshFailed,
    RenderFailed,
    RevisionResolved,
    UnprovenCommit,
)
from bus.events.object_facts import ObjectChanged
from bus.events.operation_facts import (
    OperationFinished,
    OperationStarted,
    ResourcesApplied,
    SyncSkipped,
)
from bus.events.requests import (
    AssessApp,
    CompareApp,
    DeleteApp,
    HydrateBranch,
    RefreshApp,
    RefreshNow,
    RefreshRepository,
    StepOperation,
    SyncApp,
    TerminateOperation,
)

__all__ = [
    "AppDeleted",
    "Ask",
    "AssessApp",
    "Command",
    "CommandRefused",
    "Commit",
    "CompareApp",
    "Compared",
    "DeleteApp",
    "Event",
    "EventKind",
    "Fact",
    "HealthAssessed",
    "HydrateBranch",
    "ManifestsRendered",
    "ObjectChanged",
    "OperationFinished",
    "OperationStarted",
    "RefreshApp",
    "RefreshFailed",
    "RefreshNow",
    "RefreshRepository",
    "RenderFailed",
    "ResourcesApplied",
    "RevisionResolved",
    "StepOperation",
    "SyncApp",
    "SyncSkipped",
    "TerminateOperation",
    "UnprovenCommit",
]
