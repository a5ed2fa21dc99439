"""The project `default` as Argo CD makes it at installation: it permits everything."""

from __future__ import annotations

from handlers.application.application import (
    AppProject,
    AppProjectSpec,
    GroupKindRule,
    Metadata,
    ProjectDestination,
)

DEFAULT_PROJECT = AppProject(
    metadata=Metadata(name="default"),
    spec=AppProjectSpec(
        source_repos=("*",),
        destinations=(ProjectDestination(server="*", namespace="*"),),
        cluster_resource_whitelist=(GroupKindRule(group="*", kind="*"),),
    ),
)
