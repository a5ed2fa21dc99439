"""Everything that can be said: asks, commands and facts as types. Import them from here.

An event carries a key and references, never the state itself; it stays under 8 KiB.
"""

from __future__ import annotations

from bus.events.asks import (
    AssessApp,
    CompareApp,
    DeleteApp,
    RefreshApp,
    RefreshRepository,
    StepOperation,
)
from bus.events.commands import RefreshNow, SyncApp, TerminateOperation
from bus.events.event import Ask, Command, Event, Fact, Kind
from bus.events.facts import (
    AppDeleted,
    CommandRefused,
    Commit,
    Compared,
    HealthAssessed,
    ManifestsRendered,
    OperationFinished,
    OperationStarted,
    RefreshFailed,
    RenderFailed,
    ResourcesApplied,
    RevisionResolved,
    SyncSkipped,
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
    "Fact",
    "HealthAssessed",
    "Kind",
    "ManifestsRendered",
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
]
