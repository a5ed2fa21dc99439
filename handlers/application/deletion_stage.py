"""DeletionStage: hooks that run before or after the objects of an Application are deleted. Pure.

    finalizer of the Application       while it is there
    pre-delete-finalizer               the PreDelete hooks have not ended: nothing is deleted yet
    resources-finalizer                objects are left
    post-delete-finalizer              the PostDelete hooks have not ended
    .../cleanup of both                hooks are yet to be let go, and deleted by their policies

An Application carries the finalizers of a stage from the moment when Git has hooks of it.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from handlers.application.application import Application
from handlers.manifest.access import Manifest
from handlers.manifest.hooks import HookPhase, phases_of


class DeletionStage(msgspec.Struct, frozen=True):
    phase: HookPhase
    finalizer: str

    @property
    def cleanup(self) -> str:
        return f"{self.finalizer}/cleanup"

    @property
    def finalizers(self) -> tuple[str, str]:
        return (self.finalizer, self.cleanup)


PRE_DELETE = DeletionStage(HookPhase.PRE_DELETE, "pre-delete-finalizer.argocd.argoproj.io")
POST_DELETE = DeletionStage(HookPhase.POST_DELETE, "post-delete-finalizer.argocd.argoproj.io")
STAGES = (PRE_DELETE, POST_DELETE)


class FinalizerChange(msgspec.Struct, frozen=True):
    add: tuple[str, ...] = ()
    remove: tuple[str, ...] = ()


def hook_finalizers_of(app: Application) -> tuple[str, ...]:
    known = {finalizer for stage in STAGES for finalizer in stage.finalizers}
    return tuple(one for one in app.metadata.finalizers if one in known)


def finalizer_change(app: Application, manifests: Iterable[Manifest]) -> FinalizerChange:
    """Find the finalizers that an Application with these manifests lacks, or has in vain."""
    phases = {phase for one in manifests for phase in phases_of(one)}
    wanted = [name for stage in STAGES if stage.phase in phases for name in stage.finalizers]
    here = hook_finalizers_of(app)
    return FinalizerChange(
        add=tuple(name for name in wanted if name not in here),
        remove=tuple(name for name in here if name not in wanted),
    )
