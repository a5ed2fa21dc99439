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
    """Judge a CronJob as Argo CD's script does; times are RFC 3339 in UTC and compare as text.

    A run that never succeeded says nothing about the CronJob, whose Jobs have a health of their
    own; only a success that lies before the last schedule does.
    """
    if get(manifest, "spec", "suspend") is True:
        return healthy("the cron job is suspended")
    if get(manifest, "status") is None:
        return progressing("the cron job has no status yet")
    scheduled = text(manifest, "status", "lastScheduleTime")
    succeeded = text(manifest, "status", "lastSuccessfulTime")
    if not scheduled:
        return healthy("the cron job has not been due yet")
    active = items(manifest, "status", "active")
    if active or not succeeded:
        return healthy("a run is under way" if active else "no run has succeeded yet")
    if succeeded < scheduled:
        return degraded("the last run did not succeed")
    return healthy("the last run succeeded")
