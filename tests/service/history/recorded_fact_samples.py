"""Facts of one application, as an agent tells them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from bus.events import AppDeleted, Compared, Fact, OperationFinished
from bus.events.event import wire_type
from bus.events.facts import DriftedObject
from bus.identity import AppKey, Digest, Revision
from bus.status import OperationPhase, SyncStatus
from service.history.recorded_facts import RecordedFact
from service.projection.batch import FactRow

START = datetime(2026, 11, 21, 10, tzinfo=UTC)
APP = AppKey("argocd", "shop")
WEB, CACHE = "apps/Deployment/shop/web", "apps/Deployment/shop/cache"
A, B = Revision("a" * 40), Revision("b" * 40)


def digest(revision: Revision) -> Digest:
    return Digest(f"sha256:{revision}")


def at(second: float, fact: Fact) -> RecordedFact:
    time = START + timedelta(seconds=second)
    return RecordedFact(
        agent="agent",
        time=time,
        id=f"id-{second}",
        subject=str(APP),
        project="default",
        fact=fact,
    )


def row(one: RecordedFact, correlation: str = "") -> FactRow:
    return FactRow(
        event_id=one.id,
        type=wire_type(one.fact),
        subject=one.subject,
        project=one.project,
        correlation=correlation,
        time=one.time,
        body=msgspec.to_builtins(one.fact),
    )


def synced(revision: Revision = A) -> Compared:
    return Compared(app=APP, status=SyncStatus.SYNCED, revision=revision, digest=digest(revision))


def differs(*objects: str, revision: Revision = A, **more: Any) -> Compared:
    return Compared(
        app=APP,
        status=SyncStatus.OUT_OF_SYNC,
        revision=revision,
        digest=digest(revision),
        changed=more.pop("changed", len(objects)),
        drifted=objects,
        **more,
    )


def detail(name: str, *fields: str, manager: str = "") -> DriftedObject:
    return DriftedObject(object=name, fields=fields, manager=manager)


def finished(revision: Revision = A, *, automated: bool = True, ok: bool = True) -> Fact:
    return OperationFinished(
        app=APP,
        operation="op",
        phase=OperationPhase.SUCCEEDED if ok else OperationPhase.FAILED,
        revision=revision,
        automated=automated,
    )


def deleted() -> Fact:
    return AppDeleted(app=APP)
