"""The metric `argocd_app_info` has a line per Application, computed from the index at each scrape.

No line can be stale, and deleted Applications need no cleanup.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from prometheus_client.metrics_core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from bus.identity import AppKey
from bus.redaction import without_user_info
from handlers.application.application import Application
from handlers.ports import AllApps

_LABELS = (
    "namespace",
    "name",
    "project",
    "repo",
    "dest_server",
    "dest_namespace",
    "sync_status",
    "health_status",
    "operation",
    "autosync_enabled",
)


def _every(_: AppKey) -> bool:
    return True


class AppInfo(Collector):
    """Register it once: `metrics.registry.register(AppInfo(apps))`."""

    def __init__(self, apps: AllApps, owns: Callable[[AppKey], bool] = _every) -> None:
        """`owns`: the Applications that this replica acts for; the others have their lines."""
        self._apps = apps
        self._owns = owns

    def collect(self) -> Iterator[Metric]:
        family = GaugeMetricFamily(
            "argocd_app_info", "Information about Application.", labels=_LABELS
        )
        for app in filter(lambda one: self._owns(one.key), self._apps.all()):
            family.add_metric(_labels(app), 1)
        yield family


def _labels(app: Application) -> list[str]:
    status, destination = app.status, app.spec.destination
    return [
        app.metadata.namespace,
        app.metadata.name,
        app.spec.project or "default",
        without_user_info(app.source.repo_url) if app.source else "",
        destination.server or destination.name,
        destination.namespace,
        status.sync.status or "Unknown",
        status.health.status or "Unknown",
        _operation(app),
        str(_automated(app)).lower(),
    ]


def _operation(app: Application) -> str:
    """Name the requested or running operation as in Argo CD; empty without one."""
    state = app.status.operation_state
    if app.deleting:
        return "delete"
    running = state is not None and state.phase in {"Running", "Terminating"}
    return "sync" if app.operation is not None or running else ""


def _automated(app: Application) -> bool:
    policy = app.spec.sync_policy
    automated = policy.automated if policy else None
    return automated is not None and automated.enabled is not False
