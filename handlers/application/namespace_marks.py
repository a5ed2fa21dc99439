"""Marks of tracking in `managedNamespaceMetadata` are left out, and told. Pure.

Written as they stand, they would make the Namespace an object of the application that they name,
which would prune it with all that is in it.
"""

from __future__ import annotations

from collections.abc import Iterator

from handlers.application.application import Application
from handlers.application.policy import namespace_metadata, sync_options_of_app
from handlers.application.spec import ManagedNamespaceMetadata
from handlers.application.unsupported import Unsupported
from handlers.manifest.tracking_method import Tracking


def without_marks(listed: ManagedNamespaceMetadata, tracking: Tracking) -> ManagedNamespaceMetadata:
    def kept(written: dict[str, str]) -> dict[str, str]:
        marks = tracking.marks(written)
        return {key: value for key, value in written.items() if key not in marks}

    return ManagedNamespaceMetadata(
        labels=kept(listed.labels), annotations=kept(listed.annotations)
    )


def left_out_marks(app: Application, tracking: Tracking) -> Iterator[Unsupported]:
    """Tell of the marks that the Application lists."""
    listed = namespace_metadata(app, sync_options_of_app(app)) or ManagedNamespaceMetadata()
    for field, keys in (("labels", listed.labels), ("annotations", listed.annotations)):
        for key in tracking.marks(keys):
            yield Unsupported(
                field=f"{key} in spec.syncPolicy.managedNamespaceMetadata.{field}",
                consequence="it is not written: it says to which application an object belongs",
            )
