"""The bridge, put together: what is recorded with or without a link, and the link itself.

It runs only where we act, so that one agent has one outbox and one link. Nothing of it holds up the
house; where it cannot even read its keys, it waits and says so.
"""

from __future__ import annotations

import asyncio
from contextlib import AbstractAsyncContextManager
from importlib.metadata import PackageNotFoundError, version
from random import Random
from typing import Any

import msgspec
import structlog

from agent.bridge.causes import Causes
from agent.bridge.components import API_SERVER, Components
from agent.bridge.connect import Connect
from agent.bridge.connection_states import ConnectionStates, our_clusters
from agent.bridge.endings import Endings
from agent.bridge.enrol import Introduction
from agent.bridge.evictions import Evictions
from agent.bridge.executor import executors
from agent.bridge.executor.tools import Tools
from agent.bridge.far_clock import FarClock
from agent.bridge.forgotten import Forgotten
from agent.bridge.fulfilment import Fulfilment
from agent.bridge.heads import HeadBook
from agent.bridge.instances import Running
from agent.bridge.keeping import BrokenKeysError, Keeping
from agent.bridge.keys import Keys
from agent.bridge.link import Link
from agent.bridge.outside import Outside, Place, outside
from agent.bridge.past import Past
from agent.bridge.recorder import Recorder
from agent.bridge.results import Results
from agent.bridge.session import Session
from agent.bridge.sources import (
    Source,
    application_source,
    component_source,
    connection_source,
    instances_source,
    project_source,
    trust_source,
)
from agent.bridge.states import States
from agent.bridge.talk import Talk
from agent.bridge.task_namespaces import TaskNamespaces
from agent.bridge.task_reports import TaskReports
from agent.bridge.tasks import TaskDesk
from agent.bridge.trust import trust_of
from agent.bridge.websocket import websocket
from agent.clock import SystemClock
from agent.parts import Parts
from agent.rooms import evaluate_of
from bus.ids import new_id
from bus.link import PROTOCOL, Hello
from handlers.application.application import Metadata
from handlers.ports import ApplyRefusedError, ClusterUnreachableError, LiveObject
from handlers.report.instances import INSTANCES
from handlers.report.items import APPLICATION, CLUSTER, REPOSITORY, REPOSITORY_CREDENTIALS
from handlers.report.redaction import Redaction
from handlers.trust.trusted import CERTIFICATE, KEY

log = structlog.get_logger()

_AGAIN_SECONDS = 5.0


async def bridge(parts: Parts) -> None:
    """Until cancelled."""
    keeping = Keeping(client=parts.client, namespace=parts.settings.namespace)
    keys = await _keys(keeping)
    link = parts.settings.link
    place = Place(url=link.url.rstrip("/"), ca=link.ca, cert=link.cert, key=link.key)
    await _usable(place)
    async with outside(place) as way:
        introduction = Introduction(
            way=way,
            keeping=keeping,
            clock=SystemClock(),
            token_file=link.token_file,
            cluster_uid=await _cluster_uid(parts),
            version=_version(),
            keys=keys,
        )
        await _Bridge(parts, introduction, keys).run(way)


class _Bridge:
    """One life of the bridge: its members share one redaction, one outbox, one policy."""

    def __init__(self, parts: Parts, introduction: Introduction, keys: Keys) -> None:
        self._parts = parts
        self._introduction = introduction
        self._instance = new_id()
        self._salt = keys.salt_bytes
        self._heads = HeadBook(store=introduction.keeping)
        self._policy = parts.policy
        self._service_clock = FarClock()
        self._outbox = parts.bridge_bus.outbox()
        self._components = Components(parts, introduction.version)
        self._endings = Endings()
        self._running = Running(
            applications=parts.applications,
            index=parts.live.index,
            control_namespace=parts.settings.namespace,
        )
        self._causes = Causes(
            applications=parts.applications,
            index=parts.live.index,
            client=parts.client,
            clock=SystemClock(),
            control_namespace=parts.settings.namespace,
        )
        self._trust = trust_of(parts.settings.namespace, self._changed)
        self._states = States(
            sources=self._sources(), redaction=self._redaction(), clock=SystemClock()
        )
        self._recorder = Recorder(
            bus=parts.bridge_bus,
            outbox=self._outbox,
            evictions=Evictions(outbox=self._outbox, clock=SystemClock()),
            states=self._states,
            endings=self._endings,
        )

    async def run(self, way: Outside) -> None:
        parts = self._parts
        desk = await self._desk()

        def dial(token: str, proof: str) -> AbstractAsyncContextManager[Link]:
            return websocket(way, token, proof)

        async def prepare(link: Link) -> Session:
            return await self._session(link, desk)

        connect = Connect(
            introduction=self._introduction,
            dial=dial,
            prepare=prepare,
            clock=SystemClock(),
            random=Random(),  # noqa: S311  spreads load, guards nothing
        )
        parts.applications.indexed = self._indexed
        parts.secrets.indexed = self._recorder.connection_changed
        parts.mirrors.outcomes.subscribe(self._fetched)
        parts.live.index.observer = self._observe
        for subject in await self._running.look(everywhere=True):
            self._recorder.changed(INSTANCES, subject)
        for subject in await self._causes.look(everywhere=True):
            self._recorder.changed(APPLICATION, subject)
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._recorder.run(), name="recorder")
            tasks.create_task(desk.run(), name="task-desk")
            tasks.create_task(self._components.watch(self._component_changed), name="components")
            tasks.create_task(self._running.watch(self._recorder.changed), name="instances")
            tasks.create_task(self._causes.watch(self._recorder.changed), name="causes")
            tasks.create_task(self._trust.watch(parts.client), name="trust")
            tasks.create_task(connect.run(), name="link")

    def _sources(self) -> tuple[Source[Any], ...]:
        applications, secrets = self._parts.applications, self._parts.secrets
        namespace = self._parts.settings.namespace
        states = ConnectionStates(self._parts.mirrors.outcomes, self._parts.live)
        return (
            application_source(applications, self._causes),
            project_source(applications),
            connection_source(REPOSITORY, secrets, states.of_repository),
            connection_source(REPOSITORY_CREDENTIALS, secrets, states.of_repository),
            connection_source(CLUSTER, secrets, states.of_cluster),
            component_source(self._components),
            instances_source(self._running),
            *(trust_source(kind, self._trust, namespace) for kind in (CERTIFICATE, KEY)),
        )

    def _changed(self, kind: str, subject: str) -> None:
        self._recorder.changed(kind, subject)

    def _fetched(self, secret: str) -> None:
        for one in self._parts.secrets.all():
            if str(one) == secret:
                self._recorder.connection_changed(one)

    def _component_changed(self, kind: str, name: str) -> None:
        """How the API server is, our own cluster's connection is."""
        self._recorder.changed(kind, name)
        if name == API_SERVER:
            for secret in our_clusters(self._parts.secrets):
                self._recorder.connection_changed(secret)

    def _indexed(self, kind: str, subject: str) -> None:
        self._recorder.changed(kind, subject)
        if kind == APPLICATION:
            self._running.application_changed(subject)
            self._causes.application_changed(subject)

    def _observe(self, before: LiveObject | None, after: LiveObject | None) -> None:
        self._running.observe(before, after)
        self._causes.observe(before, after)

    async def _desk(self) -> TaskDesk:
        parts = self._parts
        fulfilment = Fulfilment(
            executors=executors(self._tools()),
            results=Results(await parts.bridge_bus.bucket("results")),
            redaction=self._redaction,
            policy=lambda: self._policy.now,
            namespaces=TaskNamespaces(parts.applications, parts.settings.namespace),
            clock=SystemClock(),
            service_clock=self._service_clock,
        )
        reports = TaskReports(
            recorder=self._recorder, redaction=self._redaction, clock=SystemClock()
        )
        return TaskDesk(fulfilment=fulfilment, reports=reports)

    async def _session(self, link: Link, desk: TaskDesk) -> Session:
        keys = await self._introduction.known()
        standing = await self._outbox.standing()
        self._policy.changed.clear()
        hello = Hello(
            account=keys.account,
            agent=keys.agent,
            instance=self._instance,
            epoch=standing.epoch,
            protocol=PROTOCOL,
            version=self._introduction.version,
            capabilities=(*(f"task.{kind}" for kind in desk.kinds), "sealed"),
            outbox=standing.newest,
            cluster_uid=self._introduction.cluster_uid,
            running=desk.running,
            heads=await self._heads.heads(),
            allowed=self._policy.now.shown(),
        )
        forgotten = Forgotten(await self._parts.bridge_bus.bucket("link"))
        past = Past(epoch=hello.epoch, outbox=self._outbox, forgotten=forgotten)
        talk = Talk(
            link=link,
            hello=hello,
            outbox=self._outbox,
            past=past,
            recorder=self._recorder,
            states=self._states,
            desk=desk,
            service_clock=self._service_clock,
            heads=self._heads,
        )
        return Session(talk=talk, stale=self._policy.changed)

    def _redaction(self) -> Redaction:
        shown = self._policy.now.config_maps
        return Redaction(salt=self._salt, known=self._parts.known_secrets, config_maps=shown)

    def _tools(self) -> Tools:
        parts = self._parts
        return Tools(
            applications=parts.applications,
            bus=parts.bridge_bus,
            client=parts.client,
            live=parts.live,
            mirrors=parts.mirrors,
            artifacts=parts.artifacts,
            renders=parts.renders,
            worlds=parts.worlds,
            evaluate=evaluate_of(parts),
            endings=self._endings,
            governance=parts.governance,
            secrets=parts.secrets,
            redaction=self._redaction,
            keys=lambda: self._introduction.keys or Keys(signing_seed="", sealing_seed="", salt=""),
            clock=SystemClock(),
            namespace=parts.settings.namespace,
        )


async def _keys(keeping: Keeping) -> Keys:
    while True:
        try:
            return await keeping.load(SystemClock().now())
        except (BrokenKeysError, ApplyRefusedError, ClusterUnreachableError) as error:
            log.warning("no link: its keys cannot be read", reason=str(error))
            await asyncio.sleep(_AGAIN_SECONDS)


async def _usable(place: Place) -> None:
    """Files may be mounted a moment later, or be mended by somebody."""
    while True:
        try:
            place.tls()
        except OSError as error:  # an SSLError is one
            log.warning("no link: its certificates cannot be used", reason=str(error))
            await asyncio.sleep(_AGAIN_SECONDS)
        else:
            return


async def _cluster_uid(parts: Parts) -> str:
    """The UID of kube-system, by which a cluster is known; empty without the right to read it."""
    try:
        raw = await parts.client.get("/api/v1/namespaces/kube-system")
    except (ApplyRefusedError, ClusterUnreachableError) as error:
        log.info("cluster's UID not known", reason=str(error))
        return ""
    return msgspec.json.decode(raw, type=_Named, strict=False).metadata.uid


def _version() -> str:
    try:
        return version("gitops-house")
    except PackageNotFoundError:
        return "unknown"


class _Named(msgspec.Struct, frozen=True):
    metadata: Metadata
