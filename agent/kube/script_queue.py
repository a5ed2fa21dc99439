"""ScriptQueue holds the live objects that wait for a health script, and lets namespaces take turns.

The next object is of the namespace whose objects have cost the least time so far, and of that
namespace the one that waits longest. So a tenant whose objects need a second each waits for itself,
and an object of another namespace is served next, however many are before it. A namespace that
comes back starts where the others are: idle time is no credit.

A namespace of a cluster is the unit, not the Application: the tracking annotation of an object is
written by whoever writes the object, and could name the Application of somebody else.

What an object costs while it waits is bounded too: an application's own object is kept by the index
in any case, and of others at most so many bytes wait for each namespace, and for all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from bus.identity import ResourceKey
from handlers.ports import LiveObject

MEBIBYTE = 1 << 20
OF_ONE_NAMESPACE = 16 * MEBIBYTE
OF_ALL = 64 * MEBIBYTE


class JudgedIndex(Protocol):
    """The part of the index that takes the answers."""

    def judged(self, live: LiveObject) -> None: ...
    def roots_of(self, live: LiveObject) -> frozenset[str]: ...


@dataclass(frozen=True, slots=True)
class Tenant:
    """A namespace of the cluster whose index this is; empty for objects without a namespace."""

    index: JudgedIndex
    namespace: str


@dataclass(frozen=True, slots=True)
class WaitingObject:
    tenant: Tenant
    live: LiveObject
    """The object with the health of our own rule."""
    raw: bytes = b""
    """Its bytes, where `live` has none."""


class ScriptQueue:
    """`of_one_namespace` and `of_all` bound the bytes that are kept for nothing but the wait."""

    def __init__(self, of_one_namespace: int = OF_ONE_NAMESPACE, of_all: int = OF_ALL) -> None:
        self._of_one = of_one_namespace
        self._of_all = of_all
        self._waiting: dict[Tenant, dict[ResourceKey, WaitingObject]] = {}
        self._bytes: dict[Tenant, int] = {}
        self._spent: dict[Tenant, float] = {}
        """Seconds that each waiting namespace has cost, on one scale for all."""
        self._now = 0.0
        """Where a namespace starts that has not waited before."""

    def __bool__(self) -> bool:
        return bool(self._waiting)

    @property
    def kept_bytes(self) -> int:
        """How many bytes are kept for nothing but the wait."""
        return sum(self._bytes.values())

    def add(self, index: JudgedIndex, live: LiveObject, raw: bytes) -> Sequence[WaitingObject]:
        """Let an object wait at the end of its namespace.

        Return the objects for which there is no room any more, perhaps this one: of the namespace
        that has too much, or of the one that has most where all together have too much.
        """
        self.drop(index, live.key)
        tenant = Tenant(index, live.key.namespace)
        one = WaitingObject(tenant, live, b"" if live.body else raw)
        self._waiting.setdefault(tenant, {})[live.key] = one
        self._bytes[tenant] = self._bytes.get(tenant, 0) + len(one.raw)
        self._spent[tenant] = max(self._now, self._spent.get(tenant, 0.0))
        if self._bytes[tenant] > self._of_one:
            return (self._crowded_out(tenant),)
        crowded: list[WaitingObject] = []
        while self.kept_bytes > self._of_all:
            crowded.append(self._crowded_out(max(self._bytes, key=lambda it: self._bytes[it])))
        return crowded

    def _crowded_out(self, tenant: Tenant) -> WaitingObject:
        """Take the newest object of a namespace for which bytes are kept."""
        here = self._waiting[tenant]
        key = next(key for key in reversed(here) if here[key].raw)
        found = self._take(tenant, key)
        assert found is not None
        return found

    def drop(self, index: JudgedIndex, key: ResourceKey) -> None:
        """Let an object wait no longer: it is gone, or a newer version comes."""
        self._take(Tenant(index, key.namespace), key)

    def drop_index(self, index: JudgedIndex) -> None:
        """Let no object of a cluster wait any longer."""
        for tenant in [one for one in self._spent.keys() | self._waiting if one.index is index]:
            self._waiting.pop(tenant, None)
            self._bytes.pop(tenant, None)
            self._spent.pop(tenant, None)

    def next(self) -> WaitingObject:
        """Take the object that is served next; there has to be one."""
        tenant = min(self._waiting, key=lambda one: self._spent[one])
        self._now = self._spent[tenant]
        found = self._take(tenant, next(iter(self._waiting[tenant])))
        assert found is not None
        return found

    def spend(self, tenant: Tenant, seconds: float) -> None:
        """Note what an object of the namespace has cost."""
        spent = max(self._now, self._spent.get(tenant, 0.0)) + seconds
        self._spent[tenant] = spent
        self._forget_idle()

    def _take(self, tenant: Tenant, key: ResourceKey) -> WaitingObject | None:
        here = self._waiting.get(tenant, {})
        found = here.pop(key, None)
        if found is None:
            return None
        self._bytes[tenant] -= len(found.raw)
        if not here:
            del self._waiting[tenant], self._bytes[tenant]
        return found

    def _forget_idle(self) -> None:
        """Keep the cost of a namespace while it waits, or until the others have caught up."""
        self._spent = {
            tenant: spent
            for tenant, spent in self._spent.items()
            if tenant in self._waiting or spent > self._now
        }
