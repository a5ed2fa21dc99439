"""Refs: the names by which a source of an Application lends its files to the others. Pure.

A chart reads them as `$name/path`, from the root of the referenced repository, in `helm.valueFiles`
and in the paths of `helm.fileParameters`, and nowhere else. As in Argo CD a ref is of a Git
repository, and it is read at the same commit as a source of the same repository that refers to it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from bus.identity import RepositoryKey
from bus.repository_url import RepositoryUrlError
from handlers.application.source_address import SourceAddress, SourceKind
from handlers.application.spec import HelmSource, Source
from handlers.application.target_revision import asked_revision

MAX_SOURCES = 20
BUILD_VARIABLE = re.compile(r"(ARGOCD_APP_[A-Z0-9_]+|KUBE_VERSION|KUBE_API_VERSIONS)")
_NAME = re.compile(r"[A-Za-z0-9_-]+")
_FIRST = re.compile(r"\$([A-Za-z0-9_-]+)")


def ref_names(sources: Iterable[Source]) -> tuple[str, ...]:
    return tuple(one.ref for one in sources if one.ref)


def referenced(path: str) -> str:
    """The ref that a path begins with, known or not; empty where it begins with none."""
    found = _FIRST.fullmatch(path.partition("/")[0])
    return found[1] if found and not BUILD_VARIABLE.fullmatch(found[1]) else ""


def unknown_refs(helm: HelmSource | None, names: Sequence[str]) -> Iterator[str]:
    """Say which paths of a chart begin with a ref that no source has."""
    known = f"the sources have {', '.join(names)}" if names else "no source has a ref"
    for path in _paths(helm):
        name = referenced(path)
        if name and name not in names:
            yield (
                f"helm reads {path!r}, and no source of the application has the ref {name!r}; "
                f"{known}: correct the path, or set ref on the source of these files"
            )


def used_refs(helm: HelmSource | None, names: Sequence[str]) -> tuple[str, ...]:
    """The known refs that the paths of a chart begin with, sorted."""
    found = {referenced(path) for path in _paths(helm)}
    return tuple(sorted(found.intersection(names)))


def ref_problems(sources: Sequence[Source]) -> Iterator[str]:
    """List what is wrong between the sources of one Application, each with its place."""
    if len(sources) > MAX_SOURCES:
        yield f"spec.sources has {len(sources)} entries; at most {MAX_SOURCES} are possible"
        return
    if not any(one.renders for one in sources):
        yield "spec.sources has only refs, from which no manifest comes; give one a path or a chart"
    names = ref_names(sources)
    targets: dict[RepositoryKey, tuple[str, str]] = {}
    for place, source in enumerate(sources):
        at = f"spec.sources[{place}]"
        yield from (f"{at}: {one}" for one in unknown_refs(source.helm, names))
        if source.ref:
            yield from (f"{at}.ref {one}" for one in _one_ref(source, names, targets))


def _one_ref(
    source: Source, names: Sequence[str], targets: dict[RepositoryKey, tuple[str, str]]
) -> Iterator[str]:
    """`targets` remembers what the refs before follow."""
    ref = source.ref
    if not _NAME.fullmatch(ref):
        yield f"{ref!r} is no name; expected letters, digits, `-` and `_`"
    if names.count(ref) > 1:
        yield f"{ref!r} is given to several sources; give each a name of its own"
    if source.chart:
        yield f"{ref!r} is of a source with a chart; only files of a Git repository can be read"
        return
    try:
        address = SourceAddress.of(source)
    except RepositoryUrlError:
        return  # a problem of its own
    if address.kind is not SourceKind.GIT:
        yield f"{ref!r} is of an OCI registry; only files of a Git repository can be read"
        return
    other, target = targets.setdefault(address.key, (ref, asked_revision(source)))
    if target != asked_revision(source):
        yield (
            f"{ref!r} and {other!r} are of one repository at different target revisions, "
            f"{asked_revision(source)!r} and {target!r}; give both the same"
        )


def _paths(helm: HelmSource | None) -> Iterator[str]:
    if helm is not None:
        yield from helm.value_files
        yield from (one.path for one in helm.file_parameters)
