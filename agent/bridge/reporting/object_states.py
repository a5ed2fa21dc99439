"""ObjectStates: the current state of every reported object, redacted, with its hash.

A state is made from the memory of its source when it is asked for, and cached until the object
changes or a new Secret value may have to be masked in it. Nothing here outlives the process. The
frames that compare the states with the service are made of them: roots, hash buckets, bodies.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from agent.bridge.reporting.state_sources import StateSource
from bus.identity import new_id
from bus.link import (
    Bodies,
    BucketMember,
    HashBucket,
    LinkItem,
    Root,
    Roots,
    WantBodies,
    WantBuckets,
)
from bus.link.digest import BUCKETS, in_buckets, root_of_members
from handlers.ports import Clock
from handlers.report.items import ItemStamp, tombstone
from handlers.report.redaction import Redaction

_SLICE = 20
_MOST_SUBJECTS = 1000
"""A service of ours asks for 200 in one frame."""


@dataclass(slots=True, kw_only=True)
class ObjectStates:
    sources: Sequence[StateSource[Any]]
    redaction: Redaction
    clock: Clock
    _made: dict[tuple[str, str], tuple[str, int, LinkItem]] = field(default_factory=dict)

    @property
    def kinds(self) -> Sequence[str]:
        """The kinds whose objects are all known; the others cannot be compared yet."""
        return tuple(source.kind for source in self.sources if source.is_complete())

    def item(self, kind: str, subject: str) -> LinkItem:
        """The state of the object, or a tombstone if there is no such object."""
        source = self._source(kind)
        found = source.get(subject) if source is not None else None
        if source is None or found is None:
            before = self._made.pop((kind, subject), None)
            return tombstone(kind, subject, self._stamp(), before[2].uid if before else "")
        return self._item(source, subject, found)

    async def members(self, kind: str) -> Sequence[BucketMember]:
        """Every object of a kind with its hash; yields to other tasks between slices."""
        source = self._source(kind)
        members: list[BucketMember] = []
        if source is None:
            return members
        for number, (subject, one) in enumerate(tuple(source.all().items())):
            if number % _SLICE == 0:
                await asyncio.sleep(0)
            item = self._item(source, subject, one)
            members.append(BucketMember(subject=subject, uid=item.uid, hash=item.hash))
        return members

    def _item(self, source: StateSource[Any], subject: str, found: object) -> LinkItem:
        version, known = source.version(found), self.redaction.known.version
        made = self._made.get((source.kind, subject))
        if made is not None and made[:2] == (version, known):
            return made[2]
        item = source.shape(found, self._stamp(), self.redaction)
        self._made[source.kind, subject] = (version, known, item)
        return item

    def _source(self, kind: str) -> StateSource[Any] | None:
        """The source of the kind; None for a kind that only a newer service knows."""
        return next((source for source in self.sources if source.kind == kind), None)

    def _stamp(self) -> ItemStamp:
        return ItemStamp(id=new_id(), time=self.clock.now().isoformat())


def roots_of(known: Mapping[str, Sequence[BucketMember]], through: int) -> Roots:
    kinds = {
        kind: Root(root=root_of_members(members), count=len(members))
        for kind, members in known.items()
    }
    return Roots(kinds=kinds, through=through)


def buckets_of(
    query: WantBuckets, members: Iterable[BucketMember], through: int
) -> Iterator[HashBucket]:
    """`through` is the newest outbox entry from before the members were read.

    Each bucket is answered once, however often the service names it.
    """
    members_by_bucket = in_buckets(members)
    for number in sorted(set(query.buckets) & set(range(BUCKETS))):
        part = tuple(members_by_bucket.get(number, ()))
        yield HashBucket(kind=query.kind, bucket=number, members=part, through=through)


def subjects_of(query: WantBodies) -> Sequence[str]:
    """The subjects to answer: each once, and no more than a service asks for in one frame."""
    return tuple(dict.fromkeys(query.subjects))[:_MOST_SUBJECTS]


def bodies_of(kind: str, items: Sequence[LinkItem], limit: int) -> Iterator[Bodies]:
    """Split the items into frames of at most `limit` bytes each."""
    part: list[LinkItem] = []
    size = 0
    for item in items:
        length = len(msgspec.json.encode(item))
        if part and size + length > limit:
            yield Bodies(kind=kind, items=tuple(part))
            part, size = [], 0
        part.append(item)
        size += length
    if part:
        yield Bodies(kind=kind, items=tuple(part))
