"""The outbox of one epoch: what the service lacks of it, and the cluster that it reports about.

    acknowledged < purged here      the service was restored from an old copy: report a gap
    acknowledged > newest entry     the outbox was restored from an old copy: begin a new epoch
    the UID of another cluster      the outbox is emptied and gets a new epoch

Otherwise every entry after the acknowledged one is still in the outbox. Entries are purged once the
service has acknowledged them.
"""

from __future__ import annotations

from dataclasses import dataclass

import structlog

from agent.bridge.transport.link import LinkLostError
from bus.jetstream.key_value import KeyValueBucket
from bus.jetstream.outbox import Outbox

log = structlog.get_logger()

_CLUSTER = "cluster"


@dataclass(frozen=True, slots=True)
class PurgeMark:
    """Keeps the sequence up to which an epoch was purged, across restarts.

    A service that was restored from an old copy lacks purged entries. States are restored by
    comparing hashes; facts are not, so the agent reports at least how many sequences are
    missing.

    Both methods raise CarrierError.
    """

    bucket: KeyValueBucket

    async def set(self, epoch: str, through: int) -> None:
        await self.bucket.put(epoch, str(through).encode())

    async def through(self, epoch: str) -> int:
        raw = await self.bucket.get(epoch)
        return int(raw) if raw and raw.isdigit() else 0


@dataclass(slots=True, kw_only=True)
class OutboxGap:
    """All methods raise CarrierError."""

    epoch: str
    outbox: Outbox
    purge_mark: PurgeMark
    _through: int = 0

    async def check(self, acked: int, newest: int) -> None:
        """`newest` is the entry that our Hello named. Raises LinkLostError after a new epoch."""
        if acked > newest:
            await self.outbox.renew()
            raise LinkLostError("the service knows more of this outbox than it holds: new epoch")

    async def gap(self, acked: int) -> dict[str, int]:
        """The range that the service lacks and that is purged here; empty if there is none."""
        through = await self.purge_mark.through(self.epoch)
        if through <= acked:
            return {}
        log.warning("the service lacks entries that it acknowledged", after=acked, through=through)
        return {"after": acked, "through": through}

    async def purge(self, through: int) -> None:
        """Purge up to `through`.

        The mark is written first. A crash in between then reports a gap that is none, which does no
        harm; the other order could hide one.
        """
        if through > self._through:
            await self.purge_mark.set(self.epoch, through)
            await self.outbox.forget(through)
            self._through = through


@dataclass(frozen=True, slots=True, kw_only=True)
class OutboxCluster:
    """Keeps the UID of the cluster that the outbox reports about, in the bucket `link`.

    The outbox outlives the process and may outlive the cluster, because NATS and the API server
    keep their data on different disks. Entries about another cluster must not be sent as this
    cluster's: the service would take both for one.

    `bind` is called before this process appends anything to the outbox.
    """

    outbox: Outbox
    bucket: KeyValueBucket

    async def bind(self, uid: str) -> None:
        """Bind the outbox to the cluster with this UID; nothing if `uid` is empty (not known).

        An outbox of another cluster is emptied and gets a new epoch. The UID is written last: a
        crash in between repeats both, and a second new epoch does no harm. Raises CarrierError.
        """
        known = (await self.bucket.get(_CLUSTER) or b"").decode()
        if uid in ("", known):
            return
        if known:
            log.warning("another cluster: the outbox is emptied", cluster=uid, before=known)
            await self.outbox.forget((await self.outbox.position()).newest)
            await self.outbox.renew()
        await self.bucket.put(_CLUSTER, uid.encode())
