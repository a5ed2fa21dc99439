"""TrackingInUse holds the tracking method by which all indexes read the objects of applications."""

from __future__ import annotations

from agent.subscribers import Subscribers
from handlers.manifest.tracking_method import Tracking


class TrackingInUse:
    def __init__(self) -> None:
        self.now = Tracking()
        self.changes = Subscribers[[]]()
        """Called when objects are read in another way, so that all have to be listed again."""

    def use(self, tracking: Tracking) -> None:
        before, self.now = self.now, tracking
        if before != tracking:
            self.changes.notify()
