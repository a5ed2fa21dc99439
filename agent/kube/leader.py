"""A Kubernetes Lease elects the one agent that acts; the others wait.

As in client-go, the holder's clock is never compared with ours: a lease has expired when *we* have
seen no change of it for its whole duration. The holder stops acting before another agent can begin:
its work is cancelled when it could not renew for most of the duration. Writes are guarded by the
resource version, so that of two simultaneous attempts one fails.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime

import msgspec
import structlog

from agent.kube.client import KubeClient
from agent.kube.errors import ConflictError, NotFoundError
from agent.kube.lease import API_VERSION, Lease, LeaseMeta, released, taken
from agent.kube.write_fence import WriteFence
from handlers.ports import ApplyRefusedError, ClusterUnreachableError

_log = structlog.get_logger(__name__)

_RELEASE_WITHIN = 5.0


class LeadershipLostError(Exception):
    """Another agent leads, or the API server could not be reached for too long."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseTerms:
    """Times in seconds: others may act `duration` after our last renewal, we stop at `deadline`."""

    namespace: str
    name: str
    identity: str
    duration: float = 15.0
    deadline: float = 10.0
    retry: float = 2.0

    @property
    def renewal(self) -> float:
        """Seconds between two renewals: three while others wait, since a request may fail."""
        return min(self.duration / 3, self.deadline / 2)


def _ignore(_holder: str) -> None:
    """The callback of a caller that does not wait for the holder's name."""


async def lead(
    client: KubeClient,
    terms: LeaseTerms,
    act: Callable[[], Awaitable[None]],
    waiting: Callable[[str], None] = _ignore,
    fence: WriteFence | None = None,
) -> None:
    """Wait until we lead, act, release. Raises LeadershipLostError when `act` had to be cancelled.

    `waiting` is called with the name of the other leader. A failure of `act` itself comes in an
    ExceptionGroup, as of any task group. The `fence` is open while we lead, also for a process that
    was stopped and does not know yet that it leads no longer.
    """
    fence = fence or WriteFence()
    fence.close()
    contender = _Contender(client, terms, waiting, fence)
    await contender.acquire()
    try:
        async with asyncio.TaskGroup() as group:
            renewing = group.create_task(contender.renew(), name=f"lease {terms.name}")
            await act()
            renewing.cancel()
    except* LeadershipLostError as lost:
        raise lost.exceptions[0] from None
    finally:
        fence.close()
        await contender.release()


class _Contender:
    def __init__(
        self,
        client: KubeClient,
        terms: LeaseTerms,
        waiting: Callable[[str], None],
        fence: WriteFence,
    ) -> None:
        self._client = client
        self._fence = fence
        self._terms = terms
        self._waiting = waiting
        self._collection = f"/apis/{API_VERSION}/namespaces/{terms.namespace}/leases"
        self._path = f"{self._collection}/{terms.name}"
        self._lease = Lease(metadata=LeaseMeta(name=terms.name, namespace=terms.namespace))
        self._changed = float("-inf")
        self._logged_holder = ""
        self._is_ours = False
        """The lease is as our last write left it, as far as we know."""

    async def acquire(self) -> None:
        while not await self._try():  # noqa: ASYNC110  the lease is polled, as its users do
            await asyncio.sleep(self._terms.retry * random.uniform(0.8, 1.2))  # noqa: S311  spread
        _log.info("leading", lease=self._terms.name, identity=self._terms.identity)

    async def renew(self) -> None:
        """Renew the lease until cancelled. Raises LeadershipLostError."""
        loop = asyncio.get_running_loop()
        renewed, pause = loop.time(), self._terms.renewal
        while True:
            await asyncio.sleep(pause)
            began, pause = loop.time(), self._terms.retry
            if await self._try_within(self._terms.deadline - (began - renewed)):
                renewed, pause = began, self._terms.renewal
            elif self._held_by_other() or loop.time() - renewed >= self._terms.deadline:
                reason = self._why_lost()
                _log.warning("leadership lost", lease=self._terms.name, cause=reason)
                raise LeadershipLostError(reason)

    def _why_lost(self) -> str:
        """Explain the loss: another holder, or an API server that is away."""
        if self._held_by_other():
            return f"{self._lease.holder} leads now"
        return (
            f"Lease {self._terms.namespace}/{self._terms.name} could not be renewed within "
            f"{self._terms.deadline:g} s: check that the API server can be reached from here"
        )

    async def release(self) -> None:
        """Release the lease, so that the next agent need not wait; best effort."""
        if self._lease.holder != self._terms.identity:
            return
        try:
            async with asyncio.timeout(_RELEASE_WITHIN):
                await self._write(released(self._lease))
        except (ApplyRefusedError, ClusterUnreachableError, TimeoutError) as error:
            _log.warning("lease not released", lease=self._terms.name, cause=str(error))
        else:
            _log.info("lease released", lease=self._terms.name)

    async def _try_within(self, seconds: float) -> bool:
        try:
            async with asyncio.timeout(seconds):
                return await self._try()
        except TimeoutError:
            return False

    async def _try(self) -> bool:
        """Take or keep the lease; False where another holds it or the API server is away.

        What we wrote last is written on without a look: a version that is not ours is refused.
        """
        is_ours, self._is_ours = self._is_ours, False
        began = self._fence.now()
        try:
            if not is_ours:
                await self._look()
            if self._held_by_other() and not self._expired():
                self._log_wait()
                return False
            terms = self._terms
            now = datetime.now(UTC)
            await self._write(taken(self._lease, terms.identity, terms.duration, now))
        except (ConflictError, ClusterUnreachableError) as error:
            _log.debug("lease not taken", lease=self._terms.name, cause=str(error))
            return False
        except ApplyRefusedError as error:
            _log.warning("lease refused", lease=self._terms.name, cause=error.message)
            return False
        self._fence.extend(began + self._terms.deadline)
        return True

    async def _look(self) -> None:
        try:
            found = msgspec.json.decode(await self._client.get(self._path), type=Lease)
        except NotFoundError:
            meta = LeaseMeta(name=self._terms.name, namespace=self._terms.namespace)
            found = Lease(metadata=meta)
        if found != self._lease:
            self._note(found)

    async def _write(self, lease: Lease) -> None:
        body = msgspec.json.encode(lease)
        if lease.metadata.resource_version:
            answer = await self._client.replace(self._path, body)
        else:
            answer = await self._client.create(self._collection, body)
        self._note(msgspec.json.decode(answer, type=Lease))
        self._is_ours = self._lease.holder == self._terms.identity

    def _note(self, lease: Lease) -> None:
        self._lease, self._changed = lease, asyncio.get_running_loop().time()

    def _held_by_other(self) -> bool:
        return self._lease.holder not in ("", self._terms.identity)

    def _expired(self) -> bool:
        """Decide expiry by the changes that we saw, and by the holder's duration."""
        promised = self._lease.spec.lease_duration_seconds or self._terms.duration
        return asyncio.get_running_loop().time() - self._changed > promised

    def _log_wait(self) -> None:
        holder = self._lease.holder
        if holder != self._logged_holder:
            _log.warning("waiting: another agent leads", lease=self._terms.name, holder=holder)
            self._logged_holder = holder
            self._waiting(holder)
