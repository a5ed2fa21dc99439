"""ClusterSession is the agent's contact with one destination cluster other than its own.

    connecting -> successful <-> failed

`run` connects, follows the live state and looks now and then whether the API server answers. While
the session is failed its calls fail at once, with the cluster and the error in the message, and no
handler waits. A contact that is lost in a way that cannot be resumed is made anew, with an empty
index: whatever was known of the cluster is read again, and nothing is reported as deleted.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime

import structlog

from agent.clock import SystemClock
from agent.kube.acting import client_as, writer_as
from agent.kube.call_gate import CallGate
from agent.kube.client import KubeClient, kube_client
from agent.kube.cluster_auth import connection_of
from agent.kube.cluster_secret import ClusterSecret
from agent.kube.connection_config import KubeConfigError
from agent.kube.errors import ClusterReplacedError
from agent.kube.index import LiveIndex
from agent.kube.live import LiveCluster
from agent.kube.memory_budget import MemoryBudgetError
from agent.kube.own_session import SessionSources
from agent.kube.session_contact import SessionContact, contact_of
from agent.kube.session_state import UNFORESEEN, SessionState, first_of, unforeseen
from agent.subscribers import Subscribers
from handlers.application.destination import DestinationCluster, RegisteredCluster
from handlers.application.impersonation import ActingUser
from handlers.ports import (
    ApplyRefusedError,
    ClusterUnreachableError,
    ClusterWriter,
    DestinationUnavailableError,
)

_log = structlog.get_logger(__name__)
_CLOCK = SystemClock()

_VERSION = "/version"
_PROBE_EVERY, _PROBE_WITHIN, _LISTED_WITHIN = 20.0, 5.0, 30.0
_FIRST_PAUSE, _LONGEST_PAUSE = 1.0, 30.0
_CEILING = 32
_LARGEST_ANSWER = 64 * 1024 * 1024


class ClusterSession:
    """Implements the port DestinationSession; `live` and the writers only while `check` passes."""

    def __init__(
        self,
        secret: ClusterSecret,
        sources: SessionSources,
        on_index: Callable[[ClusterSession, LiveIndex], None],
    ) -> None:
        """Call `on_index` with each new index, to subscribe to it."""
        self.secret = secret
        self._on_index = on_index
        self.changes = Subscribers[[]]()
        """Called when the state or its message changes."""
        self.state = SessionState.CONNECTING
        self.message = ""
        self.since: datetime = _CLOCK.now()
        """When the state was reached."""
        self.contact_at: datetime | None = None
        """When the cluster could be used last, as far as it has been probed."""
        self._sources = sources
        self._contact: SessionContact | None = None
        self._suspicion = asyncio.Event()
        self._gate = CallGate(secret.registered.cluster.name, self._suspicion.set)
        self._pause = _FIRST_PAUSE

    @property
    def registered(self) -> RegisteredCluster:
        return self.secret.registered

    @property
    def cluster(self) -> DestinationCluster:
        return self.secret.registered.cluster

    @property
    def may_be_own(self) -> bool:
        """True also where one of the two UIDs is not known: the stricter answer is the safe one."""
        own, there = self._sources.own_uid(), self.cluster_uid
        return not own or not there or own == there

    @property
    def cluster_uid(self) -> str:
        return self._contact.client.known_uid if self._contact else ""

    @property
    def live(self) -> LiveCluster:
        return self._open().live

    def writer_as(self, user: ActingUser) -> ClusterWriter:
        return writer_as(self._open().writer, user)

    def client_as(self, user: ActingUser) -> KubeClient:
        return client_as(self._open().client, user)

    @property
    def client(self) -> KubeClient:
        return self._open().client

    @property
    def is_open(self) -> bool:
        """Whether the live state can be read, be it of the past."""
        return self._contact is not None and self._contact.live.is_synced

    def check(self) -> None:
        """Raises DestinationUnavailableError unless the cluster answers and was listed."""
        if self.state is not SessionState.SUCCESSFUL:
            raise self._unavailable()

    def _open(self) -> SessionContact:
        if self._contact is None:
            raise self._unavailable()
        return self._contact

    def _unavailable(self) -> DestinationUnavailableError:
        pending = self.state is SessionState.CONNECTING
        text = f"the cluster {self._name} is being connected to" if pending else self.message
        return DestinationUnavailableError(text, pending=pending)

    @property
    def _name(self) -> str:
        return f"{self.cluster.name!r} ({self.cluster.server})"

    async def run(self) -> None:
        """Run until cancelled; no answer of the cluster ends it."""
        while True:
            # In a task of its own: where a cancellation meets a failure, a TaskGroup tells only
            # of the failure, and this one has none.
            async with asyncio.TaskGroup() as attempts:
                attempts.create_task(self._attempt(), name=f"contact with {self.cluster}")
            await self._back_off()

    async def _back_off(self) -> None:
        await asyncio.sleep(self._pause * random.uniform(0.5, 1.0))  # noqa: S311  spreads load
        self._pause = min(_LONGEST_PAUSE, self._pause * 2)

    async def _attempt(self) -> None:
        try:
            await self._connect()
        except (KubeConfigError, ApplyRefusedError, ClusterUnreachableError) as error:
            self._fail(str(error))
        except UNFORESEEN as error:
            _log.exception("contact broke", cluster=str(self.cluster))
            self._fail(unforeseen(error))

    async def _connect(self) -> None:
        secret, sources = self.secret, self._sources
        connection = await connection_of(self.cluster.server, secret.tls, secret.auth, secret.proxy)
        async with kube_client(
            connection,
            ceiling=_CEILING,
            observe=sources.observe,
            gate=self._gate,
            largest_answer=_LARGEST_ANSWER,
        ) as unfenced:
            client = unfenced.fenced(sources.fence)
            await client.probe(_VERSION, _PROBE_WITHIN)
            self._gate.open()
            await client.cluster_uid()
            try:
                await self._follow(client)
            finally:
                self._contact = None

    async def _follow(self, client: KubeClient) -> None:
        index, budget = self._sources.new_index(), self._sources.new_budget()
        index.all_changes.subscribe(budget.note)
        self._contact = contact_of(client, index, self.registered)
        live = self._contact.live
        self._on_index(self, index)
        live.changes.subscribe(self._suspicion.set)
        ended = "its watches ended"
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(budget.exceeded(), name=f"budget of {self.cluster}")
                tasks.create_task(live.run(), name=f"live state of {self.cluster}")
                tasks.create_task(self._watch_contact(client, live), name=f"contact {self.cluster}")
        except* (ClusterReplacedError, MemoryBudgetError) as errors:
            ended = str(first_of(errors))
        finally:
            index.overrides.forget(index)
        raise ClusterUnreachableError(ended)

    async def _watch_contact(self, client: KubeClient, live: LiveCluster) -> None:
        """Probe the API server now and then, and at once where something looks wrong."""
        loop = asyncio.get_running_loop()
        began = loop.time()
        while True:
            try:
                await client.probe(_VERSION, _PROBE_WITHIN)
            except (ApplyRefusedError, ClusterUnreachableError) as error:
                self._fail(str(error))
            else:
                self._gate.open()
                self._judge(live, late=loop.time() - began > _LISTED_WITHIN)
            await self._until_next_probe()

    def _judge(self, live: LiveCluster, *, late: bool) -> None:
        """Conclude the state of an API server that answers."""
        if not live.is_synced:
            if late:
                self._fail(f"not every kind could be listed yet: {live.interruption or 'it lasts'}")
        elif not live.watched_kinds and live.unlisted():
            self._fail(
                "it permits the agent to list no kind at all: give the user of its Secret the "
                "rights to get, list and watch"
            )
        else:
            self.contact_at = _CLOCK.now()
            self._become(SessionState.SUCCESSFUL, "")
            self._pause = _FIRST_PAUSE

    async def _until_next_probe(self) -> None:
        self._suspicion.clear()
        if self.state is SessionState.FAILED:
            await self._back_off()
        else:
            with suppress(TimeoutError):
                async with asyncio.timeout(_PROBE_EVERY):
                    await self._suspicion.wait()

    def _fail(self, why: str) -> None:
        text = f"the cluster {self._name} cannot be used: {why}"
        self._gate.close(text)
        self._become(SessionState.FAILED, text)

    def _become(self, state: SessionState, message: str) -> None:
        if (self.state, self.message) == (state, message):
            return
        if state is not self.state:
            self.since = _CLOCK.now()
        self.state, self.message = state, message
        if state is SessionState.FAILED:
            _log.warning("cluster failed", cluster=str(self.cluster), cause=message)
        else:
            _log.info("cluster connected", cluster=str(self.cluster), state=state)
        self.changes.notify()
