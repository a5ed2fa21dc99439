"""IgnoredFields: the places of one pair that ignore rules leave out of the comparison. Pure.

A rule gives places in each side by itself, because an entry of a list may stand elsewhere in Git
than in the cluster. Both sides lose their places, and then they are compared as ever. A container
that has only ignored fields goes with them, else `{annotations: {}}` would differ from nothing:

    desired             live          rule             compared
    replicas: 1         replicas: 3   /spec/replicas   nothing and nothing: the same
    labels: {a: 1}      none          /.../labels/a    nothing and nothing: the same
    labels: {a: 1}      {b: 2}        /.../labels/a    nothing and {b: 2}, which is not ours
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import msgspec

from handlers.application.ignore_rules import JsonPointer, ObjectRules
from handlers.comparison.normalised_objects import normalise
from handlers.manifest.access import Manifest, get, whole_number
from handlers.ports import LiveObject

FieldPath = tuple[str | int, ...]
"""A place in one document: names of fields, and indexes of lists."""

PathTree = dict[str | int, "PathTree | None"]
"""Paths as a tree of their steps; None: all that is there."""


class IgnoredFields(msgspec.Struct, frozen=True, kw_only=True):
    desired: tuple[FieldPath, ...] = ()
    live: tuple[FieldPath, ...] = ()

    def without(self, desired: Manifest, live: Manifest) -> tuple[Manifest, Manifest]:
        """Leave the ignored fields out of both sides."""
        left, emptied_left = without(desired, self.desired)
        right, emptied_right = without(live, self.live)
        return _without_empty(left, emptied_right), _without_empty(right, emptied_left)


class ObjectSides(NamedTuple):
    """One desired object beside its live object, and what is ignored of both."""

    desired: Manifest
    live: LiveObject | None
    ignored: IgnoredFields | None = None

    def compared(self) -> tuple[Manifest, Manifest]:
        """Return both sides without the ignored fields; `live` has a body."""
        live = self.live.manifest if self.live is not None else {}
        if self.ignored is None:
            return self.desired, live
        return self.ignored.without(normalise(self.desired), live)


def located(document: Manifest, pointer: JsonPointer) -> FieldPath | None:
    """Find the place that a pointer names; None where the document has no such field."""
    here: Any = document
    path: list[str | int] = []
    for token in pointer:
        if isinstance(here, Mapping) and token in here:
            path.append(token)
            here = here[token]
            continue
        index = whole_number(token)
        if not isinstance(here, list) or index is None or index >= len(here):
            return None
        path.append(index)
        here = here[index]
    return tuple(path)


def pointed(document: Manifest, rules: ObjectRules) -> tuple[FieldPath, ...]:
    """Find the places that the pointers of rules name."""
    found = (located(document, pointer) for pointer in rules.pointers)
    return tuple(path for path in found if path)


def path_tree(paths: Iterable[FieldPath]) -> PathTree:
    """Join paths; a path contains those that begin with it."""
    root: PathTree = {}
    for path in sorted(paths, key=len):
        here = root
        for step in path[:-1]:
            below = here.setdefault(step, {})
            if below is None:
                break
            here = below
        else:
            here[path[-1]] = None
    return root


def without(document: Manifest, paths: Iterable[FieldPath]) -> tuple[Manifest, list[FieldPath]]:
    """Leave these fields out, and containers that had nothing else; return those too."""
    tree, emptied = path_tree(paths), list[FieldPath]()
    return (_cut(document, tree, (), emptied) if tree else document), emptied


def trimmed(value: Any, tree: PathTree) -> Any:
    """Leave out of a value what the tree names."""
    return _cut(value, tree, (), []) if tree else value


def _cut(value: Any, tree: PathTree, path: FieldPath, emptied: list[FieldPath]) -> Any:
    if isinstance(value, Mapping):
        return dict(_members(value, tree, path, emptied))
    if isinstance(value, list):
        # An entry stays where it is, though nothing of it may be left: its place has a meaning.
        return [
            _cut(entry, tree.get(index) or {}, (*path, index), emptied)
            for index, entry in enumerate(value)
            if tree.get(index, _KEPT) is not None
        ]
    return value


_KEPT: PathTree = {}


def _members(
    value: Mapping[str, Any], tree: PathTree, path: FieldPath, emptied: list[FieldPath]
) -> Iterable[tuple[str, Any]]:
    for name, inner in value.items():
        below = tree.get(name, _KEPT)
        if below is None:
            continue
        cut = _cut(inner, below, (*path, name), emptied) if below else inner
        if inner and cut in ({}, []):
            emptied.append((*path, name))
        else:
            yield name, cut


def _without_empty(document: Manifest, emptied: Iterable[FieldPath]) -> Manifest:
    """Leave out containers that are empty here, and held nothing but ignored fields there.

    Below an entry of a list the places of the two sides cannot be paired.
    """
    empty = [
        path
        for path in emptied
        if all(isinstance(step, str) for step in path) and get(document, *path) in ({}, [])
    ]
    return without(document, empty)[0] if empty else document
