"""DesiredState: the manifests of an application at any revision, for reads and previews.

A stored render is used as it is. Any other revision is rendered for this one task, under the rules
of the project and with the limits and deadline of the render handler; its result is never stored,
so no sync can use it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from agent.bridge.tasks.executors.task_subjects import TaskSubjects
from agent.bridge.tasks.task_context import TaskContext, TaskFailedError
from agent.store.applications import Applications
from agent.store.render_store import RenderStore
from bus.link import LinkTask, ManifestsArguments
from bus.status import Reason
from handlers.application.application import Application
from handlers.application.history import deployed_entry
from handlers.application.operation_problems import revisions_problem
from handlers.application.revisions import Revisions, targets_of
from handlers.application.status import RevisionHistory
from handlers.application.validate import problems
from handlers.manifest.manifest_assembly import objects_of
from handlers.ports import Artifacts, RendererBusyError, RepositoryError, Sources
from handlers.ports.render_record import RenderRecord
from handlers.ports.rendering import RenderError
from handlers.render.evaluation import RenderEvaluation
from handlers.render.evaluator import RENDER_SECONDS, Evaluator
from handlers.render.render_outcome import message_of
from handlers.render.source_proof import SourceProver
from handlers.render.source_resolver import ResolvedSource, SourceResolver


@dataclass(frozen=True, slots=True, kw_only=True)
class DesiredState:
    applications: Applications
    sources: Sources
    artifacts: Artifacts
    renders: RenderStore
    prover: SourceProver
    evaluate: Evaluator

    async def at(self, app: Application, named: Revisions) -> RenderEvaluation:
        """Render at the `named` revisions; without any it is the stored render.

        Raises TaskFailedError and RepositoryError.
        """
        check_named(app, named)
        rendered = await self._rendered(app)
        if not named and rendered is None:
            text = "its manifests are not rendered. Refresh it, and look at its conditions."
            raise TaskFailedError("not_found", f"{app.key}: {text}")
        known = (
            rendered is not None
            and self._is_of_spec(app, rendered.record)
            and self.prover.holds(app, rendered.record)
        )
        if rendered is not None and known and _is_at(app, rendered.record, named):
            return rendered
        return await self._render_once(app, named)

    async def _rendered(self, app: Application) -> RenderEvaluation | None:
        record = self.renders.recall(app.key)
        content = await self.artifacts.get(record.digest) if record else None
        return (
            RenderEvaluation(record, content)
            if record is not None and content is not None
            else None
        )

    def _is_of_spec(self, app: Application, record: RenderRecord) -> bool:
        """Whether the stored render is of the source that `app` has."""
        stored = self.applications.get(app.key)
        return not record.pinned_source and stored is not None and stored.sources == app.sources

    async def _render_once(self, app: Application, named: Revisions) -> RenderEvaluation:
        revision = str(named)
        found = problems(app, self.applications.project(app.spec.project))
        if found:
            raise TaskFailedError("invalid", "; ".join(one.message for one in found))
        try:
            async with asyncio.timeout(RENDER_SECONDS):
                return await self._evaluated(app, named)
        except RenderError as error:
            raise TaskFailedError("invalid", f"{revision}: {message_of(error)}") from error
        except RepositoryError as error:
            if error.reason is not Reason.REVISION_NOT_FOUND:
                raise
            raise TaskFailedError("not_found", error.message) from error
        except RendererBusyError as error:
            raise TaskFailedError("failed", f"{revision}: {error.message}") from error
        except TimeoutError as error:
            text = f"{revision} was not rendered within {RENDER_SECONDS:g} s"
            raise TaskFailedError("failed", text) from error

    async def _evaluated(self, app: Application, named: Revisions) -> RenderEvaluation:
        targets = targets_of(named.each, app.sources)
        submodules = self.evaluate.submodules
        resolver = SourceResolver(sources=self.sources, submodules=submodules.is_on)
        sources = await resolver.resolve(app, targets)
        return await submodules.completed(app, lambda: self._proven(app, sources, targets))

    async def _proven(
        self, app: Application, sources: Sequence[ResolvedSource], targets: Sequence[str]
    ) -> RenderEvaluation:
        await self.prover.prove(app, sources, targets)
        last = self.renders.recall(app.key)
        sources = await self.evaluate.effective(app, sources, last)
        recipes = self.evaluate.recipes(app, sources)
        return await self.evaluate(app, sources, recipes)


def check_named(app: Application, named: Revisions) -> None:
    """Refuse revisions that do not fit the sources; raises TaskFailedError."""
    if problem := revisions_problem(app, named):
        raise TaskFailedError("invalid", f"{app.key}: {problem}")


def _is_at(app: Application, record: RenderRecord, named: Revisions) -> bool:
    """Whether a record is of these revisions; a target stands for what it is rendered of."""
    if len(record.sources) != len(app.sources):
        return False
    pairs = zip(named.each, app.sources, record.sources, strict=False)
    return all(one in ("", source.target_revision, it.revision) for one, source, it in pairs)


def deployed_before(app: Application, history_id: int) -> RevisionHistory:
    """The history entry; raises TaskFailedError with the ids that exist."""
    entry = deployed_entry(app.status.history, history_id)
    if entry is None:
        known = ", ".join(str(one.id) for one in app.status.history) or "none"
        text = f"{app.key} has no history entry {history_id}; there are {known}"
        raise TaskFailedError("not_found", text)
    return entry


def as_deployed(app: Application, entry: RevisionHistory) -> Application:
    """The Application with the sources of a history entry."""
    if entry.sources:
        return replace(app, spec=replace(app.spec, source=None, sources=entry.sources))
    if entry.source is None:
        return app
    return replace(app, spec=replace(app.spec, source=entry.source, sources=()))


@dataclass(frozen=True, slots=True, kw_only=True)
class ManifestsExecutor:
    subjects: TaskSubjects
    desired_state: DesiredState

    async def __call__(
        self, task: LinkTask, args: ManifestsArguments, _context: TaskContext
    ) -> object:
        evaluation = await self.desired_state.at(self.subjects.app(task), Revisions.of(args))
        return {
            "revision": evaluation.record.revision,
            "revisions": list(evaluation.record.revisions.revisions),
            "manifests": list(objects_of(evaluation.content)),
        }
