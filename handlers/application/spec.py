"""`Application.spec` and `.operation` as values, field for field as Argo CD has them.

Some fields are declared only to be reported as unsupported (see `unsupported_fields`). Fields that
are not declared are reported as unknown (see `unknown_fields`); they stay in the cluster untouched,
because we never write a spec.
"""

from __future__ import annotations

from typing import Any

import msgspec

from handlers.application.plugin_fields import PluginSource


class ResourceValue(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Base of every part of a custom resource: camelCase in JSON, defaults left out."""


class HelmParameter(ResourceValue, frozen=True, kw_only=True):
    name: str
    value: str = ""
    force_string: bool = False


class HelmFileParameter(ResourceValue, frozen=True, kw_only=True):
    name: str
    path: str


class HelmSource(ResourceValue, frozen=True, kw_only=True):
    value_files: tuple[str, ...] = ()
    values: str = ""
    values_object: dict[str, Any] | None = None
    parameters: tuple[HelmParameter, ...] = ()
    file_parameters: tuple[HelmFileParameter, ...] = ()
    release_name: str = ""
    version: str = ""
    pass_credentials: bool = False
    ignore_missing_value_files: bool = False
    skip_crds: bool = False
    skip_tests: bool = False
    skip_schema_validation: bool = False
    namespace: str = ""
    kube_version: str = ""
    api_versions: tuple[str, ...] = ()


class KustomizeReplica(ResourceValue, frozen=True, kw_only=True):
    name: str
    count: int | str


class KustomizeSource(ResourceValue, frozen=True, kw_only=True):
    name_prefix: str = ""
    name_suffix: str = ""
    images: tuple[str, ...] = ()
    replicas: tuple[KustomizeReplica, ...] = ()
    common_labels: dict[str, str] = {}
    force_common_labels: bool = False
    label_without_selector: bool = False
    label_include_templates: bool = False
    common_annotations: dict[str, str] = {}
    force_common_annotations: bool = False
    common_annotations_envsubst: bool = False
    namespace: str = ""
    patches: tuple[dict[str, Any], ...] = ()
    components: tuple[str, ...] = ()
    ignore_missing_components: bool = False
    version: str = ""
    kube_version: str = ""
    api_versions: tuple[str, ...] = ()


class JsonnetVar(ResourceValue, frozen=True, kw_only=True):
    name: str
    value: str = ""
    code: bool = False


class Jsonnet(ResourceValue, frozen=True, kw_only=True):
    ext_vars: tuple[JsonnetVar, ...] = ()
    tlas: tuple[JsonnetVar, ...] = ()
    libs: tuple[str, ...] = ()


class DirectorySource(ResourceValue, frozen=True, kw_only=True):
    recurse: bool = False
    include: str = ""
    exclude: str = ""
    jsonnet: Jsonnet = Jsonnet()


class Source(ResourceValue, frozen=True, kw_only=True):
    repo_url: str = msgspec.field(name="repoURL")
    path: str = ""
    target_revision: str = ""
    tag_prefix: str = ""
    """What the tags begin with among which a range or a version of `target_revision` chooses."""
    chart: str = ""
    ref: str = ""
    name: str = ""
    helm: HelmSource | None = None
    kustomize: KustomizeSource | None = None
    directory: DirectorySource | None = None
    plugin: PluginSource | None = None

    @property
    def renders(self) -> bool:
        """Whether manifests come from it; one that has only a `ref` lends its files to others."""
        return bool(self.path or self.chart) or not self.ref


class SyncSource(ResourceValue, frozen=True, kw_only=True):
    """Where the hydrated manifests are deployed from."""

    repo_url: str = msgspec.field(name="repoURL", default="")
    """Empty: the repository of the dry source."""
    target_branch: str = ""
    path: str = ""


class HydrateTo(ResourceValue, frozen=True, kw_only=True):
    """The branch that is written in place of the one that is deployed."""

    target_branch: str = ""


class SourceHydrator(ResourceValue, frozen=True, kw_only=True):
    dry_source: Source | None = None
    sync_source: SyncSource = SyncSource()
    hydrate_to: HydrateTo | None = None


class Destination(ResourceValue, frozen=True, kw_only=True):
    server: str = ""
    name: str = ""
    namespace: str = ""


class Automated(ResourceValue, frozen=True, kw_only=True):
    prune: bool | None = None
    self_heal: bool | None = None
    allow_empty: bool | None = None
    enabled: bool | None = None


class Backoff(ResourceValue, frozen=True, kw_only=True):
    duration: str = ""
    """Go duration (`5s`, `3m`) or a number of seconds."""
    factor: int | None = None
    max_duration: str = ""


class RetryStrategy(ResourceValue, frozen=True, kw_only=True):
    limit: int = 0
    """Retries after the first try; below 0 is without end."""
    backoff: Backoff | None = None
    refresh: bool = False


class ManagedNamespaceMetadata(ResourceValue, frozen=True, kw_only=True):
    """The labels and annotations of the Namespace that `CreateNamespace=true` makes."""

    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}


class SyncPolicy(ResourceValue, frozen=True, kw_only=True):
    automated: Automated | None = None
    sync_options: tuple[str, ...] = ()
    retry: RetryStrategy | None = None
    managed_namespace_metadata: ManagedNamespaceMetadata | None = None


class IgnoreDifference(ResourceValue, frozen=True, kw_only=True):
    group: str = ""
    kind: str = ""
    name: str = ""
    namespace: str = ""
    json_pointers: tuple[str, ...] = ()
    jq_path_expressions: tuple[str, ...] = ()
    managed_fields_managers: tuple[str, ...] = ()


class ApplicationSpec(ResourceValue, frozen=True, kw_only=True):
    project: str = "default"
    source: Source | None = None
    sources: tuple[Source, ...] = ()
    source_hydrator: SourceHydrator | None = None
    destination: Destination = Destination()
    sync_policy: SyncPolicy | None = None
    ignore_differences: tuple[IgnoreDifference, ...] = ()
    info: tuple[dict[str, Any], ...] = ()
    revision_history_limit: int | None = None


class SyncResource(ResourceValue, frozen=True, kw_only=True):
    group: str = ""
    kind: str
    name: str
    namespace: str = ""


class SyncOperation(ResourceValue, frozen=True, kw_only=True):
    revision: str = ""
    prune: bool = False
    dry_run: bool = False
    sync_strategy: dict[str, Any] | None = None
    resources: tuple[SyncResource, ...] = ()
    sync_options: tuple[str, ...] = ()
    source: Source | None = None
    sources: tuple[Source, ...] = ()
    revisions: tuple[str, ...] = ()
    manifests: tuple[str, ...] = ()
    auto_heal_attempts_count: int = 0

    @property
    def forces(self) -> bool:
        """Whether the strategy, of either kind, says `force`."""
        ways = (self.sync_strategy or {}).values()
        return any(isinstance(way, dict) and way.get("force") is True for way in ways)

    @property
    def runs_hooks(self) -> bool:
        """Whether the sync runs hooks: not of chosen objects, nor with the strategy `apply`."""
        return not self.resources and (self.sync_strategy or {}).get("apply") is None


class InitiatedBy(ResourceValue, frozen=True, kw_only=True):
    username: str = ""
    automated: bool = False


class Operation(ResourceValue, frozen=True, kw_only=True):
    """Writing this field is Argo CD's API to start a sync."""

    sync: SyncOperation | None = None
    initiated_by: InitiatedBy = InitiatedBy()
    info: tuple[dict[str, Any], ...] = ()
    retry: RetryStrategy | None = None
