"""Global projects: AppProjects whose rules hold in other projects too, chosen by label. Pure.

`globalProjects` of `argocd-cm` is a list of `{projectName, labelSelector}`. A project whose labels
a selector chooses has, beside its own, the global project's lists of kinds, its source
repositories, destinations, sync windows and destination service accounts; not its roles, source
namespaces, orphaned resources or signatures. Two lists become one, so what either denies is denied.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec
import yaml
from msgspec.structs import replace

from handlers.application.application import AppProject, AppProjectSpec
from handlers.application.label_selector import LabelSelector


class GlobalProject(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True
):
    """One entry of the setting: which projects a project is global for."""

    project_name: str
    label_selector: LabelSelector = LabelSelector()


def with_global_projects(
    project: AppProject,
    entries: Sequence[GlobalProject],
    find: Callable[[str], AppProject | None],
) -> AppProject:
    """Add what global projects say to a project; those that do not exist are named in the result.

    A project is never its own global project, and what is global for the other one does not count.
    """
    name, labels = project.metadata.name, project.metadata.labels
    chosen = dict.fromkeys(
        it.project_name
        for it in entries
        if it.project_name != name and it.label_selector.selects(labels)
    )
    spec, missing = project.spec, list[str]()
    for one in chosen:
        found = find(one)
        if found is None:
            missing.append(one)
        else:
            spec = _joined(spec, found.spec)
    return replace(
        project,
        spec=spec,
        global_projects=tuple(one for one in chosen if one not in missing),
        missing_global_projects=tuple(missing),
    )


def _joined(own: AppProjectSpec, shared: AppProjectSpec) -> AppProjectSpec:
    """As in Argo CD a list of permitted kinds restricts also a project that has none of its own."""
    return replace(
        own,
        source_repos=own.source_repos + shared.source_repos,
        destinations=own.destinations + shared.destinations,
        cluster_resource_whitelist=(
            own.cluster_resource_whitelist + shared.cluster_resource_whitelist
        ),
        cluster_resource_blacklist=(
            own.cluster_resource_blacklist + shared.cluster_resource_blacklist
        ),
        namespace_resource_whitelist=(
            own.namespace_resource_whitelist
            if shared.namespace_resource_whitelist is None
            else (own.namespace_resource_whitelist or ()) + shared.namespace_resource_whitelist
        ),
        namespace_resource_blacklist=(
            own.namespace_resource_blacklist + shared.namespace_resource_blacklist
        ),
        sync_windows=own.sync_windows + shared.sync_windows,
        destination_service_accounts=(
            own.destination_service_accounts + shared.destination_service_accounts
        ),
    )


def read_global_projects(text: str) -> tuple[tuple[GlobalProject, ...], str]:
    """Read the value of `globalProjects`, and why it cannot be read."""
    try:
        return msgspec.convert(yaml.safe_load(text) or (), tuple[GlobalProject, ...]), ""
    except (yaml.YAMLError, msgspec.ValidationError) as error:
        return (), str(error).partition("\n")[0]
