"""DiffExecutor: the difference between desired and live manifests, and the preview of a sync.

Differences are taken between redacted objects: a mask differs where its value does, and fields that
are not shown are not compared. The intents of a preview come from the plan of a real sync.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import msgspec
from msgspec.structs import replace

from agent.bridge.reporting.object_nodes import VisibleObjects
from agent.bridge.tasks.executors.desired_state import DesiredState, as_deployed, deployed_before
from agent.bridge.tasks.executors.overrides import check_options
from agent.bridge.tasks.executors.task_subjects import TaskSubjects
from agent.bridge.tasks.task_context import TaskContext, TaskFailedError
from bus.identity import ResourceKey
from bus.link import DiffArguments, LinkTask
from bus.status import ResultStatus
from handlers.application.application import Application
from handlers.application.revisions import Revisions
from handlers.application.spec import SyncOperation, SyncResource
from handlers.comparison.comparison import ComparedPair, Comparison, PairState
from handlers.comparison.ignored_fields_reader import IgnoreRuleError
from handlers.comparison.normalised_objects import sent
from handlers.comparison.object_diff import diff
from handlers.comparison.owned_fields import parse_fields
from handlers.comparison.reader import ComparisonReader
from handlers.manifest import access
from handlers.manifest.access import Manifest
from handlers.manifest.hooks import HookPhase, phases_of
from handlers.manifest.options import SyncOptions
from handlers.ports.rendering import RenderError
from handlers.render.evaluation import RenderEvaluation
from handlers.report.items import LARGEST
from handlers.report.redaction import Redaction
from handlers.sync.destination_namespace import (
    DestinationNamespace,
    destination_namespace,
    namespace_key,
    namespace_work,
)
from handlers.sync.hook_tasks import PHASES
from handlers.sync.resource_selection import is_selected
from handlers.sync.sync_plan import SyncAction, SyncTask
from handlers.sync.sync_work import options_of, work_of

_UNMODIFIED = (PairState.SAME, PairState.LEAVING)


@dataclass(frozen=True, slots=True, kw_only=True)
class DiffExecutor:
    subjects: TaskSubjects
    desired_state: DesiredState
    comparisons: ComparisonReader
    objects: VisibleObjects
    redaction: Callable[[], Redaction]

    async def __call__(self, task: LinkTask, args: DiffArguments, _context: TaskContext) -> object:
        """Of all objects that differ, or of those named; a preview also says what a sync would do.

        At whatever revision: one that is not rendered is rendered to be looked at.
        """
        app = self.subjects.app(task)
        check_options(args.options)
        evaluation = await self.desired_state.at(*_previewed(app, args))
        comparison = await self._compared(app, evaluation)
        redaction = self.redaction()
        seen = [one for one in _differing(comparison, args) if not self.objects.is_hidden(one.key)]
        objects = [_difference(pair, redaction) for pair in seen]
        record = comparison.record
        answer = {
            "revision": record.revision,
            "revisions": list(record.revisions.revisions),
            "objects": fitting(objects),
        }
        return (
            {**answer, "intents": self._intents(app, comparison, args)} if args.preview else answer
        )

    async def _compared(self, app: Application, evaluation: RenderEvaluation) -> Comparison:
        try:
            return await self.comparisons.compare(app, evaluation.record, evaluation.content)
        except (IgnoreRuleError, RenderError) as error:
            raise TaskFailedError("invalid", str(error)) from error

    def _intents(
        self, app: Application, comparison: Comparison, args: DiffArguments
    ) -> tuple[Intent, ...]:
        """The intents of a sync over the link; objects beyond the policy are refused."""
        governance, live = self.objects.governance, self.objects.session(app).live
        touched = {
            one.key for one in comparison.of(PairState.CHANGED, PairState.MISSING, PairState.EXTRA)
        } | comparison.hook_keys
        whole = comparison.denying(governance.control_plane_denials(app, touched))
        options = options_of(app, _operation(args)) if args.options else options_of(app)
        may = governance.may_create_namespace(app, app.spec.destination.namespace)
        tracking = self.objects.settings().tracking
        space = destination_namespace(app, options, live, may_write=may, tracking=tracking)
        return intents(whole, args, options, space)


def _previewed(app: Application, args: DiffArguments) -> tuple[Application, Revisions]:
    """The Application and the revisions that the preview is about."""
    if args.history_id is None:
        return app, Revisions.of(args)
    entry = deployed_before(app, args.history_id)
    return as_deployed(app, entry), Revisions.of(entry)


def _differing(comparison: Comparison, args: DiffArguments) -> list[ComparedPair]:
    named = _named(args)
    pairs = (one for one in comparison.pairs if one.state not in _UNMODIFIED)
    return [one for one in pairs if is_selected(one.key, named)]


def fitting(objects: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Keep whole objects while they fit into an answer; the others only keep their changes."""
    left = LARGEST - 4096
    shown = []
    for one in objects:
        left -= len(msgspec.json.encode(one))
        shown.append(one if left > 0 else {**one, "desired": {}, "live": {}, "cut": True})
    return shown


def _difference(pair: ComparedPair, redaction: Redaction) -> dict[str, Any]:
    """Diff of one object; both states share one redaction, so that a masked change is visible."""
    redaction = redaction.together()
    desired, live = _compared_sides(pair)
    desired = redaction.manifest(desired) if desired is not None else None
    live = redaction.manifest(live) if live is not None else None
    changes: list[dict[str, Any]] = []
    if desired is not None and live is not None and pair.live is not None:
        owned = parse_fields(pair.live.owned)
        changes = [
            {"path": one.path, "desired": one.desired, "live": one.live}
            for one in diff(desired, live, owned).differences
        ]
    return {
        "key": str(pair.key),
        "modified": pair.state is PairState.CHANGED,
        "desired": desired,
        "live": live if pair.live is None or live is not None else {},
        "changes": changes,
    }


def _compared_sides(pair: ComparedPair) -> tuple[Manifest | None, Manifest | None]:
    """Both sides without the fields that are ignored; None for a side that is not there."""
    desired = sent(pair.desired) if pair.desired is not None else None
    live = pair.live.manifest if pair.live is not None and pair.live.body else None
    if pair.ignored is None or desired is None or live is None:
        return desired, live
    return pair.ignored.without(desired, live)


class IntendedChange(StrEnum):
    CREATE = "create"
    CHANGE = "change"
    PRUNE = "prune"
    SKIP = "skip"
    REFUSE = "refuse"
    """The project does not permit it: the whole sync would fail."""


class Intent(msgspec.Struct, frozen=True, kw_only=True):
    """`note` says why the object would not be changed."""

    key: str
    action: IntendedChange
    note: str = ""


def intents(
    comparison: Comparison, args: DiffArguments, options: SyncOptions, space: DestinationNamespace
) -> tuple[Intent, ...]:
    """The intents for each object that a sync would change, skip or refuse."""
    work = namespace_work(space, comparison, options).plus(
        work_of(comparison, _operation(args), options)
    )
    missing = {one.key for one in comparison.pairs if one.live is None}
    missing |= {namespace_key(space.name)} if space.live is None else set()
    found = [*_of_tasks(work.tasks, missing)]
    for one in work.settled:
        action = (
            IntendedChange.REFUSE if one.status == ResultStatus.SYNC_FAILED else IntendedChange.SKIP
        )
        found.append(Intent(key=str(one.key), action=action, note=one.message))
    if _operation(args).runs_hooks and args.history_id is None:
        found.extend(_of_hooks(comparison))
    return tuple(found)


def _of_hooks(comparison: Comparison) -> Iterator[Intent]:
    """The hooks that a sync runs if nothing fails; a rollback runs none."""
    for manifest in comparison.hooks:
        phases = [one.value for one in phases_of(manifest) if one in PHASES]
        key = access.key(manifest)
        denied = comparison.denied_hooks.get(key, "")
        if denied and phases:
            yield Intent(key=str(key), action=IntendedChange.REFUSE, note=denied)
        elif set(phases) - {HookPhase.SYNC_FAIL}:
            note = f"{', '.join(phases)} hook"
            yield Intent(key=str(_titled(manifest)), action=IntendedChange.CREATE, note=note)


def _titled(manifest: Manifest) -> ResourceKey:
    """The key of a hook; the name that it will be given is shown by its beginning."""
    key = access.key(manifest)
    return key if key.name else replace(key, name=f"{access.generate_name(manifest)}*")


def _of_tasks(tasks: tuple[SyncTask, ...], missing: set[ResourceKey]) -> Iterator[Intent]:
    for task in tasks:
        if task.unconfirmed:
            note = "a sync waits here until a person approves its deletion (Prune=confirm)"
            yield Intent(key=str(task.key), action=IntendedChange.SKIP, note=note)
        elif task.action is SyncAction.PRUNE and task.changed:
            yield Intent(key=str(task.key), action=IntendedChange.PRUNE)
        elif task.changed:
            action = IntendedChange.CREATE if task.key in missing else IntendedChange.CHANGE
            yield Intent(key=str(task.key), action=action)


def _operation(args: DiffArguments) -> SyncOperation:
    return SyncOperation(prune=args.prune, resources=_named(args), sync_options=args.options)


def _named(args: DiffArguments) -> tuple[SyncResource, ...]:
    return tuple(
        SyncResource(group=it.group, kind=it.kind, namespace=it.namespace, name=it.name)
        for it in args.resources
    )
