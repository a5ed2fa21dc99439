"""A foreign mark says that an object is another installation's, or may be. Pure.

To an agent an object is orphaned where it knows no application of its mark: the application may be
gone, or it may be one of another agent, or of Argo CD, in the same cluster. Only the installation
id tells these two apart.
"""

from __future__ import annotations

from handlers.manifest.access import Manifest, annotation, text
from handlers.manifest.tracking import self_referenced, tracking_of
from handlers.manifest.tracking_method import (
    INSTALLATION_ID,
    INSTANCE_LABEL,
    Tracking,
    is_written_by_tracking,
)

_SECOND_LABEL = "argocd.argoproj.io/instance"
"""What a second Argo CD in a cluster is usually told to write, so that the two do not collide."""


def foreign_mark(live: Manifest, tracking: Tracking) -> str:
    """Say which mark of an object without an application here may be another's; empty for none.

    `live` has its `managedFields`. A tracking id that does not name its object is a copy, and a
    label that no manager of Argo CD has written is a chart's: neither is a mark.
    """
    installation = annotation(live, INSTALLATION_ID)
    if installation and installation == tracking.installation_id:
        return ""
    if installation:
        return f"annotation {INSTALLATION_ID}: {installation}"
    tracked = tracking_of(live)
    if tracked is not None and self_referenced(live):
        return f"tracking id of the application {tracked.app}"
    for key in dict.fromkeys((tracking.label_key, INSTANCE_LABEL, _SECOND_LABEL)):
        label = text(live, "metadata", "labels", key)
        if label and is_written_by_tracking(live, key):
            return f"label {key}: {label}"
    return ""
