"""Job and CronJob: whether the last run ended well."""

from __future__ import annotations

from handlers.health.states import (
    Health,
    condition,
    degraded,
    healthy,
    holds,
    progressing,
    suspended,
)
from handlers.manifest.access import Manifest, get, items, text


def job(manifest: Manifest) -> Health:
    """`Failed` counts with any status, as in Argo CD; a suspension that was lifted has ended."""
    failed = condition(manifest, "Failed")
    if failed is not None:
        return degraded(text(failed, "message"))
    paused = condition(manifest, "Suspended")
    if paused is not None and holds(manifest, "Suspended"):
        return suspended(text(paused, "message"))
    ended = condition(manifest, "Complete") or paused
    if ended is not None:
        return healthy(text(ended, "message"))
    return progressing("the job has not ended yet")


def cron_job(manifest: Manifest) -> Health:
    """Six cases; times are RFC 3339 in UTC and compare as text."""
    if get(manifest, "spec", "suspend") is True:
        return suspended("the cron job is suspended")
    scheduled = text(manifest, "status", "lastScheduleTime")
    succeeded = text(manifest, "status", "lastSuccessfulTime")
    active = bool(items(manifest, "status", "active"))
    if not scheduled:
        return healthy("the cron job has not been due yet")
    if active and not succeeded:
        return progressing("the first run has not ended yet")
    if active:
        return healthy("a run is under way; an earlier one succeeded")
    if succeeded < scheduled:
        return degraded("the last run did not succeed")
    return healthy("the last run succeeded")
