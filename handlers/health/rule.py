"""A rule is the health of a kind as a value: clauses in order, of which the first that speaks wins.

    Rule(
        Field("spec.suspend", suspended=True),
        Scan(degraded="Ready=False", healthy="Ready=True"),
        When(DEGRADED, Filled("status.error"), message="the backup failed"),
        otherwise=PROGRESSING,
    )

`Scan` visits the conditions in the order of the list, `Conditions` asks pattern by pattern over all
of them: the two differ where several conditions match. See `conditions.pattern` for the patterns.
A clause may be any function from the object to a Health, or to None where it has nothing to say.
Rules are called for every object that a watch brings: what can be looked up is prepared once. Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypedDict, Unpack

from bus.status import HealthStatus
from handlers.health.conditions import (
    CONDITIONS,
    ConditionPattern,
    conditions,
    current,
    message_of,
    pattern,
)
from handlers.health.paths import Path, steps
from handlers.health.predicates import Predicate
from handlers.health.states import Health, unknown
from handlers.manifest.access import Manifest, api_version, get, items, kind, text, version

HEALTHY = HealthStatus.HEALTHY
PROGRESSING = HealthStatus.PROGRESSING
DEGRADED = HealthStatus.DEGRADED
SUSPENDED = HealthStatus.SUSPENDED
UNKNOWN = HealthStatus.UNKNOWN
MISSING = HealthStatus.MISSING

Clause = Callable[[Manifest], Health | None]
"""Gives a health, or None: as a clause it has nothing to say, as a rule the kind has no health."""

Values = str | bool | int | tuple[str | bool | int, ...]


class Outcomes(TypedDict, total=False):
    """What leads to each status; the order in which they are written counts."""

    healthy: Values
    progressing: Values
    degraded: Values
    suspended: Values
    unknown: Values
    missing: Values


def _pairs(outcomes: Outcomes) -> Iterator[tuple[Any, HealthStatus]]:
    for name, values in outcomes.items():
        status = HealthStatus[name.upper()]
        for value in values if isinstance(values, tuple) else (values,):
            yield value, status


def _patterns(outcomes: Outcomes) -> tuple[tuple[ConditionPattern, HealthStatus], ...]:
    return tuple((pattern(written), status) for written, status in _pairs(outcomes))


_WAITING = "the controller has not reported a final state yet"


class Rule:
    """Clauses in order; `otherwise` is the status where none of them speaks, None for no health."""

    __slots__ = ("_clauses", "_otherwise")

    def __init__(self, *clauses: Clause, otherwise: HealthStatus | None = PROGRESSING) -> None:
        self._clauses = clauses
        message = _WAITING if otherwise is PROGRESSING else ""
        self._otherwise = Health(otherwise, message) if otherwise is not None else None

    def __call__(self, manifest: Manifest) -> Health | None:
        for clause in self._clauses:
            found = clause(manifest)
            if found is not None:
                return found
        return self._otherwise


class Scan:
    """The first condition, in the order of the list, that matches a pattern."""

    __slots__ = ("_current", "_path", "_patterns")

    def __init__(
        self, *, at: Path = CONDITIONS, only_current: bool = False, **outcomes: Unpack[Outcomes]
    ) -> None:
        self._patterns = _patterns(outcomes)
        self._path = at
        self._current = only_current
        """Leaves out conditions about another generation of the spec."""

    def __call__(self, manifest: Manifest) -> Health | None:
        listed = current if self._current else conditions
        for entry in listed(manifest, self._path):
            for one, status in self._patterns:
                if one.matches(entry):
                    return Health(status, message_of(entry))
        return None


class Conditions:
    """The first pattern, as they are written, that some condition matches."""

    __slots__ = ("_path", "_patterns")

    def __init__(self, *, at: Path = CONDITIONS, **outcomes: Unpack[Outcomes]) -> None:
        self._patterns = _patterns(outcomes)
        self._path = at

    def __call__(self, manifest: Manifest) -> Health | None:
        entries = conditions(manifest, self._path)
        for one, status in self._patterns:
            for entry in entries:
                if one.matches(entry):
                    return Health(status, message_of(entry))
        return None


class Field:
    """The value of a field, looked up: a phase, a state, a switch."""

    __slots__ = ("_name", "_path", "_statuses")

    def __init__(self, path: Path, **outcomes: Unpack[Outcomes]) -> None:
        self._path = steps(path)
        self._name = self._path[-1]
        self._statuses = {(type(value), value): status for value, status in _pairs(outcomes)}

    def __call__(self, manifest: Manifest) -> Health | None:
        value = get(manifest, *self._path)
        if not isinstance(value, str | bool | int):
            return None
        status = self._statuses.get((type(value), value))
        if status is None:
            return None
        return Health(status, text(manifest, "status", "message") or f"{self._name}: {value}")


class When:
    """A status where all of the predicates are true."""

    __slots__ = ("_message", "_predicates", "_status")

    def __init__(self, status: HealthStatus, *predicates: Predicate, message: str = "") -> None:
        self._status = status
        self._predicates = predicates
        self._message = message

    def __call__(self, manifest: Manifest) -> Health | None:
        if not all(one(manifest) for one in self._predicates):
            return None
        return Health(self._status, self._message or text(manifest, "status", "message"))


class Each:
    """The first item of a list for which a clause speaks; paths of the clauses begin at the item.

    All items are asked about the first clause, then all about the second, and so on.
    """

    __slots__ = ("_clauses", "_path")

    def __init__(self, path: Path, *clauses: Clause) -> None:
        self._path = steps(path)
        self._clauses = clauses

    def __call__(self, manifest: Manifest) -> Health | None:
        found = items(manifest, *self._path)
        healths = (clause(item) for clause in self._clauses for item in found)
        return next((health for health in healths if health is not None), None)


class Versions:
    """A rule that reads the fields of some versions only: an object of another one is Unknown."""

    __slots__ = ("_rule", "_versions")

    def __init__(self, rule: Clause, *versions: str) -> None:
        self._rule = rule
        self._versions = versions

    def __call__(self, manifest: Manifest) -> Health | None:
        if version(manifest) in self._versions:
            return self._rule(manifest)
        group_kind = f"{api_version(manifest).rpartition('/')[0]}/{kind(manifest)}".lstrip("/")
        return unknown(f"unsupported version {api_version(manifest)} of {group_kind}")
