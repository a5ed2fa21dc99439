"""Looking whether both sides hold the same: roots, then all buckets of a kind, then bodies. Pure.

A kind whose root differs is looked at as a whole: when its 256 buckets have arrived, what differs
is asked for. What is missing there is asked for as well, because missing is not deleted: only the
tombstone that answers is. If much is missing at once (more than a fifth, and more than ten), even
that has to wait until a second complete look misses the same, or until a person accepts it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec

from bus.link import Bodies, Bucket, Member, Root, WantBodies, WantBuckets
from bus.link.digest import BUCKETS
from service.gateway.effects import CompareMembers, Doubt, MembersCompared
from service.projection.removals import is_many

_SUBJECTS_PER_FRAME = 200
_MEMBERS_LIMIT = 200_000


class Look(msgspec.Struct, frozen=True, kw_only=True):
    """One kind, under way."""

    began: float
    awaited: frozenset[int] = frozenset(range(BUCKETS))
    members: tuple[tuple[Member, ...], ...] = ()
    through: int | None = None

    @property
    def size(self) -> int:
        return sum(len(part) for part in self.members)


class Looking(msgspec.Struct, frozen=True, kw_only=True):
    roots: Mapping[str, Root] = {}
    """The last that were told."""
    looks: Mapping[str, Look] = {}
    wanted: Mapping[str, frozenset[str]] = {}
    """Bodies that were asked for and have not come."""
    confirmed: Mapping[str, frozenset[str]] = {}
    """Missed by a look and asked for: a tombstone may answer."""
    doubted: Mapping[str, frozenset[str]] = {}
    """Missed by the last complete look, and not asked for yet."""


def begin(
    looking: Looking, kinds: tuple[str, ...], now: float
) -> tuple[Looking, list[WantBuckets]]:
    """Ask for all buckets; a look under way begins again, because its answers may be lost."""
    looks = {**looking.looks, **{kind: Look(began=now) for kind in kinds}}
    every = tuple(range(BUCKETS))
    frames = [WantBuckets(kind=kind, buckets=every) for kind in kinds]
    return msgspec.structs.replace(looking, looks=looks), frames


def take_bucket(looking: Looking, bucket: Bucket) -> tuple[Looking, CompareMembers | None]:
    """A bucket that nobody asked for changes nothing."""
    look = looking.looks.get(bucket.kind)
    if look is None or bucket.bucket not in look.awaited or look.size > _MEMBERS_LIMIT:
        return looking, None
    through = bucket.through if look.through is None else min(look.through, bucket.through)
    look = msgspec.structs.replace(
        look,
        awaited=look.awaited - {bucket.bucket},
        members=(*look.members, bucket.members),
        through=through,
    )
    if look.awaited:
        return _with_look(looking, bucket.kind, look), None
    members = tuple(member for part in look.members for member in part)
    found = CompareMembers(kind=bucket.kind, members=members, through=through)
    return _with_look(looking, bucket.kind, None), found


def decide(
    looking: Looking, seen: MembersCompared
) -> tuple[Looking, list[WantBodies], Doubt | None]:
    """What to ask for; and what to doubt instead."""
    sure = not _many(seen) or seen.missing <= looking.doubted.get(seen.kind, frozenset())
    asked = seen.differing | (seen.missing if sure else frozenset())
    doubted = {**looking.doubted, seen.kind: frozenset() if sure else seen.missing}
    wanted = {**looking.wanted, seen.kind: asked}
    confirmed = {**looking.confirmed, seen.kind: seen.missing if sure else frozenset()}
    looking = msgspec.structs.replace(looking, doubted=doubted, wanted=wanted, confirmed=confirmed)
    doubt = None if sure else Doubt(kind=seen.kind, subjects=seen.missing)
    return looking, list(_asks(seen.kind, asked)), doubt


def accept(looking: Looking) -> tuple[Looking, list[WantBodies]]:
    """A person says that what is missing is gone: ask for it now, so that tombstones can answer."""
    held = {kind: subjects for kind, subjects in looking.doubted.items() if subjects}
    wanted = {kind: looking.wanted.get(kind, frozenset()) | it for kind, it in held.items()}
    confirmed = {kind: looking.confirmed.get(kind, frozenset()) | it for kind, it in held.items()}
    looking = msgspec.structs.replace(
        looking,
        doubted={},
        wanted={**looking.wanted, **wanted},
        confirmed={**looking.confirmed, **confirmed},
    )
    return looking, [frame for kind, subjects in held.items() for frame in _asks(kind, subjects)]


def asked_for(looking: Looking, bodies: Bodies) -> Bodies:
    """`bodies` without what nobody asked for, and without tombstones of what no look missed."""
    wanted = looking.wanted.get(bodies.kind, frozenset())
    missed = looking.confirmed.get(bodies.kind, frozenset())
    items = tuple(it for it in bodies.items if it.subject in (missed if it.deleted else wanted))
    return msgspec.structs.replace(bodies, items=items)


def take_bodies(looking: Looking, bodies: Bodies) -> Looking:
    came = {item.subject for item in bodies.items}
    left = looking.wanted.get(bodies.kind, frozenset()) - came
    return msgspec.structs.replace(looking, wanted={**looking.wanted, bodies.kind: left})


def answered(looking: Looking) -> bool:
    """Nothing that was asked for is outstanding."""
    return not looking.looks and not any(looking.wanted.values())


def _many(seen: MembersCompared) -> bool:
    return is_many(len(seen.missing), seen.known)


def _asks(kind: str, subjects: frozenset[str]) -> Iterator[WantBodies]:
    ordered = sorted(subjects)
    for start in range(0, len(ordered), _SUBJECTS_PER_FRAME):
        yield WantBodies(kind=kind, subjects=tuple(ordered[start : start + _SUBJECTS_PER_FRAME]))


def _with_look(looking: Looking, kind: str, look: Look | None) -> Looking:
    looks = {name: it for name, it in looking.looks.items() if name != kind}
    if look is not None:
        looks[kind] = look
    return msgspec.structs.replace(looking, looks=looks)
