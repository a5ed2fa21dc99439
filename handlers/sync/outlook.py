"""A world, as far as the decision to sync goes."""

from __future__ import annotations

from handlers.application.application import Application, AppProject
from handlers.application.unsupported import unsupported
from handlers.compare.world import Pair, State, World
from handlers.manifest.options import Consent, sync_options_of
from handlers.sync.decide import Outlook
from handlers.sync.tasks import options_of

_DIFFERING = (State.CHANGED, State.MISSING)


def outlook(app: Application, project: AppProject | None, world: World) -> Outlook:
    """What may not be pruned is no reason to sync: it would be one for ever."""
    return Outlook(
        status=world.status,
        revision=world.record.revision,
        desired=sum(one.desired is not None for one in world.pairs),
        differing=tuple(
            one.key for one in world.pairs if one.state in _DIFFERING or not one.permitted
        ),
        denied=frozenset(one.denied for one in world.pairs if one.denied),
        extra=tuple(one.key for one in world.of(State.EXTRA) if _may_go(app, one)),
        held=tuple(
            one.message
            for one in (*unsupported(app, project, world.manifests), *world.held_by_settings)
            if one.harmful
        ),
    )


def _may_go(app: Application, pair: Pair) -> bool:
    if pair.live is None or not pair.said.counts:
        return False
    return sync_options_of(pair.live.manifest, options_of(app)).prune is Consent.YES
