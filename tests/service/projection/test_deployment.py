"""What runs, what is wanted, why a sync fails, and who has to look: read from a status."""

from __future__ import annotations

from typing import Any

import pytest

from bus.link import StateBody
from bus.status import Cause, HealthStatus
from service.projection.application_status import (
    Attention,
    SyncFailure,
    attention_of,
    kinds_of,
    running_of,
    sync_failure_of,
)

ANA = {"username": "ana"}


def status(desired: str, *deployed: str, by: dict[str, Any] | None = None) -> dict[str, Any]:
    history = [
        {"id": number, "revision": revision, "deployedAt": f"2026-01-0{number + 1}T00:00:00Z"}
        for number, revision in enumerate(deployed)
    ]
    history[-1:] = [{**it, "initiatedBy": by or {"automated": True}} for it in history[-1:]]
    return {"sync": {"revision": desired}, "history": history}


@pytest.mark.parametrize(
    ("desired", "deployed", "rolled_back"),
    [
        pytest.param("b", "ab", False, id="synced"),
        pytest.param("b", "aba", True, id="rolled back"),
        pytest.param("b", "aa", False, id="healed, and the next not deployed yet"),
        pytest.param("b", "abaa", True, id="rolled back, then healed"),
        pytest.param("a", "aba", False, id="Git went back too"),
        pytest.param("c", "ab", False, id="not deployed yet"),
        pytest.param("b", "abab", False, id="the roll-back has ended"),
    ],
)
def test_a_rollback_lasts_until_what_is_wanted_runs(
    desired: str, deployed: str, *, rolled_back: bool
) -> None:
    assert running_of(status(desired, *deployed)).rolled_back is rolled_back


def test_what_runs_is_what_was_deployed_last_not_what_is_wanted() -> None:
    found = running_of(status("b", "a", "b", "a", by=ANA))
    assert (found.revision, found.by, found.since) == ("a", "ana", "2026-01-03T00:00:00Z")
    assert running_of({"sync": {"revision": "b"}}).revision == ""


REFUSED = {
    "group": "apps",
    "kind": "Deployment",
    "namespace": "shop",
    "name": "web",
    "status": "SyncFailed",
    "message": 'spec.replicas: "three" is no number',
}


@pytest.mark.parametrize(
    ("state", "retrying"),
    [
        pytest.param({"phase": "Running", "retryCount": 1, "message": "m"}, True, id="retried"),
        pytest.param({"phase": "Failed", "retryCount": 5, "message": "m"}, False, id="given up"),
        pytest.param({"phase": "Error", "message": "m"}, False, id="not begun"),
    ],
)
def test_a_sync_fails_from_its_first_failure(state: dict[str, Any], *, retrying: bool) -> None:
    found = sync_failure_of({"operationState": state})
    assert found is not None
    assert (found.retrying, found.message) == (retrying, "m")


def test_a_failed_sync_names_the_object_and_its_reason() -> None:
    state = {"phase": "Running", "message": "m", "syncResult": {"resources": [{}, REFUSED]}}
    found = sync_failure_of({"operationState": state})
    assert found is not None
    assert (found.object, found.message) == ("apps/Deployment/shop/web", REFUSED["message"])


@pytest.mark.parametrize("phase", ["Running", "Succeeded", ""])
def test_a_sync_that_did_not_fail_is_no_failure(phase: str) -> None:
    assert sync_failure_of({"operationState": {"phase": phase}}) is None


FAILURE = SyncFailure(message="m", retrying=True)
CAUSE = Cause(object="/Pod/shop/p", health=HealthStatus.DEGRADED)


@pytest.mark.parametrize(
    ("more", "failure", "automated", "expected"),
    [
        pytest.param({}, None, True, "", id="well"),
        pytest.param({"health": "Degraded"}, FAILURE, True, "Degraded", id="degraded"),
        pytest.param({}, FAILURE, True, "SyncFailed", id="a failing sync while all is healthy"),
        pytest.param({"error": "InvalidSpecError"}, None, True, "Unreadable", id="invalid"),
        pytest.param({"error": "ComparisonError"}, None, True, "Unreadable", id="not rendered"),
        pytest.param({"error": "OrphanedResourceWarning"}, None, True, "", id="a warning"),
        pytest.param({"health": "Progressing"}, None, True, "Stuck", id="will not get well"),
        pytest.param({"sync": "OutOfSync"}, None, True, "", id="synced in a moment"),
        pytest.param(
            {"sync": "OutOfSync", "error": "AutoSyncHeldWarning"},
            None,
            True,
            "OutOfSync",
            id="held",
        ),
        pytest.param({"error": "AutoSyncHeldWarning"}, None, True, "", id="nothing to hold"),
        pytest.param({"sync": "OutOfSync"}, None, False, "OutOfSync", id="waits for a person"),
    ],
)
def test_attention_is_derived_from_the_reported_status(
    more: dict[str, str], failure: SyncFailure | None, expected: str, *, automated: bool
) -> None:
    body = StateBody(
        kind="Application",
        namespace="argocd",
        name="shop",
        cause=CAUSE if more.get("health") == "Progressing" else None,
        status={
            "health": {"status": more.get("health", "Healthy")},
            "sync": {"status": more.get("sync", "Synced")},
            "conditions": [{"type": more["error"], "message": "x"}] if "error" in more else [],
        },
    )
    assert attention_of(body, failure, automated=automated) is Attention(expected)


def test_each_deployment_is_named_as_what_it_was() -> None:
    automated = {"automated": True}
    done = [("a", automated), ("a", automated), ("b", ANA), ("a", ANA), ("b", ANA), ("b", ANA)]
    history = [{"revision": revision, "initiatedBy": by} for revision, by in done]
    kinds = ["auto-sync", "self-heal", "sync", "rollback", "sync", "sync"]
    assert [kind.value for kind in kinds_of(history)] == kinds


CHART, LENT = {"path": "chart"}, {"ref": "values"}


def several(*deployed: tuple[str, str], desired: tuple[str, str]) -> dict[str, Any]:
    history = [{"revisions": [*it], "sources": [LENT, CHART]} for it in deployed]
    return {"sync": {"revisions": [*desired]}, "history": history}


def test_the_revision_of_several_sources_is_that_of_the_first_that_renders() -> None:
    found = running_of(several(("v1", "a"), ("v2", "a"), desired=("v2", "a")))
    assert (found.revision, found.rolled_back) == ("a", False)


def test_another_revision_of_one_source_is_a_rollback_too() -> None:
    deployed = (("v1", "a"), ("v2", "a"), ("v1", "a"))
    assert running_of(several(*deployed, desired=("v2", "a"))).rolled_back
    kinds = kinds_of(several(*deployed, desired=("v2", "a"))["history"])
    assert kinds[-1].value == "rollback"
