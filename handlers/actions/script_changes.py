"""The answer of `action.lua` is turned into changes of the object, as Argo CD does. Pure.

A script returns the object as it should be, or a list of `{operation, resource}`, where a patch is
one of the object itself and everything else is created.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from handlers.actions.action import ActionError, Changes, changes_of, created
from handlers.application.patch import merge_patch
from handlers.manifest.access import Manifest, key

_MOST_CHANGES = 100


class _Impacted(msgspec.Struct, frozen=True):
    resource: dict[str, Any]
    operation: str = "patch"


def script_changes(answer: bytes, live: Manifest) -> Changes:
    """Compare what the script returned with the object; nothing changed means no change.

    Raises ActionError.
    """
    found: Any = msgspec.json.decode(answer)
    if isinstance(found, dict):
        return _patched(found, live)
    if not isinstance(found, list) or not found:
        raise ActionError("the script returned no object; expected obj, or a list of resources")
    try:
        impacted = msgspec.convert(found, list[_Impacted])
    except msgspec.ValidationError as error:
        raise ActionError(f"expected a list of operation and resource: {error}") from error
    if len(impacted) > _MOST_CHANGES:
        raise ActionError(f"{len(impacted)} objects are changed; the most is {_MOST_CHANGES}")
    return tuple(change for one in impacted for change in _changes(one, live))


def _changes(one: _Impacted, live: Manifest) -> Changes:
    match one.operation:
        case "create":
            return created(one.resource)
        case "patch" if key(one.resource) == key(live):
            return _patched(one.resource, live)
        case "patch":
            raise ActionError(f"the script patches {key(one.resource)}, which is another object")
        case _:
            raise ActionError(f"operation {one.operation!r} is none of create and patch")


def _patched(wanted: Mapping[str, Any], live: Manifest) -> Changes:
    restored: Any = _restored(wanted, live)
    return changes_of(merge_patch(live, restored) or {})


def _restored(value: object, original: object) -> object:
    """Turn the empty list that Lua makes of an empty mapping back, where the object had one."""
    if value == [] and isinstance(original, Mapping):
        return {}
    if isinstance(value, dict):
        there = original if isinstance(original, Mapping) else {}
        return {name: _restored(inner, there.get(name)) for name, inner in value.items()}
    if isinstance(value, list) and isinstance(original, list | tuple):
        pairs = zip(value, original, strict=False)
        return [*(_restored(*pair) for pair in pairs), *value[len(original) :]]
    return value
