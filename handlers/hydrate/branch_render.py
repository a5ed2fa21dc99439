"""BranchRenderer renders all Applications of a branch from one dry commit, or says why it cannot.

One that fails fails all, because they are one commit: it gets the reason, and the others its name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from bus.identity import AppKey, Revision
from handlers.application.application import HYDRATE_ANNOTATION, Application, AppProject
from handlers.application.hydrator_settings import HydratorSettings
from handlers.application.source_hydrator import deployed_branch, hydrated_folder
from handlers.hydrate import hydrated_files
from handlers.hydrate.dry_renderer import DryRenderer
from handlers.hydrate.hydrated_files import DryCommit
from handlers.hydrate.manifest_yaml import manifest_yaml
from handlers.hydrate.plain_secrets import plain_secrets_problem
from handlers.ports import RepositoryAccess
from handlers.ports.branches import BranchChange, DryCommits, HydratedFolder
from handlers.ports.rendering import RenderError
from handlers.render.render_outcome import message_of

_HARD = "hard"


class BranchError(Exception):
    """Some Applications of a branch cannot be hydrated, so none of them is."""

    def __init__(self, messages: Mapping[AppKey, str]) -> None:
        super().__init__("; ".join(messages.values()))
        self._messages = messages

    def of(self, key: AppKey) -> str:
        """The reason; for the other Applications, the name of the first that has one."""
        others = f"the Application {next(iter(self._messages))} of the same branch cannot be"
        text = f"not hydrated, because {others}, and all are written by one commit: see there"
        return self._messages.get(key, text)


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchRender:
    commit: DryCommit
    base: str
    folders: tuple[HydratedFolder, ...]
    remarks: Mapping[AppKey, str] = field(default_factory=dict)
    """What of an Application is not acted on."""

    def change(self, settings: HydratorSettings) -> BranchChange:
        return BranchChange(
            base=self.base,
            folders=self.folders,
            metadata=hydrated_files.root_metadata(self.commit),
            message=hydrated_files.commit_message(self.commit),
            author_name=settings.author_name,
            author_email=settings.author_email,
            note=hydrated_files.note(self.commit),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchRenderer:
    render: DryRenderer
    commits: DryCommits

    async def __call__(
        self,
        members: Sequence[Application],
        project: AppProject,
        access: RepositoryAccess,
        revision: Revision,
    ) -> BranchRender:
        """Raises BranchError, RepositoryError, RendererBusyError."""
        details = await self.commits.details(access, revision)
        commit = DryCommit(repository=str(access.url), id=revision, details=details)
        folders: list[HydratedFolder] = []
        problems: dict[AppKey, str] = {}
        remarks: dict[AppKey, str] = {}
        for app in members:
            hard = app.metadata.annotations.get(HYDRATE_ANNOTATION) == _HARD
            try:
                made = await self.render(app, revision, hard=hard)
            except RenderError as error:
                problems[app.key] = message_of(error)
                continue
            if problem := plain_secrets_problem(made.objects, project):
                problems[app.key] = problem
                continue
            remarks[app.key] = "; ".join(made.unsupported)
            folders.append(_folder(app, commit, made.objects))
        if problems:
            raise BranchError(problems)
        return BranchRender(
            commit=commit, base=deployed_branch(members[0]), folders=tuple(folders), remarks=remarks
        )


def _folder(app: Application, commit: DryCommit, objects: Sequence[object]) -> HydratedFolder:
    path = hydrated_folder(app.spec.source_hydrator) if app.spec.source_hydrator else ""
    return HydratedFolder(
        path=path,
        manifest=manifest_yaml(objects),
        metadata=hydrated_files.folder_metadata(commit),
        readme=hydrated_files.readme(commit, path),
    )
