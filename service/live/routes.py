"""What runs as long as the service: the change feed, its trimming, webhooks.

Rows of the API stand in `endpoints`.
"""

from __future__ import annotations

from collections.abc import Coroutine, Iterator
from typing import Any

from service.live.feed import Feed
from service.live.hooks.courier import Courier
from service.live.trim import trimming
from service.parts import Parts


def workers(parts: Parts) -> Iterator[tuple[str, Coroutine[Any, Any, None]]]:
    feed = Feed(
        engine=parts.engine,
        signals=parts.signals,
        hub=parts.hub,
        clock=parts.clock,
        metrics=parts.metrics,
    )
    courier = Courier(
        engine=parts.engine,
        signals=parts.signals,
        clock=parts.clock,
        policy=parts.settings.outgoing,
        keys=parts.keys,
    )
    yield "change feed", feed.run()
    yield "webhooks", courier.run()
    yield "change feed trimming", trimming(parts.engine, parts.clock)
