"""LiveIndex holds the live objects in memory, by key, by application and by their owner's UID.

Two sources race: the watches, and the answers to our own writes (write-through). The newer resource
version wins, whichever source brings it; a deleted object does not come back by a late event.
`changes_of_others` leaves our own out: an apply that was written through is no change when its
watch event arrives.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import msgspec

from agent.kube.health_overrides import HealthOverrides
from agent.kube.live_change import LiveChange, is_no_news, is_significant, version_number
from agent.kube.tracking_in_use import TrackingInUse
from agent.kube.watch_scope import WatchScope
from agent.subscribers import Subscribers
from bus.identity import AppKey, ResourceKey
from handlers.manifest.tracking import app_identity
from handlers.ports import LiveObject

_REMEMBERED = 10_000


class LiveIndex:
    """The index, and lists of subscribers to what changes in it."""

    def __init__(
        self,
        control_namespace: str,
        overrides: HealthOverrides | None = None,
        tracking: TrackingInUse | None = None,
    ) -> None:
        self.overrides = overrides or HealthOverrides()
        self.tracking = tracking or TrackingInUse()
        self.changes_of_others = Subscribers[[LiveChange]]()
        """An apply of ours is none; subscribe once the first lists are complete."""
        self.own_changes = Subscribers[[LiveChange]]()
        """Called with what an apply of ours has changed."""
        self.all_changes = Subscribers[[LiveObject | None, LiveObject | None]]()
        """Called with the object before and after, also for own writes and pods."""
        self.secrets_seen = Subscribers[[bytes]]()
        """Called with every Secret that a watch brings, tracked or not."""
        self._control_namespace = control_namespace
        self._kinds: dict[tuple[str, str], dict[ResourceKey, LiveObject]] = {}
        self._by_app: dict[str, dict[ResourceKey, None]] = {}
        self._by_owner: dict[str, dict[ResourceKey, None]] = {}
        self._by_uid: dict[str, ResourceKey] = {}
        """Possible owners of an application's objects: its own ones, and what those own."""
        self._gone: dict[str, None] = {}
        self._held: dict[ResourceKey, LiveObject | None] = {}
        self._reconsidered: set[ResourceKey] = set()
        """Objects that are taken once more at the version that is known."""

    def __len__(self) -> int:
        return sum(len(objects) for objects in self._kinds.values())

    def get(self, key: ResourceKey) -> LiveObject | None:
        return self._kinds.get((key.group, key.kind), {}).get(key)

    def tracked(self, app: AppKey) -> tuple[LiveObject, ...]:
        """Return an application's roots: objects with an owner are deleted with it."""
        identity = app_identity(app, self._control_namespace)
        found = self._all(self._by_app.get(identity, ()))
        return tuple(live for live in found if not live.owners)

    def owned_by(self, uid: str) -> tuple[LiveObject, ...]:
        return tuple(self._all(self._by_owner.get(uid, ())))

    def roots_of(self, live: LiveObject) -> frozenset[str]:
        """Return the identities of the applications that own the object, by way of its owners."""
        found: set[str] = set()
        seen: set[str] = set()
        waiting = [live]
        for one in waiting:
            if not one.owners:
                found.add(one.application)
            fresh = [uid for uid in one.owners if uid not in seen]
            seen.update(fresh)
            waiting += self._all(self._by_uid[uid] for uid in fresh if uid in self._by_uid)
        return frozenset(found - {""})

    def belonging(self, uid: str, app: AppKey) -> ResourceKey | None:
        """Return the object of this UID, if the application owns it by way of its owners."""
        key = self._by_uid.get(uid)
        live = self.get(key) if key is not None else None
        if live is None or app_identity(app, self._control_namespace) not in self.roots_of(live):
            return None
        return live.key

    def of_kind(self, group: str, kind: str) -> tuple[LiveObject, ...]:
        return tuple(self._kinds.get((group, kind), {}).values())

    def put(self, live: LiveObject, *, ours: bool = False, raw: bytes = b"") -> None:
        """Index an object; `ours` is the answer to our own apply: a change only for its loser.

        A health script judges what it gets as `raw`.
        """
        before = self.get(live.key)
        lost = before is not None and before.tracking not in ("", live.tracking)
        if ours:
            self._note_own(before, live, lost=lost)
        if live.uid in self._gone or (before is not None and self._is_no_news(before, live)):
            return
        self._reconsidered.discard(live.key)
        live = self.overrides.provisional(self, before, live, raw)
        self._store(before, live)
        if not ours or lost:
            self._notify(before, live)

    def _note_own(self, before: LiveObject | None, live: LiveObject, *, lost: bool) -> None:
        """Tell an apply from what others change: its watch event may come before its answer."""
        before = self._held.get(live.key, before)
        if not lost and live.key in self._held:
            self._held[live.key] = live
        if is_significant(before, live):
            self.own_changes.notify(LiveChange(before=before, after=live))

    @contextmanager
    def writing(self, key: ResourceKey) -> Iterator[None]:
        """Hold back changes during our own write, whose watch event may come before its answer.

        Changes of others are reported at the end.
        """
        if key in self._held:  # two applications share the object: the first one's end tells
            yield
            return
        self._held[key] = self.get(key)
        try:
            yield
        finally:
            self._notify(self._held.pop(key), self.get(key))

    def judged(self, live: LiveObject) -> None:
        """Take the health that a script gave this version of an object; an older one is late."""
        before = self.get(live.key)
        if before is None or before.uid != live.uid:
            return
        if before.resource_version == live.resource_version:
            self._store(before, live)
            self._notify(before, live)

    def reconsider(self, scope: WatchScope, only: frozenset[ResourceKey] | None = None) -> bool:
        """Take the objects of a kind, or `only` these, once more when they are listed.

        They are taken although they are known. False where there are none.
        """
        here = self._kinds.get((scope.group, scope.kind), {})
        found = {key for key in here if scope.covers(key) and (only is None or key in only)}
        self._reconsidered |= found
        return bool(found)

    def is_reconsidered(self, key: ResourceKey) -> bool:
        return key in self._reconsidered

    def remove(self, live: LiveObject) -> None:
        """Remove a deleted object; another object of its name stays."""
        self._bury(live.uid)
        before = self.get(live.key)
        if before is not None and before.uid == live.uid:
            self._drop(before)

    def settle(self, scope: WatchScope, seen: set[str], resource_version: str) -> None:
        """End a list: objects that it lacks (by UID) and that are not newer than it are deleted."""
        here = self._kinds.get((scope.group, scope.kind), {})
        listed = version_number(resource_version)
        for live in [live for key, live in here.items() if scope.covers(key)]:
            if live.uid not in seen and version_number(live.resource_version) <= listed:
                self._bury(live.uid)
                self._drop(live)

    def forget_versions(self, scope: WatchScope) -> None:
        """Accept any version next: the cluster was restored, and deleted objects may be back."""
        here = self._kinds.get((scope.group, scope.kind), {})
        for key, live in here.items():
            if scope.covers(key):
                here[key] = msgspec.structs.replace(live, resource_version="")
        self._gone.clear()

    def forget_kind(self, group: str, kind: str) -> None:
        """Drop a kind that the cluster no longer serves, or that is no longer watched."""
        for live in self.of_kind(group, kind):
            self._drop(live)
        self._kinds.pop((group, kind), None)

    def _is_no_news(self, before: LiveObject, live: LiveObject) -> bool:
        same = before.resource_version == live.resource_version
        return is_no_news(before, live) and not (same and live.key in self._reconsidered)

    def _bury(self, uid: str) -> None:
        """Note a deleted UID: it never comes back, so later events of it are outdated."""
        self._gone[uid] = None
        while len(self._gone) > _REMEMBERED:
            del self._gone[next(iter(self._gone))]

    def _all(self, keys: Iterable[ResourceKey]) -> Iterable[LiveObject]:
        return (live for live in map(self.get, keys) if live is not None)

    def _store(self, before: LiveObject | None, live: LiveObject) -> None:
        if before is not None:
            self._unlink(before)
        self._kinds.setdefault((live.key.group, live.key.kind), {})[live.key] = live
        identity = live.application
        if identity:
            self._by_app.setdefault(identity, {})[live.key] = None
        for uid in live.owners:
            self._by_owner.setdefault(uid, {})[live.key] = None
        if identity or live.owners:
            self._by_uid[live.uid] = live.key
        self.all_changes.notify(before, live)

    def _drop(self, live: LiveObject) -> None:
        self.all_changes.notify(live, None)
        self._unlink(live)
        self.overrides.gone(self, live.key)
        self._reconsidered.discard(live.key)
        self._kinds.get((live.key.group, live.key.kind), {}).pop(live.key, None)
        self._notify(live, None)

    def _unlink(self, live: LiveObject) -> None:
        self._by_uid.pop(live.uid, None)
        _discard(self._by_app, live.application, live.key)
        for uid in live.owners:
            _discard(self._by_owner, uid, live.key)

    def _notify(self, before: LiveObject | None, after: LiveObject | None) -> None:
        here = after or before
        if here is None or here.key in self._held:
            return
        if is_significant(before, after):
            self.changes_of_others.notify(LiveChange(before=before, after=after))


def _discard(index: dict[str, dict[ResourceKey, None]], word: str, key: ResourceKey) -> None:
    keys = index.get(word)
    if keys is None:
        return
    keys.pop(key, None)
    if not keys:
        del index[word]
