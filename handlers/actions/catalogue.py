"""The actions of each kind: Argo CD's catalogue, by its names. Pure.

`actions_of` lists them; a kind is added as a row.
"""

from __future__ import annotations

from collections.abc import Mapping

from handlers.actions import argo, creations, kubernetes, operators
from handlers.actions.action import ResourceAction

ActionTable = Mapping[str, Mapping[str, tuple[ResourceAction, ...]]]
_TABLES = (kubernetes.ACTIONS, argo.ACTIONS, creations.ACTIONS, operators.ACTIONS)


def actions_of(group: str, kind: str) -> tuple[ResourceAction, ...]:
    """The actions of a kind, by name."""
    found = [
        action
        for table in _TABLES
        for names, actions in table.get(group, {}).items()
        if kind in names.split(" ")
        for action in actions
    ]
    return tuple(sorted(found, key=lambda one: one.name))
