"""DryRuns asks the server about single objects that look different, and keeps its answers.

An answer holds for as long as both objects and the ignore rules stay as they are. What the server
answers is compared with the live object without the fields that the rules ignore.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar

from bus.identity import ResourceKey
from handlers.comparison.comparison import ComparisonInput, DryRunQuestion
from handlers.comparison.ignored_fields_reader import IgnoredFieldsReader, ruled_pair
from handlers.comparison.normalised_objects import sent
from handlers.comparison.object_diff import changes_after_dry_run, same_after_dry_run
from handlers.comparison.object_difference import DiffOutcome, DiffVerdict
from handlers.manifest import access
from handlers.ports import (
    ApplyOptions,
    ApplyRefusedError,
    ClusterWriter,
    LiveObject,
    Manifest,
    UnavailableError,
)

T = TypeVar("T")

_REMEMBERED = 20_000
_AT_ONCE = 8
_FORBIDDEN = 403


class OpenQuestion(NamedTuple):
    """A question without an answer yet, and the objects that it is about."""

    question: DryRunQuestion
    key: ResourceKey
    desired: Manifest
    live: LiveObject


@dataclass(slots=True, kw_only=True)
class DryRuns:
    ignored_fields: IgnoredFieldsReader
    answers: OrderedDict[DryRunQuestion, DiffOutcome] = field(default_factory=OrderedDict)
    forbidden: set[DryRunQuestion] = field(default_factory=set)
    """Questions that nobody had the right to ask: their answers hold for one comparison only."""

    def forget_forbidden(self) -> None:
        """Ask again next time: the right may be granted, and nothing else would show it."""
        for question in self.forbidden:
            self.answers.pop(question, None)
        self.forbidden.clear()

    async def ask(
        self,
        questions: Mapping[ResourceKey, DryRunQuestion],
        inputs: ComparisonInput,
        writer: ClusterWriter,
        *,
        project: str,
    ) -> None:
        """Ask all that has no answer; raises UnavailableError."""
        at_once = asyncio.Semaphore(_AT_ONCE)
        objects, lives = inputs.desired.objects, inputs.lives
        asked = (
            OpenQuestion(question, key, objects[key], lives[key])
            for key, question in questions.items()
        )
        for answer in await gathered(self._answer(one, at_once, writer, project) for one in asked):
            if isinstance(answer, UnavailableError):
                raise answer
        while len(self.answers) > _REMEMBERED:
            self.answers.popitem(last=False)

    async def _answer(
        self, asked: OpenQuestion, at_once: asyncio.Semaphore, writer: ClusterWriter, project: str
    ) -> UnavailableError | None:
        """Ask the server once; what it refuses to try counts as different: applying it says why."""
        async with at_once:
            try:
                self.answers[asked.question] = await self._outcome(asked, writer, project)
            except UnavailableError as error:
                return error
            except ApplyRefusedError as error:
                self.answers[asked.question] = DiffOutcome(verdict=DiffVerdict.DIFFERENT)
                if error.code == _FORBIDDEN:
                    self.forbidden.add(asked.question)
        return None

    async def _outcome(
        self, asked: OpenQuestion, writer: ClusterWriter, project: str
    ) -> DiffOutcome:
        desired, live = asked.desired, asked.live
        result = await writer.apply(sent(desired), ApplyOptions(dry_run=True))
        if access.version(desired) != live.version:
            live = await writer.read(live, access.version(desired))
        left, right = result.manifest, live.manifest
        if (rules := asked.question.rules) is not None:
            pair = ruled_pair(asked.key, rules, left, right)
            found = await self.ignored_fields.read((pair,), project=project)
            found = await self.ignored_fields.with_managed(((pair, live),), found, writer)
            if ignored := found.fields.get(asked.key):
                left, right = ignored.without(left, right)
        if same_after_dry_run(left, right):
            return DiffOutcome(verdict=DiffVerdict.SAME)
        changes = changes_after_dry_run(left, right)
        return DiffOutcome(verdict=DiffVerdict.DIFFERENT, differences=changes)


async def gathered(calls: Iterable[Coroutine[Any, Any, T]]) -> Sequence[T]:
    """Run calls at once and return their results in order; this call owns their tasks."""
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(call) for call in calls]
    return [task.result() for task in tasks]
