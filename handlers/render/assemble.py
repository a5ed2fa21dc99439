"""From rendered objects to the artifact: checked, placed, and stamped with their application.

The artifact is one JSON object a line, in source order. A set of objects with any problem is no
artifact: nothing of it is applied, nothing pruned.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from handlers.manifest import access, validate
from handlers.manifest.kinds import KindInfo, Kinds
from handlers.manifest.tracking import stamp
from handlers.manifest.validate import Problem, Written
from handlers.render.recipe import Rendered, RenderError

Lookup = Callable[[str, str], KindInfo | None]
"""Group and kind -> the kind at its preferred version, as handlers.ports.LiveState has it."""

_NAMED_PROBLEMS = 5


class Artifact(msgspec.Struct, frozen=True):
    content: bytes
    objects: int


class Owner(msgspec.Struct, frozen=True, kw_only=True):
    """Whose objects they are, as tracking writes it, and where they go."""

    identity: str
    namespace: str


def assemble(written: Sequence[Written], kinds: Kinds, owner: Owner) -> Artifact:
    """Raises RenderError that names the first problems, each with file, document and object."""
    assembly = validate.assemble(written, kinds, owner.namespace)
    if assembly.problems:
        raise _refused(assembly.problems)
    stamped = (stamp(one, owner.identity, owner.namespace) for one in assembly.manifests)
    lines = [msgspec.json.encode(manifest) for manifest in stamped]
    return Artifact(b"".join(line + b"\n" for line in lines), len(lines))


def decoded(rendered: Rendered) -> tuple[Written, ...]:
    pairs = zip(rendered.origins, rendered.objects, strict=True)
    return tuple(
        (validate.Origin(origin.file, origin.document), msgspec.json.decode(content))
        for origin, content in pairs
    )


def objects_of(artifact: bytes) -> tuple[dict[str, Any], ...]:
    """The artifact read back."""
    return tuple(msgspec.json.decode(line) for line in artifact.splitlines())


def served_kinds(written: Iterable[Written], lookup: Lookup, api_versions: Iterable[str]) -> Kinds:
    """What the destination serves, as far as it is asked: preferred versions, and those written."""
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
    """Also those inside of lists."""
    for _, document in written:
        if isinstance(document, Mapping):
            yield document
            yield from access.items(document, "items")


def _refused(problems: Sequence[Problem]) -> RenderError:
    first = problems[0]
    told = [str(problem) for problem in problems[:_NAMED_PROBLEMS]]
    if more := len(problems) - len(told):
        told.append(f"and {more} more")
    origin = first.origin
    return RenderError(first.reason, "; ".join(told), file=origin.file, document=origin.document)
