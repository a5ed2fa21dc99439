"""IgnoredFieldsReader finds the fields that ignore rules name, in both sides of each pair.

JSON pointers are followed here. jq expressions are evaluated in the sandbox, and the answer is kept
for as long as expression and document stay as they are, so the steady state asks nothing. Fields of
trusted managers are read from the API server, and only of objects that look different without them:
the index keeps no managedFields. An expression that fails on an object is left out there, as in
Argo CD, and is a problem to be shown; one that does not compile stops the comparison.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar

import msgspec

from bus.identity import Digest, ResourceKey, digest_of
from handlers.application.ignore_rules import IgnoreRules, JqExpression, ObjectRules
from handlers.comparison.desired_objects import DesiredObjects
from handlers.comparison.earlier_managers import Fields, union
from handlers.comparison.ignored_fields import FieldPath, IgnoredFields, pointed
from handlers.comparison.managed_paths import managed_paths
from handlers.comparison.normalised_objects import normalise
from handlers.manifest.access import Manifest, mapping, text
from handlers.ports import ApplyRefusedError, ClusterWriter, JqPaths, JqResult, LiveObject

K = TypeVar("K")
V = TypeVar("V")

_REMEMBERED = 20_000
_EXPRESSIONS = 2_000


class RuledPair(NamedTuple):
    """Both sides of one object as they are compared, and the rules that concern it."""

    key: ResourceKey
    rules: ObjectRules
    desired: Manifest
    live: Manifest


class IgnoredRead(NamedTuple):
    """The ignored fields by object, and the expressions that failed on some."""

    fields: Mapping[ResourceKey, IgnoredFields]
    problems: tuple[str, ...] = ()


class IgnoreRuleError(Exception):
    """A rule cannot be understood, so what it ignores is not known: a person must correct it."""


_Question = tuple[Digest, tuple[str, ...]]


@dataclass(slots=True, kw_only=True)
class IgnoredFieldsReader:
    jq: JqPaths
    _answers: OrderedDict[_Question, Sequence[JqResult]] = field(default_factory=OrderedDict)
    _compiled: OrderedDict[str, str] = field(default_factory=OrderedDict)
    """Why an expression does not compile; empty where it does."""
    _managed: OrderedDict[tuple[str, str], Sequence[Manifest]] = field(default_factory=OrderedDict)

    async def check(self, rules: IgnoreRules, *, project: str) -> None:
        """Raise IgnoreRuleError for the first expression that does not compile.

        Raises JqBusyError.
        """
        texts = dict.fromkeys(one.text for one in rules.expressions)
        unknown = [text for text in texts if text not in self._compiled]
        if unknown:
            found = await self.jq.problems(unknown, project=project)
            _remember(self._compiled, zip(unknown, found, strict=True), _EXPRESSIONS)
        for one in rules.expressions:
            if problem := self._compiled.get(one.text, ""):
                raise IgnoreRuleError(
                    f"{one.place}: {one.text!r} is no valid jq expression: {problem}. Correct or "
                    "remove the rule; until then nothing is compared and no automated sync starts"
                )

    async def read(self, pairs: Sequence[RuledPair], *, project: str) -> IgnoredRead:
        """Find what pointers and expressions name; raises JqBusyError."""
        problems: dict[JqExpression, str] = {}
        desired = await self._of_sides([(it, it.desired) for it in pairs], project, problems)
        live = await self._of_sides([(it, it.live) for it in pairs], project, problems)
        fields = {
            pair.key: IgnoredFields(desired=left, live=right)
            for pair, left, right in zip(pairs, desired, live, strict=True)
            if left or right
        }
        return IgnoredRead(fields, tuple(problems.values()))

    async def with_managed(
        self,
        pairs: Iterable[tuple[RuledPair, LiveObject]],
        found: IgnoredRead,
        writer: ClusterWriter,
    ) -> IgnoredRead:
        """Add the fields of trusted managers; raises ClusterUnreachableError."""
        fields, problems = dict(found.fields), list(found.problems)
        for pair, live in pairs:
            if not pair.rules.managers:
                continue
            try:
                managed = await self._managed_fields(live, pair.rules.managers, writer)
            except ApplyRefusedError as error:
                problems.append(_unread(pair, error))
                continue
            left, right = managed_paths(managed, pair.desired, pair.live)
            known = fields.get(pair.key, IgnoredFields())
            fields[pair.key] = IgnoredFields(
                desired=(*known.desired, *left), live=(*known.live, *right)
            )
        return IgnoredRead(fields, tuple(problems))

    async def _of_sides(
        self,
        sides: Sequence[tuple[RuledPair, Manifest]],
        project: str,
        problems: dict[JqExpression, str],
    ) -> list[tuple[FieldPath, ...]]:
        answers = await self._evaluated(sides, project)
        return [
            (
                *pointed(document, pair.rules),
                *_expressed(pair, answers.get(index, ()), problems),
            )
            for index, (pair, document) in enumerate(sides)
        ]

    async def _evaluated(
        self, sides: Sequence[tuple[RuledPair, Manifest]], project: str
    ) -> Mapping[int, Sequence[JqResult]]:
        """Answer from memory, or ask the sandbox: one call for all documents with equal rules."""
        asked: dict[tuple[str, ...], dict[Digest, bytes]] = {}
        questions: dict[int, _Question] = {}
        for index, (pair, document) in enumerate(sides):
            if not pair.rules.expressions:
                continue
            content = msgspec.json.encode(document)
            texts = tuple(one.text for one in pair.rules.expressions)
            questions[index] = question = (digest_of(content), texts)
            if question not in self._answers:
                asked.setdefault(texts, {})[question[0]] = content
        found: dict[_Question, Sequence[JqResult]] = {
            one: self._answers[one] for one in questions.values() if one in self._answers
        }
        for texts, documents in asked.items():
            results = await self.jq.paths(texts, tuple(documents.values()), project=project)
            fresh = {
                (digest, texts): result for digest, result in zip(documents, results, strict=True)
            }
            found |= fresh
            kept = ((it, some) for it, some in fresh.items() if not _overran(some))
            _remember(self._answers, kept, _REMEMBERED)
        return {index: found[question] for index, question in questions.items()}

    async def _managed_fields(
        self, live: LiveObject, managers: Iterable[str], writer: ClusterWriter
    ) -> Fields:
        version = (live.uid, live.resource_version)
        entries = self._managed.get(version)
        if entries is None:
            entries = await writer.managed_fields(live)
            _remember(self._managed, [(version, entries)], _REMEMBERED // 10)
        trusted, fields = frozenset(managers), dict[str, Any]()
        for entry in entries:
            if text(entry, "manager") in trusted:
                fields = union(fields, mapping(entry, "fieldsV1"))
        return fields


def ruled_pair(
    key: ResourceKey, rules: ObjectRules, desired: Manifest, live: Manifest
) -> RuledPair:
    """Pair both sides in the form in which they are compared."""
    return RuledPair(key, rules, normalise(desired), live)


def ruled_pairs(
    rules: Mapping[ResourceKey, ObjectRules],
    desired: DesiredObjects,
    lives: Mapping[ResourceKey, LiveObject],
) -> tuple[RuledPair, ...]:
    """Pair the objects that have rules and are on both sides."""
    return tuple(
        ruled_pair(key, one, desired.objects[key], lives[key].manifest)
        for key, one in rules.items()
        if key in lives and lives[key].body
    )


def _unread(pair: RuledPair, error: ApplyRefusedError) -> str:
    trusted = ", ".join(pair.rules.managers)
    return (
        f"managedFieldsManagers {trusted}: their fields of {pair.key.kind} {pair.key.name} cannot "
        f"be read: {error.message}; they count as differences"
    )


def _expressed(
    pair: RuledPair, results: Sequence[JqResult], problems: dict[JqExpression, str]
) -> Iterable[FieldPath]:
    for expression, result in zip(pair.rules.expressions, results, strict=False):
        if result.problem:
            text = f"{expression.text!r} failed on {pair.key.kind} {pair.key.name}"
            left_out = "it ignores nothing there, so what it names counts as a difference"
            message = f"{expression.place}: {text}: {result.problem}; {left_out}"
            problems.setdefault(expression, message)
        yield from result.paths


def _overran(results: Sequence[JqResult]) -> bool:
    """Whether a limit was met, which says little about the document and is not kept for it."""
    return any(one.overran for one in results)


def _remember(memory: OrderedDict[K, V], fresh: Iterable[tuple[K, V]], most: int) -> None:
    for key, value in fresh:
        memory[key] = value
    while len(memory) > most:
        memory.popitem(last=False)
