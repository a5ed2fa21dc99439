"""The hooks of a deletion: what is let go and deleted, and what is none of them."""

from __future__ import annotations

from handlers.application.deletion_stage import POST_DELETE
from handlers.delete.deletion_hooks import StageCleanup, stage_cleanup
from handlers.manifest.hooks import HOOK_FINALIZER
from handlers.ports import LiveObject
from tests.unit.handlers.sync.builders import key, live, manifest


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
