"""What runs as long as the service: the reader of the change feed, and its trimming.

Rows of the API stand in `endpoints`.
"""

from __future__ import annotations

from collections.abc import Coroutine, Iterator
from typing import Any

from service.live.feed import Feed
from service.live.trim import trimming
from service.parts import Parts


def workers(parts: Parts) -> Iterator[tuple[str, Coroutine[Any, Any, None]]]:
    feed = Feed(engine=parts.engine, signals=parts.signals, hub=parts.hub, clock=parts.clock)
    yield "change feed", feed.run()
    yield "change feed trimming", trimming(parts.engine, parts.clock)
