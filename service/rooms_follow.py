"""Who follows the projection: rooms that offer `follow(parts)` in their module `follow`."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec

from service.parts import Parts
from service.projection.follow import Follower

_ROOMS = ("service.history", "service.audit")


def followers(parts: Parts) -> tuple[Follower, ...]:
    """In this order, in the transaction of each batch."""
    found: list[Follower] = []
    for room in _ROOMS:
        if find_spec(room) is not None and find_spec(f"{room}.follow") is not None:
            found.extend(import_module(f"{room}.follow").follow(parts))
    return tuple(found)
