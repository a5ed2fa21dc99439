"""Refs: branches and tags of a repository that this agent deploys from or has a Secret for.

Only of those: the service must not make the agent reach out to any address it likes.
"""

from __future__ import annotations

from dataclasses import dataclass

from agent.bridge.doing import Doing, TaskFailedError
from agent.bridge.executor import arguments
from agent.bridge.executor.tools import Tools
from bus.identity import RepositoryKey, normalise_url
from bus.link import Task

_MOST = 2000


@dataclass(frozen=True, slots=True)
class Refs:
    tools: Tools

    async def __call__(self, task: Task, _doing: Doing) -> object:
        said = arguments.read(task, arguments.Refs)
        if not self._is_ours(said.url):
            text = "no Application and no repository Secret of this agent names that URL"
            raise TaskFailedError("not_found", text)
        branches, tags = await self.tools.mirrors.refs(said.url)
        most = min(max(1, said.limit), _MOST)
        return {"branches": list(branches[:most]), "tags": list(tags[:most])}

    def _is_ours(self, url: str) -> bool:
        if self.tools.applications.of_repository(RepositoryKey.of(url)):
            return True
        wanted = normalise_url(url)
        known = (secret.data.get("url", "") for secret in self.tools.secrets.all())
        return any(normalise_url(one) == wanted for one in known if one)
