"""The hooks of a deletion: what is let go and deleted, and what is none of them."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from bus.status import HealthStatus
from handlers.application.deletion_stage import POST_DELETE
from handlers.delete.deletion_hooks import (
    DeletionProgress,
    StageCleanup,
    hooks_of_stage,
    stage_cleanup,
    stage_progress,
)
from handlers.manifest.hooks import HOOK_FINALIZER
from handlers.manifest.tracking import stamp
from handlers.ports import LiveObject
from tests.unit.handlers.application.builders import application
from tests.unit.handlers.sync.builders import REVISION, key, live, manifest


def left(name: str, *, held: bool = True) -> LiveObject:
    """A hook that an application of the name left in the cluster."""
    written = manifest(name, hook="PostDelete", hook_delete_policy="HookSucceeded")
    written["metadata"]["finalizers"] = [HOOK_FINALIZER] if held else []
    return live(written)


def test_a_hook_that_is_denied_is_neither_let_go_nor_deleted_but_told() -> None:
    mine, other = left("mine"), left("other")
    found = stage_cleanup(POST_DELETE, (mine, other), {key("other"): "not permitted"})
    assert found == StageCleanup(release=(mine,), delete=(mine,), denied=(other,))
    assert stage_cleanup(POST_DELETE, (mine,)) == StageCleanup(release=(mine,), delete=(mine,))


def test_what_is_denied_and_stays_anyway_holds_nothing_up() -> None:
    stays = live(manifest("stays", hook="PostDelete"))
    assert stage_cleanup(POST_DELETE, (stays,), {key("stays")}) == StageCleanup()


def of_stage(written: dict[str, Any]) -> tuple[Any, ...]:
    return hooks_of_stage(application(), POST_DELETE, [written], REVISION)


@pytest.mark.parametrize("health", [HealthStatus.HEALTHY, HealthStatus.DEGRADED])
def test_an_object_of_somebody_else_is_never_taken_for_a_hook(health: HealthStatus) -> None:
    written = manifest("after", hook="PostDelete")
    hooks = of_stage(stamp(written, "web"))
    taken = live(written, app="other", health=health)
    unknown = replace(taken, tracking="", body=b"")
    for one in (taken, unknown):
        assert stage_progress(hooks, {one.key: one}.get, "web") == DeletionProgress(foreign=(one,))
    mine = live(written, health=HealthStatus.DEGRADED)
    assert stage_progress(hooks, {mine.key: mine}.get, "web") == DeletionProgress(failed=(mine,))
    assert stage_progress(hooks, {}.get, "web") == DeletionProgress(missing=hooks)


def test_what_is_never_stamped_is_a_hook_by_its_mark() -> None:
    written = manifest("after", hook="PostDelete")
    (hook,) = of_stage(written)
    strange, own = live(written, app=""), live(hook, app="")
    assert stage_progress((hook,), {strange.key: strange}.get, "web").foreign == (strange,)
    assert stage_progress((hook,), {own.key: own}.get, "web").done
