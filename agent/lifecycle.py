"""The agent serves HTTP, watches, waits for the Lease, acts, and drains when it is stopped.

The watches (`followed_resources.py`) and the HTTP servers run from the start, so that a standby is
warm and reports what it waits for. Only the holder of the Lease acts (`leader_tasks.py`). Every
task has a name and belongs to a TaskGroup; `dependencies.py` opens and closes the adapters.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterator
from dataclasses import dataclass, field
from typing import Any

import structlog

from agent.dependencies import AgentDependencies
from agent.followed_resources import FollowedResources
from agent.ingress.delivery_intake import DeliveryIntake, warn_of_unproven
from agent.ingress.pending_asks import SharedPublish
from agent.ingress.server import MetricsServer, WebhookServer
from agent.ingress.webhooks.webhook_secrets import WebhookSecrets, read_secrets
from agent.kube.leader import LeadershipLostError, LeaseTerms, lead
from agent.leader_tasks import run_leader_tasks
from agent.observe.metrics import watch_lag
from agent.replica_tasks import run_replica_tasks
from agent.replicas.membership_terms import MembershipLostError
from agent.replicas.shard_table import holders
from bus.http.freed_memory import return_freed_memory
from bus.http.server import serving

log = structlog.get_logger()

_NO_LEASE = (
    "waiting for the Lease: another agent acts or has just ended, or the API server does not answer"
)


@dataclass(slots=True, kw_only=True)
class Agent:
    """`run` returns when `stop` is set and the work is drained; webhooks are served on `port`."""

    parts: AgentDependencies
    identity: str
    """The name of this process as a holder of the Lease: unique per process."""
    stop: asyncio.Event = field(default_factory=asyncio.Event)
    acting: asyncio.Event = field(default_factory=asyncio.Event)
    port: int = 0
    metrics_port: int = 0
    """The port of health and metrics."""
    _followed: FollowedResources = field(init=False)

    def __post_init__(self) -> None:
        self._followed = FollowedResources(parts=self.parts)

    async def run(self) -> None:
        """Run until stopped; an agent that loses the Lease becomes a standby, in this process."""
        self._require()
        http = self.parts.settings.http
        async with (
            serving(
                self._metrics_server().application(), http.host, http.metrics_port
            ) as self.metrics_port,
            serving(
                self._webhook_server().application(),
                http.host,
                http.port,
                trusted=http.trusted_proxies,
                registry=self.parts.metrics.registry,
            ) as self.port,
        ):
            log.info("listening", host=http.host, port=self.port, metrics_port=self.metrics_port)
            async with asyncio.TaskGroup() as tasks:
                running = [tasks.create_task(work, name=name) for name, work in self._background()]
                await self._lead_until_stopped()
                for task in running:
                    task.cancel()

    async def _lead_until_stopped(self) -> None:
        """Stop a standby at once; wait for an acting agent, because it drains."""
        async with asyncio.TaskGroup() as tasks:
            leading = tasks.create_task(self._lead(), name="leading")
            stopping = tasks.create_task(self.stop.wait(), name="stopping")
            await asyncio.wait((leading, stopping), return_when=asyncio.FIRST_COMPLETED)
            if not self.acting.is_set():
                leading.cancel()
            stopping.cancel()

    async def _lead(self) -> None:
        settings = self.parts.settings
        if settings.replicas.divide:
            await self._divide()
            return
        if not settings.lease.enabled:
            await self._act()
            return
        terms = LeaseTerms(
            namespace=settings.namespace, name=settings.lease.name, identity=self.identity
        )
        while True:
            try:
                fence = self.parts.ownership.fence
                await lead(self.parts.client, terms, self._act, self._stand_by, fence)
            except LeadershipLostError as error:
                log.warning("no longer acting: standing by", cause=str(error))
                self.parts.readiness.wait_for("lease", _NO_LEASE, to_act=True)
            else:
                return

    async def _divide(self) -> None:
        """Act for a share of the shards; who loses it begins anew, in this process."""
        await self._warm()
        while True:
            try:
                await run_replica_tasks(self.parts, self.identity, self.stop, self.acting)
            except MembershipLostError as error:
                log.warning("no longer acting: joining again", cause=str(error))
                self.parts.readiness.wait_for("lease", _NO_LEASE, to_act=True)
            else:
                return
            finally:
                self.acting.clear()

    def _stand_by(self, holder: str) -> None:
        """Report readiness: only the Lease is missing, and another agent holds it."""
        self.parts.readiness.standby = f"another agent acts: {holder}"

    async def _act(self) -> None:
        self.parts.readiness.hold("lease")
        await self._warm()
        try:
            await run_leader_tasks(self.parts, self.stop, self.acting)
        finally:
            self.acting.clear()

    async def _warm(self) -> None:
        """Wait until everything is listed that handlers read."""
        await self._followed.listed()
        warn_of_unproven(self._webhook_secrets())

    def _require(self) -> None:
        """Register what this agent needs to be ready, each with the text for `/readyz`."""
        ready = self.parts.readiness
        ready.require("bus", self._bus_state)
        self.parts.metrics.bus_connected.set_function(lambda: float(self.parts.bus.is_connected))
        self.parts.metrics.acting.set_function(lambda: float(self.acting.is_set()))
        ready.require("handlers", self._handlers_state, to_act=True)
        ready.wait_for("lease", _NO_LEASE, to_act=True)
        self._followed.require()

    def _bus_state(self) -> str:
        connected = self.parts.bus.is_connected
        return "" if connected else "NATS is away; the agent reconnects automatically"

    def _handlers_state(self) -> str:
        return "" if self.acting.is_set() else "not running yet"

    def _background(self) -> Iterator[tuple[str, Coroutine[Any, Any, None]]]:
        """Yield what runs from the start to the end, acting or not."""
        yield from self._followed.watches()
        yield "loop lag", watch_lag(self.parts.metrics.loop_lag)
        yield "freed memory", return_freed_memory()

    def _webhook_secrets(self) -> WebhookSecrets:
        unproven = self.parts.settings.webhook.unproven
        return read_secrets(self.parts.secrets.setting, unproven=unproven)

    def _webhook_server(self) -> WebhookServer:
        parts = self.parts
        take = DeliveryIntake(
            apps=parts.in_use,
            publish=SharedPublish(publish=parts.bus.publish),
            secrets=self._webhook_secrets,
            parts=parts.parts_of_repositories.of_push,
            spans=parts.spans,
        )
        return WebhookServer(
            take=take,
            metrics=parts.metrics,
            body_limit=parts.settings.webhook.body_limit,
            trusted_proxies=parts.settings.http.trusted_proxies,
        )

    def _metrics_server(self) -> MetricsServer:
        parts = self.parts
        return MetricsServer(
            readiness=parts.readiness,
            metrics=parts.metrics,
            holders=lambda: holders(parts.ownership.table) if parts.ownership.divided else None,
        )
