"""The index of Applications: what it keeps, what it tells, what it writes."""

from collections.abc import Callable, Mapping
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from agent.ingress.watch_asks import asks_for_app
from agent.store.applications import Applications
from bus.events import DeleteApp, Event, HealthAssessed, RefreshApp, StepOperation, SyncSkipped
from bus.identity import AppKey, RepositoryKey
from bus.metadata_keys import PENDING_FACTS
from bus.status import ConditionType, HealthStatus, Reason
from handlers.application.application import Application
from handlers.application.status import Condition, HealthState, OperationState
from handlers.ports import ApplyRefusedError, ClusterUnreachableError, StaleWriteError, StatusWrite

KEY = AppKey("argocd", "shop")
DEGRADED = HealthAssessed(app=KEY, status=HealthStatus.DEGRADED)
URL = "https://git.example/team/apps.git"


class Patches:
    """Answers as an API server would: the object with the patch's status, one version later."""

    def __init__(self) -> None:
        self.sent: list[Mapping[str, Any]] = []
        self.refuse: ApplyRefusedError | None = None
        self.lost = False
        self.meanwhile: Callable[[Mapping[str, Any]], None] = lambda _: None
        self.answer: Callable[..., bytes] = raw

    async def patch_application(self, key: AppKey, patch: Mapping[str, Any]) -> bytes:
        self.sent.append(patch)
        if self.refuse is not None:
            raise self.refuse
        self.meanwhile(patch)
        if self.lost:
            raise ClusterUnreachableError("the connection was lost")
        return self.answer(version=100 + len(self.sent), status=patch.get("status", {}))


def raw(*, version: int = 1, uid: str = "u1", note: str = "", **parts: Any) -> bytes:
    metadata = {
        "annotations": {PENDING_FACTS.name: note} if note else {},
        "name": KEY.name,
        "namespace": KEY.namespace,
        "uid": uid,
        "resourceVersion": str(version),
    }
    source = {"repoURL": URL, "path": "shop"}
    spec = {"source": source, "destination": {"name": "in-cluster"}}
    return msgspec.json.encode({"metadata": metadata, "spec": spec} | parts)


@pytest.fixture
def patches() -> Patches:
    return Patches()


@pytest.fixture
def apps(patches: Patches) -> Applications:
    return Applications(patches)


def known(apps: Applications) -> Application:
    app = apps.get(KEY)
    assert app is not None
    return app


def test_every_spelling_of_a_repository_finds_the_application(apps: Applications) -> None:
    apps.put_application(raw())
    assert apps.of_repository(RepositoryKey.of("git@git.example:team/apps")) == ()
    assert apps.of_repository(RepositoryKey.of(URL.replace("git.", "GIT."))) == (known(apps),)
    other_case = RepositoryKey.of(URL.replace("team", "Team"))
    assert apps.of_repository(other_case) == ()
    assert apps.repositories("git.example/team/apps") == [RepositoryKey.of(URL)]
    apps.remove_application(KEY)
    assert apps.repositories("git.example/team/apps") == []


def test_an_older_event_does_not_overwrite_a_newer_one(apps: Applications) -> None:
    apps.put_application(raw(version=5))
    apps.put_application(raw(version=3, operation={"sync": {}}))
    assert known(apps).operation is None


def test_a_recreated_application_is_newer_whatever_its_version(apps: Applications) -> None:
    apps.put_application(raw(version=5))
    apps.put_application(raw(version=2, uid="u2"))
    assert known(apps).metadata.uid == "u2"


def test_after_the_cluster_was_set_back_older_versions_and_the_gone_are_news(
    apps: Applications,
) -> None:
    apps.put_application(raw(version=50))
    apps.put_application(raw(version=7))
    assert version_of(apps) == "50"
    apps.forget_versions()
    apps.put_application(raw(version=7))
    assert version_of(apps) == "7"
    apps.remove_application(KEY)
    apps.put_application(raw(version=8))
    assert apps.get(KEY) is None
    apps.forget_versions()
    apps.put_application(raw(version=6))
    assert version_of(apps) == "6"


def version_of(apps: Applications) -> str:
    found = apps.get(KEY)
    return found.metadata.resource_version if found else ""


def test_changes_by_others_are_told_once(apps: Applications) -> None:
    heard: list[tuple[bool, bool]] = []
    apps.changes.subscribe(
        lambda before, after: heard.append((before is not None, after is not None))
    )
    apps.put_application(raw(version=1))
    apps.put_application(raw(version=1))
    apps.put_application(raw(version=2))
    apps.remove_application(KEY)
    assert heard == [(False, True), (True, True), (True, False)]


async def test_a_write_sends_the_difference_and_is_read_at_once(
    apps: Applications, patches: Patches
) -> None:
    apps.put_application(raw())
    app = known(apps)
    status = replace(app.status, health=HealthState(status="Healthy"))
    await apps.write(app, StatusWrite(status=status))
    assert patches.sent == [{"status": {"health": {"status": "Healthy"}}}]
    assert known(apps).status.health.status == "Healthy"


async def asks_of_answer(
    apps: Applications, patches: Patches, of_others: Mapping[str, Any]
) -> list[Event]:
    """What follows from a write whose answer shows what others have done since the last look."""
    apps.put_application(raw())
    asked: list[Event] = []
    apps.changes.subscribe(lambda before, after: asked.extend(asks_for_app(before, after)))

    def answer(*, version: int, **parts: Any) -> bytes:
        document = msgspec.json.decode(raw(version=version, **parts))
        document["metadata"] |= of_others.get("metadata", {})
        document["spec"] |= of_others.get("spec", {})
        return msgspec.json.encode(document | {"operation": of_others.get("operation")})

    patches.answer = answer
    status = replace(known(apps).status, health=HealthState(status="Healthy"))
    await apps.write(known(apps), StatusWrite(status=status))
    apps.put_application(answer(version=50))
    apps.put_application(answer(version=101))
    return asked


@pytest.mark.parametrize(
    ("of_others", "asked"),
    [
        ({}, []),
        ({"metadata": {"deletionTimestamp": "2026-11-22T00:00:00Z"}}, [DeleteApp(app=KEY)]),
        ({"spec": {"project": "other"}}, [RefreshApp(app=KEY)]),
        ({"operation": {"sync": {}}}, [StepOperation(app=KEY)]),
    ],
    ids=["nothing", "a deletion", "another spec", "a sync"],
)
async def test_what_others_did_just_before_a_write_is_heard_of_by_its_answer(
    apps: Applications, patches: Patches, of_others: Mapping[str, Any], asked: list[Event]
) -> None:
    """The watch brings it when the answer is known already, and would not tell of it again."""
    assert await asks_of_answer(apps, patches, of_others) == asked


async def test_a_write_that_changes_nothing_is_not_sent(
    apps: Applications, patches: Patches
) -> None:
    apps.put_application(raw())
    await apps.write(known(apps), StatusWrite(status=known(apps).status, clear_operation=True))
    assert not patches.sent


async def test_what_is_said_of_a_write_is_noted_in_the_same_call(
    apps: Applications, patches: Patches
) -> None:
    apps.put_application(raw())
    app, written = known(apps), HealthAssessed(app=KEY, status=HealthStatus.HEALTHY)
    status = replace(app.status, health=HealthState(status="Healthy"))
    await apps.write(app, StatusWrite(status=status, events=(written, RefreshApp(app=KEY))))
    (patch,) = patches.sent
    note = msgspec.json.decode(patch["metadata"]["annotations"][PENDING_FACTS.name])
    assert [one["type"] for one in note["facts"]] == ["fact.health.assessed.v1"]
    assert patch["status"] == {"health": {"status": "Healthy"}}


async def test_what_follows_from_no_write_costs_none(apps: Applications, patches: Patches) -> None:
    """A steady state stays quiet, whatever is said of it."""
    apps.put_application(raw())
    written = SyncSkipped(app=KEY, reason=Reason.ALREADY_SYNCED, message="live equals desired")
    await apps.write(known(apps), StatusWrite(status=known(apps).status, events=(written,)))
    assert not patches.sent


async def test_a_guarded_write_names_the_version_and_says_when_it_is_stale(
    apps: Applications, patches: Patches
) -> None:
    apps.put_application(raw(version=7))
    patches.refuse = ApplyRefusedError("the object has been modified", code=409)
    status = replace(known(apps).status, reconciled_at="2026-01-01T00:00:00Z")
    with pytest.raises(StaleWriteError, match="argocd/shop"):
        await apps.write(known(apps), StatusWrite(status=status, guarded=True))
    assert patches.sent[0]["metadata"] == {"resourceVersion": "7"}


async def test_finalizers_of_others_are_not_replaced_by_an_outdated_list(
    apps: Applications, patches: Patches
) -> None:
    apps.put_application(raw())
    patches.refuse = ApplyRefusedError("the object has been modified", code=409)

    with pytest.raises(StaleWriteError, match="argocd/shop"):
        await apps.write(
            known(apps), StatusWrite(status=known(apps).status, add_finalizers=("ours",))
        )

    [patch] = patches.sent
    assert patch["metadata"] == {"finalizers": ["ours"], "resourceVersion": "1"}


async def test_a_write_to_a_vanished_application_is_no_error(
    apps: Applications, patches: Patches
) -> None:
    apps.put_application(raw())
    patches.refuse = ApplyRefusedError("not found", code=404)
    status = replace(known(apps).status, reconciled_at="2026-01-01T00:00:00Z")
    assert await apps.write(known(apps), StatusWrite(status=status)) == known(apps)


async def test_an_answer_that_comes_after_the_word_of_the_end_brings_nothing_back(
    apps: Applications, patches: Patches
) -> None:
    apps.put_application(raw())
    app = known(apps)
    apps.remove_application(KEY)
    status = replace(app.status, reconciled_at="2026-01-01T00:00:00Z")
    assert await apps.write(app, StatusWrite(status=status)) == app
    assert apps.get(KEY) is None


def test_an_application_of_the_same_name_is_another_one(apps: Applications) -> None:
    apps.put_application(raw(uid="u1"))
    apps.remove_application(KEY)
    apps.put_application(raw(uid="u2"))
    assert known(apps).metadata.uid == "u2"


async def test_an_operation_is_not_put_over_another(apps: Applications) -> None:
    apps.put_application(raw(operation={"sync": {"revision": "main"}}))
    with pytest.raises(StaleWriteError):
        await apps.set_operation(known(apps), {"sync": {}})


def test_a_malformed_application_is_kept_with_its_problem(apps: Applications) -> None:
    broken = msgspec.json.decode(raw(version=4))
    broken["spec"]["source"]["path"] = 5
    apps.put_application(msgspec.json.encode(broken))
    assert "spec.source.path" in apps.problem(KEY)
    assert known(apps).source is None
    apps.put_application(raw(version=5))
    assert apps.problem(KEY) == ""


def malformed(**parts: Any) -> bytes:
    """No number is a path."""
    broken = msgspec.json.decode(raw(**parts))
    broken["spec"]["source"]["path"] = 5
    return msgspec.json.encode(broken)


REFUSED: Mapping[str, Any] = {
    "conditions": [{"type": "InvalidSpecError", "message": "spec.source.path: expected a text"}]
}


def test_of_a_malformed_application_the_status_is_read(apps: Applications) -> None:
    apps.put_application(malformed(version=4, status=REFUSED))
    (condition,) = known(apps).status.conditions
    assert (condition.type, condition.message) == (
        "InvalidSpecError",
        "spec.source.path: expected a text",
    )
    apps.put_application(malformed(version=5, status={"conditions": 7}))
    assert known(apps).status.conditions == ()


async def test_the_status_of_a_malformed_application_is_written(
    apps: Applications, patches: Patches
) -> None:
    apps.put_application(malformed(version=4))
    patches.answer = malformed
    written = Condition(type=ConditionType.INVALID_SPEC_ERROR, message="spec.source.path")
    status = replace(known(apps).status, conditions=(written,))
    answered = await apps.write(known(apps), StatusWrite(status=status))
    assert answered.status.conditions == (written,)
    assert answered.metadata.resource_version == "101"
    assert "spec.source.path" in apps.problem(KEY)


def test_unknown_fields_of_an_application_and_its_project_are_named_until_they_are_gone(
    apps: Applications,
) -> None:
    spec = {"project": "team", "source": {"repoURL": URL, "path": "a", "shallow": True}}
    metadata = {"name": "team", "namespace": KEY.namespace}
    restricted = {"metadata": metadata, "spec": {"onlyOnMondays": True}}
    apps.put_project(msgspec.json.encode(restricted))
    apps.put_application(raw(version=1, spec=spec | {"destination": {"name": "in-cluster"}}))
    (team,) = apps.projects()
    assert [it.path for it in known(apps).unknown_fields] == ["spec.source.shallow"]
    assert [it.path for it in team.unknown_fields] == ["spec.onlyOnMondays"]
    apps.put_application(raw(version=2))
    assert known(apps).unknown_fields == ()


def test_the_default_project_permits_everything_until_somebody_writes_one(
    apps: Applications,
) -> None:
    default = apps.project("default")
    assert default is not None
    assert default.spec.source_repos == ("*",)
    assert apps.project("other") is None


def test_what_a_complete_list_does_not_name_is_gone(apps: Applications) -> None:
    apps.put_application(raw())
    apps.keep_only([])
    assert apps.all() == ()
    assert apps.of_repository(RepositoryKey.of(URL)) == ()


class ChangeRecorder:
    """What a lost write turned out to say."""

    def __init__(self, apps: Applications) -> None:
        self.notes: list[str] = []
        apps.unconfirmed.stored.subscribe(self._note)

    def _note(self, app: Application) -> None:
        self.notes.append(app.metadata.annotations[PENDING_FACTS.name])


async def lost_write(apps: Applications, patches: Patches) -> str:
    """One whose answer does not come; its note."""
    patches.lost = True
    app, written = known(apps), HealthAssessed(app=KEY, status=HealthStatus.HEALTHY)
    status = replace(app.status, health=HealthState(status="Healthy"))
    with pytest.raises(ClusterUnreachableError):
        await apps.write(app, StatusWrite(status=status, events=(written,)))
    patches.lost = False
    return str(patches.sent[-1]["metadata"]["annotations"][PENDING_FACTS.name])


async def test_a_write_whose_answer_was_lost_is_told_of_when_the_watch_brings_it(
    apps: Applications, patches: Patches
) -> None:
    recorder = ChangeRecorder(apps)
    apps.put_application(raw(version=5))
    note = await lost_write(apps, patches)
    assert recorder.notes == []
    for version in (6, 7):
        apps.put_application(raw(version=version, note=note))
    assert recorder.notes == [note]


async def test_what_was_decided_on_a_copy_older_than_a_lost_write_is_not_stored(
    apps: Applications, patches: Patches
) -> None:
    apps.put_application(raw(version=1))
    note = await lost_write(apps, patches)
    stale = replace(known(apps).status, health=HealthState(status=HealthStatus.DEGRADED))
    patches.refuse = ApplyRefusedError("Conflict", code=409)
    with pytest.raises(ClusterUnreachableError, match="which this one has not seen"):
        await apps.write(known(apps), StatusWrite(status=stale, events=(DEGRADED,)))
    assert patches.sent[-1]["metadata"]["resourceVersion"] == "1"
    patches.refuse = None
    apps.put_application(raw(version=2, note=note))
    await apps.write(known(apps), StatusWrite(status=stale, events=(DEGRADED,)))
    assert "resourceVersion" not in patches.sent[-1]["metadata"]


async def test_what_was_decided_before_the_watch_brought_a_lost_write_is_not_stored_after_it(
    apps: Applications, patches: Patches
) -> None:
    apps.put_application(raw(version=1))
    note, decided_on = await lost_write(apps, patches), known(apps)
    stale = replace(decided_on.status, health=HealthState(status=HealthStatus.DEGRADED))
    apps.put_application(raw(version=2, note=note))
    patches.refuse = ApplyRefusedError("Conflict", code=409)
    with pytest.raises(ClusterUnreachableError, match="which this one has not seen"):
        await apps.write(decided_on, StatusWrite(status=stale, events=(DEGRADED,)))
    assert patches.sent[-1]["metadata"]["resourceVersion"] == "1"


async def test_a_lost_write_that_the_watch_brought_before_the_loss_is_told_of(
    apps: Applications, patches: Patches
) -> None:
    recorder = ChangeRecorder(apps)
    apps.put_application(raw(version=5))
    patches.meanwhile = lambda patch: apps.put_application(
        raw(version=6, note=patch["metadata"]["annotations"][PENDING_FACTS.name])
    )
    note = await lost_write(apps, patches)
    assert recorder.notes == [note]


async def test_a_lost_write_that_was_written_again_is_said_by_the_later_one(
    apps: Applications, patches: Patches
) -> None:
    recorder = ChangeRecorder(apps)
    apps.put_application(raw(version=5))
    note = await lost_write(apps, patches)
    status = replace(known(apps).status, reconciled_at="2026-01-01T00:00:00Z")
    await apps.write(known(apps), StatusWrite(status=status))
    apps.put_application(raw(version=500, note=note))
    assert recorder.notes == []


def test_sources_are_followed_for_own_applications_only(apps: Applications) -> None:
    apps.put_application(raw())
    repository = RepositoryKey.of(URL)
    apps.follow_only(lambda _: False)
    assert apps.followed_repositories() == ()
    apps.put_application(raw(version=2))
    assert apps.followed_repositories() == ()
    assert apps.of_repository(repository) == (known(apps),)
    apps.follow_only(lambda _: True)
    assert apps.followed_repositories() == (repository,)
    assert [it.apps for it in apps.followers(repository)] == [{KEY}]


@pytest.mark.parametrize(("guards", "version"), [(False, None), (True, "7")])
async def test_a_replica_writes_the_state_of_an_operation_on_the_version_it_knows(
    patches: Patches, *, guards: bool, version: str | None
) -> None:
    apps = Applications(patches, guards_operations=guards)
    apps.put_application(raw(version=7))
    state = OperationState(phase="Running", started_at="2026-01-01T00:00:00Z")
    status = replace(known(apps).status, operation_state=state)
    await apps.write(known(apps), StatusWrite(status=status))
    sent = patches.sent[0].get("metadata", {}).get("resourceVersion")
    assert sent == version


async def test_a_replica_that_has_missed_a_write_of_others_tries_again(patches: Patches) -> None:
    apps = Applications(patches, guards_operations=True)
    apps.put_application(raw(version=7))
    patches.refuse = ApplyRefusedError("the object has been modified", code=409)
    status = replace(known(apps).status, operation_state=OperationState(phase="Running"))
    with pytest.raises(ClusterUnreachableError):
        await apps.write(known(apps), StatusWrite(status=status))
