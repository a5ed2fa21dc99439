"""LiveChange is a change of one live object; `is_significant` tells which ones matter. Pure."""

from __future__ import annotations

import msgspec

from handlers.ports import LiveObject

_MOST_DIGITS = 40
"""Of a resource version: 128 bits. No API server counts as far as 64."""


class LiveChange(msgspec.Struct, frozen=True, kw_only=True):
    """A change of one object; `before` is None for a new one, `after` for a deleted one."""

    before: LiveObject | None
    after: LiveObject | None


def is_significant(before: LiveObject | None, after: LiveObject | None) -> bool:
    """Tell whether more than the resource version changed."""
    if before is None or after is None:
        return True
    return _meaning(before) != _meaning(after)


def _meaning(live: LiveObject) -> LiveObject:
    """Who wrote, the bytes whose fingerprint is there, a pod's images and symptoms add nothing."""
    return msgspec.structs.replace(
        live,
        resource_version="",
        body=b"",
        owned=b"",
        inherited=b"",
        written_by="",
        written=b"",
        pod=None,
        symptom=None,
    )


def is_no_news(before: LiveObject, live: LiveObject) -> bool:
    """Tell an old or equal state; the same object in another version of its kind is new."""
    had, has = version_number(before.resource_version), version_number(live.resource_version)
    return has < had or (has == had and live.version == before.version)


def version_number(resource_version: str) -> int:
    """Resource versions of one cluster are numbers that grow (KEP-5504); 0 for what is none."""
    is_number = resource_version.isascii() and resource_version.isdecimal()
    return int(resource_version) if is_number and len(resource_version) <= _MOST_DIGITS else 0
