"""Kinds as values, known from discovery or from a CustomResourceDefinition in Git. Pure.

Nothing here knows which built-in kind is cluster-scoped: the cluster says so itself, and a table
written by hand would be wrong for the next one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from handlers.manifest.access import Manifest, group, items, kind, text, version


class GroupKind(msgspec.Struct, frozen=True, order=True):
    group: str
    kind: str

    def __str__(self) -> str:
        return f"{self.group}/{self.kind}" if self.group else self.kind

    @classmethod
    def of(cls, manifest: Manifest) -> GroupKind:
        return cls(group(manifest), kind(manifest))


class GroupVersionKind(msgspec.Struct, frozen=True, order=True):
    group: str
    version: str
    kind: str

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def group_kind(self) -> GroupKind:
        return GroupKind(self.group, self.kind)

    def __str__(self) -> str:
        return f"{self.api_version} {self.kind}"

    @classmethod
    def of(cls, manifest: Manifest) -> GroupVersionKind:
        return cls(group(manifest), version(manifest), kind(manifest))


class KindInfo(msgspec.Struct, frozen=True, kw_only=True):
    """One served kind in one version, as discovery lists it."""

    group: str
    version: str
    kind: str
    plural: str
    namespaced: bool
    verbs: tuple[str, ...] = ()

    @property
    def group_kind(self) -> GroupKind:
        return GroupKind(self.group, self.kind)


class Kinds:
    """All kinds known for a destination; the first version given of a kind is the preferred one."""

    def __init__(self, known: Iterable[KindInfo] = ()) -> None:
        self._known = tuple(known)
        self._versions: dict[GroupKind, dict[str, KindInfo]] = {}
        for info in self._known:
            self._versions.setdefault(info.group_kind, {}).setdefault(info.version, info)

    def __iter__(self) -> Iterator[KindInfo]:
        return iter(self._known)

    def of(self, manifest: Manifest) -> KindInfo | None:
        """The kind of `manifest` in exactly its version."""
        return self._versions.get(GroupKind.of(manifest), {}).get(version(manifest))

    def preferred(self, kind: GroupKind) -> KindInfo | None:
        return next(iter(self._versions.get(kind, {}).values()), None)

    def versions(self, kind: GroupKind) -> tuple[str, ...]:
        return tuple(self._versions.get(kind, ()))

    def plus(self, more: Iterable[KindInfo]) -> Kinds:
        """Add kinds; a kind that is known already wins."""
        return Kinds((*self._known, *more))


CUSTOM_RESOURCE_DEFINITION = GroupKind("apiextensions.k8s.io", "CustomResourceDefinition")


def defined_by(manifest: Manifest) -> tuple[KindInfo, ...]:
    """The kinds that `manifest` defines: none unless it is a CustomResourceDefinition."""
    # Asked several times of every object of an application, and nearly always answered here.
    if manifest.get("kind") != CUSTOM_RESOURCE_DEFINITION.kind:
        return ()
    if GroupKind.of(manifest) != CUSTOM_RESOURCE_DEFINITION:
        return ()
    return tuple(
        KindInfo(
            group=text(manifest, "spec", "group"),
            version=text(entry, "name"),
            kind=text(manifest, "spec", "names", "kind"),
            plural=text(manifest, "spec", "names", "plural"),
            namespaced=text(manifest, "spec", "scope") != "Cluster",
        )
        for entry in items(manifest, "spec", "versions")
        if entry.get("served") is not False
    )
