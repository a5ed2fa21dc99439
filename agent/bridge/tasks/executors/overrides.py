"""Overrides: deviations of a sync task from its Application, and the permissions they need.

A commit that the target revision does not reach was never merged: it may come from a deleted branch
or, on hosts with forks, from a stranger. Options that replace the Application's may remove its
safeguards. Both need a permission of their own in the service and `override` in the policy of the
cluster's owner; neither is enough alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from agent.bridge.tasks.executors.desired_state import check_named
from agent.bridge.tasks.task_context import TaskFailedError
from bus.identity import NO_REVISION, Revision
from bus.link import SyncArguments
from handlers.application.application import Application
from handlers.application.revisions import NO_REVISIONS, Revisions
from handlers.application.spec import Source
from handlers.application.target_revision import asked_revision
from handlers.command import option_problems
from handlers.control_plane.governance import Governance
from handlers.control_plane.policy import CONFIG_MAP
from handlers.manifest.options import weakened
from handlers.ports import Sources
from handlers.sync.sync_work import options_of
from handlers.sync.window_override import LONGEST_REASON


@dataclass(frozen=True, slots=True, kw_only=True)
class Overrides:
    sources: Sources
    governance: Governance

    async def checked(self, app: Application, args: SyncArguments) -> Revisions:
        """Check the task; returns the commits to deploy, empty for the target. TaskFailedError."""
        named = Revisions.of(args)
        check_named(app, named)
        found, commits = [*self._options(app, args)], list[Revision]()
        for source, revision in zip(app.sources, named.each, strict=False):
            commit, reached = NO_REVISION, True
            if revision:
                commit, reached = await self._resolved(app, source, revision)
            commits.append(commit)
            if not reached:
                target = source.target_revision or "HEAD"
                found.append(f"the target revision {target!r} does not reach {commit[:7]}")
        if found:
            self._check_allowed(app, args, "; ".join(found))
        if named.revisions:
            return Revisions(revisions=tuple(commits))
        return Revisions(commits[0]) if commits else NO_REVISIONS

    def window_reason(self, app: Application, args: SyncArguments) -> str:
        """Check an override of a closed sync window; returns its reason. TaskFailedError."""
        if not args.override_window:
            return ""
        reason = " ".join(args.reason.split())
        if not reason or len(reason) > LONGEST_REASON:
            text = (
                f"an override of a sync window needs a reason of 1 to {LONGEST_REASON} characters"
            )
            raise TaskFailedError("invalid", text)
        if problem := self.governance.window_override_problem(app):
            raise TaskFailedError("not_allowed", f"{app.key}: {problem}")
        return reason

    def _options(self, app: Application, args: SyncArguments) -> Iterator[str]:
        if args.options:
            for name in weakened(options_of(app), args.options):
                yield f"the option {name} takes away what guards the application"

    async def _resolved(
        self, app: Application, source: Source, revision: str
    ) -> tuple[Revision, bool]:
        """Resolve `revision` now, and find out whether the target revision reaches its commit."""
        sources, target_revision = self.sources, asked_revision(source)
        repository = sources.access(source, app.spec.project)
        commit = await sources.resolve(repository, asked_revision(source, revision))
        target = await sources.resolve(repository, target_revision)
        if not await sources.reaches(repository, target, commit):
            await sources.fetch(repository)  # the target may have been pushed since the last fetch
            target = await sources.resolve(repository, target_revision)
        return commit, await sources.reaches(repository, target, commit)

    def _check_allowed(self, app: Application, args: SyncArguments, what: str) -> None:
        if not args.override:
            text = f"{app.key}: {what}; that needs the permission gitops_application_override"
            raise TaskFailedError("not_allowed", text)
        if not self.governance.policy().override:
            text = f"{app.key}: {what}; {CONFIG_MAP} of this cluster does not say override"
            raise TaskFailedError("not_allowed", text)


def check_options(options: Sequence[str]) -> None:
    """Raises TaskFailedError with every option that cannot be honoured."""
    problems = option_problems(options)
    if problems:
        raise TaskFailedError("unsupported", "; ".join(problems))
