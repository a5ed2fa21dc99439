"""DeployedCluster: the cluster that an Application was deployed to, kept in an annotation. Pure.

An address may lead to another cluster one day: one that was built anew, restored, or put there by
mistake. What the Application deployed is then not in the cluster that answers. The UID of its
namespace kube-system tells; it stands in the Application, because that outlives every restart, is
written with each sync in any case, and whoever can change it can only hold up or let go his own
Application.
"""

from __future__ import annotations

from collections.abc import Mapping

from bus.metadata_keys import DEPLOYED_TO
from handlers.application.application import Application


def deployed_to(server: str, uid: str) -> Mapping[str, str]:
    """Return the annotation to write; none where the cluster's UID is not known."""
    return {DEPLOYED_TO: f"{uid} {server}"} if uid else {}


def replacement(app: Application, server: str, uid: str) -> str:
    """Say that another cluster answers than the one deployed to, with the remedy; else empty.

    An Application that was never deployed, or to another address, tells nothing about this one.
    """
    known, _, place = app.metadata.annotations.get(DEPLOYED_TO, "").partition(" ")
    if not uid or not known or place != server or known == uid:
        return ""
    return (
        f"another cluster answers at {server} than the one that the application was deployed to "
        f"(its kube-system has the UID {uid}, {known} was expected): bring the former one back, or "
        f"remove the annotation {DEPLOYED_TO} of the application if this one took its place"
    )
