"""Ignore rules say which fields of which objects take no part in the comparison. Pure.

Argo CD's `ignoreDifferences`: an Application has rules of its own, `argocd-cm` has rules for all
Applications, and they add up. Group and kind are globs, name and namespace are exact or empty for
any. A rule that cannot be understood is a problem with its place, never dropped in silence.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache

import msgspec

from bus.identity import ResourceKey
from handlers.application.address_pattern import matches
from handlers.application.spec import IgnoreDifference

JsonPointer = tuple[str, ...]
"""The unescaped tokens of a JSON pointer (RFC 6901)."""


class JqExpression(msgspec.Struct, frozen=True):
    """An expression whose paths are ignored, and where it is written."""

    text: str
    place: str


class ObjectRules(msgspec.Struct, frozen=True, kw_only=True):
    """All rules that concern one object, together."""

    pointers: tuple[JsonPointer, ...] = ()
    expressions: tuple[JqExpression, ...] = ()
    managers: tuple[str, ...] = ()
    """Field managers whose fields are ignored where they differ."""


class IgnoreRule(msgspec.Struct, frozen=True, kw_only=True):
    """One rule as it was read; `problems` says which parts of it have no effect, and why."""

    group: str = ""
    kind: str = ""
    name: str = ""
    namespace: str = ""
    fields: ObjectRules = ObjectRules()
    problems: tuple[str, ...] = ()

    def concerns(self, key: ResourceKey) -> bool:
        """Whether the rule is about this object of its kind."""
        return self.name in ("", key.name) and self.namespace in ("", key.namespace)


@dataclass(frozen=True, slots=True)
class IgnoreRules:
    """The rules of one Application and of the settings; false where there are none."""

    rules: tuple[IgnoreRule, ...] = ()
    _of_kind: dict[tuple[str, str], tuple[IgnoreRule, ...]] = field(
        default_factory=dict, compare=False, repr=False
    )

    def __bool__(self) -> bool:
        return bool(self.rules)

    @property
    def problems(self) -> tuple[str, ...]:
        return tuple(problem for rule in self.rules for problem in rule.problems)

    @property
    def expressions(self) -> tuple[JqExpression, ...]:
        return tuple(one for rule in self.rules for one in rule.fields.expressions)

    def of(self, key: ResourceKey) -> ObjectRules | None:
        """Join the rules that concern an object; None where none does."""
        kind = (key.group, key.kind)
        rules = self._of_kind.get(kind)
        if rules is None:
            rules = self._of_kind[kind] = tuple(_of_kind(self.rules, key))
        found = tuple(rule.fields for rule in rules if rule.concerns(key))
        return _joined(found) if found else None


def ignore_rules(
    written: tuple[IgnoreDifference, ...], of_settings: tuple[IgnoreRule, ...]
) -> IgnoreRules:
    """Join the rules of an Application's spec with those of the settings."""
    return _ignore_rules(written, of_settings) if written or of_settings else NO_RULES


NO_RULES = IgnoreRules()


@lru_cache(maxsize=512)
def _ignore_rules(
    written: tuple[IgnoreDifference, ...], of_settings: tuple[IgnoreRule, ...]
) -> IgnoreRules:
    own = (read_rule(one, f"spec.ignoreDifferences[{i}]") for i, one in enumerate(written))
    return IgnoreRules((*own, *of_settings))


def read_rule(written: IgnoreDifference, place: str) -> IgnoreRule:
    """Read one entry; `place` is where it is written."""
    pointers: list[JsonPointer] = []
    problems: list[str] = []
    for number, text in enumerate(written.json_pointers):
        pointer = read_pointer(text)
        if pointer is None:
            problems.append(f"{place}.jsonPointers[{number}]: {text!r} {_NO_POINTER}")
        else:
            pointers.append(pointer)
    expressions = (
        JqExpression(text, f"{place}.jqPathExpressions[{number}]")
        for number, text in enumerate(written.jq_path_expressions)
    )
    fields = ObjectRules(
        pointers=tuple(pointers),
        expressions=tuple(expressions),
        managers=written.managed_fields_managers,
    )
    return IgnoreRule(
        group=written.group,
        kind=written.kind,
        name=written.name,
        namespace=written.namespace,
        fields=fields,
        problems=tuple(problems),
    )


_NO_POINTER = (
    "is no JSON pointer to a field, so it ignores nothing; it must begin with '/', as in "
    "'/spec/replicas', with ~1 for '/' and ~0 for '~' in a name"
)


def read_pointer(text: str) -> JsonPointer | None:
    """Split a pointer into its tokens; None for a text that names no field of an object."""
    tokens = text.split("/")
    if len(tokens) < 2 or tokens[0] or any(_is_malformed(token) for token in tokens):
        return None
    return tuple(token.replace("~1", "/").replace("~0", "~") for token in tokens[1:])


def _is_malformed(token: str) -> bool:
    return "~" in token.replace("~0", "").replace("~1", "")


def _of_kind(rules: Iterable[IgnoreRule], key: ResourceKey) -> Iterable[IgnoreRule]:
    return (one for one in rules if matches(one.group, key.group) and matches(one.kind, key.kind))


def _joined(found: tuple[ObjectRules, ...]) -> ObjectRules:
    if len(found) == 1:
        return found[0]
    return ObjectRules(
        pointers=tuple(dict.fromkeys(it for one in found for it in one.pointers)),
        expressions=tuple(it for one in found for it in one.expressions),
        managers=tuple(dict.fromkeys(it for one in found for it in one.managers)),
    )
