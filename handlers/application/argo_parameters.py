"""Argo CD's parameters in the ConfigMap `argocd-cmd-params-cm` that this version does not act on.

They tune the processes of Argo CD, so most have no meaning here: workers, caches, log levels, the
pages of its server. A row stands for each parameter that changes *what* is deployed, from where, or
how it is judged, and that is not acted on; none of them makes a sync of what is in Git harmful. The
rows of `argo_settings`, which are about the other ConfigMap, have the same form.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

import msgspec

from handlers.application.unsupported import Unsupported


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One key, or all keys that begin with it where it ends in a dot."""

    key: str
    consequence: str
    harmful: bool = False
    is_set: Callable[[str], bool] = bool

    def names(self, key: str) -> bool:
        return key == self.key or (self.key.endswith(".") and key.startswith(self.key))


def unsupported_of(
    rows: Iterable[Row], written: Mapping[str, str], config_map: str
) -> Iterator[Unsupported]:
    """Find each key of the ConfigMap that a row names with a value that matters, sorted."""
    known = tuple(rows)
    for key, value in sorted(written.items()):
        for row in known:
            if row.names(key) and row.is_set(value):
                field = f"{key} of {config_map}"
                yield Unsupported(field=field, consequence=row.consequence, harmful=row.harmful)


def unreadable_config_map(name: str, why: str, *, harmful: bool) -> Unsupported:
    """Tell of a whole ConfigMap of Argo CD that the agent may not read."""
    return Unsupported(
        field=f"the ConfigMap {name}",
        consequence=f"it cannot be read ({why}), so nobody knows what it asks for",
        harmful=harmful,
        until="the agent may list and watch ConfigMaps of its namespace",
    )


def is_word(*words: str) -> Callable[[str], bool]:
    return lambda value: value.strip().lower() in words


def is_not(*words: str) -> Callable[[str], bool]:
    return lambda value: value.strip().lower() not in ("", *words)


is_true = is_word("true")
is_false = is_word("false")


PARAMETERS = "argocd-cmd-params-cm"
HEALTH_PERSISTED = "controller.resource.health.persist"
"""Acted on: `true` writes the health of each object into the status of its Application."""
HYDRATOR_ENABLED = "hydrator.enabled"
"""Acted on: `true` commits the manifests of dry sources to their branches."""
REPLACE_ALLOWED = "server.sync.replace.allowed"
"""Acted on: `false` refuses syncs that replace, where they are asked for over the link."""


def unsupported_parameters(data: Mapping[str, str]) -> Iterator[Unsupported]:
    """Find the parameters that are set and not acted on, by key."""
    return unsupported_of(ROWS, data, PARAMETERS)


ROWS = (
    Row(
        key="applicationsetcontroller.",
        consequence="ApplicationSets make no applications in this version",
    ),
    Row(
        key="controller.diff.server.side",
        consequence="desired and live state are compared by the agent, not by a dry run",
        is_set=is_true,
    ),
    Row(
        key="controller.sync.timeout.seconds",
        consequence="a sync is not ended after that time",
        is_set=is_not("0"),
    ),
    Row(
        key="controller.repo.error.grace.period.seconds",
        consequence="a repository that cannot be read is reported at once",
    ),
    Row(
        key="reposerver.include.hidden.directories",
        consequence="ApplicationSets make no applications in this version",
        is_set=is_true,
    ),
    Row(
        key="reposerver.allow.oob.symlinks",
        consequence="symlinks are not followed",
        is_set=is_true,
    ),
    Row(
        key="reposerver.max.combined.directory.manifests.size",
        consequence="the sandbox has limits of its own",
    ),
    Row(
        key="reposerver.plugin.use.manifest.generate.paths",
        consequence="a plugin gets the whole repository",
        is_set=is_true,
    ),
)
