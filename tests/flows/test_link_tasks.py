"""What is ordered over the link: done once, its end known, refused with a reason."""

import base64
import json
import uuid
from typing import Any

import pytest
from msgspec.structs import replace
from nacl.public import PublicKey, SealedBox

from agent.bridge.results import Results
from bus.events import SyncApp
from bus.link import Cancel, Offer, Task, TaskKind, TaskPhase, TaskResult
from tests.bridge.farend import quiet
from tests.flows.house import config_map
from tests.flows.near import Near, is_running
from tests.support import eventually

pytestmark = pytest.mark.flow

LONG_AGO = "2026-01-01T00:00:00+00:00"


async def test_a_sync_that_was_asked_for_is_done_once_and_its_end_is_known(near: Near) -> None:
    await near.differs()
    wanted = near.task(TaskKind.SYNC)
    first = await near.far.do(wanted)
    again = await near.far.do(wanted)
    app = await near.house.until_synced("web")
    assert (first.phase, first.code) == (TaskPhase.SUCCEEDED, "ok"), first
    assert again == first
    assert len(app["status"]["history"]) == 1


async def test_options_are_of_one_sync_and_what_cannot_be_done_is_refused_by_name(
    near: Near,
) -> None:
    files = {"web/a.yaml": config_map("a"), "web/b.yaml": config_map("b")}
    await near.differs(files, syncPolicy={"syncOptions": ["PruneLast=true"]})
    await near.do(TaskKind.SYNC)
    await near.push({"web/b.yaml": None})
    refused = await near.do(TaskKind.SYNC, options=["Replace=true", "Force=true"])
    kept = await near.do(TaskKind.SYNC, prune=True, options=["Prune=false"])
    operation = (await near.app())["status"]["operationState"]["operation"]
    still_there = await near.house.get("configmaps/b")
    pruned = await near.do(TaskKind.SYNC, prune=True)
    assert (refused.phase, refused.code) == (TaskPhase.FAILED, "unsupported")
    assert "'Force=true'" in refused.message
    assert "Replace" not in refused.message
    assert (kept.phase, pruned.phase) == (TaskPhase.SUCCEEDED, TaskPhase.SUCCEEDED)
    assert operation["sync"]["syncOptions"] == ["Prune=false"]
    assert still_there is not None
    assert await near.house.get("configmaps/b") is None


async def test_any_revision_can_be_looked_at_before_it_is_synced(near: Near) -> None:
    files = {"web/a.yaml": config_map("a", v="1"), "web/b.yaml": config_map("b")}
    await near.differs(files)
    first = near.house.repository.head()
    await near.do(TaskKind.SYNC)
    changed = {"web/a.yaml": config_map("a", v="2"), "web/b.yaml": None}
    await near.push({**changed, "web/c.yaml": config_map("c")})
    await near.do(TaskKind.SYNC, prune=True)
    status, renders = (await near.app())["status"], near.agent.parts.renders
    rendered = renders.recall(near.key)
    rollback = await near.do(TaskKind.DIFF, historyId=0, prune=True, preview=True)
    kept = await near.do(TaskKind.DIFF, revision=first, preview=True)
    manifests = await near.do(TaskKind.MANIFESTS, revision=first[:8])
    assert (await near.app())["status"] == status
    assert renders.recall(near.key) == rendered
    assert rollback.body["revision"] == first
    assert intents_of(rollback) == {"a": "change", "b": "create", "c": "prune"}
    assert intents_of(kept) == {"a": "change", "b": "create", "c": "skip"}
    assert sorted(names_of(manifests)) == ["a", "b"]


def intents_of(preview: TaskResult) -> dict[str, str]:
    return {one["key"].rpartition("/")[2]: one["action"] for one in preview.body["intents"]}


def names_of(manifests: TaskResult) -> list[str]:
    return [one["metadata"]["name"] for one in manifests.body["manifests"]]


async def test_a_revision_that_cannot_be_looked_at_says_why(near: Near) -> None:
    good = {"web/a.yaml": config_map("a")}
    near.house.commit(good)
    bad = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: [\n"
    broken = near.house.commit({"web/a.yaml": bad})
    await near.differs(good)
    invalid = await near.do(TaskKind.DIFF, revision=broken, preview=True)
    unknown = await near.do(TaskKind.DIFF, revision="v9", preview=True)
    never = await near.do(TaskKind.DIFF, historyId=7, preview=True)
    option = await near.do(TaskKind.DIFF, options=["Force=true"], preview=True)
    assert (invalid.code, unknown.code, never.code) == ("invalid", "not_found", "not_found")
    assert "web/a.yaml" in invalid.message
    assert "v9" in unknown.message
    assert (option.code, "Force=true" in option.message) == ("unsupported", True)


async def test_a_revision_that_costs_too_much_to_look_at_is_given_up(near: Near) -> None:
    good = {"web/a.yaml": config_map("a")}
    chart = "apiVersion: v2\nname: web\nversion: 1.0.0\n"
    bomb = {"web/Chart.yaml": chart, "web/templates/b.yaml": '{{ repeat 2000000000 "x" }}'}
    costly = near.house.commit(bomb)
    near.house.commit(dict.fromkeys(bomb))
    await near.differs(good)
    refused = await near.do(TaskKind.DIFF, revision=costly, preview=True)
    again = await near.do(TaskKind.DIFF, preview=True)
    assert (refused.code, costly in refused.message) == ("invalid", True)
    assert intents_of(again) == {"a": "create"}


async def test_reads_tell_what_is_there_and_nothing_that_is_secret(near: Near) -> None:
    canary, space = "c4nary-" + uuid.uuid4().hex, near.house.destination
    secret = f"apiVersion: v1\nkind: Secret\nmetadata: {{name: db}}\nstringData: {{p: {canary}}}\n"
    leak = config_map("leak", note=f"the password is {canary}")
    config = config_map("web", a="1")
    await near.synced({"web/x.yaml": config, "web/leak.yaml": leak, "web/secret.yaml": secret})
    await near.house.apply_app("web", "web")  # by hand from now on
    await near.push({"web/x.yaml": config_map("web", a="2")})
    tree, manifests, diff, events = [
        await near.do(kind)
        for kind in (TaskKind.TREE, TaskKind.MANIFESTS, TaskKind.DIFF, TaskKind.EVENTS)
    ]
    live = await near.do(TaskKind.LIVE, kind="Secret", namespace=space, name="db")
    elsewhere = {"kind": "ConfigMap", "namespace": space, "name": "kube-root-ca.crt"}
    foreign = await near.do(TaskKind.LIVE, **elsewhere)
    refs = await near.do(TaskKind.REFS, url=near.house.repository.url)
    stranger = await near.do(TaskKind.REFS, url="http://169.254.169.254/latest")
    await quiet(near.far)
    assert {node["name"] for node in tree.body["nodes"]} == {"web", "leak", "db"}
    assert len(manifests.body["manifests"]) == 3
    (changed,) = diff.body["objects"]
    assert changed["key"] == f"/ConfigMap/{space}/web"
    assert [change["path"] for change in changed["changes"]] == ["data.a"]
    assert set(live.body["data"]) == {"p"}
    assert events.body["items"] == []
    assert refs.body["branches"] == ["main"]
    assert (foreign.code, stranger.code) == ("not_found", "not_found")
    assert not [frame for frame in near.far.raw if canary in frame]


async def test_events_are_followed_with_credit_as_they_come_and_masked(near: Near) -> None:
    canary = "c4nary-" + uuid.uuid4().hex
    secret = f"apiVersion: v1\nkind: Secret\nmetadata: {{name: db}}\nstringData: {{p: {canary}}}\n"
    await near.synced({"web/x.yaml": config_map("web", a="1"), "web/secret.yaml": secret})
    await happened(near, "known", "web", "it was there before")
    await happened(near, "foreign", "kube-root-ca.crt", "of somebody else")
    wanted = near.task(TaskKind.EVENT_STREAM)
    await near.far.say(Offer(task=wanted))
    await near.far.credit(wanted.id, 1)
    await eventually(lambda: told(near, wanted.id) == ["it was there before"])
    await happened(near, "later", "web", f"it came with {canary}")
    assert told(near, wanted.id) == ["it was there before"], "more than there was credit for"
    await near.far.credit(wanted.id, 8)
    await eventually(lambda: len(told(near, wanted.id)) == 2)
    await near.far.say(Cancel(id=wanted.id))
    await eventually(lambda: near.far.results.get(wanted.id))
    assert near.far.results[wanted.id][0].phase is TaskPhase.CANCELLED
    assert told(near, wanted.id)[1].startswith("it came with ")
    assert not [frame for frame in near.far.raw if canary in frame]


def told(near: Near, task: str) -> list[str]:
    """The messages of the events that a stream has told of."""
    text = "".join(chunk.text for chunk in near.far.chunks.get(task, ()))
    return [json.loads(line)["message"] for line in text.splitlines() if line]


async def happened(near: Near, name: str, about: str, message: str) -> None:
    """The cluster says something about a ConfigMap."""
    space = near.house.destination
    found = await near.house.get(f"configmaps/{about}")
    assert found is not None
    uid = found["metadata"]["uid"]
    spoken = {
        "metadata": {"name": f"{name}-{uuid.uuid4().hex[:8]}"},
        "involvedObject": {"kind": "ConfigMap", "name": about, "namespace": space, "uid": uid},
        "message": message,
        "lastTimestamp": "2026-11-21T12:00:00Z",
    }
    await near.house.api.create(f"/api/v1/namespaces/{space}/events", spoken)


async def test_an_application_is_made_changed_and_deleted_by_tasks(near: Near) -> None:
    near.house.commit({"web/config.yaml": config_map("web", a="1")})
    manifest = an_application(near)
    first, second = [
        await near.do(TaskKind.PUT, kind="Application", manifest=manifest, create=True)
        for _ in range(2)
    ]
    shown = await eventually(lambda: near.far.state("Application", near.web))
    edited = {**manifest, "spec": {**shown["spec"], "project": "other"}}
    changed = await near.do(TaskKind.PUT, kind="Application", manifest=edited)
    live = await near.app()
    gone = await near.do(TaskKind.DELETE, kind="Application", cascade=False)
    await eventually(lambda: near.far.states["application.v1", near.web].deleted)
    assert (first.code, second.code, changed.code, gone.code) == ("ok", "conflict", "ok", "ok")
    assert live["spec"]["project"] == "other"
    assert live["spec"]["source"]["helm"] == manifest["spec"]["source"]["helm"]
    assert "kept" not in str(shown["spec"])


def an_application(near: Near) -> dict[str, Any]:
    """With a value that may not leave the cluster and has to outlive an edit."""
    source = {"repoURL": near.house.repository.url, "path": "web", "targetRevision": "main"}
    helm = {"parameters": [{"name": "adminPassword", "value": "kept"}]}
    return {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "Application",
        "metadata": {"name": "web"},
        "spec": {
            "project": "default",
            "source": {**source, "helm": helm},
            "destination": {"name": "in-cluster", "namespace": near.house.destination},
        },
    }


async def test_a_credential_comes_sealed_and_is_in_no_frame(near: Near) -> None:
    canary, url = "pw-" + uuid.uuid4().hex, "https://git.example.test/team/app.git"
    key = PublicKey(base64.b64decode(near.far.sealing_key))
    plain = json.dumps({"url": url, "username": "bob", "password": canary})
    sealed = base64.b64encode(SealedBox(key).encrypt(plain.encode())).decode()
    done = await near.do(TaskKind.PUT, url, kind="Repository", url=url, sealed=sealed)
    name, space = done.body["name"], near.house.namespace
    stored = await near.house.api.get(f"/api/v1/namespaces/{space}/secrets/{name}")
    shown = await eventually(lambda: near.far.state("Repository", f"{space}/{name}"))
    assert base64.b64decode(stored["data"]["password"]).decode() == canary
    assert (shown["spec"]["url"], shown["spec"]["hasCredential"]) == (url, True)
    assert not [frame for frame in near.far.raw if canary in frame]


async def test_a_secret_may_be_named_only_where_its_owner_allows_it(near: Near) -> None:
    path = f"/api/v1/namespaces/{near.house.namespace}/secrets"
    label = {"gitops-house.io/credential": "true"}
    urls = {"gitops-house.io/credential-urls": "https://git.example.test/team/"}
    for name, labels in (("mine", {}), ("offered", label)):
        metadata = {"name": name, "labels": labels, "annotations": urls}
        body = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata}
        await near.house.api.create(path, {**body, "stringData": {"password": "pw-1234567"}})
    url = "https://git.example.test/team/ref.git"
    mine, offered = [
        await near.do(TaskKind.PUT, url, kind="Repository", url=url, secretRef={"name": name})
        for name in ("mine", "offered")
    ]
    stored = await near.house.api.get(f"{path}/{offered.body['name']}")
    assert mine.code == "not_allowed"
    assert base64.b64decode(stored["data"]["password"]) == b"pw-1234567"


async def test_a_sync_that_was_cut_off_after_its_effect_is_not_done_twice(near: Near) -> None:
    """As `kill -9` leaves it between the effect and the record of the end."""
    await near.differs()
    wanted = near.task(TaskKind.SYNC)
    await begun(near, wanted)
    await near.house.publish(SyncApp(id=wanted.id, actor="ann", app=near.key))
    await near.house.until_synced("web")
    ended = await near.far.do(wanted)
    app = await near.app()
    assert ended.phase is TaskPhase.SUCCEEDED, ended
    assert len(app["status"]["history"]) == 1


async def test_where_it_cannot_be_known_whether_a_sync_was_done_a_person_is_asked(
    near: Near,
) -> None:
    await near.synced()
    wanted = near.task(TaskKind.SYNC)
    note = {"gitops-house.io/commands": wanted.id}
    await near.house.patch_app("web", {"metadata": {"annotations": note}})
    await eventually(lambda: is_noted(near, note))
    await begun(near, wanted)
    ended = await near.far.do(wanted)
    assert ended.phase is TaskPhase.UNKNOWN


async def begun(near: Near, task: Task) -> None:
    """The agent remembers that it began this task, and not how it ended."""
    results = Results(await near.agent.parts.bus.bucket("results"))
    await results.begin(task, LONG_AGO)


def is_noted(near: Near, note: dict[str, str]) -> bool:
    app = near.house.known("web")
    return app is not None and note.items() <= app.metadata.annotations.items()


async def test_a_command_that_is_delivered_again_after_another_one_does_nothing(
    near: Near,
) -> None:
    await near.differs()
    first, second, third = (near.task(TaskKind.SYNC) for _ in range(3))
    await near.far.do(first)
    await near.far.do(second)
    await near.house.publish(SyncApp(id=first.id, actor="again", app=near.key))
    await near.far.do(third)
    app = await near.app()
    actors = [entry["initiatedBy"]["username"] for entry in app["status"]["history"]]
    assert actors == ["ann", "ann", "ann"]


NEVER = """
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: never}
spec:
  accessModes: [ReadWriteOnce]
  storageClassName: nobody-provides
  resources: {requests: {storage: 1Gi}}
"""
LATER = config_map("later", a="1").replace(
    "{name: later}", '{name: later, annotations: {argocd.argoproj.io/sync-wave: "1"}}'
)


async def test_a_cancelled_sync_terminates_what_it_began(near: Near) -> None:
    await near.differs({"web/never.yaml": NEVER, "web/later.yaml": LATER})
    wanted = near.task(TaskKind.SYNC)
    await near.far.say(Offer(task=wanted))
    await near.house.until(is_running, app="web")
    await near.far.say(Cancel(id=wanted.id))
    ended = (await eventually(lambda: near.far.results.get(wanted.id, [])))[0]
    app = await near.app()
    assert (ended.phase, ended.code) == (TaskPhase.CANCELLED, "cancelled"), ended
    assert app["status"]["operationState"]["phase"] == "Failed"
    assert await near.house.get("configmaps/later") is None


async def test_a_task_that_is_too_late_is_not_begun(near: Near) -> None:
    ended = await near.far.do(replace(near.task(TaskKind.REFRESH), not_after=LONG_AGO))
    assert (ended.phase, ended.code) == (TaskPhase.EXPIRED, "expired")


async def test_a_precondition_that_does_not_hold_is_a_conflict(near: Near) -> None:
    await near.differs()
    another = {"uid": "of another life"}
    ended = await near.far.do(replace(near.task(TaskKind.SYNC), precondition=another))
    assert ended.code == "conflict"
    assert "uid" in ended.message
