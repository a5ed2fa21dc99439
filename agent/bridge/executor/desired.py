"""The desired state of an application at any revision, to be looked at.

What is rendered already is taken as it is. Everything else is rendered for this one question, with
the project's rules, the limits and the deadline of the render room, and forgotten: nothing that
syncs ever sees it.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from msgspec.structs import replace

from agent.bridge.doing import TaskFailedError
from agent.bridge.executor.tools import Tools
from bus.status import Reason
from handlers.application.application import Application
from handlers.application.history import deployed_entry
from handlers.application.status import RevisionHistory
from handlers.application.validate import problems
from handlers.ports import RendererBusyError, RepositoryError
from handlers.render.evaluate.handler import RENDER_SECONDS, Made
from handlers.render.outcome import message_of
from handlers.render.recipe import RenderError, RenderRecord


@dataclass(frozen=True, slots=True)
class Desired:
    tools: Tools

    async def at(self, app: Application, revision: str) -> Made:
        """`revision`: empty for what is rendered now. Raises TaskFailedError, RepositoryError."""
        rendered = await self._rendered(app)
        if not revision and rendered is None:
            text = "its manifests are not rendered yet: refresh it, and look at its conditions"
            raise TaskFailedError("not_found", f"{app.key}: {text}")
        target = app.source.target_revision if app.source else ""
        known = revision in ("", target) or (rendered and rendered.record.revision == revision)
        if rendered is not None and known and self._is_of_spec(app, rendered.record):
            return rendered
        return await self._imagined(app, revision)

    async def _rendered(self, app: Application) -> Made | None:
        record = self.tools.renders.recall(app.key)
        content = await self.tools.artifacts.get(record.digest) if record else None
        return Made(record, content) if record is not None and content is not None else None

    def _is_of_spec(self, app: Application, record: RenderRecord) -> bool:
        """Whether it was rendered from the very source that is asked about."""
        stored = self.tools.applications.get(app.key)
        return not record.pinned_source and stored is not None and stored.source == app.source

    async def _imagined(self, app: Application, revision: str) -> Made:
        found = problems(app, self.tools.applications.project(app.spec.project))
        if found:
            raise TaskFailedError("invalid", "; ".join(one.message for one in found))
        try:
            async with asyncio.timeout(RENDER_SECONDS):
                return await self._evaluated(app, revision)
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

    async def _evaluated(self, app: Application, revision: str) -> Made:
        mirrors, url = self.tools.mirrors, app.source.repo_url if app.source else ""
        repository = mirrors.access(url, app.spec.project)
        commit = await mirrors.resolve(repository, revision)
        tree = await mirrors.tree(repository, commit)
        recipe = self.tools.evaluate.recipe(app, commit, tree)
        return await self.tools.evaluate(app, recipe, commit, tree)


def deployed_before(app: Application, history_id: int) -> RevisionHistory:
    """An entry of the history; raises TaskFailedError that names those there are."""
    entry = deployed_entry(app.status.history, history_id)
    if entry is None:
        known = ", ".join(str(one.id) for one in app.status.history) or "none"
        text = f"{app.key} has no history entry {history_id}; there are {known}"
        raise TaskFailedError("not_found", text)
    return entry


def as_deployed(app: Application, entry: RevisionHistory) -> Application:
    """The Application with the source that was deployed then."""
    if entry.source is None:
        return app
    return replace(app, spec=replace(app.spec, source=entry.source, sources=()))
