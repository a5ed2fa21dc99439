"""Sync policy, sync options and retry policy of an Application, with Argo CD's defaults. Pure.

The defaults: 5 s, doubled, at most 3 minutes; an automated sync without a `retry` block is
tried again five times, a manual one never.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from handlers.application.application import Application
from handlers.application.spec import (
    ApplicationSpec,
    Backoff,
    ManagedNamespaceMetadata,
    RetryStrategy,
)
from handlers.application.times import seconds
from handlers.manifest.options import SyncOptions, parse_sync_options

AUTOMATED_RETRIES = 5
_DURATION, _FACTOR, _MAX_DURATION = 5.0, 2, 180.0


class AutoSync(msgspec.Struct, frozen=True, kw_only=True):
    prune: bool = False
    self_heal: bool = False
    allow_empty: bool = False


class RetryPolicy(msgspec.Struct, frozen=True, kw_only=True):
    limit: int = 0
    """Retries after the first try; below 0 is without end."""
    duration: float = _DURATION
    factor: int = _FACTOR
    max_duration: float = _MAX_DURATION
    refresh: bool = False
    """Retry with the newest revision instead of the one that failed."""

    def allows(self, retries: int) -> bool:
        return self.limit < 0 or retries < self.limit

    def wait(self, retry: int) -> float:
        """Seconds before retry number `retry`, counted from 1.

        The exponent is capped, so that endless retries do not compute endless numbers.
        """
        return min(self.max_duration, self.duration * float(self.factor) ** min(retry, 64))


def auto_sync(spec: ApplicationSpec) -> AutoSync | None:
    """The policy of automated syncs; None where only people start syncs."""
    written = spec.sync_policy.automated if spec.sync_policy else None
    if written is None or written.enabled is False:
        return None
    return AutoSync(
        prune=bool(written.prune),
        self_heal=bool(written.self_heal),
        allow_empty=bool(written.allow_empty),
    )


def retry_strategy(spec: ApplicationSpec) -> RetryStrategy:
    """The retry strategy that an automated operation is given."""
    written = spec.sync_policy.retry if spec.sync_policy else None
    return written or RetryStrategy(limit=AUTOMATED_RETRIES)


def retry_policy(written: RetryStrategy | None) -> RetryPolicy:
    """A duration that cannot be read counts as its default; `duration_problems` reports it."""
    if written is None:
        return RetryPolicy()
    backoff = written.backoff or Backoff()
    factor = backoff.factor if backoff.factor and backoff.factor > 0 else _FACTOR
    return RetryPolicy(
        limit=written.limit,
        duration=_seconds(backoff.duration, _DURATION),
        factor=factor,
        max_duration=_seconds(backoff.max_duration, _MAX_DURATION),
        refresh=written.refresh,
    )


def duration_problems(retry: RetryStrategy | None) -> Iterator[str]:
    """Name the durations of the back-off that cannot be read, by their path below `retry`."""
    backoff = retry.backoff if retry else None
    if backoff is None:
        return
    for name, text in (("duration", backoff.duration), ("maxDuration", backoff.max_duration)):
        try:
            seconds(text or "0")
        except ValueError as error:
            yield f"retry.backoff.{name}: {error}"


def _seconds(text: str, default: float) -> float:
    try:
        return seconds(text) if text else default
    except ValueError:
        return default


MIGRATION_MANAGER = "argocd.argoproj.io/client-side-apply-migration-manager"
"""The annotation that names one more field manager whose fields a sync takes over."""


def sync_options_of_app(app: Application) -> SyncOptions:
    """Return the options of `spec.syncPolicy.syncOptions`, or the defaults."""
    policy = app.spec.sync_policy
    return sync_options_for(app, policy.sync_options if policy else ())


def sync_options_for(app: Application, written: Iterable[str]) -> SyncOptions:
    """Read `written` for an Application, whose annotation may name an earlier manager."""
    manager = app.metadata.annotations.get(MIGRATION_MANAGER, "").strip()
    return msgspec.structs.replace(parse_sync_options(written), earlier_manager=manager)


def namespace_metadata(app: Application, options: SyncOptions) -> ManagedNamespaceMetadata | None:
    """The metadata of the destination's Namespace, which only `CreateNamespace=true` applies."""
    policy = app.spec.sync_policy
    return policy.managed_namespace_metadata if policy and options.create_namespace else None


def namespace_differs(app: Application) -> bool:
    """Whether the metadata of the Namespace is another than the last operation applied."""
    wanted = namespace_metadata(app, sync_options_of_app(app))
    state = app.status.operation_state
    if wanted is None or state is None or state.sync_result is None:
        return False
    return state.sync_result.managed_namespace_metadata != wanted
