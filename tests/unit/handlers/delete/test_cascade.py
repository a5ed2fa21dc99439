from __future__ import annotations

import pytest

from handlers.application.application import RESOURCES_FINALIZER
from handlers.application.deletion_approval import DELETION_APPROVED
from handlers.delete.cascade import cascade, finalizers_of, unconfirmed
from handlers.manifest.options import SyncOptions, parse_sync_options
from handlers.ports import LiveObject
from tests.unit.handlers.application.builders import application
from tests.unit.handlers.sync.builders import live, manifest

PLAIN = SyncOptions()
APP = application(metadata={"finalizers": [RESOURCES_FINALIZER, "example/other"]})


def names(*lives: LiveObject, options: SyncOptions = PLAIN) -> list[str]:
    return [one.key.name for one in cascade(APP, lives, options).wave]


def test_the_highest_wave_goes_first() -> None:
    first, last = live(manifest("a")), live(manifest("b", sync_wave="5"))
    assert names(first, last) == ["b"]
    assert names(first) == ["a"]
    assert names() == []


def test_what_is_being_deleted_is_waited_for() -> None:
    assert names(live(manifest("a", sync_wave="1"), deleting=True), live(manifest("b"))) == ["a"]


def test_kept_are_objects_that_say_so_and_those_with_an_owner() -> None:
    kept = live(manifest("a", sync_options="Delete=false"))
    assert names(kept, live(manifest("b"), owners=("u1",))) == []


def test_the_application_may_keep_everything() -> None:
    assert names(live(manifest("a")), options=parse_sync_options(["Delete=false"])) == []


def test_the_whole_cascade_waits_for_an_approval_after_the_deletion() -> None:
    kept = live(manifest("a", sync_options="Delete=confirm"))
    lives = (live(manifest("b")), kept)
    began = {"deletionTimestamp": "2026-03-01T10:00:00Z"}
    note = {DELETION_APPROVED: "2026-03-01T09:00:00Z"}
    for metadata in (began, began | {"annotations": note}):
        assert unconfirmed(application(metadata=metadata), lives, PLAIN) == (kept.key,)
    note = {DELETION_APPROVED: "2026-03-01T10:00:00Z"}
    assert unconfirmed(application(metadata=began | {"annotations": note}), lives, PLAIN) == ()


def test_an_object_that_goes_in_no_case_waits_for_nobody() -> None:
    owned = live(manifest("a", sync_options="Delete=confirm"), owners=("u1",))
    free = live(manifest("b", sync_options="Delete=true"))
    assert unconfirmed(APP, (owned, free), parse_sync_options(["Delete=confirm"])) == ()


@pytest.mark.parametrize(
    ("suffix", "propagation"),
    [("", "foreground"), ("/foreground", "foreground"), ("/background", "background")],
)
def test_the_finalizer_names_the_propagation(suffix: str, propagation: str) -> None:
    app = application(metadata={"finalizers": [RESOURCES_FINALIZER + suffix]})
    assert cascade(app, (), PLAIN).propagation == propagation
    assert len(finalizers_of(app)) == 1


def test_only_our_own_finalizers_are_removed() -> None:
    assert finalizers_of(APP) == (RESOURCES_FINALIZER,)
