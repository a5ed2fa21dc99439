"""Validation of an Application: every problem that blocks it, all at once, for a person. Pure.

It would be wrong, or dangerous, to act on half of such a spec: with one of two sources applied, the
objects of the other would be pruned. Whether the project permits the Application is checked too.
What an operation asks is judged by `operation_problems`; a field that this version merely does not
act on is reported by `unsupported` instead.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath

from bus.redaction import without_user_info
from bus.repository_url import RepositoryUrlError
from bus.status import ConditionType
from handlers.application.application import Application, AppProject
from handlers.application.artifact_signers import ARTIFACT_SIGNERS, signers_problem
from handlers.application.denials import not_admitted
from handlers.application.destination import (
    DestinationCluster,
    DestinationError,
    RegisteredCluster,
)
from handlers.application.impersonation import acting_user
from handlers.application.impersonation_settings import OFF, ImpersonationSettings
from handlers.application.plugin_source import plugin_problems
from handlers.application.policy import duration_problems, retry_strategy
from handlers.application.project import (
    admits,
    cluster_problem,
    destination_permitted,
    source_permitted,
)
from handlers.application.source_address import SourceAddress, is_chart, is_versioned
from handlers.application.source_hydrator import hydrator_problems
from handlers.application.source_integrity import integrity_problems
from handlers.application.source_refs import MAX_SOURCES, ref_problems
from handlers.application.spec import Destination, Source, SourceHydrator
from handlers.application.status import Condition
from handlers.application.target_revision import tag_prefix_problem


def problems(
    app: Application,
    project: AppProject | None,
    registered: RegisteredCluster | None = None,
    impersonation: ImpersonationSettings = OFF,
) -> tuple[Condition, ...]:
    """List InvalidSpecError conditions, without a time; none where it may be synced.

    `registered` is the cluster of the destination, where that is known.
    """
    acting = acting_user(app, project, registered.cluster, impersonation) if registered else None
    found = (
        *_source_problems(app),
        *_address_problems(app.spec.destination),
        *(f"spec.syncPolicy.{one}" for one in duration_problems(retry_strategy(app.spec))),
        *_project_problems(app, project, registered),
        *((acting.problem,) if acting and acting.problem and project else ()),
    )
    return tuple(Condition(type=ConditionType.INVALID_SPEC_ERROR, message=one) for one in found)


def _source_problems(app: Application) -> Iterator[str]:
    spec = app.spec
    if spec.source_hydrator is not None:
        yield from _hydrator_problems(spec.source_hydrator)
    elif spec.sources:
        for place, source in enumerate(spec.sources[:MAX_SOURCES]):
            yield from (_located(one, place) for one in _one_source(source))
        yield from ref_problems(spec.sources)
    elif spec.source is None:
        yield "spec.source is missing; expected repoURL and path"
    else:
        yield from _one_source(spec.source)
        if not spec.source.renders:
            yield "spec.source has a ref and no path; refs are for spec.sources: set path"


def _hydrator_problems(hydrator: SourceHydrator) -> Iterator[str]:
    found = tuple(hydrator_problems(hydrator))
    yield from found
    if hydrator.dry_source is not None and not found:
        for problem in _one_source(hydrator.dry_source):
            yield problem.replace("spec.source", "spec.sourceHydrator.drySource", 1)


def _located(problem: str, place: int) -> str:
    """The problem of one source, at its place among several."""
    return problem.replace("spec.source", f"spec.sources[{place}]", 1)


def _one_source(source: Source) -> Iterator[str]:
    yield from _url_problems(source)
    if is_versioned(source) and not source.target_revision:
        yield (
            "spec.source.targetRevision is empty; a chart needs a version or a range of versions "
            "(`^1.2`), and an artifact of a registry a tag, a digest or a range"
        )
    if problem := tag_prefix_problem(source.tag_prefix):
        yield f"spec.source.tagPrefix {problem}"
    if not source.path and source.renders and not is_chart(source):
        yield "spec.source.path is empty; expected a folder of the repository (`.` is its root)"
    if source.plugin is not None:
        yield from plugin_problems(source.plugin)
    yield from _path_problems(source.path)
    kinds = [
        name
        for name, block in (
            ("helm", source.helm),
            ("kustomize", source.kustomize),
            ("directory", source.directory),
            ("plugin", source.plugin),
        )
        if block is not None
    ]
    if len(kinds) > 1:
        yield f"spec.source has {' and '.join(kinds)}; only one kind of source may be given"


def _url_problems(source: Source) -> Iterator[str]:
    if not source.repo_url:
        yield "spec.source.repoURL is empty; expected the URL of a repository"
        return
    try:
        SourceAddress.of(source)
    except RepositoryUrlError as error:
        yield f"spec.source.repoURL {error}"


def _path_problems(path: str) -> Iterator[str]:
    if path.startswith("/"):
        yield f"spec.source.path {path!r} is absolute; it must be relative to the repository's root"
    elif ".." in PurePosixPath(path).parts:
        yield f"spec.source.path {path!r} leaves the repository; `..` is not allowed"


def _address_problems(destination: Destination) -> Iterator[str]:
    try:
        DestinationCluster.of(destination)
    except DestinationError as error:
        yield str(error)


def _project_problems(
    app: Application, project: AppProject | None, registered: RegisteredCluster | None
) -> Iterator[str]:
    name = app.spec.project or "default"
    if project is None:
        yield f"spec.project: the AppProject {name!r} does not exist"
        return
    if not admits(project, app.key.namespace):
        yield not_admitted(project, app)
    if problem := signers_problem(project):
        yield (
            f"the AppProject {name!r} demands signed artifacts, but its annotation "
            f"{ARTIFACT_SIGNERS} cannot be understood: {problem}"
        )
    cluster = registered.cluster if registered else None
    yield from integrity_problems(project, app.followed_sources[:MAX_SOURCES])
    yield from dict.fromkeys(_source_denials(app, project))
    destination = app.spec.destination
    if any(_address_problems(destination)):
        return  # what names no cluster is a problem of its own
    if registered is not None and (problem := cluster_problem(project, registered)):
        yield problem
    if not destination_permitted(project, destination, cluster):
        yield (
            f"destination server {destination.server or destination.name!r} with namespace "
            f"{destination.namespace!r} is not permitted in project {name!r}; see "
            "spec.destinations of the project"
        )


def _source_denials(app: Application, project: AppProject) -> Iterator[str]:
    """Report each source that the project denies; a malformed URL is a problem of its own."""
    for source in app.followed_sources[:MAX_SOURCES]:
        if not any(_url_problems(source)) and not source_permitted(project, source):
            yield (
                f"repository {without_user_info(source.repo_url)} is not permitted in project "
                f"{app.spec.project or 'default'!r}; see spec.sourceRepos of the project"
            )
