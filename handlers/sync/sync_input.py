"""The SyncInput of a comparison: the part of it on which the decision to sync depends. Pure."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from bus.identity import ResourceKey
from bus.status import SyncStatus
from handlers.application.application import Application, AppProject
from handlers.application.revisions import Revisions
from handlers.application.sync_windows import SyncWindows, windows_of
from handlers.application.unsupported_fields import unsupported
from handlers.comparison.comparison import ComparedPair, Comparison, PairState
from handlers.manifest.hooks import phases_of
from handlers.manifest.options import Consent, sync_options_of
from handlers.sync.hook_tasks import PHASES
from handlers.sync.sync_work import options_of, shared_problems

_DIFFERING = (PairState.CHANGED, PairState.MISSING)


class SyncInput(msgspec.Struct, frozen=True, kw_only=True):
    """The part of a comparison on which the decision depends."""

    status: SyncStatus
    revisions: Revisions
    desired: int
    """Objects that Git has."""
    differing: tuple[ResourceKey, ...] = ()
    """Changed or missing."""
    extra: tuple[ResourceKey, ...] = ()
    """Objects that Git no longer has, and that may be pruned."""
    denied: frozenset[str] = frozenset()
    """Why something that Git has may not be applied."""
    namespace_differs: bool = False
    """Whether the metadata of the destination's Namespace is yet to be applied."""
    hooks: frozenset[str] | None = None
    """Why its hooks may not run, which only a whole sync runs; None where it has no hooks."""
    held: tuple[str, ...] = ()
    """Unsupported fields whose neglect could do harm, each with its consequence."""
    windows: SyncWindows = SyncWindows(project="")


def sync_input(app: Application, project: AppProject | None, comparison: Comparison) -> SyncInput:
    """Reduce a comparison; an object that may not be pruned is no reason to sync, ever."""
    return SyncInput(
        status=comparison.status,
        revisions=comparison.record.revisions,
        desired=sum(one.desired is not None for one in comparison.pairs),
        differing=tuple(
            one.key for one in comparison.pairs if one.state in _DIFFERING or not one.permitted
        ),
        denied=frozenset(_denied(app, comparison)),
        hooks=frozenset(comparison.denied_hooks.values()) if _has_hooks(comparison) else None,
        namespace_differs=comparison.namespace_differs,
        extra=tuple(one.key for one in comparison.of(PairState.EXTRA) if _may_go(app, one)),
        held=tuple(
            one.message
            for one in (
                *unsupported(app, project, comparison.annotated),
                *comparison.held_by_settings,
            )
            if one.harmful
        ),
        windows=windows_of(app, project, comparison.cluster),
    )


def _has_hooks(comparison: Comparison) -> bool:
    """Whether a sync has hooks to run: those of a deletion are none of it."""
    return any(phase in PHASES for hook in comparison.hooks for phase in phases_of(hook))


def _may_go(app: Application, pair: ComparedPair) -> bool:
    if pair.live is None or pair.unseen or not pair.resource.counts:
        return False
    return sync_options_of(pair.live.manifest, options_of(app)).prune is not Consent.NO


def _denied(app: Application, comparison: Comparison) -> Iterator[str]:
    """Why objects may not be applied: by the project, or because another application has them."""
    yield from (one.denied for one in comparison.pairs if one.denied)
    yield from (one.message for one in shared_problems(comparison, options_of(app)).values())
