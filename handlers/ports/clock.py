"""The Clock port: the only source of the current time for handlers."""

from __future__ import annotations

from datetime import datetime
from typing import Protocol


class Clock(Protocol):
    def now(self) -> datetime:
        """Timezone-aware, UTC."""
        ...
