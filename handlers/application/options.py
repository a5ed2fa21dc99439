"""The sync options that an Application gives to its syncs."""

from __future__ import annotations

from handlers.application.application import Application
from handlers.manifest.options import SyncOptions, parse_sync_options


def sync_options_of_app(app: Application) -> SyncOptions:
    """Return the options of `spec.syncPolicy.syncOptions`, or the defaults."""
    policy = app.spec.sync_policy
    return parse_sync_options(policy.sync_options if policy else ())
