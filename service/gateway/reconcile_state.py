"""Reconciliation of what agent and service hold: roots, then buckets, then bodies. Pure.

A kind whose root differs is compared as a whole: when its 256 buckets have arrived, the objects
that differ are asked for. Missing objects are asked for as well, because missing is not deleted:
only the tombstone that answers is. If much is missing at once (more than a fifth, and more than
ten), even that waits until a second complete comparison misses the same, or a person accepts it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec

from bus.link import Bodies, BucketMember, HashBucket, Root, WantBodies, WantBuckets
from bus.link.digest import BUCKETS
from service.gateway.effects import CompareMembers, DoubtKinds, MembersCompared
from service.projection.removal_guard import is_many

_SUBJECTS_PER_FRAME = 200
_MEMBERS_LIMIT = 200_000


class KindReconciliation(msgspec.Struct, frozen=True, kw_only=True):
    """One kind, under way."""

    began: float
    awaited: frozenset[int] = frozenset(range(BUCKETS))
    members: tuple[tuple[BucketMember, ...], ...] = ()
    through: int | None = None

    @property
    def size(self) -> int:
        return sum(len(part) for part in self.members)


class Reconciliation(msgspec.Struct, frozen=True, kw_only=True):
    roots: Mapping[str, Root] = {}
    """The last that were told."""
    looks: Mapping[str, KindReconciliation] = {}
    awaited: Mapping[str, frozenset[str]] = {}
    """Bodies that were asked for and have not come."""
    confirmed: Mapping[str, frozenset[str]] = {}
    """Missed by a look and asked for: a tombstone may answer."""
    doubted: Mapping[str, frozenset[str]] = {}
    """Missed by the last complete look, and not asked for yet."""
    held: Mapping[str, frozenset[str]] = {}
    """Their tombstones came and were held: no look has missed them yet."""


def begin(
    reconciliation: Reconciliation, kinds: tuple[str, ...], now: float
) -> tuple[Reconciliation, list[WantBuckets]]:
    """Ask for all buckets; a look under way begins again, because its answers may be lost."""
    looks = {**reconciliation.looks, **{kind: KindReconciliation(began=now) for kind in kinds}}
    every = tuple(range(BUCKETS))
    frames = [WantBuckets(kind=kind, buckets=every) for kind in kinds]
    return msgspec.structs.replace(reconciliation, looks=looks), frames


def take_bucket(
    reconciliation: Reconciliation, bucket: HashBucket
) -> tuple[Reconciliation, CompareMembers | None]:
    """A bucket that nobody asked for changes nothing."""
    look = reconciliation.looks.get(bucket.kind)
    if look is None or bucket.bucket not in look.awaited or look.size > _MEMBERS_LIMIT:
        return reconciliation, None
    through = bucket.through if look.through is None else min(look.through, bucket.through)
    look = msgspec.structs.replace(
        look,
        awaited=look.awaited - {bucket.bucket},
        members=(*look.members, bucket.members),
        through=through,
    )
    if look.awaited:
        return _with_look(reconciliation, bucket.kind, look), None
    members = tuple(member for part in look.members for member in part)
    found = CompareMembers(kind=bucket.kind, members=members, through=through)
    return _with_look(reconciliation, bucket.kind, None), found


def decide(
    reconciliation: Reconciliation, seen: MembersCompared
) -> tuple[Reconciliation, list[WantBodies], DoubtKinds | None]:
    """Decide what to ask the agent for, and what to doubt instead."""
    sure = not _many(seen) or seen.missing <= reconciliation.doubted.get(seen.kind, frozenset())
    asked = seen.differing | (seen.missing if sure else frozenset())
    doubted = {**reconciliation.doubted, seen.kind: frozenset() if sure else seen.missing}
    awaited = {**reconciliation.awaited, seen.kind: asked}
    confirmed = {**reconciliation.confirmed, seen.kind: seen.missing if sure else frozenset()}
    held = {**reconciliation.held, seen.kind: frozenset[str]()}  # the look says as much, and more
    reconciliation = msgspec.structs.replace(
        reconciliation, doubted=doubted, awaited=awaited, confirmed=confirmed, held=held
    )
    doubt = None if sure else DoubtKinds(kind=seen.kind, subjects=seen.missing)
    return reconciliation, list(_asks(seen.kind, asked)), doubt


def hold(reconciliation: Reconciliation, held: Mapping[str, frozenset[str]]) -> Reconciliation:
    """Remember whose tombstones were held: a person may accept them before the next look."""
    return (
        msgspec.structs.replace(reconciliation, held=_joined(reconciliation.held, held))
        if held
        else reconciliation
    )


def accept(reconciliation: Reconciliation) -> tuple[Reconciliation, list[WantBodies]]:
    """A person says that what is missing is gone: ask for it now, so that tombstones can answer."""
    gone = {
        kind: it for kind, it in _joined(reconciliation.doubted, reconciliation.held).items() if it
    }
    reconciliation = msgspec.structs.replace(
        reconciliation,
        doubted={},
        held={},
        awaited=_joined(reconciliation.awaited, gone),
        confirmed=_joined(reconciliation.confirmed, gone),
    )
    return reconciliation, [
        frame for kind, subjects in gone.items() for frame in _asks(kind, subjects)
    ]


def asked_for(reconciliation: Reconciliation, bodies: Bodies) -> Bodies:
    """`bodies` without what nobody asked for, and without tombstones of what no look missed."""
    awaited = reconciliation.awaited.get(bodies.kind, frozenset())
    missed = reconciliation.confirmed.get(bodies.kind, frozenset())
    items = tuple(it for it in bodies.items if it.subject in (missed if it.deleted else awaited))
    return msgspec.structs.replace(bodies, items=items)


def take_bodies(reconciliation: Reconciliation, bodies: Bodies) -> Reconciliation:
    came = {item.subject for item in bodies.items}
    left = reconciliation.awaited.get(bodies.kind, frozenset()) - came
    return msgspec.structs.replace(
        reconciliation, awaited={**reconciliation.awaited, bodies.kind: left}
    )


def answered(reconciliation: Reconciliation) -> bool:
    """Nothing that was asked for is outstanding."""
    return not reconciliation.looks and not any(reconciliation.awaited.values())


def _many(seen: MembersCompared) -> bool:
    return is_many(len(seen.missing), seen.known)


def _asks(kind: str, subjects: frozenset[str]) -> Iterator[WantBodies]:
    ordered = sorted(subjects)
    for start in range(0, len(ordered), _SUBJECTS_PER_FRAME):
        yield WantBodies(kind=kind, subjects=tuple(ordered[start : start + _SUBJECTS_PER_FRAME]))


def _joined(
    one: Mapping[str, frozenset[str]], other: Mapping[str, frozenset[str]]
) -> dict[str, frozenset[str]]:
    nothing = frozenset[str]()
    return {kind: one.get(kind, nothing) | other.get(kind, nothing) for kind in {*one, *other}}


def _with_look(
    reconciliation: Reconciliation, kind: str, look: KindReconciliation | None
) -> Reconciliation:
    looks = {name: it for name, it in reconciliation.looks.items() if name != kind}
    if look is not None:
        looks[kind] = look
    return msgspec.structs.replace(reconciliation, looks=looks)
