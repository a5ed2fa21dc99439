"""WriteFence stops the writes of a process that may no longer be the one that acts.

A process that was stopped (SIGSTOP, a frozen container, a suspended machine) goes on in the middle
of what it did, before any timer of its own tells it that its Lease has expired meanwhile. So the
clock is asked right before each write, and it is one that goes on while the machine sleeps.

What remains is the moment between this look and the socket; a process that is stopped in it sends
one request late. The API server has no means against that, for this or any other controller.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from handlers.ports import ClusterUnreachableError

_OPEN, _CLOSED = float("inf"), float("-inf")


def boot_time() -> float:
    """Read a clock that counts suspended time too, where the system has one."""
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))


class WriteFence:
    """Open until somebody closes it; then only as long as it is extended."""

    def __init__(self, now: Callable[[], float] = boot_time) -> None:
        self.now = now
        self._until = _OPEN

    @property
    def is_open(self) -> bool:
        return self.now() < self._until

    def extend(self, until: float) -> None:
        """Let writes pass until then, a time of `now`."""
        self._until = until

    def close(self) -> None:
        self._until = _CLOSED

    def check(self, path: str) -> None:
        """Raises ClusterUnreachableError: who acts now does the work that this write was for."""
        if not self.is_open:
            raise ClusterUnreachableError(
                f"{path} is not written: this replica has not renewed its place in the Lease in "
                "time, so another one may act in its stead; it goes on when it has"
            )
