"""The only exceptions the dispatcher understands. Anything else that leaves a room is a bug."""

from __future__ import annotations


class Retry(Exception):  # noqa: N818  a verdict on the message, not an error of the room
    """The world was not ready: deliver the same message again after `after` seconds.

    `say` are events to publish before the message goes back, e.g. the fact that a user must see.
    """

    def __init__(self, reason: str, *, after: float, say: tuple[object, ...] = ()) -> None:
        super().__init__(reason)
        self.reason = reason
        self.after = after
        self.say = say


class Reject(Exception):  # noqa: N818  likewise
    """The message can never succeed: to the dead letters with `reason`, and on to the next."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason
