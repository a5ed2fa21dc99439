"""Application and AppProject as values, decoded from the JSON of their custom resources."""

from __future__ import annotations

from typing import Any

import msgspec

from bus.identity import AppKey, RepositoryKey
from bus.metadata_keys import AGENT_RECORDS
from bus.repository_url import RepositoryUrlError
from handlers.application.source_address import SourceAddress
from handlers.application.spec import (
    ApplicationSpec,
    Operation,
    ResourceValue,
    Source,
    SourceHydrator,
)
from handlers.application.status import ApplicationStatus
from handlers.application.unknown_field import UnknownField

RESOURCES_FINALIZER = "resources-finalizer.argocd.argoproj.io"
SKIP_RECONCILE = "argocd.argoproj.io/skip-reconcile"
_TRUE = frozenset({"1", "t", "T", "TRUE", "true", "True"})
"""The words for true of Go's strconv.ParseBool, by which Argo CD reads the annotation."""
REFRESH_ANNOTATION = "argocd.argoproj.io/refresh"
HYDRATE_ANNOTATION = "argocd.argoproj.io/hydrate"
NOT_EDITED = AGENT_RECORDS | {REFRESH_ANNOTATION, HYDRATE_ANNOTATION}
"""Annotations that come and go without an edit: no report shows them, and an edit keeps them."""


class OwnerReference(ResourceValue, frozen=True, kw_only=True):
    kind: str = ""
    name: str = ""


class Metadata(ResourceValue, frozen=True, kw_only=True):
    name: str
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    creation_timestamp: str = ""
    deletion_timestamp: str = ""
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    finalizers: tuple[str, ...] = ()
    owner_references: tuple[OwnerReference, ...] = ()


class PartialObjectMetadata(msgspec.Struct, frozen=True):
    """An object of any kind of which only the metadata is decoded, as Kubernetes names it."""

    metadata: Metadata


class Application(ResourceValue, frozen=True, kw_only=True):
    """An Application of the right shape; whether it makes sense is the question of `validate`."""

    metadata: Metadata
    spec: ApplicationSpec
    status: ApplicationStatus = ApplicationStatus()
    operation: Operation | None = None
    unknown_fields: tuple[UnknownField, ...] = ()
    """What the spec says that this version does not know; set by whoever reads the object."""

    @property
    def key(self) -> AppKey:
        return AppKey(self.metadata.namespace, self.metadata.name)

    @property
    def source(self) -> Source | None:
        """The first source, by which lists name the Application."""
        return next(iter(self.sources), None)

    @property
    def sources(self) -> tuple[Source, ...]:
        """The sources of the manifests, in order: `spec.sources` wins over `spec.source`."""
        if self.spec.sources:
            return self.spec.sources
        return (self.spec.source,) if self.spec.source is not None else ()

    @property
    def followed_sources(self) -> tuple[Source, ...]:
        """The sources whose commits lead to work: those that are deployed, and the dry source."""
        hydrator = self.spec.source_hydrator
        dry = hydrator.dry_source if hydrator is not None else None
        return (*self.sources, dry) if dry is not None else self.sources

    @property
    def repository(self) -> RepositoryKey | None:
        """The repository of the first source; None also for a bad URL, which `validate` reports."""
        return repository_of(self.source)

    @property
    def repositories(self) -> tuple[RepositoryKey, ...]:
        """The repositories of all sources that are followed, each once."""
        found = (repository_of(one) for one in self.followed_sources)
        return tuple(dict.fromkeys(one for one in found if one is not None))

    @property
    def deleting(self) -> bool:
        return bool(self.metadata.deletion_timestamp)

    @property
    def is_skipped(self) -> bool:
        """Whether `skip-reconcile` is set: then nothing at all is done for the Application."""
        return self.metadata.annotations.get(SKIP_RECONCILE) in _TRUE


def repository_of(source: Source | None) -> RepositoryKey | None:
    """The repository of a source; None also for a bad URL, which `validate` reports."""
    try:
        return SourceAddress.of(source).key if source else None
    except RepositoryUrlError:
        return None


class ProjectDestination(ResourceValue, frozen=True, kw_only=True):
    server: str = ""
    name: str = ""
    namespace: str = ""


class GroupKindRule(ResourceValue, frozen=True, kw_only=True):
    group: str
    kind: str
    name: str = ""


class AppProjectSpec(ResourceValue, frozen=True, kw_only=True):
    """`None` and `()` differ for `namespace_resource_whitelist`: allow all, and deny all."""

    description: str = ""
    source_repos: tuple[str, ...] = ()
    destinations: tuple[ProjectDestination, ...] = ()
    cluster_resource_whitelist: tuple[GroupKindRule, ...] = ()
    cluster_resource_blacklist: tuple[GroupKindRule, ...] = ()
    namespace_resource_whitelist: tuple[GroupKindRule, ...] | None = None
    namespace_resource_blacklist: tuple[GroupKindRule, ...] = ()
    source_namespaces: tuple[str, ...] = ()
    roles: tuple[dict[str, Any], ...] = ()
    sync_windows: tuple[dict[str, Any], ...] = ()
    orphaned_resources: dict[str, Any] | None = None
    signature_keys: tuple[dict[str, Any], ...] = ()
    source_integrity: dict[str, Any] | None = None
    destination_service_accounts: tuple[dict[str, Any], ...] = ()
    permit_only_project_scoped_clusters: bool = False


class AppProject(ResourceValue, frozen=True, kw_only=True):
    metadata: Metadata
    spec: AppProjectSpec = AppProjectSpec()
    unknown_fields: tuple[UnknownField, ...] = ()
    """As of an Application."""
    global_projects: tuple[str, ...] = ()
    """Whose rules are part of `spec`; set by `with_global_projects`."""
    missing_global_projects: tuple[str, ...] = ()
    """Whose rules should be part of `spec`, and which do not exist."""


def read_application(raw: bytes) -> Application:
    """Decode an Application; raises msgspec.ValidationError, which names the field.

    With a hydrator its sync source is the source, whatever else the spec says, as in Argo CD.
    """
    app = _APPLICATION.decode(raw)
    if app.spec.source_hydrator is None:
        return app
    source = deployed_source(app.spec.source_hydrator)
    spec = msgspec.structs.replace(app.spec, source=source, sources=())
    return msgspec.structs.replace(app, spec=spec)


def deployed_source(hydrator: SourceHydrator) -> Source:
    """The source that an Application with a hydrator is deployed from."""
    sync, dry = hydrator.sync_source, hydrator.dry_source
    url = sync.repo_url or (dry.repo_url if dry is not None else "")
    return Source(repo_url=url, target_revision=sync.target_branch, path=sync.path)


def read_metadata(raw: bytes) -> Metadata:
    """Decode the metadata of an object of any kind; what else it holds is not looked at."""
    return _NAMED.decode(raw).metadata


def read_without_spec(raw: bytes) -> Application:
    """Decode a malformed Application: its metadata, and its status where that is sound.

    The status holds its conditions: without them each write would set their times anew.
    """
    decoded = msgspec.json.decode(raw)
    metadata = msgspec.convert(decoded["metadata"], Metadata, strict=False)
    try:
        status = msgspec.convert(decoded.get("status") or {}, ApplicationStatus, strict=False)
    except msgspec.ValidationError:
        status = ApplicationStatus()
    return Application(metadata=metadata, spec=ApplicationSpec(), status=status)


def read_project(raw: bytes) -> AppProject:
    return _PROJECT.decode(raw)


_APPLICATION = msgspec.json.Decoder(Application)
_NAMED = msgspec.json.Decoder(PartialObjectMetadata, strict=False)
_PROJECT = msgspec.json.Decoder(AppProject)
