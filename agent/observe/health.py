"""Readiness: named conditions, each of which can say why it does not hold.

Two questions. Ready: may traffic come here? That is so for a standby too: it is warm and takes
webhooks for the one that acts. Acting: does this one hold the Lease, and are its rooms open?
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
        self._to_act: set[str] = set()
        self.standby = ""
        """Who acts instead of us; empty: nobody that we have seen."""

    def require(self, name: str, probe: Probe, *, to_act: bool = False) -> None:
        """From now on `name` has to hold; a later call with the same name replaces the probe.

        `to_act`: it does not keep a standby from being ready.
        """
        self._probes[name] = probe
        if to_act:
            self._to_act.add(name)

    def wait_for(self, name: str, why: str, *, to_act: bool = False) -> None:
        """Not ready until `hold(name)`."""
        self.require(name, lambda: why, to_act=to_act)

    def hold(self, name: str) -> None:
        self.require(name, READY)

    def missing(self) -> dict[str, str]:
        """What does not hold, and why; empty when ready."""
        excused = self._to_act if self.standby else frozenset()
        return {name: why for name, why in self.idle().items() if name not in excused}

    def idle(self) -> dict[str, str]:
        """Why this agent does not act; empty when it does."""
        return {name: why for name, probe in self._probes.items() if (why := probe())}
