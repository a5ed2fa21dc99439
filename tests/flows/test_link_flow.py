"""The agent's half of the link on real parts, with a small far end that speaks the frames."""

import base64
import json
import uuid
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from nacl.public import PublicKey, SealedBox

from agent.bridge.results import Results
from bus.events import SyncApp
from bus.identity import AppKey
from bus.jetstream import Bus, BusSettings
from bus.link import Cancel, Offer, Task, TaskKind, TaskPhase, TaskResult
from tests.bridge.farend import FarEnd, quiet
from tests.flows.house import House, config_map, is_synced
from tests.support import eventually

pytestmark = pytest.mark.flow


@pytest.fixture
async def far() -> AsyncIterator[FarEnd]:
    async with FarEnd().open() as far:
        yield far


@pytest.fixture
def linked(quiet_house: House, far: FarEnd, tmp_path: Path) -> House:
    """A house that knows where its service is, and has a token for it."""
    token = tmp_path / "token"
    token.write_text(far.token)
    link = quiet_house.settings.link.model_copy(update={"url": far.url, "token_file": token})
    quiet_house.settings = quiet_house.settings.model_copy(update={"link": link})
    return quiet_house


def task(kind: TaskKind, subject: str = "", /, **arguments: object) -> Task:
    return Task(id=uuid.uuid4().hex, kind=kind, subject=subject, actor="ann", arguments=arguments)


def is_out_of_sync(app: dict[str, Any]) -> bool:
    return bool(app.get("status", {}).get("sync", {}).get("status") == "OutOfSync")


async def test_an_agent_enrols_once_and_what_happens_is_told_in_order(
    linked: House, far: FarEnd
) -> None:
    linked.commit({"web/config.yaml": config_map("web", a="1")})
    async with linked.running():
        await far.connected()
        await linked.apply_app("web", "web", syncPolicy={"automated": {}})
        await linked.until_synced("web")
        key = f"{linked.namespace}/web"
        await eventually(lambda: is_synced(far.state("Application", key)))
        await quiet(far)
    assert far.enrolments == 1
    assert [item.sequence for item in far.items] == sorted({item.sequence for item in far.items})
    told = [item.type for item in far.facts if item.subject == str(AppKey.parse(key))]
    assert "fact.operation.finished.v1" in told


async def test_a_sync_that_was_asked_for_is_done_once_and_its_end_is_known(
    linked: House, far: FarEnd
) -> None:
    linked.commit({"web/config.yaml": config_map("web", a="1")})
    async with linked.running():
        await far.connected()
        await linked.apply_app("web", "web")
        await linked.until(is_out_of_sync, app="web")
        wanted = task(TaskKind.SYNC, f"{linked.namespace}/web")
        first = await far.do(wanted)
        again = await far.do(wanted)
        app = await linked.until_synced("web")
    assert (first.phase, first.code) == (TaskPhase.SUCCEEDED, "ok"), first
    assert again == first
    assert len(app["status"]["history"]) == 1


async def test_options_are_of_one_sync_and_what_cannot_be_done_is_refused_by_name(
    linked: House, far: FarEnd
) -> None:
    linked.commit({"web/a.yaml": config_map("a"), "web/b.yaml": config_map("b")})
    async with linked.running():
        await far.connected()
        await linked.apply_app("web", "web", syncPolicy={"syncOptions": ["PruneLast=true"]})
        await linked.until(is_out_of_sync, app="web")
        subject = f"{linked.namespace}/web"
        await far.do(task(TaskKind.SYNC, subject))
        linked.commit({"web/b.yaml": None})
        await far.do(task(TaskKind.REFRESH, subject))
        await linked.until(is_out_of_sync, app="web")
        refused = await far.do(task(TaskKind.SYNC, subject, options=["Replace=true", "Force=true"]))
        kept = await far.do(task(TaskKind.SYNC, subject, prune=True, options=["Prune=false"]))
        operation = (await linked.app("web"))["status"]["operationState"]["operation"]
        still_there = await linked.get("configmaps/b")
        pruned = await far.do(task(TaskKind.SYNC, subject, prune=True))
    assert (refused.phase, refused.code) == (TaskPhase.FAILED, "unsupported")
    assert "'Force=true'" in refused.message
    assert "Replace" not in refused.message
    assert (kept.phase, pruned.phase) == (TaskPhase.SUCCEEDED, TaskPhase.SUCCEEDED)
    assert operation["sync"]["syncOptions"] == ["Prune=false"]
    assert still_there is not None
    assert await linked.get("configmaps/b") is None


async def test_any_revision_can_be_looked_at_before_it_is_synced(
    linked: House, far: FarEnd
) -> None:
    first = linked.commit({"web/a.yaml": config_map("a", v="1"), "web/b.yaml": config_map("b")})
    async with linked.running() as agent:
        await far.connected()
        await linked.apply_app("web", "web")
        await linked.until(is_out_of_sync, app="web")
        subject = f"{linked.namespace}/web"
        await far.do(task(TaskKind.SYNC, subject))
        changed = {"web/a.yaml": config_map("a", v="2"), "web/b.yaml": None}
        linked.commit({**changed, "web/c.yaml": config_map("c")})
        await far.do(task(TaskKind.REFRESH, subject))
        await linked.until(is_out_of_sync, app="web")
        await far.do(task(TaskKind.SYNC, subject, prune=True))
        status = (await linked.app("web"))["status"]
        rendered = agent.parts.renders.recall(AppKey(linked.namespace, "web"))
        back = task(TaskKind.DIFF, subject, historyId=0, prune=True, preview=True)
        rollback = await far.do(back)
        kept = await far.do(task(TaskKind.DIFF, subject, revision=first, preview=True))
        manifests = await far.do(task(TaskKind.MANIFESTS, subject, revision=first[:8]))
        assert (await linked.app("web"))["status"] == status
        assert agent.parts.renders.recall(AppKey(linked.namespace, "web")) == rendered
    assert rollback.body["revision"] == first
    assert intents_of(rollback) == {"a": "change", "b": "create", "c": "prune"}
    assert intents_of(kept) == {"a": "change", "b": "create", "c": "skip"}
    assert sorted(names_of(manifests)) == ["a", "b"]


async def test_a_revision_that_cannot_be_looked_at_says_why(linked: House, far: FarEnd) -> None:
    linked.commit({"web/a.yaml": config_map("a")})
    bad = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: [\n"
    broken = linked.commit({"web/a.yaml": bad})
    linked.commit({"web/a.yaml": config_map("a")})
    async with linked.running():
        await far.connected()
        await linked.apply_app("web", "web")
        await linked.until(is_out_of_sync, app="web")
        subject = f"{linked.namespace}/web"
        invalid = await far.do(task(TaskKind.DIFF, subject, revision=broken, preview=True))
        unknown = await far.do(task(TaskKind.DIFF, subject, revision="v9", preview=True))
        never = await far.do(task(TaskKind.DIFF, subject, historyId=7, preview=True))
        option = await far.do(task(TaskKind.DIFF, subject, options=["Force=true"], preview=True))
    assert (invalid.code, unknown.code, never.code) == ("invalid", "not_found", "not_found")
    assert "web/a.yaml" in invalid.message
    assert "v9" in unknown.message
    assert (option.code, "Force=true" in option.message) == ("unsupported", True)


async def test_reads_tell_what_is_there_and_nothing_that_is_secret(
    linked: House, far: FarEnd
) -> None:
    canary = "c4nary-" + uuid.uuid4().hex
    secret = f"apiVersion: v1\nkind: Secret\nmetadata: {{name: db}}\nstringData: {{p: {canary}}}\n"
    linked.commit(
        {
            "web/config.yaml": config_map("web", a="1"),
            "web/leak.yaml": config_map("leak", note=f"the password is {canary}"),
            "web/secret.yaml": secret,
        }
    )
    async with linked.running():
        await far.connected()
        await linked.apply_app("web", "web", syncPolicy={"automated": {}})
        await linked.until_synced("web")
        subject = f"{linked.namespace}/web"
        await linked.apply_app("web", "web")  # by hand from now on
        linked.commit({"web/config.yaml": config_map("web", a="2")})
        await far.do(task(TaskKind.REFRESH, subject))
        await linked.until(is_out_of_sync, app="web")
        tree = await far.do(task(TaskKind.TREE, subject))
        manifests = await far.do(task(TaskKind.MANIFESTS, subject))
        diff = await far.do(task(TaskKind.DIFF, subject))
        there = {"kind": "Secret", "namespace": linked.destination, "name": "db"}
        live = await far.do(task(TaskKind.LIVE, subject, **there))
        elsewhere = {
            "kind": "ConfigMap",
            "namespace": linked.destination,
            "name": "kube-root-ca.crt",
        }
        foreign = await far.do(task(TaskKind.LIVE, subject, **elsewhere))
        events = await far.do(task(TaskKind.EVENTS, subject))
        refs = await far.do(task(TaskKind.REFS, url=linked.repository.url))
        stranger = await far.do(task(TaskKind.REFS, url="http://169.254.169.254/latest"))
        await quiet(far)
    assert {node["name"] for node in tree.body["nodes"]} == {"web", "leak", "db"}
    assert len(manifests.body["manifests"]) == 3
    (changed,) = diff.body["objects"]
    assert changed["key"] == f"/ConfigMap/{linked.destination}/web"
    assert [change["path"] for change in changed["changes"]] == ["data.a"]
    assert set(live.body["data"]) == {"p"}
    assert events.body["items"] == []
    assert refs.body["branches"] == ["main"]
    assert (foreign.code, stranger.code) == ("not_found", "not_found")
    assert not [frame for frame in far.raw if canary in frame]


async def test_an_application_is_made_changed_and_deleted_by_tasks(
    linked: House, far: FarEnd
) -> None:
    linked.commit({"web/config.yaml": config_map("web", a="1")})
    source = {"repoURL": linked.repository.url, "path": "web", "targetRevision": "main"}
    helm = {"parameters": [{"name": "p", "value": "kept"}]}
    manifest = {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "Application",
        "metadata": {"name": "web"},
        "spec": {
            "project": "default",
            "source": {**source, "helm": helm},
            "destination": {"name": "in-cluster", "namespace": linked.destination},
        },
    }
    async with linked.running():
        await far.connected()
        subject = f"{linked.namespace}/web"
        made = task(TaskKind.PUT, subject, kind="Application", manifest=manifest, create=True)
        first = await far.do(made)
        second = await far.do(
            task(TaskKind.PUT, subject, kind="Application", manifest=manifest, create=True)
        )
        shown = await eventually(lambda: far.state("Application", subject))
        edited = {**manifest, "spec": {**shown["spec"], "project": "other"}}
        changed = await far.do(task(TaskKind.PUT, subject, kind="Application", manifest=edited))
        live = await linked.app("web")
        gone = await far.do(task(TaskKind.DELETE, subject, kind="Application", cascade=False))
        await eventually(lambda: far.states["application.v1", subject].deleted)
    assert (first.code, second.code, changed.code, gone.code) == ("ok", "conflict", "ok", "ok")
    assert live["spec"]["project"] == "other"
    assert live["spec"]["source"]["helm"] == helm
    assert "kept" not in str(shown["spec"])


async def test_a_credential_comes_sealed_and_is_in_no_frame(linked: House, far: FarEnd) -> None:
    canary = "pw-" + uuid.uuid4().hex
    async with linked.running():
        await far.connected()
        url = "https://git.example.test/team/app.git"
        key = PublicKey(base64.b64decode(far.sealing_key))
        plain = json.dumps({"url": url, "username": "bob", "password": canary})
        sealed = base64.b64encode(SealedBox(key).encrypt(plain.encode())).decode()
        done = await far.do(task(TaskKind.PUT, url, kind="Repository", url=url, sealed=sealed))
        name = done.body["name"]
        stored = await linked.api.get(f"/api/v1/namespaces/{linked.namespace}/secrets/{name}")
        shown = await eventually(lambda: far.state("Repository", f"{linked.namespace}/{name}"))
    assert base64.b64decode(stored["data"]["password"]).decode() == canary
    assert (shown["spec"]["url"], shown["spec"]["hasCredential"]) == (url, True)
    assert not [frame for frame in far.raw if canary in frame]


async def test_the_customers_limits_are_checked_here_and_shown(linked: House, far: FarEnd) -> None:
    await linked.api.create(
        f"/api/v1/namespaces/{linked.namespace}/configmaps",
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "gitops-agent-limits"},
            "data": {"readOnly": "true"},
        },
    )
    async with linked.running():
        await far.connected()
        assert far.hellos[0].allowed["readOnly"] is True
        refused = await far.do(task(TaskKind.REFRESH, f"{linked.namespace}/web"))
        await linked.api.patch(
            f"/api/v1/namespaces/{linked.namespace}/configmaps/gitops-agent-limits",
            {"data": {"readOnly": "false", "namespaces": "elsewhere"}},
        )
        await far.connected(times=2)
    assert (refused.code, far.hellos[-1].allowed["namespaces"]) == ("not_allowed", ["elsewhere"])


async def test_what_happened_while_the_service_was_away_arrives_when_it_is_back(
    linked: House, far: FarEnd
) -> None:
    linked.commit({"web/config.yaml": config_map("web", a="1")})
    async with linked.running():
        await far.connected()
        await far.cut()
        far.token = ""
        keys, far.keys = far.keys, {}
        await linked.apply_app("web", "web", syncPolicy={"automated": {}})
        await linked.until_synced("web")
    far.keys = keys
    async with linked.running():
        await far.connected(times=2)
        await quiet(far)
    told = [item.type for item in far.facts]
    assert "fact.operation.finished.v1" in told
    assert len({item.id for item in far.facts}) == len(far.facts)
    assert far.enrolments == 1


async def test_a_half_open_link_is_found_and_made_anew(linked: House, far: FarEnd) -> None:
    far.beat_seconds = 0.5
    async with linked.running():
        await far.connected()
        far.mute = True
        await eventually(lambda: not far._sockets, what="the agent gives the dead link up")
        far.mute = False
        await far.connected(times=2)


async def test_an_acknowledgement_empties_the_outbox(linked: House, far: FarEnd) -> None:
    linked.commit({"web/config.yaml": config_map("web", a="1")})
    async with linked.running() as agent:
        await far.connected()
        await linked.apply_app("web", "web", syncPolicy={"automated": {}})
        await linked.until_synced("web")
        outbox = agent.parts.bus.outbox()

        async def empty() -> bool:
            standing = await outbox.standing()
            return standing.first > standing.newest > 0

        await eventually(empty)


async def test_a_sync_that_was_cut_off_after_its_effect_is_not_done_twice(
    linked: House, far: FarEnd
) -> None:
    """As `kill -9` leaves it between the effect and the record of the end."""
    linked.commit({"web/config.yaml": config_map("web", a="1")})
    async with linked.running() as agent:
        await far.connected()
        await linked.apply_app("web", "web")
        await linked.until(is_out_of_sync, app="web")
        wanted = task(TaskKind.SYNC, f"{linked.namespace}/web")
        results = Results(await agent.parts.bus.bucket("results"))
        await results.begin(wanted.id, "2026-01-01T00:00:00+00:00")
        key = AppKey(linked.namespace, "web")
        await linked.publish(SyncApp(id=wanted.id, actor="ann", app=key))
        await linked.until_synced("web")
        ended = await far.do(wanted)
        app = await linked.app("web")
    assert ended.phase is TaskPhase.SUCCEEDED, ended
    assert len(app["status"]["history"]) == 1


async def test_where_it_cannot_be_known_whether_a_sync_was_done_a_person_is_asked(
    linked: House, far: FarEnd
) -> None:
    linked.commit({"web/config.yaml": config_map("web", a="1")})
    async with linked.running() as agent:
        await far.connected()
        await linked.apply_app("web", "web", syncPolicy={"automated": {}})
        await linked.until_synced("web")
        wanted = task(TaskKind.SYNC, f"{linked.namespace}/web")
        note = {"gitops-house.io/commands": wanted.id}
        await linked.patch_app("web", {"metadata": {"annotations": note}})
        await eventually(lambda: is_noted(linked, note))
        results = Results(await agent.parts.bus.bucket("results"))
        await results.begin(wanted.id, "2026-01-01T00:00:00+00:00")
        ended = await far.do(wanted)
    assert ended.phase is TaskPhase.UNKNOWN


def intents_of(preview: TaskResult) -> dict[str, str]:
    return {one["key"].rpartition("/")[2]: one["action"] for one in preview.body["intents"]}


def names_of(manifests: TaskResult) -> list[str]:
    return [one["metadata"]["name"] for one in manifests.body["manifests"]]


def is_noted(house: House, note: dict[str, str]) -> bool:
    app = house.known("web")
    return app is not None and note.items() <= app.metadata.annotations.items()


async def test_a_command_that_is_delivered_again_after_another_one_does_nothing(
    linked: House, far: FarEnd
) -> None:
    linked.commit({"web/config.yaml": config_map("web", a="1")})
    async with linked.running():
        await far.connected()
        await linked.apply_app("web", "web")
        await linked.until(is_out_of_sync, app="web")
        first, second = (task(TaskKind.SYNC, f"{linked.namespace}/web") for _ in range(2))
        await far.do(first)
        await far.do(second)
        key = AppKey(linked.namespace, "web")
        await linked.publish(SyncApp(id=first.id, actor="again", app=key))
        third = task(TaskKind.SYNC, f"{linked.namespace}/web")
        await far.do(third)
        app = await linked.app("web")
    actors = [entry["initiatedBy"]["username"] for entry in app["status"]["history"]]
    assert actors == ["ann", "ann", "ann"]


async def test_a_cancelled_sync_terminates_what_it_began(linked: House, far: FarEnd) -> None:
    never = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "never"},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": "nobody-provides",
            "resources": {"requests": {"storage": "1Gi"}},
        },
    }
    later = config_map("later", a="1").replace(
        "{name: later}", '{name: later, annotations: {argocd.argoproj.io/sync-wave: "1"}}'
    )
    linked.commit({"web/never.yaml": json.dumps(never), "web/later.yaml": later})
    async with linked.running():
        await far.connected()
        await linked.apply_app("web", "web")
        await linked.until(is_out_of_sync, app="web")
        wanted = task(TaskKind.SYNC, f"{linked.namespace}/web")
        await far.say(Offer(task=wanted))
        await linked.until(is_running, app="web")
        await far.say(Cancel(id=wanted.id))
        ended = (await eventually(lambda: far.results.get(wanted.id, [])))[0]
        app = await linked.app("web")
    assert (ended.phase, ended.code) == (TaskPhase.CANCELLED, "cancelled"), ended
    assert app["status"]["operationState"]["phase"] == "Failed"
    assert await linked.get("configmaps/later") is None


async def test_a_task_that_is_too_late_is_not_begun(linked: House, far: FarEnd) -> None:
    async with linked.running():
        await far.connected()
        late = task(TaskKind.REFRESH, f"{linked.namespace}/web")
        ended = await far.do(replace(late, not_after="2026-01-01T00:00:00Z"))
    assert (ended.phase, ended.code) == (TaskPhase.EXPIRED, "expired")


async def test_a_precondition_that_does_not_hold_is_a_conflict(linked: House, far: FarEnd) -> None:
    linked.commit({"web/config.yaml": config_map("web", a="1")})
    async with linked.running():
        await far.connected()
        await linked.apply_app("web", "web")
        await linked.until(is_out_of_sync, app="web")
        wanted = task(TaskKind.SYNC, f"{linked.namespace}/web")
        ended = await far.do(replace(wanted, precondition={"uid": "of another life"}))
    assert ended.code == "conflict"
    assert "uid" in ended.message


async def test_a_secret_may_be_named_only_where_its_owner_allows_it(
    linked: House, far: FarEnd
) -> None:
    path = f"/api/v1/namespaces/{linked.namespace}/secrets"
    label = {"gitops-house.io/credential": "true"}
    for name, labels in (("mine", {}), ("offered", label)):
        metadata = {"name": name, "labels": labels}
        body = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata}
        await linked.api.create(path, {**body, "stringData": {"password": "pw-1234567"}})
    url = "https://git.example.test/team/ref.git"
    async with linked.running():
        await far.connected()
        mine, offered = [
            await far.do(
                task(TaskKind.PUT, url, kind="Repository", url=url, secretRef={"name": name})
            )
            for name in ("mine", "offered")
        ]
        stored = await linked.api.get(f"{path}/{offered.body['name']}")
    assert mine.code == "not_allowed"
    assert base64.b64decode(stored["data"]["password"]) == b"pw-1234567"


def is_running(app: dict[str, Any]) -> bool:
    state = app.get("status", {}).get("operationState", {})
    return bool(state.get("phase") == "Running" and state.get("syncResult"))


async def test_a_lost_outbox_is_a_new_epoch(linked: House, far: FarEnd) -> None:
    async with linked.running():
        await far.connected()
    async with Bus.open(bus_settings(linked)) as bus:
        await bus.connection.jetstream.delete_stream(bus.scope.name("UP"))
    async with linked.running():
        await far.connected(times=2)
    assert far.hellos[0].epoch != far.hellos[1].epoch


async def test_a_service_that_knows_more_than_the_outbox_gets_a_new_epoch(
    linked: House, far: FarEnd
) -> None:
    async with linked.running():
        await far.connected()
        far.acked[far.epoch] = 10_000
        await far.cut()
        await far.connected(times=3)
    assert len({hello.epoch for hello in far.hellos}) == 2


async def test_a_service_that_was_restored_is_told_what_it_will_never_hear(
    linked: House, far: FarEnd
) -> None:
    linked.commit({"web/config.yaml": config_map("web", a="1")})
    async with linked.running():
        await far.connected()
        await linked.apply_app("web", "web", syncPolicy={"automated": {}})
        await linked.until_synced("web")
        await quiet(far)
    far.acked[far.epoch] = 0
    far.states.clear()
    async with linked.running():
        await far.connected(times=2)
        await eventually(lambda: any(it.type == "fact.outbox.gap.v1" for it in far.facts))
        await quiet(far)
        assert far.state("Application", f"{linked.namespace}/web")


async def test_the_parts_the_agent_stands_on_are_told(linked: House, far: FarEnd) -> None:
    async with linked.running():
        await far.connected()
        await eventually(lambda: far.state("Component", "nats"))
        api_server = await eventually(lambda: far.state("Component", "api-server"))
    assert api_server["status"]["status"] == "Healthy"
    assert api_server["status"]["version"]


def bus_settings(house: House) -> BusSettings:
    given = house.settings
    assert given.nats.url is not None
    return BusSettings(
        url=given.nats.url.get_secret_value(), account=given.account, agent=given.agent
    )
