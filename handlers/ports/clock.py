"""Time, for those who decide: it comes in through a port and is never looked at elsewhere."""

from __future__ import annotations

from datetime import datetime
from typing import Protocol


class Clock(Protocol):
    def now(self) -> datetime:
        """Timezone-aware, UTC."""
        ...
