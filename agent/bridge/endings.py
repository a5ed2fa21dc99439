"""Endings: how the last operations ended, by id, for who waits for one that was overtaken."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field

from bus.events import OperationFinished

_REMEMBERED = 1000


@dataclass(slots=True)
class Endings:
    _found: OrderedDict[str, OperationFinished] = field(default_factory=OrderedDict)

    def note(self, fact: OperationFinished) -> None:
        self._found[fact.operation] = fact
        if len(self._found) > _REMEMBERED:
            self._found.popitem(last=False)

    def of(self, operation: str) -> OperationFinished | None:
        return self._found.get(operation)
