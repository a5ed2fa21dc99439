"""ShardTable says which members there are and which of them holds each shard. Pure.

All members keep one table, in an annotation of the agent's Lease. A member writes it on the version
that it read, so that of two simultaneous changes one fails; each write counts the writer's beat.

    joins    it becomes a member without shards
    divides  members that are silent for too long are removed, and what nobody holds is given out
    yields   it gives its surplus to those that have too little, once its work there has ended
    leaves   it gives all its shards to the others

A shard's *term* counts its holders: no two of them ever have the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping

import msgspec

from bus.identity import SHARD_NAMES

NOBODY = ""


class TableError(ValueError):
    """The annotation is no table of this version."""


class Member(msgspec.Struct, frozen=True):
    """One replica; `beat` grows with each of its writes, so that the others see that it lives."""

    name: str
    beat: int = 0


class Holding(msgspec.Struct, frozen=True, array_like=True):
    """Who holds a shard, and for the how manieth holder this is."""

    holder: str = NOBODY
    term: int = 0


class ShardTable(msgspec.Struct, frozen=True, kw_only=True):
    members: tuple[Member, ...] = ()
    shards: dict[str, Holding] = {}

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(one.name for one in self.members)

    def beat_of(self, name: str) -> int | None:
        """The beat of a member; None for who is none."""
        return next((one.beat for one in self.members if one.name == name), None)

    def held_by(self, name: str) -> dict[str, int]:
        """The shards of a member with their terms."""
        return {shard: it.term for shard, it in self.shards.items() if it.holder == name}


def read_table(text: str) -> ShardTable:
    """Read the annotation, empty for a first one; raises TableError."""
    if not text:
        return ShardTable()
    try:
        table = msgspec.json.decode(text, type=ShardTable)
    except msgspec.MsgspecError as error:
        raise TableError(f"the annotation with the shards cannot be read: {error}") from error
    if strange := sorted(set(table.shards) - set(SHARD_NAMES)):
        raise TableError(f"the annotation with the shards names {strange[:3]}, which is no shard")
    return table


def written_table(table: ShardTable) -> str:
    return msgspec.json.encode(table).decode()


def with_beat(table: ShardTable, name: str) -> ShardTable:
    """Count a write of the member, which joins where it is none yet."""
    beat = table.beat_of(name)
    others = [one for one in table.members if one.name != name]
    members = sorted((*others, Member(name, (beat or 0) + 1)), key=lambda one: one.name)
    return msgspec.structs.replace(table, members=tuple(members))


def divided(table: ShardTable, silent: Collection[str] = ()) -> ShardTable:
    """Remove the `silent` members, and give what nobody holds to those that have least."""
    members = tuple(one for one in table.members if one.name not in silent)
    known = {one.name for one in members}
    shards = {
        shard: it if it.holder in known else Holding(NOBODY, it.term)
        for shard, it in _every_shard(table).items()
    }
    free = [shard for shard, it in shards.items() if it.holder == NOBODY]
    return ShardTable(members=members, shards=_assigned(shards, free, sorted(known)))


def surplus(table: ShardTable, name: str) -> tuple[str, ...]:
    """Name the shards that a member should yield, so that no two differ by more than one."""
    counts = Counter(dict.fromkeys(table.names, 0))
    counts.update(it.holder for it in table.shards.values() if it.holder in counts)
    yielded: list[str] = []
    mine = sorted(table.held_by(name))
    while mine and counts:
        fullest = max(counts, key=lambda one: (counts[one], one))
        poorest = min(counts, key=lambda one: (counts[one], one))
        if counts[fullest] - counts[poorest] <= 1:
            break
        counts[fullest] -= 1
        counts[poorest] += 1
        if fullest == name:
            yielded.append(mine.pop())
    return tuple(yielded)


def yielded(table: ShardTable, name: str, shards: Iterable[str]) -> ShardTable:
    """Give shards of a member to those that have least; what it does not hold stays."""
    mine = [shard for shard in shards if table.shards[shard].holder == name]
    others = [one for one in table.names if one != name]
    return msgspec.structs.replace(table, shards=_assigned(_freed(table, mine), mine, others))


def without(table: ShardTable, name: str) -> ShardTable:
    """Let a member leave, and give its shards to the others."""
    return divided(table, (name,))


def holders(table: ShardTable) -> Mapping[str, tuple[str, ...]]:
    """List the shards of each member."""
    return {name: tuple(sorted(table.held_by(name))) for name in table.names}


def _freed(table: ShardTable, shards: Collection[str]) -> dict[str, Holding]:
    return {
        shard: Holding(NOBODY, it.term) if shard in shards else it
        for shard, it in table.shards.items()
    }


def _assigned(
    shards: Mapping[str, Holding], free: Iterable[str], members: Iterable[str]
) -> dict[str, Holding]:
    counts = dict.fromkeys(members, 0)
    for it in shards.values():
        if it.holder in counts:
            counts[it.holder] += 1
    assigned = dict(shards)
    for shard in sorted(free) if counts else ():
        holder = min(counts, key=lambda one: (counts[one], one))
        counts[holder] += 1
        assigned[shard] = Holding(holder, assigned[shard].term + 1)
    return assigned


def _every_shard(table: ShardTable) -> dict[str, Holding]:
    return {shard: table.shards.get(shard, Holding()) for shard in SHARD_NAMES}
