"""RefsExecutor lists branches and tags of a repository that the agent uses or has a Secret for.

A Helm repository or a registry has neither: it is only reached, with its credential. No other
repository is read: the service must not make the agent connect to arbitrary addresses.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

from agent.bridge.tasks.task_context import TaskContext, TaskFailedError
from agent.git.credentials import SECRET_TYPE, Secret
from agent.git.mirrors import Mirrors
from agent.git.repository_secrets import address_of, is_of_charts
from agent.sources import SourceReaders
from agent.store.applications import Applications
from agent.store.argo_secrets import ArgoSecrets
from bus.link import LinkTask, RefsArguments
from bus.link.kinds import REPOSITORY
from bus.repository_url import RepositoryUrl, RepositoryUrlError
from handlers.application.source_address import OCI_SCHEME, SourceAddress, SourceKind

_MOST = 2000


@dataclass(frozen=True, slots=True, kw_only=True)
class RefsExecutor:
    applications: Applications
    secrets: ArgoSecrets
    mirrors: Mirrors
    sources: SourceReaders

    async def __call__(self, _task: LinkTask, args: RefsArguments, _context: TaskContext) -> object:
        address = self._known(args)
        if address.kind is not SourceKind.GIT:
            await self.sources.fetch(self.sources.access_at(address, args.project))
            return {"branches": [], "tags": []}
        repository = self.mirrors.access(str(address.url), args.project)
        branches, tags = await self.mirrors.refs(repository)
        most = min(max(1, args.limit), _MOST)
        return {"branches": list(branches[:most]), "tags": list(tags[:most])}

    def _known(self, args: RefsArguments) -> SourceAddress:
        """Find the repository among those in use; a Secret says of which kind it is."""
        try:
            url = RepositoryUrl.parse(args.url if "://" in args.url else _scheme_of(args.url))
        except RepositoryUrlError as error:
            raise TaskFailedError("invalid", f"url: {error}") from None
        known = (*self._of_secrets(args.project), *self._of_applications(args.project))
        found = next((one for one in known if url in (one.url, one.url.without_user)), None)
        if found is None:
            text = "no Application and no repository Secret of that project names that URL"
            raise TaskFailedError("not_found", text)
        return found

    def _of_applications(self, project: str) -> Iterator[SourceAddress]:
        for app in self.applications.all():
            if app.source is not None and project in ("", app.spec.project):
                with suppress(RepositoryUrlError):
                    yield SourceAddress.of(app.source)

    def _of_secrets(self, project: str) -> Iterator[SourceAddress]:
        for secret in self.secrets.all():
            is_usable = secret.data.get("project", "") in ("", project)
            if is_usable and secret.labels.get(SECRET_TYPE) == REPOSITORY.secret_type:
                with suppress(RepositoryUrlError):
                    yield _address(secret)


def _address(secret: Secret) -> SourceAddress:
    """Read a Secret's repository; of a Helm repository it names no chart."""
    url = address_of(secret.data)
    if url.origin.scheme == OCI_SCHEME:
        return SourceAddress(SourceKind.OCI, url)
    return SourceAddress(SourceKind.HELM if is_of_charts(secret.data) else SourceKind.GIT, url)


def _scheme_of(text: str) -> str:
    """Write an address without a scheme as one of SSH has it (`user@host:path`), or a registry."""
    return text if "@" in text else f"{OCI_SCHEME}://{text}"
