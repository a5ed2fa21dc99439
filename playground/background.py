"""An event loop in a thread of its own, for parts that outlive the loop of a test or command.

Open resources with `enter`; they are closed in reverse order, on the same loop, when the block
ends. The thread lives as long as the block, and with it the children it started.
"""

import asyncio
import threading
from collections.abc import Coroutine
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from types import TracebackType
from typing import Any, Self, TypeVar

T = TypeVar("T")


class BackgroundLoop:
    def __init__(self, name: str = "playground") -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name=name, daemon=True)
        self._stack = AsyncExitStack()

    def call(self, work: Coroutine[Any, Any, T]) -> T:
        """Run it there, wait for it here. Not from a running loop: it would stand still."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def enter(self, resource: AbstractAsyncContextManager[T]) -> T:
        return self.call(self._stack.enter_async_context(resource))

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            self.call(self._stack.aclose())
        finally:
            self.call(self._loop.shutdown_default_executor())
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.close()
