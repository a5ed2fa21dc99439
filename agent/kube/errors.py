"""The refusals of an API server, its Status objects, become typed errors.

Every refusal is an ApplyRefusedError of the ports, which is all that a handler needs; adapters in
agent/ tell the usual refusals apart by class. A refusal is permanent unless the same call may
succeed a moment later. The refusal of a Secret, or of an object with values that were encrypted in
Git, is masked, because its message may quote these values and goes into status, facts and logs.
"""

from __future__ import annotations

import binascii
import re
from base64 import b64decode
from collections.abc import Iterator, Sequence

import msgspec

from handlers.manifest.access import Manifest, is_secret, mapping
from handlers.manifest.encryption import noted_fields, noted_values
from handlers.ports import ApplyRefusedError, ClusterUnreachableError

_LONGEST_MESSAGE = 2000
_MANAGER = re.compile(r'conflict with "([^"]+)"')
# To some objects that can never be applied the API server says 500.
_MALFORMED = ("failed to create typed patch object", "failed to convert new object")
_MASK = "++++++++"
_SHORTEST_MASKED = 3


class NotFoundError(ApplyRefusedError):
    """The object, its namespace or its kind does not exist."""


class ConflictError(ApplyRefusedError):
    """Another field manager owns a field, or the object is no longer the one that was read."""


class ForbiddenError(ApplyRefusedError):
    """The agent may not do this."""


class NestedTooDeeplyError(ApplyRefusedError):
    """An object is nested more deeply than the agent reads."""


class GoneError(ApplyRefusedError):
    """The resource version or the rest of a list is too old: list again."""


class ClusterReplacedError(Exception):
    """Another cluster answers at the address, so nothing that is known applies to it.

    It is no error of the ports on purpose: it is not retried, but ends all parts that knew the old
    cluster.
    """


class StatusCause(msgspec.Struct, frozen=True, kw_only=True):
    reason: str = ""
    message: str = ""
    field: str = ""


class StatusDetails(msgspec.Struct, frozen=True, kw_only=True):
    uid: str = ""
    causes: tuple[StatusCause, ...] = ()
    retry_after: float = msgspec.field(name="retryAfterSeconds", default=0.0)


class ApiStatus(msgspec.Struct, frozen=True, kw_only=True):
    """The fields of `v1.Status` that decisions need."""

    kind: str = ""
    status: str = ""
    message: str = ""
    reason: str = ""
    code: int = 0
    details: StatusDetails = StatusDetails()


def read_status(body: bytes) -> ApiStatus:
    """Read a Status; another text (a proxy's page) becomes one, shortened as its message."""
    try:
        return msgspec.json.decode(body, type=ApiStatus)
    except (msgspec.MsgspecError, RecursionError):
        return ApiStatus(message=body[:200].decode(errors="replace").strip())


def refuse_redirect(url: str, code: int) -> None:
    """Raise ClusterUnreachableError for a redirect: a cluster sends the agent nowhere.

    It could read what only the agent reaches, and lead elsewhere what is to be written.
    """
    if 300 <= code < 400:
        raise ClusterUnreachableError(
            f"{url} answers with a redirect (status {code}), which is not followed; expected the "
            "address of the API server itself"
        )


def refusal(code: int, body: bytes) -> ApplyRefusedError:
    status = read_status(body)
    message = _message(code, status)
    kind = _CLASSES.get(code, ApplyRefusedError)
    return kind(message, code=code, permanent=not _passing(code, status))


def _message(code: int, status: ApiStatus) -> str:
    text = status.message or status.reason or f"the API server answered {code}"
    conflicts = [it for it in status.details.causes if it.reason == "FieldManagerConflict"]
    return (_conflict(conflicts) if conflicts else text)[:_LONGEST_MESSAGE]


def _conflict(causes: list[StatusCause]) -> str:
    """`conflict with "kubectl" using apps/v1: .spec.replicas` per cause -> managers with fields."""
    fields: dict[str, list[str]] = {}
    for cause in causes:
        found = _MANAGER.search(cause.message)
        manager = found.group(1) if found else cause.message
        fields.setdefault(manager, []).append(cause.field)
    owned = "; ".join(f'"{manager}" owns {", ".join(own)}' for manager, own in fields.items())
    return f"conflict with another field manager: {owned}"


def _passing(code: int, status: ApiStatus) -> bool:
    """Tell a passing refusal: a kind or namespace in transition, an overload, a server's fault."""
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


def discreet(error: ApplyRefusedError, manifest: Manifest) -> ApplyRefusedError:
    if not is_secret(manifest) and not noted_fields(manifest):
        return error
    message = error.message
    values = sorted(_values(manifest), key=len, reverse=True)
    for value in values:
        message = message.replace(value, _MASK)
    if len(error.message) >= _LONGEST_MESSAGE:
        message = _without_beginning(message, values)
    return type(error)(message, code=error.code, permanent=error.permanent)


def _without_beginning(message: str, values: Sequence[str]) -> str:
    """Mask the beginning of a value at which a long message was cut."""
    for value in values:
        for size in range(min(len(value), len(message)), _SHORTEST_MASKED - 1, -1):
            if message.endswith(value[:size]):
                return f"{message[:-size]}{_MASK}"
    return message


def _values(manifest: Manifest) -> Iterator[str]:
    """Return each value as written and as decoded; shorter ones would mask ordinary words."""
    names = ("data", "stringData") if is_secret(manifest) else ()
    secret = (mapping(manifest, name) for name in names)
    for leaf in _leaves((*secret, *noted_values(manifest))):
        for text in (leaf, _decoded(leaf), msgspec.json.encode(leaf).decode()[1:-1]):
            if len(text) >= _SHORTEST_MASKED:
                yield text


def _leaves(value: object, depth: int = 0) -> Iterator[str]:
    """Return all texts in `value`; what a malformed Secret nests is secret too, names included."""
    match value:
        case dict():
            for name, inner in value.items():
                yield from _leaves((name, inner) if depth > 1 else inner, depth + 1)
        case list() | tuple():
            for inner in value:
                yield from _leaves(inner, depth + 1)
        case _:
            yield str(value)


def _decoded(value: str) -> str:
    try:
        return b64decode(value, validate=True).decode(errors="replace")
    except (binascii.Error, ValueError):
        return ""
