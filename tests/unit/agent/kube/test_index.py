from __future__ import annotations

from contextlib import suppress

from hypothesis import given
from hypothesis import strategies as st

from agent.kube.index import LiveIndex
from agent.kube.live_change import LiveChange
from agent.kube.watch_scope import WatchScope
from bus.identity import AppKey
from handlers.ports import ApplyRefusedError, LiveObject
from tests.unit.agent.kube.object_samples import live

SHOP = AppKey("argocd", "shop")
MAPS = WatchScope(group="", kind="ConfigMap")


def heard_by(index: LiveIndex) -> list[LiveChange]:
    heard: list[LiveChange] = []
    index.changes_of_others.subscribe(heard.append)
    return heard


def index_of(*objects: LiveObject) -> LiveIndex:
    index = LiveIndex("argocd")
    for one in objects:
        index.put(one)
    return index


def test_objects_are_found_by_key_application_and_owner() -> None:
    root, child = live("root"), live("child", app="", owner="uid-root")
    index = index_of(root, child)

    assert index.get(root.key) == root
    assert index.tracked(SHOP) == (root,)
    assert index.owned_by("uid-root") == (child,)


def test_an_application_outside_the_control_namespace_has_its_namespace_in_its_identity() -> None:
    index = index_of(live(app="team_shop"))

    assert len(index.tracked(AppKey("team", "shop"))) == 1
    assert index.tracked(SHOP) == ()


def test_what_has_an_owner_is_nobodys_root() -> None:
    assert index_of(live("child", owner="uid-x")).tracked(SHOP) == ()


def test_an_older_event_does_not_overwrite_a_newer_write() -> None:
    written = live(version=20, data={"colour": "red"})
    index = index_of(written, live(version=19))

    assert index.get(written.key) == written


def test_a_late_event_does_not_bring_back_what_is_gone() -> None:
    gone = live(version=20)
    index = index_of(gone)
    index.remove(gone)

    index.put(live(version=21))
    index.put(live(version=22, uid="uid-next"))

    found = index.get(gone.key)
    assert found is not None
    assert found.uid == "uid-next"


def test_the_deletion_of_a_predecessor_does_not_touch_its_successor() -> None:
    successor = live(version=30, uid="uid-next")
    index = index_of(successor)

    index.remove(live(version=20))

    assert index.get(successor.key) == successor


def test_a_complete_list_removes_what_it_did_not_hold() -> None:
    kept, gone = live("kept"), live("gone")
    index = index_of(kept, gone)

    index.settle(MAPS, {kept.uid}, "15")

    assert index.of_kind("", "ConfigMap") == (kept,)


def test_what_was_written_after_a_list_survives_it() -> None:
    newer = live(version=16)
    index = index_of(newer)

    index.settle(MAPS, set(), "15")

    assert index.get(newer.key) == newer


def test_a_list_of_one_namespace_says_nothing_of_another() -> None:
    there = live()
    index = index_of(there)

    index.settle(WatchScope(group="", kind="ConfigMap", namespace="other"), set(), "15")

    assert index.get(there.key) == there


def test_a_new_tracking_annotation_moves_the_object() -> None:
    index = index_of(live(version=1), live(version=2, app="shelf"))

    assert index.tracked(SHOP) == ()
    assert len(index.tracked(AppKey("argocd", "shelf"))) == 1


def test_a_kind_that_is_gone_takes_its_objects_along() -> None:
    index = index_of(live("one"), live("two"))
    heard = heard_by(index)

    index.forget_kind("", "ConfigMap")

    assert len(index) == 0
    assert [change.after for change in heard] == [None, None]


def test_a_change_is_told_with_what_was_before() -> None:
    before, after = live(version=1), live(version=2, data={"colour": "red"})
    index = index_of(before)
    heard = heard_by(index)

    index.put(after)
    index.remove(after)

    assert heard == [
        LiveChange(before=before, after=after),
        LiveChange(before=after, after=None),
    ]


def test_a_new_resource_version_alone_is_no_news() -> None:
    index = index_of(live(version=1))
    heard = heard_by(index)

    index.put(live(version=2))

    assert heard == []


def test_our_own_apply_is_no_news_and_neither_is_its_event() -> None:
    index = index_of(live(version=1))
    heard = heard_by(index)

    index.put(live(version=2, data={"colour": "red"}), ours=True)
    index.put(live(version=2, data={"colour": "red"}))

    assert heard == []


def test_the_event_of_our_own_apply_may_come_before_its_answer() -> None:
    ours = live(version=2, data={"colour": "red"})
    index = index_of(live(version=1))
    heard = heard_by(index)

    with index.writing(ours.key):
        index.put(ours)
        index.put(ours, ours=True)

    assert heard == []


def test_what_others_did_during_our_apply_is_told_after_it() -> None:
    ours, theirs = live(version=2, data={"colour": "red"}), live(version=3)
    index = index_of(live(version=1))
    heard = heard_by(index)

    with index.writing(ours.key):
        index.put(theirs)
        index.put(ours, ours=True)

    assert heard == [LiveChange(before=ours, after=theirs)]
    assert index.get(ours.key) == theirs


def test_an_object_that_vanished_during_our_apply_is_told_after_it() -> None:
    here = live(version=1)
    index = index_of(here)
    heard = heard_by(index)

    with index.writing(here.key):
        index.remove(here)

    assert heard == [LiveChange(before=here, after=None)]


def test_what_changed_during_a_refused_apply_is_told() -> None:
    before, theirs = live(version=1), live(version=2, data={"colour": "red"})
    index = index_of(before)
    heard = heard_by(index)

    with suppress(ApplyRefusedError), index.writing(before.key):
        index.put(theirs)
        raise ApplyRefusedError("no", code=422)

    assert heard == [LiveChange(before=before, after=theirs)]


def test_an_apply_that_takes_an_object_from_another_application_is_news() -> None:
    index = index_of(live(version=1, app="shelf"))
    heard = heard_by(index)

    index.put(live(version=2), ours=True)

    assert len(heard) == 1


@given(st.permutations(range(1, 6)), st.integers(0, 5))
def test_every_order_of_events_and_answers_ends_the_same(order: list[int], cut: int) -> None:
    index = LiveIndex("argocd")
    for place, version in enumerate(order):
        index.put(live(version=version, data={"n": str(version)}), ours=place < cut)

    found = index.get(live().key)
    assert found is not None
    assert found.resource_version == "5"


def test_the_applications_of_an_object_are_found_by_way_of_its_owners() -> None:
    index = index_of(live("root"), live("child", app="", owner="uid-root"))
    grandchild = live("grandchild", app="", owner="uid-child")

    assert index.roots_of(grandchild) == {"shop"}
    assert index.roots_of(live("stranger", app="", owner="uid-of-nobody")) == frozenset()


def test_what_has_a_uid_is_found_where_it_is_the_applications() -> None:
    grandchild = live("grandchild", app="", owner="uid-child")
    stranger = live("stranger", app="", owner="uid-of-nobody")
    child = live("child", app="", owner="uid-root")
    index = index_of(live("root"), child, grandchild, stranger)

    assert index.belonging(grandchild.uid, AppKey("argocd", "shop")) == grandchild.key
    assert index.belonging(grandchild.uid, AppKey("argocd", "other")) is None
    assert index.belonging(stranger.uid, AppKey("argocd", "shop")) is None
    assert index.belonging("uid-unknown", AppKey("argocd", "shop")) is None


def test_objects_that_own_each_other_belong_to_nobody() -> None:
    index = index_of(live("one", app="", owner="uid-two"), live("two", app="", owner="uid-one"))

    assert index.roots_of(live("one", app="", owner="uid-two")) == frozenset()


def test_an_owner_that_is_gone_leads_nowhere() -> None:
    root = live("root")
    index = index_of(root)
    index.remove(root)

    assert index.roots_of(live("child", app="", owner="uid-root")) == frozenset()


def test_the_observer_sees_our_own_writes_too() -> None:
    index = LiveIndex("argocd")
    seen: list[tuple[LiveObject | None, LiveObject | None]] = []
    index.all_changes.subscribe(lambda before, after: seen.append((before, after)))
    written = live()

    with index.writing(written.key):
        index.put(written, ours=True)
    index.remove(written)

    assert seen == [(None, written), (written, None)]


def test_an_apply_of_ours_is_told_apart_from_what_others_change_meanwhile() -> None:
    before, ours, theirs = (live(version=it, data={"colour": str(it)}) for it in (10, 11, 12))
    index = index_of(before)
    own: list[LiveChange] = []
    index.own_changes.subscribe(own.append)
    others = heard_by(index)
    with index.writing(before.key):
        index.put(ours)  # the watch may be faster than the answer
        index.put(ours, ours=True)
        index.put(theirs)

    assert own == [LiveChange(before=before, after=ours)]
    assert others == [LiveChange(before=ours, after=theirs)]
