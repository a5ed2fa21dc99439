"""The live objects in memory: by key, by application, by the UID of their owner.

Two writers meet here: the watches, and the answers to our own writes (write-through). The newer
resource version wins, whoever brings it; an object that we saw vanish does not come back by a late
event. The listener hears what changed and not by our own apply: an apply that we wrote through says
nothing when its watch event arrives.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

import msgspec

from bus.identity import AppKey, ResourceKey
from handlers.manifest.tracking import TRACKING_ID, app_identity, self_referenced, tracking_of
from handlers.ports import LiveObject


class LiveChange(msgspec.Struct, frozen=True, kw_only=True):
    """None before: it appeared; None after: it vanished."""

    before: LiveObject | None
    after: LiveObject | None


class Scope(msgspec.Struct, frozen=True, kw_only=True):
    """What one list covers: a kind, in all namespaces or in one."""

    group: str
    kind: str
    namespace: str = ""

    def covers(self, key: ResourceKey) -> bool:
        return not self.namespace or key.namespace == self.namespace


_REMEMBERED = 10_000

Listener = Callable[[LiveChange], None]
Observer = Callable[[LiveObject | None, LiveObject | None], None]


class LiveIndex:
    """`listener` is set by who wants to hear changes, best after the first lists are complete."""

    def __init__(self, control_namespace: str) -> None:
        self.listener: Listener | None = None
        self.secret_seen: Callable[[bytes], None] = _nobody
        """Called with every Secret that a watch brings, tracked or not."""
        self.observer: Observer = _unobserved
        """Called with every change, told to the listener or not: our own writes, a pod's state."""
        self._control_namespace = control_namespace
        self._kinds: dict[tuple[str, str], dict[ResourceKey, LiveObject]] = {}
        self._by_app: dict[str, dict[ResourceKey, None]] = {}
        self._by_owner: dict[str, dict[ResourceKey, None]] = {}
        self._by_uid: dict[str, ResourceKey] = {}
        """Of what may own something of an application: its own objects, and what these own."""
        self._gone: dict[str, None] = {}
        self._held: dict[ResourceKey, LiveObject | None] = {}

    def __len__(self) -> int:
        return sum(len(objects) for objects in self._kinds.values())

    def get(self, key: ResourceKey) -> LiveObject | None:
        return self._kinds.get((key.group, key.kind), {}).get(key)

    def tracked(self, app: AppKey) -> tuple[LiveObject, ...]:
        """Roots only: what has an owner goes with it."""
        identity = app_identity(app, self._control_namespace)
        found = self._all(self._by_app.get(identity, ()))
        return tuple(live for live in found if not live.owners)

    def owned_by(self, uid: str) -> tuple[LiveObject, ...]:
        return tuple(self._all(self._by_owner.get(uid, ())))

    def roots_of(self, live: LiveObject) -> frozenset[str]:
        """Identities of the applications that it belongs to, by way of its owners."""
        found: set[str] = set()
        seen: set[str] = set()
        waiting = [live]
        for one in waiting:
            if not one.owners:
                found.add(tracking_identity(one))
            fresh = [uid for uid in one.owners if uid not in seen]
            seen.update(fresh)
            waiting += self._all(self._by_uid[uid] for uid in fresh if uid in self._by_uid)
        return frozenset(found - {""})

    def belonging(self, uid: str, app: AppKey) -> ResourceKey | None:
        """What has this uid, where it is the application's by way of its owners."""
        key = self._by_uid.get(uid)
        live = self.get(key) if key is not None else None
        if live is None or app_identity(app, self._control_namespace) not in self.roots_of(live):
            return None
        return live.key

    def of_kind(self, group: str, kind: str) -> tuple[LiveObject, ...]:
        return tuple(self._kinds.get((group, kind), {}).values())

    def put(self, live: LiveObject, *, ours: bool = False) -> None:
        """`ours`: the answer to our own apply, news only for who lost the object by it."""
        before = self.get(live.key)
        lost = before is not None and before.tracking not in ("", live.tracking)
        if ours and not lost and live.key in self._held:
            self._held[live.key] = live
        if live.uid in self._gone or (before is not None and _no_news(before, live)):
            return
        self._store(before, live)
        if not ours or lost:
            self._tell(before, live)

    @contextmanager
    def writing(self, key: ResourceKey) -> Iterator[None]:
        """Around our own write: its watch event may come before its answer, and is still no news.

        What others did meanwhile is told at the end.
        """
        if key in self._held:  # two applications share the object: the first one's end tells
            yield
            return
        self._held[key] = self.get(key)
        try:
            yield
        finally:
            self._tell(self._held.pop(key), self.get(key))

    def remove(self, live: LiveObject) -> None:
        """It is gone, by an event or by our own delete. Another object of its name stays."""
        self._bury(live.uid)
        before = self.get(live.key)
        if before is not None and before.uid == live.uid:
            self._drop(before)

    def settle(self, scope: Scope, seen: set[str], resource_version: str) -> None:
        """A list is complete: what it did not hold (by UID) and is no newer than it, is gone."""
        here = self._kinds.get((scope.group, scope.kind), {})
        for live in [live for key, live in here.items() if scope.covers(key)]:
            if live.uid not in seen and _number(live.resource_version) <= _number(resource_version):
                self._bury(live.uid)
                self._drop(live)

    def forget_versions(self, scope: Scope) -> None:
        """The cluster was set back: any version is news, and what was gone may be there again."""
        here = self._kinds.get((scope.group, scope.kind), {})
        for key, live in here.items():
            if scope.covers(key):
                here[key] = msgspec.structs.replace(live, resource_version="")
        self._gone.clear()

    def forget_kind(self, group: str, kind: str) -> None:
        """The cluster does not serve this kind any more, or we do not look at it any more."""
        for live in self.of_kind(group, kind):
            self._drop(live)
        self._kinds.pop((group, kind), None)

    def _bury(self, uid: str) -> None:
        """A UID never comes back: what still speaks of it is late."""
        self._gone[uid] = None
        while len(self._gone) > _REMEMBERED:
            del self._gone[next(iter(self._gone))]

    def _all(self, keys: Iterable[ResourceKey]) -> Iterable[LiveObject]:
        return (live for live in map(self.get, keys) if live is not None)

    def _store(self, before: LiveObject | None, live: LiveObject) -> None:
        if before is not None:
            self._unlink(before)
        self._kinds.setdefault((live.key.group, live.key.kind), {})[live.key] = live
        identity = tracking_identity(live)
        if identity:
            self._by_app.setdefault(identity, {})[live.key] = None
        for uid in live.owners:
            self._by_owner.setdefault(uid, {})[live.key] = None
        if identity or live.owners:
            self._by_uid[live.uid] = live.key
        self.observer(before, live)

    def _drop(self, live: LiveObject) -> None:
        self.observer(live, None)
        self._unlink(live)
        self._kinds.get((live.key.group, live.key.kind), {}).pop(live.key, None)
        self._tell(live, None)

    def _unlink(self, live: LiveObject) -> None:
        self._by_uid.pop(live.uid, None)
        _discard(self._by_app, tracking_identity(live), live.key)
        for uid in live.owners:
            _discard(self._by_owner, uid, live.key)

    def _tell(self, before: LiveObject | None, after: LiveObject | None) -> None:
        here = after or before
        if here is None or here.key in self._held or self.listener is None:
            return
        if _says_something(before, after):
            self.listener(LiveChange(before=before, after=after))


def tracking_identity(live: LiveObject) -> str:
    """The identity of the application whose own object this is, or nothing."""
    if not live.tracking:
        return ""
    key = live.key
    bearer = {
        "apiVersion": f"{key.group}/{live.version}" if key.group else live.version,
        "kind": key.kind,
        "metadata": {
            "namespace": key.namespace,
            "name": key.name,
            "annotations": {TRACKING_ID: live.tracking},
        },
    }
    tracked = tracking_of(bearer)
    return tracked.app if tracked is not None and self_referenced(bearer) else ""


def _says_something(before: LiveObject | None, after: LiveObject | None) -> bool:
    """A new resource version alone is no news."""
    if before is None or after is None:
        return True
    return _meaning(before) != _meaning(after)


def _meaning(live: LiveObject) -> LiveObject:
    """Who wrote, the bytes whose fingerprint is there, a pod's images and symptoms add nothing."""
    return msgspec.structs.replace(
        live,
        resource_version="",
        body=b"",
        owned=b"",
        inherited=b"",
        written_by="",
        pod=None,
        symptom=None,
    )


def _no_news(before: LiveObject, live: LiveObject) -> bool:
    """Older, or the same; the same object read in another version of its kind is news."""
    had, has = _number(before.resource_version), _number(live.resource_version)
    return has < had or (has == had and live.version == before.version)


def _number(resource_version: str) -> int:
    """Resource versions of one cluster are numbers that grow (KEP-5504)."""
    return int(resource_version) if resource_version.isdecimal() else 0


def _discard(index: dict[str, dict[ResourceKey, None]], word: str, key: ResourceKey) -> None:
    keys = index.get(word)
    if keys is None:
        return
    keys.pop(key, None)
    if not keys:
        del index[word]


def _unobserved(before: LiveObject | None, after: LiveObject | None) -> None:
    """Until somebody counts instances."""


def _nobody(raw: bytes) -> None:
    """Until somebody has to know which values are secret."""
