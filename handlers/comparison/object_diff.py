"""The difference between one desired object and its live object, in two readings. Pure.

1. `diff` answers from the two objects alone, in microseconds and without a call. Where it says
   Same, nothing more is asked: that is the steady state of nearly all objects.
2. Where it says Different or Uncertain, the reader sends a dry-run apply and compares the server's
   answer with `same_after_dry_run`, because only the server knows defaults, conversions and
   admission. So a wrong Different costs one call, and only a wrong Same would hide drift.

Values of Secrets never appear in an outcome.
"""

from __future__ import annotations

from typing import Any

import msgspec

from handlers.application.known_types import KnownTypeRules
from handlers.comparison.normalised_objects import (
    IDENTITY,
    SERVER_METADATA,
    normalise,
    with_assigned_address,
    without_aggregated_rules,
)
from handlers.comparison.object_difference import DiffOutcome, DiffVerdict, FieldDifference, masked
from handlers.comparison.owned_fields import Fields, owned_fields
from handlers.comparison.shapes import PLAIN
from handlers.comparison.shapes_kinds import is_built_in
from handlers.comparison.typed_shapes import typed_shape
from handlers.comparison.value_walk import FieldContext, ValueWalk
from handlers.manifest.access import LAST_APPLIED, Manifest, api_version, is_secret, mapping
from handlers.manifest.kinds import GroupKind

_NOT_COMPARED = frozenset({"apiVersion", "kind", "metadata", "status"})
_NOT_COMPARED_METADATA = SERVER_METADATA | IDENTITY


def diff(
    desired: Manifest,
    live: Manifest,
    owned: Fields | None = None,
    known_types: KnownTypeRules = (),
) -> DiffOutcome:
    """Compare the way a server-side apply would merge.

    `owned` is our field set; where it is None, it is read from `live.metadata.managedFields`.
    """
    # Fields of two versions cannot be paired: the same path may mean something else.
    if api_version(desired) != api_version(live):
        doubt = f"apiVersion is {api_version(desired)}, read as {api_version(live)}"
        return DiffOutcome(verdict=DiffVerdict.UNCERTAIN, doubts=(doubt,))
    kind = GroupKind.of(desired)
    owned = owned_fields(live) if owned is None else owned
    walk = ValueWalk(known=owned is not None, drops_empty=is_built_in(kind))
    expected = with_assigned_address(normalise(desired), live)
    context = FieldContext(typed_shape(kind, known_types), owned)
    walk.record(_body(expected), _body(without_aggregated_rules(live)), (), context)
    # Metadata is walked by itself, without identity and without what the server writes there.
    walk.record(
        _described(expected["metadata"]),
        _described(mapping(live, "metadata")),
        ("metadata",),
        context.field("metadata"),
    )
    return _outcome(walk, secret=is_secret(desired))


def same_after_dry_run(result: Manifest, live: Manifest) -> bool:
    """Whether the apply would change nothing but what the server keeps for itself."""
    return _encoded(result) == _encoded(live)


def changes_after_dry_run(result: Manifest, live: Manifest) -> tuple[FieldDifference, ...]:
    """List what an apply would change, for people; fields of either side alone count."""
    walk = ValueWalk(known=False, drops_empty=False)
    walk.record(
        dict(comparable(result)), dict(comparable(live)), (), FieldContext(PLAIN, None, exact=True)
    )
    return masked(walk.differences) if is_secret(live) else tuple(walk.differences)


def comparable(answered: Manifest) -> dict[str, Any]:
    """Strip status and what the server keeps for itself from an object that it returned."""
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


def _outcome(walk: ValueWalk, *, secret: bool) -> DiffOutcome:
    differences = masked(walk.differences) if secret else tuple(walk.differences)
    doubts = tuple(walk.doubts)
    # A certain difference outweighs doubts: the verdict would be Different with any answer to them.
    if differences:
        return DiffOutcome(verdict=DiffVerdict.DIFFERENT, differences=differences, doubts=doubts)
    return DiffOutcome(verdict=DiffVerdict.UNCERTAIN if doubts else DiffVerdict.SAME, doubts=doubts)


def _encoded(manifest: Manifest) -> bytes:
    return msgspec.json.encode(comparable(manifest), order="deterministic")
