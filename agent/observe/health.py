"""Readiness: named conditions, each of which can say why it does not hold.

Conditions are asked when somebody asks, so the answer is never older than the question. Liveness is
less: whoever answers at all is alive.
"""

from __future__ import annotations

from collections.abc import Callable

Probe = Callable[[], str]
"""Why not, in words; empty when all is well. It answers from memory and never blocks."""

READY: Probe = str


class Readiness:
    def __init__(self) -> None:
        self._probes: dict[str, Probe] = {}

    def require(self, name: str, probe: Probe) -> None:
        """From now on `name` has to hold; a later call with the same name replaces the probe."""
        self._probes[name] = probe

    def wait_for(self, name: str, why: str) -> None:
        """Not ready until `hold(name)`."""
        self.require(name, lambda: why)

    def hold(self, name: str) -> None:
        self.require(name, READY)

    def missing(self) -> dict[str, str]:
        """What does not hold, and why; empty when ready."""
        return {name: why for name, probe in self._probes.items() if (why := probe())}
