"""What an API server answers when it says no: its Status object as typed errors.

Every refusal is an ApplyRefusedError of the ports, so that a room needs no more than that; adapters
in agent/ tell the usual ones apart by class. A refusal is permanent unless the same call may
succeed a moment later.
"""

from __future__ import annotations

import re

import msgspec

from handlers.ports import ApplyRefusedError

_LONGEST_MESSAGE = 2000
_MANAGER = re.compile(r'conflict with "([^"]+)"')
# To some objects that can never be applied the API server says 500.
_MALFORMED = ("failed to create typed patch object", "failed to convert new object")


class NotFoundError(ApplyRefusedError):
    """The object, its namespace or its kind is not there."""


class ConflictError(ApplyRefusedError):
    """Another field manager owns a field, or the object is not the one that was read."""


class ForbiddenError(ApplyRefusedError):
    """We may not do this."""


class GoneError(ApplyRefusedError):
    """The resource version or the rest of a list is too old: list again."""


class Cause(msgspec.Struct, frozen=True, kw_only=True):
    reason: str = ""
    message: str = ""
    field: str = ""


class Details(msgspec.Struct, frozen=True, kw_only=True):
    uid: str = ""
    causes: tuple[Cause, ...] = ()
    retry_after: float = msgspec.field(name="retryAfterSeconds", default=0.0)


class Status(msgspec.Struct, frozen=True, kw_only=True):
    """`v1.Status`, as far as anything is decided by it."""

    kind: str = ""
    status: str = ""
    message: str = ""
    reason: str = ""
    code: int = 0
    details: Details = Details()


def read_status(body: bytes) -> Status:
    """What is no Status (a proxy's page) becomes one with the beginning of its text as message."""
    try:
        return msgspec.json.decode(body, type=Status)
    except msgspec.MsgspecError:
        return Status(message=body[:200].decode(errors="replace").strip())


def refusal(code: int, body: bytes) -> ApplyRefusedError:
    status = read_status(body)
    message = _message(code, status)
    kind = _CLASSES.get(code, ApplyRefusedError)
    return kind(message, code=code, permanent=not _passing(code, status))


def _message(code: int, status: Status) -> str:
    text = status.message or status.reason or f"the API server answered {code}"
    conflicts = [it for it in status.details.causes if it.reason == "FieldManagerConflict"]
    return (_conflict(conflicts) if conflicts else text)[:_LONGEST_MESSAGE]


def _conflict(causes: list[Cause]) -> str:
    """`conflict with "kubectl" using apps/v1: .spec.replicas` per cause -> managers with fields."""
    fields: dict[str, list[str]] = {}
    for cause in causes:
        found = _MANAGER.search(cause.message)
        manager = found.group(1) if found else cause.message
        fields.setdefault(manager, []).append(cause.field)
    owned = "; ".join(f'"{manager}" owns {", ".join(own)}' for manager, own in fields.items())
    return f"conflict with another field manager: {owned}"


def _passing(code: int, status: Status) -> bool:
    """A kind or namespace not there yet or on its way out, an overload, a server's own fault."""
    if status.message.startswith(_MALFORMED):
        return False
    if code == 409:
        return not any(it.reason == "FieldManagerConflict" for it in status.details.causes)
    terminating = any(it.reason == "NamespaceTerminating" for it in status.details.causes)
    return terminating or code in (401, 404, 408, 410, 429) or code >= 500


_CLASSES: dict[int, type[ApplyRefusedError]] = {
    403: ForbiddenError,
    404: NotFoundError,
    409: ConflictError,
    410: GoneError,
}
