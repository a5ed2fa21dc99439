"""Subscribers are the functions to call when something happens, in the order of subscribing.

A subscriber must not block and must not raise: it marks what has changed and goes on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Generic, ParamSpec

P = ParamSpec("P")


class Subscribers(Generic[P]):
    """`P` are the parameters of each subscriber."""

    def __init__(self) -> None:
        self._callbacks: list[Callable[P, None]] = []

    def subscribe(self, callback: Callable[P, None]) -> None:
        """Call `callback` from now on."""
        self._callbacks.append(callback)

    @contextmanager
    def subscribed(self, callback: Callable[P, None]) -> Iterator[None]:
        """Call `callback` until the end of the block."""
        self.subscribe(callback)
        try:
            yield
        finally:
            self._callbacks.remove(callback)

    def notify(self, *args: P.args, **kwargs: P.kwargs) -> None:
        """Call every subscriber."""
        for callback in tuple(self._callbacks):
            callback(*args, **kwargs)
