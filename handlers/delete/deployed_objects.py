"""DeployedObjects: what an Application deployed, as its own status remembers it. Pure.

The live index alone cannot tell that everything is gone: where a kind is not watched, it lacks the
objects of that kind too. So a deletion looks whether each object on record could be seen.
"""

from __future__ import annotations

from collections.abc import Callable

from bus.identity import ResourceKey
from handlers.application.application import Application

GAP = "the deletion waits, because it cannot see what is left: "


def recorded_keys(app: Application) -> frozenset[ResourceKey]:
    """The objects of the last comparison and of the last sync, hooks included."""
    state = app.status.operation_state
    result = state.sync_result if state is not None else None
    synced = result.resources if result is not None else ()
    compared = frozenset(one.key for one in app.status.resources)
    return compared | {one.key for one in synced}


def gap_message(app: Application, gap: Callable[[ResourceKey], str], finalizer: str) -> str:
    """Say which kind cannot be seen, and the remedies; empty where all objects could be."""
    gaps = sorted({why for key in recorded_keys(app) if (why := gap(key))})
    if not gaps:
        return ""
    more = f" (and {len(gaps) - 1} more)" if len(gaps) > 1 else ""
    return f"{GAP}{gaps[0]}{more}; or remove the finalizer {finalizer} to leave the rest as it is"
