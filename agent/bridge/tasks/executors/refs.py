"""RefsExecutor: lists branches and tags of a repository that the agent uses or has a Secret for.

No other repository is read: the service must not make the agent connect to arbitrary addresses.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

from agent.bridge.tasks.task_context import TaskContext, TaskFailedError
from agent.git.credentials import SECRET_TYPE
from agent.git.mirrors import Mirrors
from agent.store.applications import Applications
from agent.store.argo_secrets import ArgoSecrets
from bus.link import LinkTask, RefsArguments
from bus.link.kinds import REPOSITORY
from bus.repository_url import RepositoryUrl, RepositoryUrlError

_MOST = 2000


@dataclass(frozen=True, slots=True, kw_only=True)
class RefsExecutor:
    applications: Applications
    secrets: ArgoSecrets
    mirrors: Mirrors

    async def __call__(self, _task: LinkTask, args: RefsArguments, _context: TaskContext) -> object:
        try:
            url = RepositoryUrl.parse(args.url)
        except RepositoryUrlError as error:
            raise TaskFailedError("invalid", f"url: {error}") from None
        if url not in self._of_applications(args.project) and url not in self._of_secrets(
            args.project
        ):
            text = "no Application and no repository Secret of that project names that URL"
            raise TaskFailedError("not_found", text)
        repository = self.mirrors.access(str(url), args.project)
        branches, tags = await self.mirrors.refs(repository)
        most = min(max(1, args.limit), _MOST)
        return {"branches": list(branches[:most]), "tags": list(tags[:most])}

    def _of_applications(self, project: str) -> Iterator[RepositoryUrl]:
        for app in self.applications.all():
            if app.source is not None and project in ("", app.spec.project):
                with suppress(RepositoryUrlError):
                    yield RepositoryUrl.parse(app.source.repo_url)

    def _of_secrets(self, project: str) -> Iterator[RepositoryUrl]:
        for secret in self.secrets.all():
            is_usable = secret.data.get("project", "") in ("", project)
            if is_usable and secret.labels.get(SECRET_TYPE) == REPOSITORY.secret_type:
                with suppress(RepositoryUrlError):
                    yield RepositoryUrl.parse(secret.data.get("url", ""))
