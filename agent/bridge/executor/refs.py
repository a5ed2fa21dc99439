"""Refs: branches and tags of a repository that this agent deploys from or has a Secret for.

Only of those: the service must not make the agent reach out to any address it likes.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

from agent.bridge.doing import Doing, TaskFailedError
from agent.bridge.executor import arguments
from agent.bridge.executor.tools import Tools
from agent.git.credentials import SECRET_TYPE
from bus.link import Task
from bus.repository_url import RepositoryUrl, RepositoryUrlError

_MOST = 2000


@dataclass(frozen=True, slots=True)
class Refs:
    tools: Tools

    async def __call__(self, task: Task, _doing: Doing) -> object:
        said = arguments.read(task, arguments.Refs)
        try:
            url = RepositoryUrl.parse(said.url)
        except RepositoryUrlError as error:
            raise TaskFailedError("invalid", f"url: {error}") from None
        if url not in self._of_applications(said.project) and url not in self._of_secrets():
            text = "no Application and no repository Secret of this agent names that URL"
            raise TaskFailedError("not_found", text)
        mirrors = self.tools.mirrors
        branches, tags = await mirrors.refs(mirrors.access(str(url), said.project))
        most = min(max(1, said.limit), _MOST)
        return {"branches": list(branches[:most]), "tags": list(tags[:most])}

    def _of_applications(self, project: str) -> Iterator[RepositoryUrl]:
        for app in self.tools.applications.all():
            if app.source is not None and project in ("", app.spec.project):
                with suppress(RepositoryUrlError):
                    yield RepositoryUrl.parse(app.source.repo_url)

    def _of_secrets(self) -> Iterator[RepositoryUrl]:
        for secret in self.tools.secrets.all():
            if secret.labels.get(SECRET_TYPE) == "repository":
                with suppress(RepositoryUrlError):
                    yield RepositoryUrl.parse(secret.data.get("url", ""))
