"""The agent's life: open the front door, watch, wait for the Lease, act; drain when told to stop.

The watches and the front door run from the start, so that a standby is warm and says what it waits
for. Only the holder of the Lease acts (acting.py). Every running thing is a named task of a
TaskGroup here or there; opening and closing is parts.py's.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import structlog

from agent.acting import Publishing, act
from agent.ingress.server import MetricsServer, WebhookServer
from agent.ingress.take import TakeDelivery, warn_of_unproven
from agent.ingress.webhooks.verify import Secrets, read_secrets
from agent.kube.leader import LeadershipLostError, LeaseTerms, lead
from agent.kube.watch import KindWatch
from agent.observe.lag import watch_lag
from agent.parts import Parts
from agent.store import feeds
from agent.store.argo_settings import argo_settings_of
from agent.store.certificates import certificates_of
from agent.store.policy import policy_of
from bus.http.server import serving

log = structlog.get_logger()

_NO_LEASE = (
    "waiting for the Lease: another agent acts or has just ended, or the API server does not answer"
)
_STORES = ("Application", "AppProject", "Secret")


@dataclass(slots=True, kw_only=True)
class Agent:
    """`run` returns when `stop` is set and the work is drained; `port` is that of webhooks."""

    parts: Parts
    identity: str
    """Who holds the Lease: unique per process."""
    stop: asyncio.Event = field(default_factory=asyncio.Event)
    acting: asyncio.Event = field(default_factory=asyncio.Event)
    port: int = 0
    metrics_port: int = 0
    """Of health and metrics."""
    _listed: dict[str, asyncio.Event] = field(
        default_factory=lambda: {name: asyncio.Event() for name in _STORES}
    )

    async def run(self) -> None:
        """Who loses the Lease stops acting and stands by, in this same process."""
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
                watching = [tasks.create_task(work, name=name) for name, work in self._watching()]
                await self._lead_until_stopped()
                for task in watching:
                    task.cancel()

    async def _lead_until_stopped(self) -> None:
        """A standby stops at once; who acts is waited for, because it drains by itself."""
        async with asyncio.TaskGroup() as tasks:
            leading = tasks.create_task(self._lead(), name="leading")
            stopping = tasks.create_task(self.stop.wait(), name="stopping")
            await asyncio.wait((leading, stopping), return_when=asyncio.FIRST_COMPLETED)
            if not self.acting.is_set():
                leading.cancel()
            stopping.cancel()

    async def _lead(self) -> None:
        settings = self.parts.settings
        if not settings.lease.enabled:
            await self._act()
            return
        terms = LeaseTerms(
            namespace=settings.namespace, name=settings.lease.name, identity=self.identity
        )
        while True:
            try:
                await lead(self.parts.client, terms, self._act, self._stand_by)
            except LeadershipLostError as error:
                log.warning("no longer acting: standing by", cause=str(error))
                self.parts.readiness.wait_for("lease", _NO_LEASE, to_act=True)
            else:
                return

    def _stand_by(self, holder: str) -> None:
        """Ready from now on: what is missing is only the Lease, and another acts."""
        self.parts.readiness.standby = f"another agent acts: {holder}"

    async def _act(self) -> None:
        self.parts.readiness.hold("lease")
        await self.parts.live.synced()
        for listed in self._listed.values():
            await listed.wait()
        await self.parts.certificates.known.wait()
        await self.parts.argo_settings.known.wait()
        warn_of_unproven(self._webhook_secrets())
        await self.parts.policy.known.wait()
        try:
            await act(self.parts, self.stop, self.acting)
        finally:
            self.acting.clear()

    def _require(self) -> None:
        """What has to hold before this agent is ready, each with the words that `/readyz` says."""
        ready = self.parts.readiness
        ready.require("bus", self._bus_state)
        self.parts.metrics.bus_connected.set_function(lambda: float(self.parts.bus.is_connected))
        self.parts.metrics.acting.set_function(lambda: float(self.acting.is_set()))
        ready.require("rooms", self._rooms_state, to_act=True)
        ready.require("live state", self._live_state)
        ready.wait_for("lease", _NO_LEASE, to_act=True)
        for name in _STORES:
            ready.wait_for(name, f"the {name}s are not listed yet")

    def _bus_state(self) -> str:
        connected = self.parts.bus.is_connected
        return "" if connected else "NATS is away; the agent reconnects by itself"

    def _rooms_state(self) -> str:
        return "" if self.acting.is_set() else "not open yet"

    def _live_state(self) -> str:
        return "" if self.parts.live.is_synced else "the cluster's objects are not listed yet"

    def _watching(self) -> Iterator[tuple[str, Coroutine[Any, Any, None]]]:
        parts, namespace = self.parts, self.parts.settings.namespace
        applications, secrets = parts.applications, parts.secrets
        followed = (
            (feeds.applications_of(namespace), feeds.application_feed(applications)),
            (feeds.projects_of(namespace), feeds.project_feed(applications)),
            (feeds.secrets_of(namespace), feeds.secret_feed(secrets)),
        )
        for subject, feed in followed:
            feed.listed = partial(self._have_listed, subject.name)
            watch = KindWatch(parts.client, subject, feed)
            yield f"watch {subject.name} of {namespace}", watch.run()
        subject = certificates_of(namespace)
        trust = KindWatch(parts.client, subject, parts.certificates, parts.certificates.on_state)
        yield f"watch {subject.name}", trust.run()
        subject = argo_settings_of(namespace)
        argo = parts.argo_settings
        yield f"watch {subject.name}", KindWatch(parts.client, subject, argo, argo.on_state).run()
        subject = policy_of(namespace)
        policy = KindWatch(parts.client, subject, parts.policy, parts.policy.on_state)
        yield f"watch {subject.name}", policy.run()
        yield "live state", parts.live.run()
        yield "loop lag", watch_lag(parts.metrics.loop_lag)

    def _have_listed(self, name: str) -> None:
        self.parts.readiness.hold(name)
        self._listed[name].set()

    def _webhook_secrets(self) -> Secrets:
        unproven = self.parts.settings.webhook.unproven
        return read_secrets(self.parts.secrets.setting, unproven=unproven)

    def _webhook_server(self) -> WebhookServer:
        parts = self.parts
        take = TakeDelivery(
            apps=parts.applications,
            publish=Publishing(parts.bus),
            secrets=self._webhook_secrets,
            spans=parts.spans,
        )
        return WebhookServer(
            take=take,
            metrics=parts.metrics,
            body_limit=parts.settings.webhook.body_limit,
            trusted_proxies=parts.settings.http.trusted_proxies,
        )

    def _metrics_server(self) -> MetricsServer:
        return MetricsServer(readiness=self.parts.readiness, metrics=self.parts.metrics)
