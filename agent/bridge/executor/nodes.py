"""Nodes: every live object of an application, from what is in Git down to the last pod.

Roots are what the application tracks; the rest is found by owner references in the live index, so
this asks the API server nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

import msgspec

from bus.identity import AppKey, ResourceKey
from handlers.application.application import Application
from handlers.ports import LiveObject

_MOST = 5000


class Family(Protocol):
    """Of the live state: who belongs to whom."""

    def tracked(self, app: AppKey) -> tuple[LiveObject, ...]: ...
    def owned_by(self, uid: str) -> tuple[LiveObject, ...]: ...


class Node(msgspec.Struct, frozen=True, kw_only=True):
    live: LiveObject
    parents: tuple[ResourceKey, ...] = ()


def nodes_of(app: Application, live: Family) -> dict[ResourceKey, Node]:
    """In order: roots first, each object once."""
    found: dict[ResourceKey, Node] = {}
    waiting = [Node(live=root) for root in live.tracked(app.key)]
    for node in waiting:
        if node.live.key in found or len(found) >= _MOST:
            continue
        found[node.live.key] = node
        waiting.extend(_children(node.live, live))
    return found


def _children(parent: LiveObject, live: Family) -> Iterator[Node]:
    for child in sorted(live.owned_by(parent.uid), key=lambda one: one.key):
        yield Node(live=child, parents=(parent.key,))
