"""One line of a watch: what happened, and to which version of the object it brings us. Pure."""

from __future__ import annotations

from enum import StrEnum

import msgspec


class EventType(StrEnum):
    ADDED = "ADDED"
    MODIFIED = "MODIFIED"
    DELETED = "DELETED"
    BOOKMARK = "BOOKMARK"
    """No object: only how far we have heard everything."""
    ERROR = "ERROR"
    """The object is a Status; the watch is over."""


class WatchEvent(msgspec.Struct, frozen=True, kw_only=True):
    type: EventType
    raw: bytes
    """The object as it was sent."""
    resource_version: str = ""
    code: int = 0
    """HTTP status of an ERROR."""


class _Metadata(msgspec.Struct, frozen=True, rename="camel"):
    resource_version: str = ""


class _Object(msgspec.Struct, frozen=True):
    metadata: _Metadata = _Metadata()
    code: int = 0


class _Line(msgspec.Struct, frozen=True):
    type: EventType
    object: msgspec.Raw


def read_event(line: bytes) -> WatchEvent:
    """Raises msgspec.MsgspecError where it is no event of a watch."""
    said = msgspec.json.decode(line, type=_Line)
    seen = msgspec.json.decode(said.object, type=_Object)
    return WatchEvent(
        type=said.type,
        raw=bytes(said.object),
        resource_version=seen.metadata.resource_version,
        code=seen.code,
    )
