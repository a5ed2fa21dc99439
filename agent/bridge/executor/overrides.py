"""What a sync over the link may do other than the Application says, and who must allow it.

A commit that the target revision does not reach was never merged: it may be of a deleted branch or,
on hosts with forks, a stranger's. Options in place of the Application's may take away its guards.
Both need a permission of their own in the service, and `override` in the policy of the cluster's
owner; the agent believes neither alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from agent.bridge.doing import TaskFailedError
from agent.bridge.executor.arguments import Sync
from agent.bridge.executor.tools import Tools
from bus.identity import NO_REVISION, Revision
from handlers.application.application import Application
from handlers.control_plane.policy import CONFIG_MAP
from handlers.manifest.options import weakened
from handlers.sync.tasks import options_of


@dataclass(frozen=True, slots=True)
class Overrides:
    tools: Tools

    async def checked(self, app: Application, said: Sync) -> Revision:
        """The commit to deploy; empty for the target's own. Raises TaskFailedError."""
        found = [*self._options(app, said)]
        revision = NO_REVISION
        if said.revision:
            revision, reached = await self._resolved(app, said.revision)
            if not reached:
                target = app.source.target_revision if app.source else ""
                found.append(
                    f"the target revision {target or 'HEAD'!r} does not reach {revision[:7]}"
                )
        if found:
            self._check_allowed(app, said, "; ".join(found))
        return revision

    def _options(self, app: Application, said: Sync) -> Iterator[str]:
        if said.options:
            for name in weakened(options_of(app), said.options):
                yield f"the option {name} takes away what guards the application"

    async def _resolved(self, app: Application, revision: str) -> tuple[Revision, bool]:
        """The commit, and whether the target reaches it: what is meant now, not a moment later."""
        if app.source is None:
            raise TaskFailedError("invalid", f"{app.key} has no source")
        mirrors, wanted = self.tools.mirrors, app.source.target_revision
        repository = mirrors.access(app.source.repo_url, app.spec.project)
        commit = await mirrors.resolve(repository, revision)
        target = await mirrors.resolve(repository, wanted)
        if not await mirrors.reaches(repository, target, commit):
            await mirrors.fetch(repository)  # a push that was not heard of yet
            target = await mirrors.resolve(repository, wanted)
        return commit, await mirrors.reaches(repository, target, commit)

    def _check_allowed(self, app: Application, said: Sync, what: str) -> None:
        if not said.override:
            text = f"{app.key}: {what}; that needs the permission gitops_application_override"
            raise TaskFailedError("not_allowed", text)
        if not self.tools.governance.policy().override:
            text = f"{app.key}: {what}; {CONFIG_MAP} of this cluster does not say override"
            raise TaskFailedError("not_allowed", text)
