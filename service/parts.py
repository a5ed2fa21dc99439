"""What the rooms of the service are built from: one value, made by the composition root.

A room offers `routes(parts)` and may offer `workers(parts)`; it takes what it needs from here and
hands it to its own classes by constructor. Nothing here is global.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime

from prometheus_client import CollectorRegistry
from sqlalchemy.ext.asyncio import AsyncEngine

from service.audit.denials import Denials
from service.gateway.switchboard import Switchboard
from service.gateway.tasks import Tasks
from service.keys.key_file import KeyFile
from service.live.hub import Hub
from service.observe.metrics import Metrics, make_metrics
from service.settings import ServiceSettings
from service.store.signals import Signals

Clock = Callable[[], datetime]
"""The time now, in UTC."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    settings: ServiceSettings
    engine: AsyncEngine
    keys: KeyFile
    """What signs the audit and encrypts columns; it stands outside the database."""
    signals: Signals
    """What other replicas, and this one, announce: LISTEN and NOTIFY."""
    clock: Clock
    switchboard: Switchboard
    """The links that this replica holds."""
    tasks: Tasks
    """Submit, cancel and wait for what an agent has to do."""
    replica: str
    """Name of this process among the replicas: unique per start."""
    denials: Denials = field(default_factory=Denials)
    """What was refused and is not recorded yet."""
    hub: Hub = field(default_factory=Hub)
    """Who listens to the change feed in this process."""
    metrics: Metrics = field(default_factory=make_metrics)

    @property
    def registry(self) -> CollectorRegistry:
        """Where all metrics of this service are registered."""
        return self.metrics.registry
