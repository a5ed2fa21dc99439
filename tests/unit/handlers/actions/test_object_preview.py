"""What a preview tells: fields before and after, drift, and who would set it back."""

from __future__ import annotations

from typing import Any

import pytest

from bus.identity import ResourceKey
from handlers.actions.action import changes_of
from handlers.actions.object_change import object_change
from handlers.actions.object_preview import (
    ChangePreview,
    field_changes,
    previewed,
    previewed_deletion,
)
from handlers.application.spec import ApplicationSpec, Automated, SyncPolicy
from handlers.comparison.comparison import ComparedPair, PairState
from handlers.comparison.resource_state import ResourceState
from handlers.report.known_secrets import KnownSecrets
from handlers.report.redaction import Redaction

KEY = ResourceKey("apps", "Deployment", "shop", "web")
DESIRED: dict[str, Any] = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web", "namespace": "shop"},
    "spec": {"replicas": 1},
}
LIVE = {**DESIRED, "spec": {"replicas": 1, "paused": False}}
REDACTION = Redaction(salt=b"salt", known=KnownSecrets(b"salt"))
BY_HAND = ApplicationSpec()
AUTOMATED = ApplicationSpec(sync_policy=SyncPolicy(automated=Automated()))
HEALING = ApplicationSpec(sync_policy=SyncPolicy(automated=Automated(self_heal=True)))


def pair(desired: dict[str, Any] | None = DESIRED) -> ComparedPair:
    resource = ResourceState(key=KEY, version="v1")
    state = PairState.SAME if desired else PairState.EXTRA
    return ComparedPair(key=KEY, state=state, resource=resource, desired=desired)


def preview(
    patch: dict[str, Any], *, spec: ApplicationSpec = BY_HAND, beside: ComparedPair | None = None
) -> ChangePreview:
    change = object_change(LIVE, changes_of(patch), lambda _group, _kind: None)
    return previewed(LIVE, change, spec=spec, pair=beside, redaction=REDACTION)


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        (BY_HAND, "its next sync sets it back"),
        (AUTOMATED, "the sync of the next commit sets it back"),
        (HEALING, "self-heal sets it back"),
    ],
    ids=["by hand", "automated", "healing"],
)
def test_a_field_of_git_is_drift_and_is_set_back(spec: ApplicationSpec, words: str) -> None:
    found = preview({"spec": {"replicas": 3}}, spec=spec, beside=pair())

    assert found.drift == ("spec.replicas",)
    assert len(found.notes) == 1
    assert words in found.notes[0]


def test_a_field_that_git_does_not_have_stays() -> None:
    found = preview({"spec": {"paused": True}}, spec=HEALING, beside=pair())

    assert [(one.path, one.before, one.after) for one in found.changes] == [
        ("spec.paused", False, True)
    ]
    assert (found.drift, found.notes) == ((), ())


def test_an_object_that_is_not_of_git_has_no_drift() -> None:
    assert preview({"spec": {"replicas": 3}}, spec=HEALING).drift == ()
    assert preview({"spec": {"replicas": 3}}, beside=pair(desired=None)).drift == ()


def test_a_change_that_changes_nothing_says_so() -> None:
    assert preview({"spec": {"replicas": 1}}).notes == ("Nothing would change.",)


def test_values_that_are_secrets_are_masked_and_still_differ() -> None:
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a", "namespace": "b"}}
    live = {**secret, "data": {"password": "b2xk"}}
    change = object_change(live, changes_of({"data": {"password": "bmV3"}}), lambda *_: None)
    found = previewed(live, change, spec=BY_HAND, pair=None, redaction=REDACTION)

    ((path, before, after),) = [(one.path, one.before, one.after) for one in found.changes]
    assert path == "data.password"
    assert before != after
    assert not {"b2xk", "bmV3"} & {before, after}


@pytest.mark.parametrize(
    ("spec", "beside", "words"),
    [
        (HEALING, pair(), "Self-heal creates it again"),
        (BY_HAND, pair(), "its next sync creates it"),
        (HEALING, pair(desired=None), ""),
        (HEALING, None, ""),
    ],
    ids=["healing", "by hand", "extra", "a child"],
)
def test_a_deletion_says_whether_the_object_comes_back(
    spec: ApplicationSpec, beside: ComparedPair | None, words: str
) -> None:
    found = previewed_deletion(["a", "b"], spec=spec, pair=beside)

    assert found.deletes == ("a", "b")
    assert words in " ".join(found.notes)
    assert bool(found.notes) is bool(words)


def test_lists_of_one_length_differ_entry_by_entry() -> None:
    before = {"ports": [{"port": 80}, {"port": 81}], "args": ["a"]}
    after = {"ports": [{"port": 80}, {"port": 82}], "args": ["a", "b"]}

    assert [(one.path, one.before, one.after) for one in field_changes(before, after)] == [
        ("args", ["a"], ["a", "b"]),
        ("ports[1].port", 81, 82),
    ]
