"""ComparisonReader: reads the desired and live objects of an Application and compares them.

The steady comparison costs the API server nothing. The server is asked, by a dry-run apply, only
about single objects that look different, and its answers are kept for as long as both sides stay
as they are.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from msgspec.structs import replace

from bus.identity import ResourceKey
from bus.status import OperationPhase
from handlers.application.application import Application
from handlers.application.argo_settings import ArgoSettings
from handlers.application.denials import denials
from handlers.application.desired_source import pinned_source
from handlers.application.destination import IN_CLUSTER_SERVER
from handlers.application.ignore_rules import IgnoreRules, ObjectRules, ignore_rules
from handlers.application.policy import namespace_differs, sync_options_of_app
from handlers.comparison.comparison import (
    Comparison,
    ComparisonInput,
    DryRunQuestion,
    compared,
    joined,
    questions,
)
from handlers.comparison.ignored_fields import IgnoredFields, pointed
from handlers.comparison.normalised_objects import (
    DesiredObjects,
    desired_of,
    normalise,
    sent,
    without_excluded,
)
from handlers.comparison.object_diff import changes_after_dry_run, same_after_dry_run
from handlers.comparison.object_difference import DiffOutcome, DiffVerdict
from handlers.control_plane.governance import Governance
from handlers.manifest import access
from handlers.manifest.exclusions import exclusion
from handlers.manifest.manifest_assembly import objects_of
from handlers.manifest.tracking import app_identity
from handlers.ports import (
    ApplyOptions,
    ApplyRefusedError,
    Apps,
    Artifacts,
    ClusterUnreachableError,
    ClusterWriter,
    LiveObject,
    LiveState,
    Manifest,
    Renders,
)
from handlers.ports.rendering import RenderRecord

T = TypeVar("T")

_REMEMBERED = 20_000
_AT_ONCE = 8
_RECENT, _SMALL = 64, 32 * 1024
"""Artifacts kept decoded: as many as are in use at once, and none that takes much memory."""


@dataclass(slots=True, kw_only=True)
class ComparisonReader:
    """Shared by compare, decide, step and the preview of the bridge, with one memory of answers."""

    apps: Apps
    renders: Renders
    artifacts: Artifacts
    live: LiveState
    cluster: ClusterWriter
    governance: Governance
    control_namespace: str
    settings: Callable[[], ArgoSettings] = ArgoSettings
    _answers: OrderedDict[DryRunQuestion, DiffOutcome] = field(default_factory=OrderedDict)
    _recent: OrderedDict[bytes, DesiredObjects] = field(default_factory=OrderedDict)
    """By the artifact itself, whose bytes are the same object for one handler after the other."""

    async def read(self, app: Application) -> Comparison | None:
        """Compare with the last render; None where the desired state must be rendered first.

        Raises ClusterUnreachableError.
        """
        record = self.renders.recall(app.key)
        if record is None or record.pinned_source != pinned_source(app):
            return None
        content = await self.artifacts.get(record.digest)
        if content is None:
            return None
        return await self.compare(app, record, content)

    async def compare(self, app: Application, record: RenderRecord, content: bytes) -> Comparison:
        """Compare the live objects with these manifests, which need not be the last render.

        Raises ClusterUnreachableError.
        """
        inputs = self._inputs(app, record, content)
        summary = compared(inputs, self._answers)
        asked = questions(summary, inputs, deployed=_is_deployed(app, inputs))
        open_ = {key: one for key, one in asked.items() if one not in self._answers}
        if open_:
            await self._ask(open_, inputs)
            summary = compared(inputs, self._answers)
        comparison = joined(summary, inputs)
        holding = self.settings().holding(app, (one.key for one in comparison.pairs))
        return replace(
            comparison,
            held_by_settings=holding,
            rule_problems=self._rules(app).problems,
            namespace_differs=namespace_differs(app),
        )

    def _rules(self, app: Application) -> IgnoreRules:
        return ignore_rules(app.spec.ignore_differences, ())

    def _inputs(self, app: Application, record: RenderRecord, content: bytes) -> ComparisonInput:
        """Read both sides, without what the settings exclude and the owner's policy denies.

        A live object that the policy denies is left out: it must not even be seen as extra.
        """
        is_excluded = exclusion(self.settings().resources, IN_CLUSTER_SERVER)
        desired, excluded = without_excluded(self._desired(content), is_excluded)
        lives = {one.key: one for one in self.live.tracked(app.key) if not is_excluded(one.key)}
        here = ((key, self.live.get(key)) for key in desired.keys)
        lives |= {key: one for key, one in here if one is not None}
        held = self.governance.denials(app, desired.keys | lives.keys())
        lives = {key: one for key, one in lives.items() if key not in held}
        project = self.apps.project(app.spec.project)
        rules = _concerned(self._rules(app), desired)
        return ComparisonInput(
            record=record,
            desired=desired,
            lives=lives,
            identity=app_identity(app.key, self.control_namespace),
            denied={**denials(app, project, desired.keys | lives.keys()), **held},
            excluded=excluded,
            takes_over=sync_options_of_app(app).takes_over,
            rules=rules,
            ignored=_ignored(rules, desired, lives),
        )

    def _desired(self, content: bytes) -> DesiredObjects:
        """Decode an artifact, or take it from memory: handlers ask for it one after the other."""
        known = self._recent.get(content)
        if known is None:
            known = desired_of(objects_of(content))
            if len(content) <= _SMALL:
                self._recent[content] = known
            if len(self._recent) > _RECENT:
                self._recent.popitem(last=False)
        return known

    async def _ask(
        self, asked: Mapping[ResourceKey, DryRunQuestion], inputs: ComparisonInput
    ) -> None:
        at_once = asyncio.Semaphore(_AT_ONCE)
        for answer in await gathered(
            self._answer(question, inputs.desired.objects[key], inputs.lives[key], at_once)
            for key, question in asked.items()
        ):
            if isinstance(answer, ClusterUnreachableError):
                raise answer
        while len(self._answers) > _REMEMBERED:
            self._answers.popitem(last=False)

    async def _answer(
        self,
        question: DryRunQuestion,
        desired: Manifest,
        live: LiveObject,
        at_once: asyncio.Semaphore,
    ) -> ClusterUnreachableError | None:
        """Ask the server once; what it refuses to try counts as different: applying it says why."""
        async with at_once:
            try:
                result = await self.cluster.apply(sent(desired), ApplyOptions(dry_run=True))
                if access.version(desired) != live.version:
                    live = await self.cluster.read(live, access.version(desired))
            except ClusterUnreachableError as error:
                return error
            except ApplyRefusedError:
                self._answers[question] = DiffOutcome(verdict=DiffVerdict.DIFFERENT)
                return None
        self._answers[question] = _outcome(result.manifest, live.manifest, question.rules)
        return None


async def gathered(calls: Iterable[Coroutine[Any, Any, T]]) -> Sequence[T]:
    """Run calls at once and return their results in order; this call owns their tasks."""
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(call) for call in calls]
    return [task.result() for task in tasks]


def _concerned(rules: IgnoreRules, desired: DesiredObjects) -> Mapping[ResourceKey, ObjectRules]:
    """The ignore rules by desired object, of those that have any."""
    found = ((key, rules.of(key)) for key in desired.objects) if rules else ()
    return {key: one for key, one in found if one is not None}


def _ignored(
    rules: Mapping[ResourceKey, ObjectRules],
    desired: DesiredObjects,
    lives: Mapping[ResourceKey, LiveObject],
) -> Mapping[ResourceKey, IgnoredFields]:
    return {
        key: _ignored_of(one, normalise(desired.objects[key]), lives[key].manifest)
        for key, one in rules.items()
        if key in lives and lives[key].body
    }


def _ignored_of(rules: ObjectRules, left: Manifest, right: Manifest) -> IgnoredFields:
    return IgnoredFields(desired=pointed(left, rules), live=pointed(right, rules))


def _outcome(result: Manifest, live: Manifest, rules: ObjectRules | None) -> DiffOutcome:
    if rules is not None:
        result, live = _ignored_of(rules, result, live).without(result, live)
    if same_after_dry_run(result, live):
        return DiffOutcome(verdict=DiffVerdict.SAME)
    changes = changes_after_dry_run(result, live)
    return DiffOutcome(verdict=DiffVerdict.DIFFERENT, differences=changes)


def _is_deployed(app: Application, inputs: ComparisonInput) -> bool:
    state = app.status.operation_state
    if state is None or state.sync_result is None or state.phase != OperationPhase.SUCCEEDED:
        return False
    return state.sync_result.revision == inputs.record.revision
