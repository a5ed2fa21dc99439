"""The statuses of an Application's objects and hooks, as its status lists them. Pure."""

from __future__ import annotations

from bus.status import SyncStatus
from handlers.application.status import ResourceStatus
from handlers.comparison.comparison import ComparedPair, Comparison
from handlers.comparison.resource_state import ResourceState
from handlers.health.application_health import with_health
from handlers.manifest.options import Consent, SyncOptions, sync_options_of

_CONFIRM = b"Delete=confirm"


def resource_statuses(comparison: Comparison, options: SyncOptions) -> tuple[ResourceStatus, ...]:
    """List the objects, and the hooks that are in the cluster, in order of their keys."""
    known = {it.key: _resource(it, options) for it in comparison.pairs if not it.is_leaving}
    if comparison.persists_health:
        lives = {it.key: it.live for it in comparison.pairs}
        known = {key: with_health(one, lives[key]) for key, one in known.items()}
    known |= {one.key: _hook(one) for one in comparison.live_hooks}
    return tuple(known[key] for key in sorted(known))


def _hook(state: ResourceState) -> ResourceStatus:
    return ResourceStatus(
        group=state.key.group,
        version=state.version,
        kind=state.key.kind,
        namespace=state.key.namespace,
        name=state.key.name,
        hook=True,
        sync_wave=state.wave,
    )


def _resource(pair: ComparedPair, options: SyncOptions) -> ResourceStatus:
    key = pair.key
    status = pair.resource.status if pair.permitted else SyncStatus.UNKNOWN
    return ResourceStatus(
        group=key.group,
        version=pair.resource.version,
        kind=key.kind,
        namespace=key.namespace,
        name=key.name,
        status=status or "",
        requires_pruning=pair.resource.requires_pruning,
        requires_deletion_confirmation=_is_confirmed_by_hand(pair, options),
        sync_wave=pair.resource.wave,
    )


def _is_confirmed_by_hand(pair: ComparedPair, options: SyncOptions) -> bool:
    """Whether deleting the Application waits for an approval of this object's deletion.

    The live object is decoded only where its bytes have the words at all.
    """
    manifests = [pair.desired] if pair.desired is not None else []
    if pair.live is not None and (not manifests or _CONFIRM in pair.live.body):
        manifests.append(pair.live.manifest if pair.live.body else {})
    return any(sync_options_of(one, options).delete is Consent.CONFIRM for one in manifests)
