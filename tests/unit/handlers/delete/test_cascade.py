from __future__ import annotations

import pytest

from handlers.application.application import RESOURCES_FINALIZER
from handlers.delete import cascade, finalizers_of
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
