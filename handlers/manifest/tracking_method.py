"""Tracking: how objects are marked as an application's, and how a live object's mark is read. Pure.

    method             written on each object                identity of a live object
    annotation         tracking id                           the tracking id
    annotation+label   tracking id, label cut to 63          the tracking id
    label              label, which may not exceed 63        the label, or else the tracking id

With an installation id the annotation `installation-id` is written too, and a tracking id beside
another one, or none, is of another installation. A method may be changed while applications run:
what carries the mark of the earlier method alone stays its application's until it is written anew.
So a label counts under the annotation methods where the settings name the method, and only there.

A label is copied by charts, templates and controllers. It counts where the field manager of Argo CD
owns it, and never on a CustomResourceDefinition, which carries no mark.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Any

import msgspec

from handlers.manifest.access import Manifest, annotation, items, mapping, name, namespace, text
from handlers.manifest.kinds import CUSTOM_RESOURCE_DEFINITION, GroupKind
from handlers.manifest.tracking import TRACKING_ID, TrackingId, self_referenced, stamp

INSTALLATION_ID = "argocd.argoproj.io/installation-id"
INSTANCE_LABEL = "app.kubernetes.io/instance"
LONGEST_LABEL = 63
_NO_END = "-_."
_WRITERS = frozenset({"argocd-controller", "argocd-application-controller"})
_CREATED_UNTRACKED = GroupKind("", "Namespace")
"""An operation creates it with labels of the application and without a mark."""


class TrackingMethod(StrEnum):
    ANNOTATION = "annotation"
    LABEL = "label"
    BOTH = "annotation+label"


class Tracking(msgspec.Struct, frozen=True, kw_only=True):
    """The tracking settings of one installation."""

    method: TrackingMethod = TrackingMethod.ANNOTATION
    label_key: str = INSTANCE_LABEL
    installation_id: str = ""
    is_chosen: bool = False
    """Whether the settings name the method."""

    @property
    def fingerprint(self) -> str:
        """Name everything that changes what is written; empty for the default."""
        label = "" if self.method is TrackingMethod.ANNOTATION else self.label_key
        if not label and not self.installation_id:
            return ""
        return f"{self.method} {label} {self.installation_id}"

    @property
    def binding_label(self) -> str:
        """The label that says, or may say, whose an object is; empty where none does."""
        by_annotation = self.method is TrackingMethod.ANNOTATION
        return "" if by_annotation and not self._reads_labels else self.label_key

    def problem(self, identity: str) -> str:
        """Say why objects cannot be marked as this application's; empty where they can."""
        if self.method is not TrackingMethod.LABEL or len(identity) <= LONGEST_LABEL:
            return ""
        return (
            f"the application cannot be tracked by the label {self.label_key}: {identity!r} has "
            f"{len(identity)} characters, and a label may have {LONGEST_LABEL}; use a shorter name "
            "or another application.resourceTrackingMethod in argocd-cm"
        )

    def stamp(
        self, manifest: Manifest, identity: str, destination_namespace: str = ""
    ) -> dict[str, Any]:
        """Copy the manifest with its marks, which take the place of marks that Git has."""
        if GroupKind.of(manifest) == CUSTOM_RESOURCE_DEFINITION:
            return dict(manifest)
        if self.method is TrackingMethod.LABEL:
            return self._with_label(_without_marks(manifest), identity)
        stamped = stamp(_without_marks(manifest), identity, destination_namespace)
        if self.installation_id:
            notes = stamped["metadata"]["annotations"]
            notes[INSTALLATION_ID] = self.installation_id
        return (
            stamped
            if self.method is TrackingMethod.ANNOTATION
            else self._with_label(stamped, identity)
        )

    def _with_label(self, manifest: Manifest, identity: str) -> dict[str, Any]:
        metadata = mapping(manifest, "metadata")
        label = identity[:LONGEST_LABEL].rstrip(_NO_END)
        labels = {**mapping(metadata, "labels"), self.label_key: label}
        return {**manifest, "metadata": {**metadata, "labels": labels}}

    def read(self, live: Manifest) -> str:
        """Read the tracking id of a live object, or make one of its label; empty for none.

        `live` has its `managedFields`. A tracking id need not name the object that carries it.
        """
        written = annotation(live, TRACKING_ID)
        if written and self.installation_id not in ("", annotation(live, INSTALLATION_ID)):
            return ""
        if written and (self.method is not TrackingMethod.LABEL or self_referenced(live)):
            return written
        return self._labelled(live)

    def parents(self, labels: Mapping[str, str], annotations: Mapping[str, str]) -> tuple[str, ...]:
        """Name every application that may have written these marks, whoever owns them."""
        tracked = TrackingId.parse(annotations.get(TRACKING_ID, ""))
        label = labels.get(self.label_key, "") if self._reads_labels else ""
        return tuple(one for one in (tracked.app if tracked else "", label) if one)

    def marks(self, keys: Iterable[str]) -> tuple[str, ...]:
        """Find those keys of labels and annotations that say whose an object is."""
        own = _MARKS | {self.label_key} if self._reads_labels else _MARKS
        return tuple(one for one in keys if one in own)

    @property
    def _reads_labels(self) -> bool:
        by_label = self.method is TrackingMethod.LABEL
        return by_label or (self.is_chosen and not self.installation_id)

    def _labelled(self, live: Manifest) -> str:
        label = text(live, "metadata", "labels", self.label_key) if self._reads_labels else ""
        if not label:
            return ""
        here = GroupKind.of(live)
        if here == CUSTOM_RESOURCE_DEFINITION:
            return ""
        if here == _CREATED_UNTRACKED and self.method is not TrackingMethod.LABEL:
            return ""
        if not is_written_by_tracking(live, self.label_key):
            return ""
        return str(TrackingId(label, here.group, here.kind, namespace(live), name(live)))


_MARKS = frozenset({TRACKING_ID, INSTALLATION_ID})
_DOMAIN = "argocd.argoproj.io/"
_KEY = re.compile(
    r"([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?/)?[A-Za-z0-9]([-\w.]{0,61}[A-Za-z0-9])?", re.ASCII
)


def is_asked_of_agent(annotation_key: str) -> bool:
    """Whether an annotation of Argo CD's domain asks for something, and is no mark."""
    return annotation_key.startswith(_DOMAIN) and annotation_key not in _MARKS


def is_label_key(written: str) -> bool:
    return _KEY.fullmatch(written) is not None


def _without_marks(manifest: Manifest) -> dict[str, Any]:
    """Drop marks that Git has: they were exported from a cluster, and may be another's."""
    metadata = mapping(manifest, "metadata")
    written = mapping(metadata, "annotations")
    if _MARKS.isdisjoint(written):
        return dict(manifest)
    notes = {key: one for key, one in written.items() if key not in _MARKS}
    return {**manifest, "metadata": {**metadata, "annotations": notes}}


def is_written_by_tracking(live: Manifest, label_key: str) -> bool:
    """Whether Argo CD, or this agent, has written the label."""
    for entry in items(live, "metadata", "managedFields"):
        if entry.get("manager") in _WRITERS and not entry.get("subresource"):
            labels = mapping(entry, "fieldsV1", "f:metadata", "f:labels")
            if f"f:{label_key}" in labels:
                return True
    return False
