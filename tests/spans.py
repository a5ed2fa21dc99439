"""Spans as a test looks at them: kept in a list."""

from __future__ import annotations

from bus.spans import FinishedSpan


class KeptSpans:
    """Implements `SpanSink`."""

    def __init__(self) -> None:
        self.spans: list[FinishedSpan] = []

    def take(self, span: FinishedSpan) -> None:
        self.spans.append(span)

    def close(self) -> None:
        """Nothing waits."""
