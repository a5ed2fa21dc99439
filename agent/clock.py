"""The wall clock behind the port `Clock`: the one place where decisions get their "now" from."""

from __future__ import annotations

from datetime import UTC, datetime


class SystemClock:
    def now(self) -> datetime:
        return datetime.now(UTC)
