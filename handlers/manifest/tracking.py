"""Tracking ids: annotations, as Argo CD's, that say to which application an object belongs. Pure.

The annotation repeats the identity of its object, because operators copy annotations to objects
that they create: a copy does not match its object, is not *self-referenced*, and is never pruned.
"""

from __future__ import annotations

from typing import Any

import msgspec

from bus.identity import AppKey, ResourceKey
from handlers.manifest.access import (
    Manifest,
    annotation,
    group,
    key,
    kind,
    mapping,
    name,
    namespace,
)
from handlers.manifest.kinds import CUSTOM_RESOURCE_DEFINITION, GroupKind

TRACKING_ID = "argocd.argoproj.io/tracking-id"


class TrackingId(msgspec.Struct, frozen=True, order=True):
    """`<app>:<group>/<kind>:<namespace>/<name>`; `app` is an identity, see `app_identity`."""

    app: str
    group: str
    kind: str
    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.app}:{self.group}/{self.kind}:{self.namespace}/{self.name}"

    @classmethod
    def parse(cls, written: str) -> TrackingId | None:
        """None where it is not a tracking id. Only the object's name may hold colons (RBAC)."""
        app, colon, rest = written.partition(":")
        group_kind, second, place = rest.partition(":")
        group_name, slash, kind_name = group_kind.partition("/")
        space, last, object_name = place.partition("/")
        if not (app and colon and second and slash and last and kind_name and object_name):
            return None
        return cls(app, group_name, kind_name, space, object_name)

    def names(self, key: ResourceKey) -> bool:
        """Tell whether the tracking id is that of this object.

        A cluster-scoped object may name any namespace: it carries its application's destination.
        """
        return (
            self.kind == key.kind
            and self.name == key.name
            and _same_group(self.group, key.group)
            and key.namespace in ("", self.namespace)
        )


def app_identity(app: AppKey, control_namespace: str) -> str:
    """The name alone in the control namespace, `<namespace>_<name>` elsewhere."""
    return app.name if app.namespace == control_namespace else f"{app.namespace}_{app.name}"


def app_of(identity: str, control_namespace: str) -> AppKey:
    space, underscore, app_name = identity.partition("_")
    return AppKey(space, app_name) if underscore else AppKey(control_namespace, identity)


def tracking_of(manifest: Manifest) -> TrackingId | None:
    return TrackingId.parse(annotation(manifest, TRACKING_ID))


def self_referenced(manifest: Manifest) -> bool:
    """Whether the tracking id names the object that carries it."""
    tracked = tracking_of(manifest)
    return tracked is not None and tracked.names(key(manifest))


def tracking_id(manifest: Manifest, identity: str, destination_namespace: str = "") -> TrackingId:
    space = namespace(manifest) or destination_namespace
    return TrackingId(identity, group(manifest), kind(manifest), space, name(manifest))


def stamp(manifest: Manifest, identity: str, destination_namespace: str = "") -> dict[str, Any]:
    """Copy the manifest with its tracking id; CustomResourceDefinitions are never stamped."""
    if GroupKind.of(manifest) == CUSTOM_RESOURCE_DEFINITION:
        return dict(manifest)
    tracking = str(tracking_id(manifest, identity, destination_namespace))
    metadata = mapping(manifest, "metadata")
    annotations = {**mapping(metadata, "annotations"), TRACKING_ID: tracking}
    return {**manifest, "metadata": {**metadata, "annotations": annotations}}


def named(manifest: Manifest, name: str) -> dict[str, Any]:
    """Give a stamped manifest with `generateName` its name, in the tracking id too."""
    metadata = {
        field: one
        for field, one in mapping(manifest, "metadata").items()
        if field != "generateName"
    }
    annotations = dict(mapping(metadata, "annotations"))
    if TRACKING_ID in annotations:
        # The id of a nameless object ends where the name has to stand.
        annotations[TRACKING_ID] = f"{annotations[TRACKING_ID]}{name}"
    return {**manifest, "metadata": {**metadata, "name": name, "annotations": annotations}}


def _same_group(tracked: str, own: str) -> bool:
    """Ingress moved from `extensions` to `networking.k8s.io`; its tracking ids stayed."""
    return tracked == own or {tracked, own} == {"extensions", "networking.k8s.io"}
