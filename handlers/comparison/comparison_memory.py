"""ComparisonMemory keeps what was decoded and found of an application, for its next comparison.

One push is compared four times, and most of an application is the same from one push to the next.
So an object that an artifact has as the one before it had it is not decoded again, and a pair of
which neither side has changed is not compared again. "Not changed" means: the very same values. The
index makes a new value of an object that changed, and equal lines of an artifact are decoded once.

Nothing here has to be kept: without it the same is worked out anew. It is bounded by the bytes of
the artifacts, because decoded objects take several times that much.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field

import msgspec

from bus.identity import AppKey
from handlers.comparison.desired_objects import DesiredObject, DesiredObjects, joined_objects
from handlers.comparison.resource_state import KnownStates

MOST_APPLICATIONS, MOST_BYTES = 64, 8 << 20


@dataclass(slots=True)
class _Decoded:
    """One artifact, decoded, and what was found of its objects."""

    content: bytes
    objects: dict[bytes, DesiredObject]
    """By line."""
    desired: DesiredObjects
    states: KnownStates


@dataclass(slots=True)
class ComparisonMemory:
    most_bytes: int = MOST_BYTES
    _kept: OrderedDict[AppKey, _Decoded] = field(default_factory=OrderedDict)
    _bytes: int = 0

    def desired(self, app: AppKey, content: bytes) -> DesiredObjects:
        """Decode an artifact, as far as it is not known."""
        known = self._kept.get(app)
        if known is not None and known.content == content:
            self._kept.move_to_end(app)
            return known.desired
        before = known.objects if known is not None else {}
        lines = content.splitlines()
        objects = {line: before.get(line) or _decoded(line) for line in dict.fromkeys(lines)}
        desired = joined_objects(objects[line] for line in lines)
        states = known.states if known is not None else KnownStates()
        self._keep(app, _Decoded(content, objects, desired, states))
        return desired

    def states(self, app: AppKey) -> KnownStates:
        """Return what the last comparison of the application found; empty where nothing is kept."""
        known = self._kept.get(app)
        return known.states if known is not None else KnownStates()

    def _keep(self, app: AppKey, found: _Decoded) -> None:
        self._drop(app)
        if len(found.content) > self.most_bytes:
            return
        self._kept[app] = found
        self._bytes += len(found.content)
        while self._bytes > self.most_bytes or len(self._kept) > MOST_APPLICATIONS:
            self._drop(next(iter(self._kept)))

    def _drop(self, app: AppKey) -> None:
        dropped = self._kept.pop(app, None)
        if dropped is not None:
            self._bytes -= len(dropped.content)


def _decoded(line: bytes) -> DesiredObject:
    return DesiredObject.of(msgspec.json.decode(line))
