"""What the built-in kinds' lists and fields mean to the server, as far as comparing needs it.

A list is *associative* (entries matched by merge keys, others may add entries), a *set*, or
*atomic* (replaced as a whole: nobody adds to it, so what is more was taken out of Git). A
quantity may be spelled in several ways. Custom resources have no shape here: their merge keys are
learned from the field set that the server keeps for our manager.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """One field. `each` is a list's entry, or a map's value where `fields` names none."""

    fields: Mapping[str, Shape] = field(default_factory=dict)
    each: Shape | None = None
    keys: tuple[str, ...] = ()
    is_set: bool = False
    quantity: bool = False
    duration: bool = False
    defaults: Mapping[str, Any] = field(default_factory=dict)
    """What the server fills in inside an entry: needed for merge keys and inside atomic lists."""
    computed: frozenset[str] = frozenset()
    """What the server works out inside an atomic entry, so that more of it proves nothing."""

    def field(self, name: str) -> Shape | None:
        return self.fields.get(name, self.each)


PLAIN = Shape()
QUANTITY = Shape(quantity=True)
DURATION = Shape(duration=True)
QUANTITIES = Shape(each=QUANTITY)
SET = Shape(is_set=True)


def record(*, defaults: Mapping[str, Any] | None = None, **fields: Shape) -> Shape:
    return Shape(fields=fields, defaults=defaults or {})


def by(*keys: str, each: Shape = PLAIN) -> Shape:
    """An associative list."""
    return Shape(keys=keys, each=each)


def atomic(each: Shape) -> Shape:
    """A list that is replaced as a whole, with entries of a known shape."""
    return Shape(each=each)


def spec(shape: Shape) -> Shape:
    return record(spec=shape)


TCP = record(defaults={"protocol": "TCP"})
METADATA = record(finalizers=SET, ownerReferences=by("uid"))
RESOURCES = record(limits=QUANTITIES, requests=QUANTITIES, claims=by("name"))
