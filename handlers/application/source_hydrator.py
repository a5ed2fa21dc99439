"""The source hydrator of an Application: what is rendered, and which branch it is written to. Pure.

    drySource   the repository that people write: rendered at each new commit
    hydrateTo   the branch that the manifests are committed to; else that of syncSource
    syncSource  the branch and folder that are deployed, as of any other source

Applications of one project that share dry commit and branch are hydrated together, into one commit.
Argo CD's groups hold Applications of all projects; here one project cannot hold up another.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import PurePosixPath

from msgspec.structs import replace

from bus.events import HydrateBranch
from bus.identity import NO_REVISION, HydratedBranch, RepositoryKey, Revision
from bus.repository_url import RepositoryUrlError
from handlers.application.application import Application, deployed_source
from handlers.application.source_address import SourceAddress, SourceKind
from handlers.application.spec import Source, SourceHydrator
from handlers.application.status import ApplicationStatus
from handlers.application.target_revision import asked_revision

_LONGEST = 250
_NO_BRANCH = re.compile(r"[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{|//|/\.|\.lock(/|$)|^[-/.]|[/.]$|^@$")
"""What no name of a branch may hold (git-check-ref-format)."""
_TAKEN = (".git", "git~1", ".gitattributes", "hydrator.metadata", "manifest.yaml", "readme.md")
"""In lower case: what Git refuses, and the files that are written in the root and in folders."""


def written_branch(hydrator: SourceHydrator) -> str:
    """The branch that the manifests are committed to."""
    to = hydrator.hydrate_to
    return to.target_branch if to is not None else hydrator.sync_source.target_branch


def deployed_branch(app: Application) -> str:
    """The branch that the manifests are deployed from: the base of the one that is written."""
    hydrator = app.spec.source_hydrator
    return hydrator.sync_source.target_branch if hydrator is not None else ""


def written_source(hydrator: SourceHydrator) -> Source:
    """The repository, branch and folder that the manifests are committed to."""
    return replace(deployed_source(hydrator), target_revision=written_branch(hydrator))


def hydrated_branch(app: Application) -> HydratedBranch | None:
    """The branch that the Application is hydrated into; None where it has no valid hydrator."""
    hydrator = app.spec.source_hydrator
    if hydrator is None or hydrator.dry_source is None or any(hydrator_problems(hydrator)):
        return None
    dry = hydrator.dry_source
    return HydratedBranch(
        project=app.spec.project or "default",
        dry_repository=_key(dry),
        dry_revision=asked_revision(dry),
        repository=_key(written_source(hydrator)),
        branch=written_branch(hydrator),
    )


def hydrations(
    apps: Iterable[Application], revision: Revision = NO_REVISION
) -> tuple[HydrateBranch, ...]:
    """Ask for each branch of the Applications once; `revision` is the dry commit that was seen."""
    branches = dict.fromkeys(one for app in apps if (one := hydrated_branch(app)) is not None)
    return tuple(HydrateBranch(branch=one, revision=revision) for one in branches)


def as_dry(app: Application) -> Application:
    """The Application as if its dry source was deployed, and no operation named another one."""
    hydrator = app.spec.source_hydrator
    dry = hydrator.dry_source if hydrator is not None else None
    spec = replace(app.spec, source=dry, sources=(), source_hydrator=None)
    return replace(app, spec=spec, operation=None, status=ApplicationStatus())


def hydrated_folder(hydrator: SourceHydrator) -> str:
    """The folder of the manifests in its one canonical form."""
    return str(PurePosixPath(hydrator.sync_source.path))


def hydrator_problems(hydrator: SourceHydrator) -> Iterator[str]:
    """Say what is wrong with the fields of a hydrator, the dry source's own apart."""
    place, sync, dry = "spec.sourceHydrator", hydrator.sync_source, hydrator.dry_source
    if dry is None or not dry.repo_url:
        yield f"{place}.drySource.repoURL is empty; expected the URL of a Git repository"
        return
    for name, one in (("drySource", dry), ("syncSource", Source(repo_url=sync.repo_url))):
        if one.repo_url:
            yield from _repository_problems(f"{place}.{name}.repoURL", one)
    for field, is_set in (("chart", dry.chart), ("ref", dry.ref)):
        if is_set:
            yield f"{place}.drySource.{field} is set; only folders of Git are hydrated: remove it"
    if len(dry.target_revision) + len(dry.tag_prefix) > _LONGEST:
        yield f"{place}.drySource.targetRevision is longer than {_LONGEST} characters"
    yield from _branch_problems(f"{place}.syncSource.targetBranch", sync.target_branch)
    if hydrator.hydrate_to is not None:
        yield from _branch_problems(
            f"{place}.hydrateTo.targetBranch", hydrator.hydrate_to.target_branch
        )
    yield from _folder_problems(f"{place}.syncSource.path", sync.path)
    yield from _loops(hydrator, dry)


def _repository_problems(place: str, source: Source) -> Iterator[str]:
    try:
        address = SourceAddress.of(replace(source, chart=""))
    except RepositoryUrlError as error:
        yield f"{place} {error}"
        return
    if address.kind is not SourceKind.GIT:
        yield f"{place} names no Git repository; manifests are hydrated from Git into Git"


def _branch_problems(place: str, branch: str) -> Iterator[str]:
    if not branch:
        yield f"{place} is empty; expected the name of a branch, such as `environments/dev`"
    elif len(branch) > _LONGEST or _NO_BRANCH.search(branch):
        yield f"{place} {branch[:_LONGEST]!r} is no name of a branch; correct it"


def _folder_problems(place: str, path: str) -> Iterator[str]:
    parts = PurePosixPath(path).parts
    if not parts:
        yield f"{place} {path!r} is the root; expected a folder, whose files nobody else writes"
    elif path.startswith("/") or ".." in parts:
        yield f"{place} {path!r} leaves the repository; expected a folder below its root"
    elif len(path) > _LONGEST or "\\" in path or not path.isprintable():
        yield f"{place} {path[:_LONGEST]!r} is no path of a folder; correct it"
    elif taken := next((one for one in parts if one.lower().rstrip(". ") in _TAKEN), ""):
        yield f"{place} {path!r} has a part {taken!r}, which is the name of a file; choose another"
    elif any(one.startswith(".") for one in parts):
        yield (
            f"{place} {path!r} has a hidden part; hosts run what some of these folders hold, such "
            "as .github/workflows: choose another"
        )


def _loops(hydrator: SourceHydrator, dry: Source) -> Iterator[str]:
    """Refuse to write the branch that is read: each commit would be a reason for the next."""
    target, branch = dry.target_revision, written_branch(hydrator)
    try:
        same = _key(dry) == _key(written_source(hydrator))
    except RepositoryUrlError:
        return
    if same and target.removeprefix("refs/heads/") == branch:
        yield (
            f"spec.sourceHydrator reads and writes the branch {branch!r} of {_key(dry)}; expected "
            "another branch in syncSource.targetBranch or hydrateTo.targetBranch"
        )


def _key(source: Source) -> RepositoryKey:
    return SourceAddress.of(source).key
