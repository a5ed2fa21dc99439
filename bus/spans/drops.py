"""Dropped spans are counted each, and logged once per outage.

A collector that is away must not fill the log of those whose work it was meant to show. The same
holds for what the OpenTelemetry packages say of each failed try: it is kept as the reason.
"""

from __future__ import annotations

import logging
from threading import Lock

import structlog
from prometheus_client import Counter

log = structlog.get_logger()

_LIBRARY = "opentelemetry"
_LONGEST_REASON = 300


class SpanDrops:
    """Called by the event loop and by the exporter's thread; `counter` has the label `cause`."""

    def __init__(self, counter: Counter) -> None:
        self._counter = counter
        self._lock = Lock()
        self._reported = False
        self._library = _LastRecord()

    def listen(self) -> None:
        """Take over what the OpenTelemetry packages log."""
        logger = logging.getLogger(_LIBRARY)
        logger.propagate = False
        logger.addHandler(self._library)

    def close(self) -> None:
        """Give back what the packages log, unless another sink still listens."""
        logger = logging.getLogger(_LIBRARY)
        logger.removeHandler(self._library)
        logger.propagate = not logger.handlers

    @property
    def reason(self) -> str:
        """What the packages said last, without the value that it was about."""
        return self._library.text

    def note(self, cause: str, count: int) -> None:
        """`cause`: `queue` or `export`."""
        self._counter.labels(cause).inc(count)
        with self._lock:
            first, self._reported = not self._reported, True
        if first:
            log.warning(
                "spans are dropped until the collector takes them",
                cause=cause,
                reason=self.reason,
            )

    def exported(self) -> None:
        """The collector took spans: the next drop is news."""
        with self._lock:
            again, self._reported = self._reported, False
        if again:
            log.info("spans are exported again")


class _LastRecord(logging.Handler):
    """Keeps the last sentence."""

    text = ""

    def emit(self, record: logging.LogRecord) -> None:
        """A header that cannot be read stands after the last colon: it may be a secret."""
        text = record.getMessage()
        if text.startswith("Header"):
            text = text.rpartition(":")[0]
        self.text = text[:_LONGEST_REASON]
