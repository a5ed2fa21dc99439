"""AcceptanceWindow: for how long a refused object may still come to be accepted.

A namespace that is being made and a CustomResourceDefinition that is not served yet refuse what
follows them for a moment. The time counts from the first such refusal of a step, not from the begin
of its operation, whose hooks and waves before it may have taken hours. Nothing here has to outlive
the process: after a restart an object has that time once more.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from datetime import datetime

ACCEPTED_WITHIN = 10.0
"""Seconds."""
_REMEMBERED = 1_000


@dataclass(slots=True)
class AcceptanceWindow:
    """Remembers since when objects of an operation are refused."""

    _since: OrderedDict[str, datetime] = field(default_factory=OrderedDict)

    def is_open(self, operation: str, now: datetime) -> bool:
        """Whether an object that the server refuses for the moment may be tried again."""
        since = self._since.get(operation, now)
        return (now - since).total_seconds() < ACCEPTED_WITHIN

    def note(self, operation: str, now: datetime, *, refused: bool) -> None:
        """Note whether objects of the step were refused; the next step starts anew."""
        if not refused:
            self._since.pop(operation, None)
            return
        self._since.setdefault(operation, now)
        if len(self._since) > _REMEMBERED:
            self._since.popitem(last=False)
