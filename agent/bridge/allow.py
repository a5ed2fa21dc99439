"""Allow: what this control plane may do here, said by who owns the cluster. Pure.

The ConfigMap `gitops-agent-limits` of the control namespace is read before anything a task asks
for; the service cannot change or exceed it. Without one everything that this version does is
allowed, at a hundred tasks a minute. One that cannot be understood allows nothing that writes.

    kinds: sync, refresh, tree        tasks that may be done; `*` is all (default)
    namespaces: shop-*, blog          namespaces they may touch, patterns; `*` is all (default)
    maxPerMinute: "60"                tasks begun in any minute
    readOnly: "true"                  nothing that writes
    configMaps: shop/*                ConfigMaps (namespace/name) whose data may be shown
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

import msgspec

from bus.link import TaskKind

CONFIG_MAP = "gitops-agent-limits"
_PER_MINUTE = 100
_MOST_PER_MINUTE = 10_000
_MINUTE = 60.0
_YES, _NO = ("true", "yes", "on"), ("false", "no", "off", "")
_KEYS = frozenset({"kinds", "namespaces", "maxPerMinute", "readOnly", "configMaps"})


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    kinds: tuple[str, ...] = ("*",)
    namespaces: tuple[str, ...] = ("*",)
    max_per_minute: int = _PER_MINUTE
    read_only: bool = False
    config_maps: tuple[str, ...] = ()
    problem: str = ""
    """What cannot be understood: then nothing that writes is done."""

    def refusal(self, kind: TaskKind, namespaces: tuple[str, ...]) -> str:
        """Why not, naming the rule; empty where it is allowed."""
        if kind.writes and self.problem:
            return f"{CONFIG_MAP} cannot be understood ({self.problem}): nothing is changed here"
        if kind.writes and self.read_only:
            return f"{CONFIG_MAP} says readOnly: this agent only tells what it sees"
        if not ({"*", kind.value} & set(self.kinds)):
            return f"{CONFIG_MAP} does not allow tasks of kind {kind.value}"
        for namespace in namespaces:
            if not any(fnmatchcase(namespace, pattern) for pattern in self.namespaces):
                return f"{CONFIG_MAP} does not allow namespace {namespace or '(cluster)'}"
        return ""

    def shown(self) -> dict[str, object]:
        """For Hello.allowed."""
        return {
            "kinds": list(self.kinds),
            "namespaces": list(self.namespaces),
            "maxPerMinute": self.max_per_minute,
            "readOnly": self.read_only or bool(self.problem),
            "configMaps": list(self.config_maps),
            **({"problem": self.problem} if self.problem else {}),
        }


def read_limits(data: Mapping[str, str] | None) -> Limits:
    """None: there is no ConfigMap."""
    if data is None:
        return Limits()
    problems: list[str] = [f"unknown key {key[:40]!r}" for key in sorted(set(data) - _KEYS)]
    kinds = _words(data.get("kinds", "*"))
    known = {"*", *(kind.value for kind in TaskKind)}
    problems += [f"unknown kind {kind[:40]!r}" for kind in kinds if kind not in known]
    read_only = _switch(data.get("readOnly", ""), problems)
    return Limits(
        kinds=kinds,
        namespaces=_words(data.get("namespaces", "*")),
        max_per_minute=_number(data.get("maxPerMinute", str(_PER_MINUTE)), problems),
        read_only=read_only,
        config_maps=_words(data.get("configMaps", "")),
        problem="; ".join(problems),
    )


@dataclass(slots=True)
class Rate:
    """So many in any minute."""

    _begun: deque[float] = field(default_factory=deque)

    def admits(self, limit: int, now: float) -> bool:
        """Counts it where it does."""
        while self._begun and now - self._begun[0] >= _MINUTE:
            self._begun.popleft()
        if len(self._begun) >= limit:
            return False
        self._begun.append(now)
        return True


def _words(text: str) -> tuple[str, ...]:
    return tuple(word for part in text.replace("\n", ",").split(",") if (word := part.strip()))


def _switch(text: str, problems: list[str]) -> bool:
    word = text.strip().lower()
    if word not in (*_YES, *_NO):
        problems.append("readOnly is neither true nor false")
    return word not in _NO


def _number(text: str, problems: list[str]) -> int:
    if text.strip().isdigit() and int(text) <= _MOST_PER_MINUTE:
        return int(text)
    problems.append(f"maxPerMinute is no number up to {_MOST_PER_MINUTE}")
    return _PER_MINUTE
