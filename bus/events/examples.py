"""Examples: one plausible instance of every event, for the document and for tests.

Values are chosen by type, and for plain texts and numbers by the field's name; nothing is written
down per event, so a new event has its example already.
"""

from __future__ import annotations

from enum import StrEnum
from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints

import msgspec

from bus.events.event import Event
from bus.identity import AppKey, Digest, HydratedBranch, RepositoryKey, ResourceKey, Revision
from bus.status import HealthStatus, OperationPhase, Reason, SyncStatus

_BY_TYPE: dict[Any, Any] = {
    AppKey: AppKey("argocd", "guestbook"),
    RepositoryKey: RepositoryKey("https://git.example/team/guestbook"),
    HydratedBranch: HydratedBranch(
        "shop",
        RepositoryKey("https://git.example/team/guestbook"),
        "main",
        RepositoryKey("https://git.example/team/guestbook"),
        "environments/dev",
    ),
    ResourceKey: ResourceKey("apps", "Deployment", "guestbook", "web"),
    Revision: Revision("4f1c2a9be07d3856f1c2a9be07d3856f1c2a9be0"),
    Digest: Digest("sha256:" + "9f86d081884c7d65" * 4),
    SyncStatus: SyncStatus.OUT_OF_SYNC,
    HealthStatus: HealthStatus.PROGRESSING,
    OperationPhase: OperationPhase.SUCCEEDED,
    Reason: Reason.YAML_INVALID,
    int: 3,
    float: 1.5,
    bool: True,
}
_BY_NAME = {
    "actor": "jane@example.com",
    "author": "Jane Doe",
    "fields": "spec.replicas",
    "file": "deploy/web.yaml",
    "id": "0199f0c2-7a5e-7c31-9d4e-5b6f1a2c3d4e",
    "initiated_by": "jane@example.com",
    "manager": "kubectl-edit",
    "managers": "kubectl-edit",
    "message": "line 12: mapping values are not allowed in this context",
    "object": "apps/Deployment/guestbook/web",
    "options": "PruneLast=true",
    "operation": "0199f0c2-7a5e-7c31-9d4e-5b6f1a2c3d4e",
    "project": "shop",
    "ref": "refs/heads/main",
    "resource": "apps/Deployment/guestbook/web",
    "drifted": "apps/Deployment/guestbook/web",
    "server": "https://kubernetes.default.svc",
    "status": "SyncFailed",
    "target_revision": "main",
    "time": "2026-01-01T12:00:00Z",
}


def example_of(event: type[Event]) -> Event:
    return event(**_fields(event))


def _fields(struct: type[msgspec.Struct]) -> dict[str, Any]:
    hints = get_type_hints(struct)
    return {name: _value(name, hints[name]) for name in struct.__struct_fields__}


def _value(name: str, hint: Any) -> Any:
    if hint in _BY_TYPE:
        return _BY_TYPE[hint]
    if isinstance(hint, UnionType):
        return _value(name, get_args(hint)[0])
    if get_origin(hint) is tuple:
        return (_value(name, get_args(hint)[0]),)
    if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
        return hint(**_fields(hint))
    if isinstance(hint, type) and issubclass(hint, StrEnum):
        return next(iter(hint))
    return _BY_NAME.get(name, name)
