"""Whether a live object holds what is desired.

`diff` answers from the two alone, in microseconds. Where it says Different or Uncertain the room
asks the server (dry-run apply) and compares the answer with `same_after_dry_run`: only the server
knows defaults, conversions and admission. Values of Secrets never appear in an outcome.
"""

from __future__ import annotations

from typing import Any

import msgspec

from handlers.compare.change import Difference, Outcome, Verdict, masked
from handlers.compare.fields import Fields, owned_fields
from handlers.compare.normalise import (
    IDENTITY,
    SERVER_METADATA,
    normalise,
    with_given_address,
    without_aggregated_rules,
)
from handlers.compare.shapes import PLAIN
from handlers.compare.shapes_kinds import is_built_in, shape_of
from handlers.compare.walk import Walk, Where
from handlers.manifest.access import Manifest, api_version, mapping
from handlers.manifest.kinds import GroupKind
from handlers.manifest.redact import LAST_APPLIED, is_secret

_NOT_COMPARED = frozenset({"apiVersion", "kind", "metadata", "status"})
_NOT_COMPARED_METADATA = SERVER_METADATA | IDENTITY


def diff(desired: Manifest, live: Manifest, owned: Fields | None = None) -> Outcome:
    """Compare as the server would merge; `owned`: else of `live`'s managedFields."""
    if api_version(desired) != api_version(live):
        doubt = f"apiVersion is {api_version(desired)}, read as {api_version(live)}"
        return Outcome(verdict=Verdict.UNCERTAIN, doubts=(doubt,))
    kind = GroupKind.of(desired)
    owned = owned_fields(live) if owned is None else owned
    walk = Walk(known=owned is not None, drops_empty=is_built_in(kind))
    wanted = with_given_address(normalise(desired), live)
    found = without_aggregated_rules(live)
    where = Where(shape_of(kind), owned)
    walk.record(_body(wanted), _body(found), (), where)
    walk.record(
        _described(wanted["metadata"]),
        _described(mapping(live, "metadata")),
        ("metadata",),
        where.field("metadata"),
    )
    return _outcome(walk, secret=is_secret(desired))


def same_after_dry_run(result: Manifest, live: Manifest) -> bool:
    """Whether the server would change nothing: all that is written, but for its own bookkeeping."""
    return _encoded(result) == _encoded(live)


def changes_after_dry_run(result: Manifest, live: Manifest) -> tuple[Difference, ...]:
    """What an apply would change, to be shown; either side may have more."""
    walk = Walk(known=False, drops_empty=False)
    walk.record(
        dict(comparable(result)), dict(comparable(live)), (), Where(PLAIN, None, exact=True)
    )
    return masked(walk.differences) if is_secret(live) else tuple(walk.differences)


def comparable(answered: Manifest) -> dict[str, Any]:
    """An object of the server without status and what the server keeps for itself."""
    metadata = _described(mapping(answered, "metadata"))
    notes = {
        key: value for key, value in mapping(metadata, "annotations").items() if key != LAST_APPLIED
    }
    rest = {key: value for key, value in metadata.items() if key != "annotations"}
    described = {**rest, "annotations": notes} if notes else rest
    body = without_aggregated_rules(answered)
    return {**_body(body), "metadata": described}


def _body(manifest: Manifest) -> dict[str, Any]:
    return {key: value for key, value in manifest.items() if key not in _NOT_COMPARED}


def _described(metadata: Manifest) -> dict[str, Any]:
    return {key: value for key, value in metadata.items() if key not in _NOT_COMPARED_METADATA}


def _outcome(walk: Walk, *, secret: bool) -> Outcome:
    found = masked(walk.differences) if secret else tuple(walk.differences)
    doubts = tuple(walk.doubts)
    if found:
        return Outcome(verdict=Verdict.DIFFERENT, differences=found, doubts=doubts)
    return Outcome(verdict=Verdict.UNCERTAIN if doubts else Verdict.SAME, doubts=doubts)


def _encoded(manifest: Manifest) -> bytes:
    return msgspec.json.encode(comparable(manifest), order="deterministic")
