"""The shape of a custom resource whose settings say which types some of its fields have. Pure.

Only the spelling of values comes from such a type: quantities and durations. How the server merges
a list of a custom resource is not changed by what a setting calls it, so merge keys are left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache

from handlers.application.known_types import KnownTypeRules, known_fields
from handlers.comparison.shapes import DURATION, QUANTITIES, QUANTITY, RESOURCES, Shape
from handlers.comparison.shapes_kinds import CONTAINER, POD_SPEC, PVC_SPEC, VOLUME, shape_of
from handlers.manifest.kinds import GroupKind

_TEMPLATE = Shape(fields={"spec": POD_SPEC})
TYPED: Mapping[str, Shape] = {
    "core/Quantity": QUANTITY,
    "meta/v1/Duration": DURATION,
    "core/v1/Container": CONTAINER,
    "core/v1/PersistentVolumeClaimSpec": PVC_SPEC,
    "core/v1/PodSpec": POD_SPEC,
    "core/v1/PodTemplateSpec": _TEMPLATE,
    "core/v1/ResourceList": QUANTITIES,
    "core/v1/ResourceRequirements": RESOURCES,
    "core/v1/Volume": VOLUME,
}


@lru_cache(maxsize=512)
def typed_shape(kind: GroupKind, rules: KnownTypeRules) -> Shape:
    """Return the shape of a kind with the fields whose types the settings name."""
    shape = shape_of(kind)
    for one in known_fields(rules, kind.group, kind.kind):
        if (of_type := TYPED.get(one.type)) is not None:
            shape = _with_field(shape, one.path, _spelling(of_type))
    return shape


def _with_field(shape: Shape, path: tuple[str, ...], leaf: Shape) -> Shape:
    """Put a type at a path; entries of lists on the way have the field too."""
    name, *below = path
    before = shape.fields.get(name, Shape())
    inner = _with_field(before, tuple(below), leaf) if below else leaf
    entry = replace(shape.each or Shape(), fields={**_fields(shape.each), name: inner})
    return replace(shape, fields={**shape.fields, name: inner}, each=entry)


def _fields(shape: Shape | None) -> Mapping[str, Shape]:
    return shape.fields if shape is not None else {}


def _spelling(shape: Shape) -> Shape:
    """Keep what says how values are spelled, in a value and in a list of values."""
    plain = Shape(
        fields={name: _spelling(one) for name, one in shape.fields.items()},
        each=_spelling(shape.each) if shape.each is not None else None,
        quantity=shape.quantity,
        duration=shape.duration,
    )
    return plain if plain.each is not None else replace(plain, each=plain)
