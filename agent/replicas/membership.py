"""Membership keeps a replica in the table of shards, which is a part of the agent's Lease.

All replicas of an agent hold its one Lease together, and each renews it by its own write, with the
table (`shard_table.py`) in an annotation. So an agent that does not divide its shards, of this or
an earlier version, waits as it waits for any holder, and so do replicas for such an agent.

Two holders of a shard at once are impossible. Every write is made on the version that was read, so
the API server puts all changes of the table into one order. A shard changes hands in two ways: its
holder gives it away when its work there has ended; or its holder was silent for `duration` by the
clock of a member that looked all the time, and it has closed its own fence at `deadline`, by its
own clock, counted from before its last write that the server took. A silent member that comes back
finds its name gone, and begins anew; one that is still in the table was replaced by nobody.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from datetime import UTC, datetime

import msgspec
import structlog

from agent.kube.client import KubeClient
from agent.kube.errors import ConflictError, NotFoundError
from agent.kube.lease import API_VERSION, Lease, LeaseMeta, LeaseSpec
from agent.replicas.beats import Beats
from agent.replicas.membership_terms import MembershipLostError, MembershipTerms
from agent.replicas.shard_ownership import ShardOwnership
from agent.replicas.shard_table import (
    ShardTable,
    TableError,
    divided,
    read_table,
    with_beat,
    without,
    written_table,
    yielded,
)
from bus.metadata_keys import SHARDS_TABLE
from handlers.ports import ApplyRefusedError, ClusterUnreachableError

HOLDER = "replicas"
"""The holder of the Lease on behalf of all members; no single agent is called so."""
_LEAST_DURATION = 15.0
"""For agents that do not divide their shards: longer than the deadline of any member."""
_TRIES = 8
_AGAIN = 0.1
_log = structlog.get_logger(__name__)


class Membership:
    """`join`, then `keep` as a task until `leave`; call `hand_over` with what was drained."""

    def __init__(
        self,
        client: KubeClient,
        terms: MembershipTerms,
        ownership: ShardOwnership,
        waits: Callable[[str], None],
    ) -> None:
        """`waits` is called with the name of an undivided agent that holds the Lease."""
        self._client = client
        self._terms = terms
        self._ownership = ownership
        self._waits = waits
        self._collection = f"/apis/{API_VERSION}/namespaces/{terms.namespace}/leases"
        self._path = f"{self._collection}/{terms.name}"
        self._lease = Lease(metadata=LeaseMeta(name=terms.name, namespace=terms.namespace))
        self._changed = float("-inf")
        self._beats = Beats(terms.duration)
        self._drained: set[str] = set()
        self._is_leaving = False
        self._woken = asyncio.Event()
        self.written = asyncio.Event()
        """Set after each write: the table may say something else."""

    @property
    def identity(self) -> str:
        """The name of this replica in the table."""
        return self._terms.identity

    @property
    def drained(self) -> frozenset[str]:
        """Shards that were handed over, and that the table gives to nobody else yet."""
        return frozenset(self._drained)

    async def join(self) -> None:
        """Wait until the Lease is free or held by replicas, and become a member."""
        while not await self._attempt(joining=True):  # noqa: ASYNC110  a Lease is polled
            await asyncio.sleep(self._terms.renewal / 2 * random.uniform(0.8, 1.2))  # noqa: S311
        _log.info("joined", lease=self._terms.name, members=list(self._ownership.table.names))

    async def keep(self) -> None:
        """Renew until cancelled; raises MembershipLostError."""
        while True:
            self._woken.clear()
            try:
                async with asyncio.timeout(self._terms.renewal * random.uniform(0.8, 1.0)):  # noqa: S311
                    await self._woken.wait()
            except TimeoutError:
                pass
            await self._attempt()

    def hand_over(self, shards: frozenset[str]) -> None:
        """Give shards away in which no work of this replica is under way any more."""
        self._drained |= shards
        self._woken.set()

    async def leave(self) -> None:
        """Give everything to the others; best effort, since silence says the same, later."""
        self._is_leaving = True
        self._ownership.fence.close()
        try:
            async with asyncio.timeout(self._terms.deadline):
                while not await self._written(self._left):  # noqa: ASYNC110  others write too
                    await asyncio.sleep(_AGAIN * random.random())  # noqa: S311  spread
        except (ApplyRefusedError, ClusterUnreachableError, MembershipLostError, TimeoutError) as e:
            _log.warning("not left: the others take over later", cause=str(e))
        else:
            _log.info("left", lease=self._terms.name)

    async def _attempt(self, *, joining: bool = False) -> bool:
        """Write the table once, with this member's beat; False where that was not possible."""
        change = self._joined if joining else self._renewed
        try:
            async with asyncio.timeout(self._terms.deadline):
                for _ in range(_TRIES):
                    if await self._written(change):
                        return True
        except (ClusterUnreachableError, TimeoutError) as error:
            _log.debug("table not written", lease=self._terms.name, cause=str(error))
        except ApplyRefusedError as error:
            _log.warning("table refused", lease=self._terms.name, cause=error.message)
        return False

    async def _written(self, change: Callable[[ShardTable], ShardTable | None]) -> bool:
        """Read, change and write the table; False after a conflict, or where nothing changes."""
        began, handed = self._ownership.fence.now(), self.drained
        await self._look()
        before = self._table()
        after = change(before)
        if after is None:
            return False
        try:
            await self._write(after)
        except ConflictError:
            return False
        self._ownership.table = after
        if not self._is_leaving:
            self._ownership.fence.extend(began + self._terms.deadline)
        self._drained -= handed
        self.written.set()
        return True

    # --- what is written ----------------------------------------------------------------------

    def _joined(self, table: ShardTable) -> ShardTable | None:
        if self._is_foreign and not self._expired():
            self._waits(self._lease.holder)
            return None
        return divided(with_beat(table, self._terms.identity), self._silent(table))

    def _renewed(self, table: ShardTable) -> ShardTable:
        me = self._terms.identity
        if self._is_foreign:
            raise MembershipLostError(f"{self._lease.holder} holds the Lease, and divides nothing")
        if me not in table.names:
            raise MembershipLostError("the other replicas have not heard of this one for too long")
        silent = self._silent(table)
        if silent:
            _log.warning("replicas are silent: their shards are taken over", replicas=list(silent))
        return divided(yielded(divided(with_beat(table, me), silent), me, self._drained))

    def _left(self, table: ShardTable) -> ShardTable | None:
        if self._is_foreign or self._terms.identity not in table.names:
            raise MembershipLostError("this replica is no member any more")
        return without(table, self._terms.identity)

    def _table(self) -> ShardTable:
        """Read the table; the members of an earlier time count no longer where others held it."""
        text = self._lease.metadata.annotations.get(SHARDS_TABLE, "")
        try:
            table = read_table(text)
        except TableError as error:
            _log.warning("table of shards made anew", lease=self._terms.name, cause=str(error))
            table = ShardTable()
        if self._lease.holder != HOLDER:
            table = divided(table, table.names)
        return table

    def _silent(self, table: ShardTable) -> tuple[str, ...]:
        others = (one for one in table.members if one.name != self._terms.identity)
        return self._beats.silent(others, asyncio.get_running_loop().time())

    # --- the Lease ----------------------------------------------------------------------------

    @property
    def _is_foreign(self) -> bool:
        return self._lease.holder not in ("", HOLDER)

    def _expired(self) -> bool:
        promised = self._lease.spec.lease_duration_seconds or _LEAST_DURATION
        return asyncio.get_running_loop().time() - self._changed > promised

    async def _look(self) -> None:
        terms = self._terms
        try:
            found = msgspec.json.decode(await self._client.get(self._path), type=Lease)
        except NotFoundError:
            found = Lease(metadata=LeaseMeta(name=terms.name, namespace=terms.namespace))
        if found != self._lease:
            self._lease, self._changed = found, asyncio.get_running_loop().time()

    async def _write(self, table: ShardTable) -> None:
        before = self._lease
        notes = {**before.metadata.annotations, SHARDS_TABLE: written_table(table)}
        lease = msgspec.structs.replace(
            before,
            metadata=msgspec.structs.replace(before.metadata, annotations=notes),
            spec=self._spec(before.spec, is_ownership=bool(table.members)),
        )
        body = msgspec.json.encode(lease)
        if before.metadata.resource_version:
            answer = await self._client.replace(self._path, body)
        else:
            answer = await self._client.create(self._collection, body)
        self._lease = msgspec.json.decode(answer, type=Lease)
        self._changed = asyncio.get_running_loop().time()

    def _spec(self, before: LeaseSpec, *, is_ownership: bool) -> LeaseSpec:
        """The times are for readers; no decision of a replica uses them."""
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        keeps = before.holder_identity == HOLDER
        return LeaseSpec(
            holder_identity=HOLDER if is_ownership else "",
            lease_duration_seconds=round(max(_LEAST_DURATION, self._terms.duration))
            if is_ownership
            else 1,
            acquire_time=before.acquire_time if keeps else now,
            renew_time=now,
            lease_transitions=(before.lease_transitions or 0) + (not keeps),
        )
