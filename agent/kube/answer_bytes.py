"""AnswerBytes bounds what a client holds of answers that have not ended yet.

One answer has a limit of its own, and so has a line of a watch, but a cluster can begin hundreds of
both at once and end none. Whoever reads on beyond the bound gives up what was read: a cluster that
sends too much harms its own session only.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from handlers.ports import ClusterUnreachableError


class AnswerBytes:
    def __init__(self, most: int) -> None:
        self._most = most
        self.held = 0

    @contextmanager
    def share(self) -> Iterator[AnswerShare]:
        """Count the bytes of one answer until the end of the block."""
        share = AnswerShare(self)
        try:
            yield share
        finally:
            share.hold(0)

    def change(self, size: int) -> None:
        """Raises ClusterUnreachableError where there is too much."""
        self.held += size
        if size > 0 and self.held > self._most:
            raise ClusterUnreachableError(
                f"the API server sent more than {self._most} bytes in answers that have not ended"
            )


class AnswerShare:
    """The part of one answer in the bytes that a client holds."""

    def __init__(self, whole: AnswerBytes) -> None:
        self._whole = whole
        self._size = 0

    def hold(self, size: int) -> None:
        """Note how many bytes of this answer are held now; raises ClusterUnreachableError."""
        change, self._size = size - self._size, size
        self._whole.change(change)
