"""NamespaceRoots knows the objects of each namespace that have no owner, from the live index."""

from __future__ import annotations

from agent.kube.index import LiveIndex
from bus.identity import ResourceKey
from handlers.ports import LiveObject


class NamespaceRoots:
    def __init__(self, index: LiveIndex) -> None:
        self._index = index
        self._keys: dict[str, dict[ResourceKey, None]] = {}
        index.all_changes.subscribe(self._note)

    def of(self, namespace: str) -> tuple[LiveObject, ...]:
        found = map(self._index.get, self._keys.get(namespace, ()))
        return tuple(one for one in found if one is not None)

    def _note(self, before: LiveObject | None, after: LiveObject | None) -> None:
        was, is_ = _is_root(before), _is_root(after)
        if after is not None and is_ and not was:
            self._keys.setdefault(after.key.namespace, {})[after.key] = None
        elif before is not None and was and not is_:
            keys = self._keys.get(before.key.namespace, {})
            keys.pop(before.key, None)
            if not keys:
                self._keys.pop(before.key.namespace, None)


def _is_root(live: LiveObject | None) -> bool:
    return live is not None and bool(live.key.namespace) and not live.owners
