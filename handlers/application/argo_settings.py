"""Argo CD's settings in the ConfigMap `argocd-cm`: which are acted on, and which are not. Pure.

Acted on are exclusions and inclusions, `cluster.inClusterEnabled`, `globalProjects`, tracking
(`tracking_settings`), ignoreDifferences (`ignore_settings`), scripts of health and of actions. What
could make a sync harmful holds automated syncs; the rest is logged once. Keys of Argo CD's server
(logins, its pages) have no meaning here. Parameters of its processes: `argo_parameters`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import msgspec
import yaml

from handlers.application.action_scripts import ActionScripts, read_action_scripts
from handlers.application.argo_parameters import (
    HEALTH_PERSISTED,
    PARAMETERS,
    REPLACE_ALLOWED,
    Row,
    is_false,
    is_true,
    unsupported_of,
    unsupported_parameters,
)
from handlers.application.compare_options import (
    COMPARE_OPTIONS,
    compares_ignored_updates,
    compares_more,
)
from handlers.application.deep_links import DeepLinks, read_deep_links
from handlers.application.exec_settings import (
    ExecSettings,
    read_exec_settings,
    unsupported_shells,
)
from handlers.application.global_projects import GlobalProject, read_global_projects
from handlers.application.health_scripts import (
    CUSTOMIZATIONS,
    HealthScripts,
    read_scripts,
    unreadable_scripts,
)
from handlers.application.hydrator_settings import TEMPLATE_ROWS, HydratorSettings, read_hydrator
from handlers.application.ignore_rules import IgnoreRule
from handlers.application.ignore_settings import (
    IGNORE_DIFFERENCES,
    IGNORE_UPDATES,
    read_ignore_settings,
)
from handlers.application.impersonation_settings import (
    ImpersonationSettings,
    impersonation_problems,
    read_impersonation,
)
from handlers.application.known_types import KnownTypeRules, read_known_types
from handlers.application.poll_setting import KEY as POLL
from handlers.application.poll_setting import read_poll_interval
from handlers.application.source_namespaces import KEY as SOURCE_NAMESPACES
from handlers.application.source_namespaces import SourceNamespaces, read_source_namespaces
from handlers.application.tool_settings import ToolSettings, read_tools
from handlers.application.tracking_settings import read_tracking
from handlers.application.unsupported import Unsupported
from handlers.manifest.exclusions import ResourceFilter, ResourceRule
from handlers.manifest.tracking_method import Tracking

CONFIG_MAP = "argocd-cm"
_GLOBAL = "globalProjects"
_UPDATES = "resource.ignoreResourceUpdatesEnabled"
_IN_CLUSTER = "cluster.inClusterEnabled"
_MASKED = "resource.sensitive.mask.annotations"


class ArgoSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The settings that concern comparisons and syncs."""

    resources: ResourceFilter = ResourceFilter()
    unsupported: tuple[Unsupported, ...] = ()
    """The settings that are not acted on, for every application."""
    global_projects: tuple[GlobalProject, ...] = ()
    """Projects whose rules hold in others too, and in which."""
    ignore_rules: tuple[IgnoreRule, ...] = ()
    """Fields of kinds that take no part in any comparison."""
    update_rules: tuple[IgnoreRule, ...] = ()
    """Fields of kinds whose change alone leads to no comparison."""
    in_cluster_enabled: bool = True
    """Whether the agent's own cluster is a destination."""
    tracking: Tracking = Tracking()
    """How objects are marked as those of an application."""
    source_namespaces: SourceNamespaces = SourceNamespaces()
    """Where Applications are followed besides the control namespace."""
    impersonation: ImpersonationSettings = ImpersonationSettings()
    """Whether syncs are made as the accounts that projects name."""
    health_scripts: HealthScripts = HealthScripts()
    """The Lua scripts that judge kinds in place of our rules."""
    known_types: KnownTypeRules = ()
    """Fields of custom resources whose values may be spelled in several ways."""
    tools: ToolSettings = ToolSettings()
    """Which tools render sources, and how."""
    ignores_on_updates: bool = True
    """Whether a change of ignored fields alone leads to no comparison."""
    action_scripts: ActionScripts = ActionScripts()
    """The Lua actions of kinds."""
    deep_links: DeepLinks = DeepLinks()
    """Links to other tools, for people who look at an application, a project or an object."""
    masked_annotations: frozenset[str] = frozenset()
    """Annotations whose values are shown nowhere."""
    poll_interval: float | None = None
    """Seconds between two looks at a repository, 0 for none; None: the agent's own setting."""
    persists_health: bool = False
    """Whether the health of each object stands in the status of its Application."""
    exec: ExecSettings = ExecSettings()
    """Whether there are shells in containers, and which."""
    hydrator: HydratorSettings = HydratorSettings()
    """Whether dry sources are hydrated, and who the author of the commits is."""
    replace_allowed: bool = True
    """Whether a sync that is asked for over the link may replace objects."""

    @property
    def rules_of_updates(self) -> tuple[IgnoreRule, ...]:
        """The fields whose change alone leads to no comparison."""
        return (*(self.ignore_rules if self.ignores_on_updates else ()), *self.update_rules)

    @property
    def harmful(self) -> tuple[Unsupported, ...]:
        """The settings that hold automated syncs."""
        return tuple(one for one in self.unsupported if one.harmful)


def read_settings(
    data: Mapping[str, str] | None, parameters: Mapping[str, str] | None = None
) -> ArgoSettings:
    """Read the settings of `argocd-cm` and of `argocd-cmd-params-cm`; None: there is none.

    A setting that cannot be read holds automated syncs.
    """
    written = data or {}
    found: list[Unsupported] = []
    rules = {key: _rules(written.get(key, ""), key, found) for key in _RULES}
    global_projects, why = read_global_projects(written.get(_GLOBAL, ""))
    found += [_unreadable(_GLOBAL, why)] if why else ()
    ignoring = read_ignore_settings(written, IGNORE_DIFFERENCES)
    updates = read_ignore_settings(written, IGNORE_UPDATES)
    tracked = read_tracking(written)
    elsewhere = (parameters or {}).get(SOURCE_NAMESPACES, "")
    source_namespaces, malformed = read_source_namespaces(elsewhere)
    found += map(_no_namespaces, malformed)
    broken = dict((*ignoring.unreadable, *updates.unreadable, *tracked.unreadable))
    found += (_unreadable(key, why) for key, why in broken.items())
    found += map(_no_health, unreadable_scripts(written))
    found += impersonation_problems(written)
    known_types = read_known_types(written)
    found += _left_out(known_types.unreadable, "so its fields are compared as they are spelled")
    found += unsupported_shells(written)
    actions = read_action_scripts(written)
    found += _left_out(actions.unreadable, "so that only built-in actions are offered")
    links = read_deep_links(written)
    found += _left_out(links.unreadable, "so that none of its links is shown")
    tools = read_tools(written)
    for place, effect in tools.left_out:
        found.append(Unsupported(field=f"{place} of {CONFIG_MAP}", consequence=effect))
    hydrator = read_hydrator(written, parameters)
    found += _left_out(hydrator.unreadable, "so that the author's default holds")
    poll_interval, why = read_poll_interval(written)
    found += _left_out([(POLL, why)] if why else (), "so that the agent's own setting holds")
    found += unsupported_of(ROWS, written, CONFIG_MAP)
    found += unsupported_parameters(parameters or {})
    return ArgoSettings(
        resources=ResourceFilter(exclusions=rules[_RULES[0]], inclusions=rules[_RULES[1]]),
        unsupported=tuple(found),
        global_projects=global_projects,
        ignore_rules=ignoring.rules,
        update_rules=() if is_false(written.get(_UPDATES, "")) else updates.rules,
        in_cluster_enabled=not is_false(written.get(_IN_CLUSTER, "")),
        health_scripts=read_scripts(written),
        tracking=tracked.tracking,
        source_namespaces=source_namespaces,
        impersonation=read_impersonation(written),
        known_types=known_types.rules,
        tools=tools,
        ignores_on_updates=not compares_ignored_updates(written.get(COMPARE_OPTIONS, "")),
        action_scripts=actions,
        exec=read_exec_settings(written),
        deep_links=links,
        masked_annotations=_names(written.get(_MASKED, "")),
        poll_interval=poll_interval,
        hydrator=hydrator,
        persists_health=is_true((parameters or {}).get(HEALTH_PERSISTED, "")),
        replace_allowed=not is_false((parameters or {}).get(REPLACE_ALLOWED, "")),
    )


def _names(text: str) -> frozenset[str]:
    return frozenset(name for one in text.split(",") if (name := one.strip()))


_RULES = ("resource.exclusions", "resource.inclusions")


def _rules(text: str, key: str, found: list[Unsupported]) -> tuple[ResourceRule, ...]:
    try:
        entries = yaml.safe_load(text) or ()
        return msgspec.convert(entries, tuple[ResourceRule, ...])
    except (yaml.YAMLError, msgspec.ValidationError) as error:
        found.append(_unreadable(key, str(error).partition("\n")[0]))
        return ()


def _unreadable(key: str, why: str) -> Unsupported:
    return Unsupported(
        field=f"{key} of {CONFIG_MAP}", consequence=f"it cannot be read ({why})", harmful=True
    )


def _no_health(kind: str) -> Unsupported:
    return Unsupported(
        field=f"{kind} in {CUSTOMIZATIONS} of {CONFIG_MAP}",
        consequence="its health is not text, so that our own rule judges the kind",
    )


def _left_out(unreadable: Iterable[tuple[str, str]], effect: str) -> Iterator[Unsupported]:
    """Say what is missing without the keys that cannot be read."""
    for place, why in unreadable:
        consequence = f"it cannot be read ({why}), {effect}"
        yield Unsupported(field=f"{place} of {CONFIG_MAP}", consequence=consequence)


def _no_namespaces(pattern: str) -> Unsupported:
    return Unsupported(
        field=f"{SOURCE_NAMESPACES} of {PARAMETERS}: {pattern[:100]}",
        consequence="it is no regular expression, so that it matches no namespace",
    )


ROWS = (
    *TEMPLATE_ROWS,
    Row(key="kustomize.buildOptions.", consequence="the built-in version is used without them"),
    Row(key="kustomize.path.", consequence="the built-in version is used"),
    Row(key="helm.valuesFileSchemes", consequence="value files are read from the source only"),
    Row(
        key=COMPARE_OPTIONS,
        consequence="status is never compared, and rules of aggregated ClusterRoles are left out,"
        " because controllers write both",
        is_set=compares_more,
    ),
)
