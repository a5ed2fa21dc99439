"""The bodies of requests that command applications."""

from __future__ import annotations

from typing import Annotated

import msgspec

from service.api.applications.filters import ApplicationsQuery
from service.http.endpoint import RequestModel
from service.http.fields import Id, Text

MOST_APPLICATIONS = 500


class ObjectRef(RequestModel, frozen=True, kw_only=True):
    """One object of the application."""

    group: Text = ""
    kind: Annotated[str, msgspec.Meta(min_length=1, max_length=63)]
    namespace: Annotated[str, msgspec.Meta(max_length=63)] = ""
    name: Annotated[str, msgspec.Meta(min_length=1, max_length=253)]


class ObjectSelector(RequestModel, frozen=True, kw_only=True):
    """Objects of the application; `*` is any group, kind, namespace or name.

    Without a namespace those of every namespace. A `!` before the kind excludes them: every other
    object is meant, or every other one that the list names.
    """

    group: Text = ""
    kind: Annotated[str, msgspec.Meta(min_length=1, max_length=64)]
    namespace: Annotated[str, msgspec.Meta(max_length=63)] = ""
    name: Annotated[str, msgspec.Meta(min_length=1, max_length=253)]


Objects = Annotated[tuple[ObjectSelector, ...], msgspec.Meta(max_length=1000)]


Options = Annotated[tuple[Text, ...], msgspec.Meta(max_length=50)]


Revision = Annotated[str, msgspec.Meta(max_length=253)]


class SyncRequest(RequestModel, frozen=True, kw_only=True, omit_defaults=True):
    """`revision`: instead of the target revision; `options`: as in the spec."""

    revision: Revision = ""
    revisions: Annotated[tuple[Revision, ...], msgspec.Meta(max_length=20)] = ()
    """In place of `revision` for an application with several sources: one for each, empty for the
    target revision of its source."""
    prune: bool = False
    dry_run: bool = False
    resources: Objects = ()
    options: Options = ()
    override_window: bool = False
    """Let this one sync pass a closed sync window; needs a reason."""
    reason: Annotated[str, msgspec.Meta(max_length=500)] = ""
    """Why a closed sync window is overridden, for the audit."""


class RefreshRequest(RequestModel, frozen=True, kw_only=True, omit_defaults=True):
    hard: bool = False
    """Forget what is cached: charts, rendered manifests."""


class RollbackRequest(RequestModel, frozen=True, kw_only=True):
    history_id: Annotated[int, msgspec.Meta(ge=0, le=2**53)]
    prune: bool = False


class BulkFilter(ApplicationsQuery, frozen=True, kw_only=True):
    """As for the list."""


class BulkRequest(RequestModel, frozen=True, kw_only=True):
    """Either ids or a filter; at most 500 applications."""

    ids: Annotated[tuple[Id, ...], msgspec.Meta(max_length=MOST_APPLICATIONS)] | None = None
    filter: BulkFilter | None = None


class BulkSyncRequest(BulkRequest, frozen=True, kw_only=True):
    prune: bool = False
    dry_run: bool = False
    options: Options = ()


class BulkRefreshRequest(BulkRequest, frozen=True, kw_only=True):
    hard: bool = False
