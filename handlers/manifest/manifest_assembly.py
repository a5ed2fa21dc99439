"""Assembly: rendered documents to a set of objects that may be applied, or its problems. Pure.

Every problem is found in one pass and names file, document and object, because a person mends a
file, not a message at a time. A set with problems is not applied at all. The bytes of an artifact
are one Kubernetes object as JSON on each line, in source order.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from bus.identity import ResourceKey
from bus.status import Reason
from handlers.manifest import access
from handlers.manifest.access import Manifest
from handlers.manifest.hooks import is_hook
from handlers.manifest.kinds import GroupKind, Kinds, defined_by


def artifact_lines(manifests: Iterable[Manifest]) -> bytes:
    """Encode the objects; equal objects in equal order give equal bytes."""
    return b"".join(msgspec.json.encode(manifest) + b"\n" for manifest in manifests)


def objects_of(artifact: bytes) -> tuple[dict[str, Any], ...]:
    """Decode the objects of an artifact."""
    return tuple(msgspec.json.decode(line) for line in artifact.splitlines())


class ObjectOrigin(msgspec.Struct, frozen=True):
    """Where an object was written; `document` counts from 1, 0 means unknown."""

    file: str
    document: int = 0
    source: int = 0
    """The place of its source among several, from 0."""

    def __str__(self) -> str:
        return f"{self.file}, document {self.document}" if self.document else self.file


class ManifestProblem(msgspec.Struct, frozen=True, kw_only=True):
    reason: Reason
    origin: ObjectOrigin
    object: str
    message: str

    def __str__(self) -> str:
        about = f"{self.object}: " if self.object else ""
        return f"{self.origin}: {about}{self.message}"


class Assembly(msgspec.Struct, frozen=True):
    manifests: tuple[Manifest, ...]
    problems: tuple[ManifestProblem, ...]
    repeated: tuple[str, ...] = ()
    """Objects that several sources have: those of the last source are among `manifests`."""


Written = tuple[ObjectOrigin, object]


def assemble(written: Iterable[Written], kinds: Kinds, destination_namespace: str) -> Assembly:
    """Expand lists, drop empty documents, fill in or strip namespaces, and check every object.

    `kinds` is what the destination serves; kinds defined by the set itself are added to it.
    """
    shaped, problems = _shape(_expand(written))
    known = kinds.plus(info for _, manifest in shaped for info in defined_by(manifest))
    placed: list[tuple[ObjectOrigin, Manifest]] = []
    for origin, manifest in shaped:
        found = _place(origin, manifest, known, destination_namespace)
        if isinstance(found, ManifestProblem):
            problems.append(found)
        else:
            placed.append((origin, found))
    placed, repeated = _last_of_each(placed)
    problems.extend(_duplicates(placed))
    return Assembly(tuple(manifest for _, manifest in placed), tuple(problems), tuple(repeated))


def _expand(written: Iterable[Written]) -> Iterator[Written]:
    for origin, document in written:
        if document is not None and document != {}:
            yield from ((origin, item) for item in items_of(document))


def items_of(document: object) -> tuple[object, ...]:
    """Return the items of a list of objects; of any other document itself."""
    if not isinstance(document, Mapping):
        return (document,)
    kind, items = document.get("kind"), document.get("items")
    if isinstance(kind, str) and kind.endswith("List") and isinstance(items, list):
        return tuple(items)
    return (document,)


def _shape(
    written: Iterable[Written],
) -> tuple[list[tuple[ObjectOrigin, Manifest]], list[ManifestProblem]]:
    shaped: list[tuple[ObjectOrigin, Manifest]] = []
    problems: list[ManifestProblem] = []
    for origin, document in written:
        message = _malformed(document)
        if message or not isinstance(document, Mapping):
            problems.append(_problem(Reason.MANIFEST_INVALID, origin, document, message))
        else:
            shaped.append((origin, document))
    return shaped, problems


def _malformed(document: object) -> str:
    """The problem of the outermost fields; empty for none."""
    if not isinstance(document, Mapping):
        found = type(document).__name__
        return f"expected a Kubernetes object, found a {found}; remove it or indent it properly"
    for field in ("apiVersion", "kind"):
        if not access.text(document, field):
            return f"{field} is missing; every object needs apiVersion, kind and metadata.name"
    return _nameless(document) or _not_texts(document)


def _nameless(document: Manifest) -> str:
    if access.name(document):
        return ""
    if not access.generate_name(document):
        return "metadata.name is missing; give the object a name"
    if not is_hook(document):
        return "metadata.generateName is only possible for hooks; give the object a name"
    return ""


def _not_texts(document: Manifest) -> str:
    """The problem of labels and annotations: YAML reads `true` and `1` as other types."""
    metadata = access.mapping(document, "metadata")
    for field in ("labels", "annotations"):
        values = metadata.get(field)
        if values is not None and not isinstance(values, Mapping):
            return f"metadata.{field} is a {type(values).__name__}; expected names with texts"
        for name, value in (values or {}).items():
            if value is not None and not isinstance(value, str):
                found = msgspec.json.encode(value).decode()
                return f"metadata.{field}: {name} is {found}; expected a text: put quotes around it"
    return ""


def _place(
    origin: ObjectOrigin, manifest: Manifest, kinds: Kinds, namespace: str
) -> Manifest | ManifestProblem:
    """Give the object the namespace that the scope of its kind demands."""
    info = kinds.of(manifest)
    if info is None:
        message = _unknown_kind(manifest, kinds)
        return _problem(Reason.UNKNOWN_KIND, origin, manifest, message)
    own = access.namespace(manifest)
    if info.namespaced == bool(own):
        return manifest
    metadata = access.mapping(manifest, "metadata")
    if not info.namespaced:
        return {**manifest, "metadata": {k: v for k, v in metadata.items() if k != "namespace"}}
    if not namespace:
        message = (
            "the object is namespaced and names no namespace; write metadata.namespace or set "
            "spec.destination.namespace of the application"
        )
        return _problem(Reason.NAMESPACE_MISSING, origin, manifest, message)
    return {**manifest, "metadata": {**metadata, "namespace": namespace}}


def _unknown_kind(manifest: Manifest, kinds: Kinds) -> str:
    served = kinds.versions(GroupKind.of(manifest))
    if served:
        return (
            f"the cluster does not serve {access.api_version(manifest)} of this kind; "
            f"it serves {', '.join(served)}: change apiVersion"
        )
    return (
        f"the cluster does not know {GroupKind.of(manifest)}, and no CustomResourceDefinition of "
        "this application defines it; correct apiVersion and kind, or install the definition first"
    )


def _last_of_each(
    placed: list[tuple[ObjectOrigin, Manifest]],
) -> tuple[list[tuple[ObjectOrigin, Manifest]], list[str]]:
    """Leave out objects that a later source has too, as Argo CD does, and name them."""
    if not placed or placed[-1][0].source == 0:
        return placed, []  # one source, which comes with its objects in order
    last = {access.key(one): origin.source for origin, one in placed if access.name(one)}
    kept: list[tuple[ObjectOrigin, Manifest]] = []
    repeated: dict[str, None] = {}
    for origin, manifest in placed:
        source = last.get(access.key(manifest), origin.source) if access.name(manifest) else None
        if source is None or source == origin.source:
            kept.append((origin, manifest))
        else:
            repeated[_repeated(manifest, origin.source, source)] = None
    return kept, list(repeated)


def _repeated(manifest: Manifest, source: int, last: int) -> str:
    key = access.key(manifest)
    name = f"{key.namespace}/{key.name}" if key.namespace else key.name
    return (
        f"{key.kind} {name} is in spec.sources[{source}] and in spec.sources[{last}]; the latter "
        "is deployed: remove the object from one of them"
    )


def _duplicates(placed: Iterable[tuple[ObjectOrigin, Manifest]]) -> Iterator[ManifestProblem]:
    first: dict[ResourceKey, ObjectOrigin] = {}
    for origin, manifest in placed:
        if not access.name(manifest):
            continue
        key = access.key(manifest)
        before = first.get(key)
        if before is None:
            first[key] = origin
        else:
            message = f"the object is defined twice, first in {before}; remove one of them"
            yield _problem(Reason.DUPLICATE_OBJECT, origin, manifest, message)


def _problem(
    reason: Reason, origin: ObjectOrigin, document: object, message: str
) -> ManifestProblem:
    about = ""
    if isinstance(document, Mapping):
        name = access.name(document) or access.generate_name(document)
        space = access.namespace(document)
        about = f"{access.kind(document)} {space + '/' if space else ''}{name}".strip()
    return ManifestProblem(reason=reason, origin=origin, object=about, message=message)
