"""The bridge: reports what happens to the service, and does the tasks that the service sends.

Facts and states are recorded in the outbox with or without a link; the link empties the outbox when
there is one. The bridge runs only in the replica that leads, so that one agent has one outbox and
one link. The rest of the agent never waits for the bridge.
"""

from __future__ import annotations

import asyncio
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from functools import partial
from random import Random

from agent.bridge import startup
from agent.bridge.connection.announced_policy import AnnouncedPolicy
from agent.bridge.connection.dialer import Dialer
from agent.bridge.connection.link_protocol import LinkProtocol
from agent.bridge.connection.link_session import LinkSession
from agent.bridge.connection.outbox_gap import OutboxGap, PurgeMark
from agent.bridge.identity.audit_heads import WitnessedHeads
from agent.bridge.identity.enroller import Enroller
from agent.bridge.identity.key_store import KeyStore, LinkKeys
from agent.bridge.reporting.components import ComponentStates
from agent.bridge.reporting.finished_operations import FinishedOperations
from agent.bridge.reporting.object_states import ObjectStates
from agent.bridge.reporting.outbox_entries import Evictions
from agent.bridge.reporting.recorder import Recorder
from agent.bridge.reporting.state_changes import StateChanges
from agent.bridge.task_wiring import TaskSources, TaskWiring
from agent.bridge.tasks.executors.commands import CommandPublisher
from agent.bridge.tasks.shells.shell_session import ShellLimits
from agent.bridge.tasks.task_namespaces import TaskNamespaces
from agent.bridge.tasks.task_queue import TaskQueue
from agent.bridge.tasks.task_results import TaskReports, TaskResults
from agent.bridge.tasks.task_runner import TaskRunner
from agent.bridge.transport.link import AgentLink, ServiceClock
from agent.bridge.transport.service_http import (
    ServiceAddress,
    ServiceHttpClient,
    open_service_http,
    websocket,
)
from agent.clock import SystemClock
from agent.settings.process_settings import LinkSettings
from agent.store.config_maps import PolicyWatch
from agent.subscribers import Subscribers
from bus.identity import new_id
from bus.jetstream import Bus
from bus.link import PROTOCOL, Hello
from bus.spans import Spans
from handlers.report.known_secrets import KnownSecrets
from handlers.report.redaction import Redaction

_CAPABILITIES = (
    "sealed",
    "signature.gnupg",
    "destination.cluster",
    "credential.ssh",
    "credential.github-app",
)
"""What the agent can act upon besides its tasks; the dashboard offers nothing that is not here.

Sealed credentials, keys that sign commits, clusters and logins that a task puts.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bridge:
    """The parts of the agent that its bridge uses."""

    link: LinkSettings
    bus: Bus
    """The bridge's own login."""
    tasks: TaskSources
    components: ComponentStates
    policy: PolicyWatch
    settings_changes: Subscribers[[]]
    """Of `argocd-cm`."""
    known_secrets: KnownSecrets
    spans: Spans
    version: str

    async def run(self) -> None:
        """Run the bridge until cancelled."""
        cluster, link = self.tasks.cluster, self.link
        key_store = KeyStore(client=cluster.client, namespace=cluster.namespace)
        keys = await startup.load_keys(key_store)
        address = ServiceAddress(url=link.url.rstrip("/"), ca=link.ca, cert=link.cert, key=link.key)
        await startup.wait_for_certificates(address)
        await startup.bind_outbox(self.bus, cluster.client)
        async with open_service_http(address) as http:
            enroller = Enroller(
                http=http,
                key_store=key_store,
                clock=SystemClock(),
                token_file=link.token_file,
                cluster_uid=partial(startup.cluster_uid, cluster.client),
                version=self.version,
                keys=keys,
            )
            await _BridgeRun(self, enroller, keys).run(http)


class _BridgeRun:
    """One run of the bridge: reports and tasks share one outbox, redaction and policy."""

    def __init__(self, parts: Bridge, enroller: Enroller, keys: LinkKeys) -> None:
        self._parts = parts
        self._enroller = enroller
        self._instance = new_id()
        self._salt = keys.salt_bytes
        self._heads = WitnessedHeads(store=enroller.key_store)
        self._policy = parts.policy
        self._announced = AnnouncedPolicy(
            policy=parts.policy,
            settings=parts.tasks.comparisons.settings,
            settings_changes=parts.settings_changes,
        )
        self._service_clock = ServiceClock()
        self._outbox = parts.bus.outbox()
        self._finished_operations = FinishedOperations()
        self._changes = StateChanges(
            parts.tasks.cluster,
            parts.tasks.mirrors,
            parts.tasks.sources,
            parts.components,
            self._finished_operations.changes,
        )
        self._states = ObjectStates(
            sources=self._changes.sources(), redaction=self._redaction(), clock=SystemClock()
        )
        self._recorder = Recorder(
            bus=parts.bus,
            outbox=self._outbox,
            evictions=Evictions(outbox=self._outbox, clock=SystemClock()),
            states=self._states,
            finished_operations=self._finished_operations,
        )

    async def run(self, http: ServiceHttpClient) -> None:
        runner = await self._task_runner()
        reports = TaskReports(
            recorder=self._recorder, redaction=self._redaction, clock=SystemClock()
        )
        task_queue = TaskQueue(runner=runner, reports=reports)
        dialer = self._dialer(http, task_queue)
        self._changes.changes.subscribe(self._recorder.changed)
        with self._changes.following():
            await self._changes.derive_all()
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._recorder.run(), name="recorder")
                tasks.create_task(task_queue.run(), name="task-queue")
                tasks.create_task(self._changes.run(), name="state-changes")
                tasks.create_task(dialer.run(), name="link")
                shells = self._announced.run(task_queue.shells)
                tasks.create_task(shells, name="announced policy")

    def _dialer(self, http: ServiceHttpClient, task_queue: TaskQueue) -> Dialer:
        def dial(token: str, proof: str) -> AbstractAsyncContextManager[AgentLink]:
            return websocket(http, token, proof)

        async def prepare(link: AgentLink) -> LinkSession:
            return await self._session(link, task_queue)

        return Dialer(
            enroller=self._enroller,
            dial=dial,
            prepare=prepare,
            clock=SystemClock(),
            random=Random(),  # noqa: S311  spreads load, guards nothing
        )

    async def _task_runner(self) -> TaskRunner:
        parts, cluster = self._parts, self._parts.tasks.cluster
        return TaskRunner(
            executors=self._task_wiring().executors(),
            results=TaskResults(await parts.bus.bucket("results")),
            redaction=self._redaction,
            policy=lambda: self._policy.now,
            namespaces=TaskNamespaces(cluster.applications, cluster.namespace),
            clock=SystemClock(),
            service_clock=self._service_clock,
            spans=parts.spans,
        )

    def _task_wiring(self) -> TaskWiring:
        link = self._parts.link
        return TaskWiring(
            sources=self._parts.tasks,
            commands=CommandPublisher(self._parts.bus),
            finished_operations=self._finished_operations,
            redaction=self._redaction,
            keys=lambda: self._enroller.keys or LinkKeys(signing_seed="", sealing_seed="", salt=""),
            shell_limits=ShellLimits(idle=link.exec_idle, longest=link.exec_longest),
        )

    async def _session(self, link: AgentLink, task_queue: TaskQueue) -> LinkSession:
        self._policy.changed.clear()
        hello = await self._hello(task_queue)
        purge_mark = PurgeMark(await self._parts.bus.bucket("link"))
        protocol = LinkProtocol(
            link=link,
            hello=hello,
            outbox=self._outbox,
            outbox_gap=OutboxGap(epoch=hello.epoch, outbox=self._outbox, purge_mark=purge_mark),
            recorder=self._recorder,
            states=self._states,
            task_sink=task_queue,
            service_clock=self._service_clock,
            heads=self._heads,
        )
        return LinkSession(protocol=protocol, stale=self._policy.changed)

    async def _hello(self, task_queue: TaskQueue) -> Hello:
        keys = await self._enroller.enrolled_keys()
        position = await self._outbox.position()
        return Hello(
            account=keys.account,
            agent=keys.agent,
            instance=self._instance,
            epoch=position.epoch,
            protocol=PROTOCOL,
            version=self._parts.version,
            capabilities=(*(f"task.{kind}" for kind in task_queue.kinds), *_CAPABILITIES),
            outbox=position.newest,
            cluster_uid=await self._enroller.cluster_uid(),
            running=task_queue.running,
            heads=await self._heads.heads(),
            allowed=self._announced.shown(),
        )

    def _redaction(self) -> Redaction:
        comparisons = self._parts.tasks.comparisons
        return Redaction(
            salt=self._salt,
            known=self._parts.known_secrets,
            config_maps=self._policy.now.config_maps,
            masked_annotations=lambda: comparisons.settings().masked_annotations,
        )
