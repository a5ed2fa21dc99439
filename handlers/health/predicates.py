"""Predicates are yes-or-no questions to an object, for the clause `When` of a rule. Pure.

Each is a value that is called with the object. A field of another type than expected is an absent
one: what others wrote may be malformed anywhere.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from handlers.health.conditions import CONDITIONS, conditions, is_current, pattern
from handlers.health.paths import Path, steps
from handlers.manifest.access import Manifest, get

Predicate = Callable[[Manifest], bool]
_SCALARS = (str, int)


class Has:
    """A condition matches one of the patterns."""

    __slots__ = ("_path", "_patterns")

    def __init__(self, *patterns: str, at: Path = CONDITIONS) -> None:
        self._patterns = tuple(map(pattern, patterns))
        self._path = at

    def __call__(self, manifest: Manifest) -> bool:
        entries = conditions(manifest, self._path)
        return any(one.matches(entry) for entry in entries for one in self._patterns)


class HasAll:
    """Each of the patterns is matched by some condition."""

    __slots__ = ("_patterns",)

    def __init__(self, *patterns: str) -> None:
        self._patterns = tuple(map(pattern, patterns))

    def __call__(self, manifest: Manifest) -> bool:
        return _matched(self._patterns, manifest) == len(self._patterns)


class AtLeast:
    """So many of the patterns are matched by some condition."""

    __slots__ = ("_least", "_patterns")

    def __init__(self, least: int, *patterns: str) -> None:
        self._least = least
        self._patterns = tuple(map(pattern, patterns))

    def __call__(self, manifest: Manifest) -> bool:
        return _matched(self._patterns, manifest) >= self._least


def _matched(patterns: tuple[Any, ...], manifest: Manifest) -> int:
    entries = conditions(manifest)
    return sum(any(one.matches(entry) for entry in entries) for one in patterns)


class Is:
    """A field has one of the values."""

    __slots__ = ("_path", "_values")

    def __init__(self, path: Path, *values: str | int) -> None:
        self._path = steps(path)
        self._values = frozenset(values)

    def __call__(self, manifest: Manifest) -> bool:
        found = get(manifest, *self._path)
        return isinstance(found, _SCALARS) and found in self._values


class On:
    """A switch is true."""

    __slots__ = ("_path",)

    def __init__(self, path: Path) -> None:
        self._path = steps(path)

    def __call__(self, manifest: Manifest) -> bool:
        return get(manifest, *self._path) is True


class StartsWith:
    """A text begins with one of the words."""

    __slots__ = ("_path", "_words")

    def __init__(self, path: Path, *words: str) -> None:
        self._path = steps(path)
        self._words = words

    def __call__(self, manifest: Manifest) -> bool:
        found = get(manifest, *self._path)
        return isinstance(found, str) and found.startswith(self._words)


class Present:
    """A field is there, even if it is empty."""

    __slots__ = ("_path",)

    def __init__(self, path: Path) -> None:
        self._path = steps(path)

    def __call__(self, manifest: Manifest) -> bool:
        return get(manifest, *self._path) is not None


class Filled:
    """A field is there, and no empty text, list or mapping."""

    __slots__ = ("_path",)

    def __init__(self, path: Path) -> None:
        self._path = steps(path)

    def __call__(self, manifest: Manifest) -> bool:
        return get(manifest, *self._path) not in (None, "", [], {})


class Positive:
    """A number is above zero."""

    __slots__ = ("_path",)

    def __init__(self, path: Path) -> None:
        self._path = steps(path)

    def __call__(self, manifest: Manifest) -> bool:
        found = get(manifest, *self._path)
        return isinstance(found, int | float) and found > 0


class Equal:
    """Two fields are equal."""

    __slots__ = ("_one", "_other")

    def __init__(self, one: Path, other: Path) -> None:
        self._one, self._other = steps(one), steps(other)

    def __call__(self, manifest: Manifest) -> bool:
        return bool(get(manifest, *self._one) == get(manifest, *self._other))


class Not:
    """The predicate is false."""

    __slots__ = ("_predicate",)

    def __init__(self, predicate: Predicate) -> None:
        self._predicate = predicate

    def __call__(self, manifest: Manifest) -> bool:
        return not self._predicate(manifest)


class Either:
    """One of the predicates is true."""

    __slots__ = ("_predicates",)

    def __init__(self, *predicates: Predicate) -> None:
        self._predicates = predicates

    def __call__(self, manifest: Manifest) -> bool:
        return any(one(manifest) for one in self._predicates)


def stale(manifest: Manifest) -> bool:
    """The status is about another generation of the spec, or does not say about which."""
    generation = get(manifest, "metadata", "generation")
    return bool(get(manifest, "status", "observedGeneration") != generation)


def reported_stale(manifest: Manifest) -> bool:
    """The status says that it is about another generation of the spec."""
    return get(manifest, "status", "observedGeneration") is not None and stale(manifest)


def stale_condition(manifest: Manifest) -> bool:
    """A condition says that it is about another generation of the spec."""
    return not all(is_current(entry, manifest) for entry in conditions(manifest))
