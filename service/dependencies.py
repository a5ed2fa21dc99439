"""What the service has opened: one value, which the lifecycle makes and the wiring takes apart.

`service.lifecycle` makes it once for each process. Only `service.wiring` reads it: every class gets
what it needs by its constructor, every handler by typed keys. Nothing here is global.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime

from sqlalchemy.ext.asyncio import AsyncEngine

from bus.spans import Spans
from service.audit.denials import DenialRecorder
from service.gateway.task_store import TaskStore
from service.keys.key_file import KeyFile
from service.live.listener_hub import ListenerHub
from service.observe.metrics import ServiceMetrics, make_metrics
from service.projection.writer import Follower
from service.settings import ServiceSettings
from service.store.link_signals import LinkRegistry
from service.store.signals import Signals


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceDependencies:
    settings: ServiceSettings
    engine: AsyncEngine
    keys: KeyFile
    """Keys, kept outside the database, that sign the audit and encrypt columns."""
    signals: Signals
    """LISTEN and NOTIFY: what the replicas announce to each other."""
    clock: Callable[[], datetime]
    """The time now, in UTC."""
    link_registry: LinkRegistry
    """The links that this replica holds."""
    tasks: TaskStore
    """Submits, cancels and waits for the tasks of agents."""
    replica: str
    """Name of this process among the replicas, unique for each start."""
    followers: tuple[Follower, ...] = ()
    """Writers that take part in the transaction of each batch of the projection."""
    denials: DenialRecorder = field(default_factory=DenialRecorder)
    """Refused requests that the audit does not hold yet."""
    hub: ListenerHub = field(default_factory=ListenerHub)
    """Subscribers of the change feed in this process."""
    metrics: ServiceMetrics = field(default_factory=make_metrics)
    spans: Spans = field(default_factory=Spans)
