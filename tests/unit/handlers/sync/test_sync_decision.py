from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest

from bus.identity import ResourceKey, Revision
from bus.status import Reason, SyncStatus
from handlers.application.application import Application
from handlers.application.revisions import Revisions
from handlers.application.sync_windows import windows_of
from handlers.sync.sync_decision import SyncSkip, SyncStart, decide, hold
from handlers.sync.sync_input import SyncInput
from tests.unit.handlers.application.builders import REPO, application, project

NOW = datetime(2026, 1, 1, 0, 1, tzinfo=UTC)
NEW, OLD = Revision("b" * 40), Revision("a" * 40)
SOURCE = {"repoURL": REPO, "path": "web", "targetRevision": "main"}
CHANGED = ResourceKey("apps", "Deployment", "shop", "web")
EXTRA = ResourceKey("", "ConfigMap", "shop", "old")


def app(automated: dict[str, Any] | None = None, **parts: Any) -> Application:
    """Auto-sync on, unless `automated` says otherwise."""
    policy = {"automated": {} if automated is None else automated}
    return application({"syncPolicy": policy}, **parts)


def last(phase: str, *, revision: str = NEW, heals: int = 0, **sync: Any) -> dict[str, Any]:
    """The status after an automated operation that ended a second ago."""
    operation = {
        "sync": {"revision": revision, "autoHealAttemptsCount": heals} | sync,
        "initiatedBy": {"automated": True},
    }
    state = {
        "operation": operation,
        "phase": phase,
        "message": "refused",
        "syncResult": {"revision": revision, "source": SOURCE},
        "startedAt": "2026-01-01T00:00:58Z",
        "finishedAt": "2026-01-01T00:00:59Z",
    }
    return {"operationState": state}


def sync_input(
    status: SyncStatus = SyncStatus.OUT_OF_SYNC,
    *,
    differing: tuple[ResourceKey, ...] = (CHANGED,),
    extra: tuple[ResourceKey, ...] = (),
    desired: int = 2,
    denied: frozenset[str] = frozenset(),
    held: tuple[str, ...] = (),
) -> SyncInput:
    return SyncInput(
        status=status,
        revisions=Revisions(NEW),
        desired=desired,
        differing=differing,
        extra=extra,
        denied=denied,
        held=held,
    )


SYNCED = sync_input(SyncStatus.SYNCED, differing=())
ONLY_EXTRA = sync_input(differing=(), extra=(EXTRA,))
ALL_EXTRA = sync_input(differing=(), extra=(EXTRA,), desired=0)
BLOCKED = {"conditions": [{"type": "ComparisonError", "message": "broken"}]}
RUNNING = {"operationState": {"phase": "Running"}}
DELETED = {"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}}

SKIPPED: dict[str, tuple[Application, SyncInput, Reason]] = {
    "off": (application(), sync_input(), Reason.AUTO_SYNC_OFF),
    "disabled": (app({"enabled": False}), sync_input(), Reason.AUTO_SYNC_OFF),
    "deleting": (app(**DELETED), sync_input(), Reason.DELETING),
    "blocked": (app(status=BLOCKED), sync_input(), Reason.CONDITIONS_BLOCK),
    "running": (app(status=RUNNING), sync_input(), Reason.OPERATION_RUNNING),
    "wanted by hand": (app(operation={"sync": {}}), sync_input(), Reason.OPERATION_RUNNING),
    "unknown": (app(), sync_input(SyncStatus.UNKNOWN), Reason.CONDITIONS_BLOCK),
    "synced": (app(status=last("Succeeded")), SYNCED, Reason.ALREADY_SYNCED),
    "only prune": (app(), ONLY_EXTRA, Reason.ONLY_PRUNE_NEEDED),
    "empty": (app({"prune": True}), ALL_EXTRA, Reason.NOTHING_RENDERED),
    "failed": (app(status=last("Failed")), sync_input(), Reason.ALREADY_ATTEMPTED),
    "drift": (app(status=last("Succeeded")), sync_input(), Reason.SELF_HEAL_OFF),
    "fight": (
        app({"selfHeal": True}, status=last("Succeeded", heals=2)),
        sync_input(),
        Reason.SELF_HEAL_BACK_OFF,
    ),
}


@pytest.mark.parametrize(("subject", "seen", "reason"), SKIPPED.values(), ids=SKIPPED)
def test_it_is_told_why_no_sync_was_started(
    subject: Application, seen: SyncInput, reason: Reason
) -> None:
    answer = decide(subject, seen, NOW)
    assert isinstance(answer, SyncSkip)
    assert answer.reason is reason
    assert answer.message


STARTED: dict[str, tuple[Application, SyncInput]] = {
    "first time": (app(), sync_input()),
    "new revision": (app(status=last("Succeeded", revision=OLD)), sync_input()),
    "new revision after a failure": (app(status=last("Failed", revision=OLD)), sync_input()),
    "after a dry run": (app(status=last("Succeeded", dryRun=True)), sync_input()),
    "another source": (
        application(
            {"source": SOURCE | {"path": "other"}, "syncPolicy": {"automated": {}}},
            status=last("Succeeded"),
        ),
        sync_input(),
    ),
    "prune": (app({"prune": True}), ONLY_EXTRA),
    "empty, allowed": (app({"prune": True, "allowEmpty": True}), ALL_EXTRA),
    "killed after its last apply": (app(), SYNCED),
    "heal": (app({"selfHeal": True}, status=last("Succeeded")), sync_input()),
}


@pytest.mark.parametrize(("subject", "seen"), STARTED.values(), ids=STARTED)
def test_a_sync_is_started(subject: Application, seen: SyncInput) -> None:
    answer = decide(subject, seen, NOW)
    assert isinstance(answer, SyncStart)
    assert answer.operation.initiated_by.automated
    assert answer.operation.sync is not None
    assert answer.operation.sync.revision == NEW


def test_the_first_sync_of_a_revision_deploys_the_whole_of_it() -> None:
    answer = decide(app({"selfHeal": True}), sync_input(), NOW)
    assert isinstance(answer, SyncStart)
    assert answer.operation.sync is not None
    assert answer.operation.sync.resources == ()
    assert answer.operation.retry is not None
    assert answer.operation.retry.limit == 5


def test_a_heal_touches_only_what_differs_and_counts() -> None:
    answer = decide(app({"selfHeal": True}, status=last("Succeeded")), sync_input(), NOW)
    assert isinstance(answer, SyncStart)
    sync = answer.operation.sync
    assert sync is not None
    assert [(one.kind, one.name) for one in sync.resources] == [("Deployment", "web")]
    assert sync.auto_heal_attempts_count == 1


def test_a_heal_that_must_wait_says_for_how_long_and_then_starts() -> None:
    fought = app({"selfHeal": True}, status=last("Succeeded", heals=2))
    answer = decide(fought, sync_input(), NOW)
    assert isinstance(answer, SyncSkip)
    assert answer.look_again == 5
    later = decide(fought, sync_input(), NOW + timedelta(seconds=answer.look_again))
    assert isinstance(later, SyncStart)


@pytest.mark.parametrize(("which", "error"), [("failed", True), ("empty", True), ("drift", False)])
def test_what_a_person_must_solve_is_an_error(which: str, error: bool) -> None:  # noqa: FBT001  a table
    subject, seen, _ = SKIPPED[which]
    answer = decide(subject, seen, NOW)
    assert isinstance(answer, SyncSkip)
    assert answer.is_error is error


def denied(message: str) -> dict[str, Any]:
    """The status after a sync that the project did not permit."""
    status = last("Failed")
    refused = {"kind": "Secret", "name": "s", "status": "SyncFailed", "message": message}
    status["operationState"]["syncResult"]["resources"] = [refused]
    return status


RULE, OTHER_RULE = "Secret is not permitted here: a", "Secret is not permitted here: b"


def test_what_a_project_denied_is_not_tried_again_while_it_does() -> None:
    seen = sync_input(denied=frozenset({RULE}))
    answer = decide(app(status=denied(RULE)), seen, NOW)
    assert isinstance(answer, SyncSkip)
    assert answer.reason is Reason.ALREADY_ATTEMPTED


@pytest.mark.parametrize("now", [frozenset[str](), frozenset({OTHER_RULE})], ids=["open", "other"])
def test_what_a_project_denied_is_tried_when_its_rules_are_others(now: frozenset[str]) -> None:
    """As a whole, not as a heal: nothing of this revision has been deployed."""
    answer = decide(app(status=denied(RULE)), sync_input(denied=now), NOW)
    assert isinstance(answer, SyncStart)
    assert answer.operation.sync is not None
    assert answer.operation.sync.resources == ()


def test_another_failure_is_not_forgiven_by_a_rule() -> None:
    status = denied("quota exceeded")
    answer = decide(app(status=status), sync_input(denied=frozenset({RULE})), NOW)
    assert isinstance(answer, SyncSkip)


HELD = msgspec.structs.replace(sync_input(), held=("hooks are not run",))


def test_an_automated_sync_is_held_where_ignoring_a_field_could_do_harm() -> None:
    answer = decide(app(), HELD, NOW)
    assert isinstance(answer, SyncSkip)
    assert (answer.reason, answer.message) == (Reason.AUTO_SYNC_HELD, "hooks are not run")


def test_a_heal_is_held_too() -> None:
    answer = decide(app({"selfHeal": True}, status=last("Succeeded")), HELD, NOW)
    assert isinstance(answer, SyncSkip)
    assert answer.reason is Reason.AUTO_SYNC_HELD


def test_nothing_is_held_where_nothing_is_to_be_done() -> None:
    synced = msgspec.structs.replace(SYNCED, held=("hooks are not run",))
    answer = decide(app(status=last("Succeeded")), synced, NOW)
    assert isinstance(answer, SyncSkip)
    assert answer.reason is Reason.ALREADY_SYNCED


CLOSED = windows_of(
    app(),
    project(
        {
            "syncWindows": [
                {
                    "kind": "allow",
                    "schedule": "0 0 1 1 *",
                    "duration": "1m",
                    "applications": ["*"],
                    "timeZone": "Pacific/Auckland",
                }
            ]
        }
    ),
)


def test_a_closed_window_lets_nothing_start_by_itself() -> None:
    answer = decide(app(), msgspec.structs.replace(sync_input(), windows=CLOSED), NOW)
    assert isinstance(answer, SyncSkip)
    assert answer.reason is Reason.SYNC_WINDOW
    assert "opens at" in answer.message
    assert not answer.is_error


INVALID = {"conditions": [{"type": "InvalidSpecError", "message": "no such project"}]}
PAUSED = {"metadata": {"annotations": {"argocd.argoproj.io/skip-reconcile": "true"}}}
HELD_BY = sync_input(held=("spec.ignoreDifferences is not acted on",))


@pytest.mark.parametrize(
    ("subject", "seen", "reason"),
    [
        pytest.param(application(), sync_input(), Reason.AUTO_SYNC_OFF, id="off"),
        pytest.param(app(**PAUSED), sync_input(), Reason.AUTO_SYNC_OFF, id="paused"),
        pytest.param(app(), HELD_BY, Reason.AUTO_SYNC_HELD, id="a field not acted on"),
        pytest.param(app(status=INVALID), sync_input(), Reason.CONDITIONS_BLOCK, id="invalid"),
    ],
)
def test_a_hold_stops_what_waits_for_its_next_try(
    subject: Application, seen: SyncInput, reason: Reason
) -> None:
    found = hold(subject, seen)
    assert found is not None
    assert found.reason is reason


@pytest.mark.parametrize("subject", [app(), app(status=BLOCKED)], ids=["nothing", "unreadable"])
def test_nothing_else_stops_what_waits_for_its_next_try(subject: Application) -> None:
    assert hold(subject, sync_input()) is None


def test_what_a_hold_ended_is_tried_again_when_the_hold_is_gone() -> None:
    ended = last("Failed")
    ended["operationState"]["message"] = "refused; not tried again while it is held: a window"
    assert isinstance(decide(app(status=ended), sync_input(), NOW), SyncStart)
    assert isinstance(decide(app(status=ended), HELD_BY, NOW), SyncSkip)
