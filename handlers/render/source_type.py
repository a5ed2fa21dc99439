"""Source type: chart, kustomization or plain directory, and override files beside the source. Pure.

An explicit block in the Application wins; else Chart.yaml makes a chart, a kustomization file a
kustomization, and everything else is a plain directory (Argo CD's order). Whatever was looked for
belongs to the render's read set, also where it was not there: a Chart.yaml that appears tomorrow
makes the folder a chart.
"""

from __future__ import annotations

from collections.abc import Container

from bus.status import Reason
from handlers.application.source_address import folder_in
from handlers.application.spec import Source
from handlers.ports import CommitTree, EntryKind
from handlers.ports.rendering import RenderError, SourceType
from handlers.render.read_set import FOLDER, EscapedPathError, ResolvedPath, locate, seen_by

CHART = "Chart.yaml"
KUSTOMIZATIONS = ("kustomization.yaml", "kustomization.yml", "Kustomization")
_NAMED = 8


def folder_of(source: Source, tree: CommitTree) -> str:
    """The folder without `.` and slashes at its ends; RenderError where there is none."""
    path = "/".join(step for step in folder_in(source).split("/") if step not in ("", "."))
    if _place(path, tree).kind != FOLDER:
        raise _no_folder(path, tree)
    return path


def detect(
    source: Source, folder: str, tree: CommitTree, disabled: Container[str] = ()
) -> SourceType:
    """Say which tool renders the folder; one that is disabled leaves it to the next, or none."""
    explicit = _explicit(source)
    if explicit is not None:
        return SourceType.DIRECTORY if explicit in disabled else explicit
    if SourceType.HELM not in disabled and _is_file(inside(folder, CHART), tree):
        return SourceType.HELM
    kustomizations = (inside(folder, name) for name in KUSTOMIZATIONS)
    if SourceType.KUSTOMIZE not in disabled and any(_is_file(one, tree) for one in kustomizations):
        return SourceType.KUSTOMIZE
    return SourceType.DIRECTORY


def has_block(source: Source) -> bool:
    """Whether the source says itself which of the built-in tools renders it."""
    return _explicit(source) is not None


def override_files(folder: str, identity: str, tree: CommitTree) -> tuple[ResolvedPath, ...]:
    """Find the files that are merged over the source, the weaker one first."""
    found = (_place(path, tree) for path in _override_files(folder, identity))
    return tuple(one for one in found if one.kind == EntryKind.BLOB)


def looked_for(source: Source, folder: str, identity: str, tree: CommitTree) -> dict[str, str]:
    """The read set of the decisions made here; see `read_set`."""
    paths = [folder, *_override_files(folder, identity)]
    if _explicit(source) is None:
        paths += [inside(folder, name) for name in (CHART, *KUSTOMIZATIONS)]
    read_set: dict[str, str] = {}
    for path in paths:
        read_set |= seen_by(tree, path, _place(path, tree))
    return read_set


def inside(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder else name


def _override_files(folder: str, identity: str) -> tuple[str, ...]:
    """The files that image updaters write."""
    names = (".argocd-source.yaml", f".argocd-source-{identity}.yaml")
    return tuple(inside(folder, name) for name in names)


def _is_file(path: str, tree: CommitTree) -> bool:
    """A folder of such a name says nothing about its parent, as in Argo CD."""
    return _place(path, tree).kind == EntryKind.BLOB


def _place(path: str, tree: CommitTree) -> ResolvedPath:
    try:
        return locate(tree, path)
    except EscapedPathError as error:
        raise RenderError(Reason.OUTSIDE_REPOSITORY, str(error), file=error.path) from error


def _explicit(source: Source) -> SourceType | None:
    if source.helm is not None:
        return SourceType.HELM
    if source.kustomize is not None:
        return SourceType.KUSTOMIZE
    if source.directory is not None:
        return SourceType.DIRECTORY
    return None


def _no_folder(path: str, tree: CommitTree) -> RenderError:
    """The error for a folder that does not exist; it names the folders of the nearest parent."""
    parent = path.rpartition("/")[0]
    while parent and tree.entry(parent) is None:
        parent = parent.rpartition("/")[0]
    found = [entry.name for entry in tree.list(parent) if entry.kind is EntryKind.TREE][:_NAMED]
    there = f"has the folders {', '.join(found)}" if found else "has no folders"
    message = (
        f"spec.source.path: no folder {path!r} in this revision; {parent or 'the root'} {there}"
    )
    return RenderError(Reason.PATH_NOT_FOUND, message, file=path)
