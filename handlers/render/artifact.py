"""Artifact: the rendered objects of an Application, checked, namespaced and stamped. Pure.

A set of objects with any problem is no artifact: nothing of it is applied, nothing pruned.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import msgspec
from msgspec.structs import replace

from bus.status import Reason
from handlers.manifest import access, manifest_assembly
from handlers.manifest.encryption import with_note
from handlers.manifest.kinds import KindInfo, Kinds
from handlers.manifest.manifest_assembly import (
    ManifestProblem,
    ObjectOrigin,
    Written,
    artifact_lines,
)
from handlers.manifest.tracking_method import Tracking
from handlers.ports.rendering import RenderError, RenderResult

Lookup = Callable[[str, str], KindInfo | None]
"""Group and kind -> the kind at its preferred version, as handlers.ports.LiveState has it."""

_NAMED_PROBLEMS = 5


class Artifact(msgspec.Struct, frozen=True):
    content: bytes
    objects: int
    repeated: tuple[str, ...] = ()
    """Objects that several sources have, as sentences."""


class ArtifactOwner(msgspec.Struct, frozen=True, kw_only=True):
    """The Application that owns the objects, as tracking writes it, and their default namespace."""

    identity: str
    namespace: str
    tracking: Tracking = Tracking()


def assemble(written: Sequence[Written], kinds: Kinds, owner: ArtifactOwner) -> Artifact:
    """Raises RenderError, which names the first problems, each with file, document and object."""
    assembly = manifest_assembly.assemble(written, kinds, owner.namespace)
    if assembly.problems:
        raise _refused(assembly.problems)
    if problem := owner.tracking.problem(owner.identity):
        raise RenderError(Reason.INVALID_SPEC, problem)
    stamp = owner.tracking.stamp
    stamped = (with_note(stamp(one, owner.identity, owner.namespace)) for one in assembly.manifests)
    return Artifact(artifact_lines(stamped), len(assembly.manifests), assembly.repeated)


def decoded(rendered: RenderResult, place: int = 0) -> tuple[Written, ...]:
    """Decode the objects of the source at this place among several."""
    return tuple(
        (ObjectOrigin(origin.file, origin.document, place), msgspec.json.decode(content))
        for origin, content in zip(rendered.origins, rendered.objects, strict=True)
    )


def served_kinds(written: Iterable[Written], lookup: Lookup, api_versions: Iterable[str]) -> Kinds:
    """The written kinds that the destination serves, in that and the preferred version."""
    names = frozenset(api_versions)
    found: dict[tuple[str, str, str], KindInfo] = {}
    for manifest in _all_objects(written):
        kind = lookup(access.group(manifest), access.kind(manifest))
        if kind is None:
            continue
        version = access.version(manifest)
        for one in (kind.version, version):
            if one == kind.version or f"{access.api_version(manifest)}/{kind.kind}" in names:
                found[kind.group, one, kind.kind] = replace(kind, version=one)
    return Kinds(found.values())


def _all_objects(written: Iterable[Written]) -> Iterator[access.Manifest]:
    """Yield the objects, those inside of lists too."""
    for _, document in written:
        if isinstance(document, Mapping):
            yield document
            yield from access.items(document, "items")


def _refused(problems: Sequence[ManifestProblem]) -> RenderError:
    first = problems[0]
    named = [str(problem) for problem in problems[:_NAMED_PROBLEMS]]
    if more := len(problems) - len(named):
        named.append(f"and {more} more")
    origin = first.origin
    return RenderError(first.reason, "; ".join(named), file=origin.file, document=origin.document)
