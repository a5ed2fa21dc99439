"""The Application and AppProject as read from the cluster: what was wanted, what was found."""

from __future__ import annotations

from typing import Any

import msgspec

from bus.identity import AppKey, RepositoryKey
from bus.repository_url import RepositoryUrlError
from handlers.application.spec import ApplicationSpec, Operation, Source, Value
from handlers.application.status import ApplicationStatus

RESOURCES_FINALIZER = "resources-finalizer.argocd.argoproj.io"
REFRESH_ANNOTATION = "argocd.argoproj.io/refresh"


class OwnerReference(Value, frozen=True, kw_only=True):
    kind: str = ""
    name: str = ""


class Metadata(Value, frozen=True, kw_only=True):
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


class Application(Value, frozen=True, kw_only=True):
    """An Application of the right shape; whether it makes sense is validate's question."""

    metadata: Metadata
    spec: ApplicationSpec
    status: ApplicationStatus = ApplicationStatus()
    operation: Operation | None = None

    @property
    def key(self) -> AppKey:
        return AppKey(self.metadata.namespace, self.metadata.name)

    @property
    def source(self) -> Source | None:
        """The one source this version acts on; `sources` with several entries are reported."""
        if self.spec.sources:
            return self.spec.sources[0]
        return self.spec.source

    @property
    def repository(self) -> RepositoryKey | None:
        """None also where the URL names no repository: then validate has said so."""
        try:
            return RepositoryKey.of(self.source.repo_url) if self.source else None
        except RepositoryUrlError:
            return None

    @property
    def deleting(self) -> bool:
        return bool(self.metadata.deletion_timestamp)


class ProjectDestination(Value, frozen=True, kw_only=True):
    server: str = ""
    name: str = ""
    namespace: str = ""


class GroupKindRule(Value, frozen=True, kw_only=True):
    group: str
    kind: str
    name: str = ""


class AppProjectSpec(Value, frozen=True, kw_only=True):
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


class AppProject(Value, frozen=True, kw_only=True):
    metadata: Metadata
    spec: AppProjectSpec = AppProjectSpec()


def read_application(raw: bytes) -> Application:
    """Raises msgspec.ValidationError, which names the field and what was expected."""
    return _APPLICATION.decode(raw)


def read_without_spec(raw: bytes) -> Application:
    """Read what stands in a malformed Application: who it is, and its status where that is sound.

    Without the status its conditions would be told to nobody, and each write would begin anew.
    """
    told = msgspec.json.decode(raw)
    metadata = msgspec.convert(told["metadata"], Metadata, strict=False)
    try:
        status = msgspec.convert(told.get("status") or {}, ApplicationStatus, strict=False)
    except msgspec.ValidationError:
        status = ApplicationStatus()
    return Application(metadata=metadata, spec=ApplicationSpec(), status=status)


def read_project(raw: bytes) -> AppProject:
    return _PROJECT.decode(raw)


_APPLICATION = msgspec.json.Decoder(Application)
_PROJECT = msgspec.json.Decoder(AppProject)
