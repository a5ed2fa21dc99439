"""Answers to the service's questions what we hold: roots, buckets, bodies. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec

from bus.link import Bodies, Bucket, Item, Member, Root, Roots, WantBuckets
from bus.link.digest import in_buckets, root_of_members


def roots(known: Mapping[str, Sequence[Member]], through: int) -> Roots:
    kinds = {
        kind: Root(root=root_of_members(members), count=len(members))
        for kind, members in known.items()
    }
    return Roots(kinds=kinds, through=through)


def buckets(wanted: WantBuckets, members: Iterable[Member], through: int) -> Iterator[Bucket]:
    """`through`: what the outbox held before the members were looked at."""
    parts = in_buckets(members)
    for number in wanted.buckets:
        part = tuple(parts.get(number, ()))
        yield Bucket(kind=wanted.kind, bucket=number, members=part, through=through)


def bodies(kind: str, items: Sequence[Item], limit: int) -> Iterator[Bodies]:
    """So many at a time that a frame keeps below its limit in bytes."""
    part: list[Item] = []
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
