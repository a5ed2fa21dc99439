"""The approval of deletions that `Prune=confirm` and `Delete=confirm` wait for. Pure.

A person approves by an annotation with a time, as in Argo CD. The approval holds for what began
before it: a prune for the operation that was running, a deletion for the Application that was being
deleted. So an old approval never confirms something new.
"""

from __future__ import annotations

import re

from handlers.application import times
from handlers.application.application import Application

DELETION_APPROVED = "argocd.argoproj.io/deletion-approved"
_RFC_3339 = re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?(Z|[+-]\d{2}:\d{2})", re.ASCII)


def approval(app: Application) -> str:
    """The annotation as it is written; empty where there is none."""
    return app.metadata.annotations.get(DELETION_APPROVED, "")


def approved_since(app: Application, began: str) -> bool:
    """Whether deletions are approved by an RFC 3339 time that is not before `began`."""
    written = approval(app)
    at = times.read(written) if _RFC_3339.fullmatch(written) else None
    since = times.read(began)
    return at is not None and since is not None and at >= since


def remedy(app: Application) -> str:
    """Say how to approve what waits."""
    return (
        f"approve it with `gitops app confirm-deletion {app.key.name}`, or set the annotation"
        f" {DELETION_APPROVED} of the Application to the time of now"
    )
