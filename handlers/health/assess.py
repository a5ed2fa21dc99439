"""The health of one object by the rule of its kind, in Argo CD's order of evaluation. Pure.

Deletion comes first, for every kind. A kind without a rule has no health (None): it is left out of
its application's health and never makes a wave wait. The rules stand in `families`.
"""

from __future__ import annotations

from handlers.health.families import HEALTH_TABLE
from handlers.health.states import Health, progressing
from handlers.manifest.access import Manifest, api_version, get, kind, split_api_version
from handlers.manifest.hooks import HOOK_FINALIZER


def assess(manifest: Manifest) -> Health | None:
    """The health of a live object; None where its kind has none."""
    if is_being_deleted(manifest):
        return progressing("Pending deletion")
    group, _ = split_api_version(api_version(manifest))
    rule = HEALTH_TABLE.rule_of(group, kind(manifest))
    return rule(manifest) if rule is not None else None


def is_being_deleted(manifest: Manifest) -> bool:
    """Whether the object is being deleted; a hook held by our own finalizer is still at work."""
    if get(manifest, "metadata", "deletionTimestamp") is None:
        return False
    return HOOK_FINALIZER not in (get(manifest, "metadata", "finalizers") or ())
