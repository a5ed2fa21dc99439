"""The API of applications and AppProjects: read from the projection, written by their agents."""

from service.api.applications import (
    agent_reads,
    applications,
    appproject_writes,
    appprojects,
    commands,
    filters,
    history,
    links,
    live_objects,
    logs,
    manifests,
    previews,
    shells,
    sync_windows,
)

ENDPOINTS = (
    *commands.ENDPOINTS,
    *applications.ENDPOINTS,
    *manifests.ENDPOINTS,
    *agent_reads.ENDPOINTS,
    *live_objects.ENDPOINTS,
    *previews.ENDPOINTS,
    *history.ENDPOINTS,
    *logs.ENDPOINTS,
    *shells.ENDPOINTS,
    *sync_windows.ENDPOINTS,
    *links.ENDPOINTS,
    *appprojects.ENDPOINTS,
    *appproject_writes.ENDPOINTS,
    *filters.ENDPOINTS,
)

__all__ = ["ENDPOINTS"]
