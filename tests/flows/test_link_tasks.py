"""What is ordered over the link: done once, its end known, refused with a reason."""

import base64
import json
import uuid
from typing import Any

from msgspec.structs import replace
from nacl.public import PublicKey, SealedBox

from agent.bridge.tasks.task_results import TaskResults
from bus.events import SyncApp
from bus.identity import ResourceKey
from bus.link import Cancel, LinkTask, Offer, TaskKind, TaskPhase, TaskResult
from bus.metadata_keys import COMMANDS, PENDING_FACTS
from playground.charthost import ChartHost
from tests.flows.agent_fixture import config_map
from tests.flows.fake_service_link import FakeServiceLink, is_running
from tests.flows.test_exclusions import put_settings
from tests.support import eventually
from tests.unit.agent.bridge.fake_service import quiet

LONG_AGO = "2026-01-01T00:00:00+00:00"


async def test_a_sync_that_was_asked_for_is_done_once_and_its_end_is_known(
    link: FakeServiceLink,
) -> None:
    await link.differs()
    created = link.task(TaskKind.SYNC)
    first = await link.fake_service.do(created)
    again = await link.fake_service.do(created)
    app = await link.agent.until_synced("web")
    assert (first.phase, first.code) == (TaskPhase.SUCCEEDED, "ok"), first
    assert again == first
    assert len(app["status"]["history"]) == 1


LINKS = """
- {title: Logs, url: "https://logs.example/{{ .app.metadata.name }}?ns={{ .cluster.name }}"}
- {title: Of others, url: "https://x", if: 'application.spec.project == "others"'}
- {title: Script, url: "javascript:alert(1)"}
"""
OF_OBJECTS = """
- title: Of a Secret
  url: https://x/{{ .resource.data.password }}?of={{ .application.metadata.name }}
  if: resource.kind == "Secret"
"""


async def test_deep_links_are_made_of_what_is_shown_and_lead_to_web_addresses_only(
    link: FakeServiceLink,
) -> None:
    password = base64.b64encode(b"canary-password").decode()
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"}}
    await link.synced({"web/a.yaml": json.dumps({**secret, "data": {"password": password}})})
    note = {"argocd.argoproj.io/managed-by-url": "https://cd.example"}
    await link.agent.patch_app("web", {"metadata": {"annotations": note}})
    settings = {"application_links": LINKS, "project_links": "- {title: P, url: 'https://p'}"}
    await put_settings(link.agent, resource_links=OF_OBJECTS, **settings)

    async def titles() -> Any:
        found = (await link.do(TaskKind.LINKS)).body
        return found if len(found["items"]) == 2 else None

    of_app = await eventually(titles, what="the links of the settings")
    named = {"kind": "Secret", "namespace": link.agent.destination, "name": "a"}
    of_object = (await link.do(TaskKind.LINKS, **named)).body
    subject = f"{link.agent.namespace}/default"
    of_project = (await link.do(TaskKind.LINKS, subject, project="default")).body
    unknown = await link.do(TaskKind.LINKS, **{**named, "name": "b"})
    assert [(one["title"], one["url"]) for one in of_app["items"]] == [
        ("Managed by", "https://cd.example"),
        ("Logs", "https://logs.example/web?ns=in-cluster"),
    ]
    assert [problem.split(":")[0] for problem in of_app["problems"]] == ["link 'Script'"]
    assert password not in str(of_object)
    assert "canary" not in str(of_object)
    assert len(of_object["items"] + of_object["problems"]) == 1
    assert [one["title"] for one in of_project["items"]] == ["P"]
    assert unknown.code == "not_found"


async def test_options_are_of_one_sync_and_what_cannot_be_done_is_refused_by_name(
    link: FakeServiceLink,
) -> None:
    files = {"web/a.yaml": config_map("a"), "web/b.yaml": config_map("b")}
    await link.differs(files, syncPolicy={"syncOptions": ["PruneLast=true"]})
    await link.do(TaskKind.SYNC)
    await link.push({"web/b.yaml": None})
    refused = await link.do(TaskKind.SYNC, options=["Replace=true", "Magic=true"])
    kept = await link.do(TaskKind.SYNC, prune=True, options=["Prune=false"])
    operation = (await link.app())["status"]["operationState"]["operation"]
    still_there = await link.agent.get("configmaps/b")
    pruned = await link.do(TaskKind.SYNC, prune=True)
    assert (refused.phase, refused.code) == (TaskPhase.FAILED, "unsupported")
    assert "'Magic=true'" in refused.message
    assert "Replace" not in refused.message
    assert (kept.phase, pruned.phase) == (TaskPhase.SUCCEEDED, TaskPhase.SUCCEEDED)
    assert operation["sync"]["syncOptions"] == ["Prune=false"]
    assert still_there is not None

    async def is_gone() -> bool:
        return await link.agent.get("configmaps/b") is None

    # Foreground deletion: the API server removes the object after the sync has asked for that.
    await eventually(is_gone)


async def test_any_revision_can_be_looked_at_before_it_is_synced(link: FakeServiceLink) -> None:
    files = {"web/a.yaml": config_map("a", v="1"), "web/b.yaml": config_map("b")}
    await link.differs(files)
    first = link.agent.repository.head()
    await link.do(TaskKind.SYNC)
    changed = {"web/a.yaml": config_map("a", v="2"), "web/b.yaml": None}
    await link.push({**changed, "web/c.yaml": config_map("c")})
    await link.do(TaskKind.SYNC, prune=True)
    pruned = ResourceKey("", "ConfigMap", link.agent.destination, "b")
    # Foreground deletion: the object goes after the sync has ended, and until then is not created.
    await eventually(lambda: link.agent.parts.live.get(pruned) is None)
    status = (await link.agent.until_synced("web"))["status"]
    renders = link.agent.parts.renders
    rendered = renders.recall(link.key)
    rollback = await link.do(TaskKind.DIFF, historyId=0, prune=True, preview=True)
    kept = await link.do(TaskKind.DIFF, revision=first, preview=True)
    manifests = await link.do(TaskKind.MANIFESTS, revision=first[:8])
    assert (await link.app())["status"] == status
    assert renders.recall(link.key) == rendered
    assert rollback.body["revision"] == first
    assert intents_of(rollback) == {"a": "change", "b": "create", "c": "prune"}
    assert intents_of(kept) == {"a": "change", "b": "create", "c": "skip"}
    assert sorted(names_of(manifests)) == ["a", "b"]


def intents_of(preview: TaskResult) -> dict[str, str]:
    return {one["key"].rpartition("/")[2]: one["action"] for one in preview.body["intents"]}


def names_of(manifests: TaskResult) -> list[str]:
    return [one["metadata"]["name"] for one in manifests.body["manifests"]]


async def test_a_revision_that_cannot_be_looked_at_says_why(link: FakeServiceLink) -> None:
    good = {"web/a.yaml": config_map("a")}
    link.agent.commit(good)
    bad = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: [\n"
    broken = link.agent.commit({"web/a.yaml": bad})
    await link.differs(good)
    invalid = await link.do(TaskKind.DIFF, revision=broken, preview=True)
    unknown = await link.do(TaskKind.DIFF, revision="v9", preview=True)
    never = await link.do(TaskKind.DIFF, historyId=7, preview=True)
    option = await link.do(TaskKind.DIFF, options=["Magic=true"], preview=True)
    assert (invalid.code, unknown.code, never.code) == ("invalid", "not_found", "not_found")
    assert "web/a.yaml" in invalid.message
    assert "v9" in unknown.message
    assert (option.code, "Magic=true" in option.message) == ("unsupported", True)


async def test_a_revision_that_costs_too_much_to_look_at_is_given_up(link: FakeServiceLink) -> None:
    good = {"web/a.yaml": config_map("a")}
    chart = "apiVersion: v2\nname: web\nversion: 1.0.0\n"
    bomb = {"web/Chart.yaml": chart, "web/templates/b.yaml": '{{ repeat 2000000000 "x" }}'}
    costly = link.agent.commit(bomb)
    link.agent.commit(dict.fromkeys(bomb))
    await link.differs(good)
    refused = await link.do(TaskKind.DIFF, revision=costly, preview=True)
    again = await link.do(TaskKind.DIFF, preview=True)
    assert (refused.code, costly in refused.message) == ("invalid", True)
    assert intents_of(again) == {"a": "create"}


async def test_reads_tell_what_is_there_and_nothing_that_is_secret(link: FakeServiceLink) -> None:
    canary, space = "c4nary-" + uuid.uuid4().hex, link.agent.destination
    secret = f"apiVersion: v1\nkind: Secret\nmetadata: {{name: db}}\nstringData: {{p: {canary}}}\n"
    leak = config_map("leak", note=f"the password is {canary}")
    config = config_map("web", a="1")
    await link.synced({"web/x.yaml": config, "web/leak.yaml": leak, "web/secret.yaml": secret})
    await link.agent.apply_app("web", "web")  # by hand from now on
    await link.push({"web/x.yaml": config_map("web", a="2")})
    tree, manifests, diff, events = [
        await link.do(kind)
        for kind in (TaskKind.TREE, TaskKind.MANIFESTS, TaskKind.DIFF, TaskKind.EVENTS)
    ]
    live = await link.do(TaskKind.LIVE, kind="Secret", namespace=space, name="db")
    elsewhere = {"kind": "ConfigMap", "namespace": space, "name": "kube-root-ca.crt"}
    foreign = await link.do(TaskKind.LIVE, **elsewhere)
    refs = await link.do(TaskKind.REFS, url=link.agent.repository.url)
    stranger = await link.do(TaskKind.REFS, url="http://169.254.169.254/latest")
    await quiet(link.fake_service)
    assert {node["name"] for node in tree.body["nodes"]} == {"web", "leak", "db"}
    assert len(manifests.body["manifests"]) == 3
    (changed,) = diff.body["objects"]
    assert changed["key"] == f"/ConfigMap/{space}/web"
    assert [change["path"] for change in changed["changes"]] == ["data.a"]
    assert set(live.body["data"]) == {"p"}
    assert events.body["items"] == []
    assert refs.body["branches"] == ["main"]
    assert (foreign.code, stranger.code) == ("not_found", "not_found")
    assert not [frame for frame in link.fake_service.raw if canary in frame]


async def test_a_helm_repository_is_reached_with_the_credential_of_its_secret(
    link: FakeServiceLink,
) -> None:
    async with ChartHost(("kim", "right")) as charts:
        body = {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {
                "name": "charts",
                "labels": {"argocd.argoproj.io/secret-type": "repository"},
            },
            "stringData": {
                "url": charts.url,
                "type": "helm",
                "username": "kim",
                "password": "wrong",
            },
        }
        path = f"/api/v1/namespaces/{link.agent.namespace}/secrets"
        await link.agent.api.create(path, body)
        secrets = link.agent.parts.secrets
        await eventually(lambda: "charts" in secrets)
        refused = await link.do(TaskKind.REFS, url=charts.url)
        await link.agent.api.patch(f"{path}/charts", {"stringData": {"password": "right"}})
        await eventually(lambda: any(it.data.get("password") == "right" for it in secrets.all()))
        reached = await link.do(TaskKind.REFS, url=charts.url)

    assert "HTTP 401" in refused.message
    assert reached.body == {"branches": [], "tags": []}


async def test_events_are_followed_with_credit_as_they_come_and_masked(
    link: FakeServiceLink,
) -> None:
    canary = "c4nary-" + uuid.uuid4().hex
    secret = f"apiVersion: v1\nkind: Secret\nmetadata: {{name: db}}\nstringData: {{p: {canary}}}\n"
    await link.synced({"web/x.yaml": config_map("web", a="1"), "web/secret.yaml": secret})
    await happened(link, "known", "web", "it was there before")
    await happened(link, "foreign", "kube-root-ca.crt", "of somebody else")
    created = link.task(TaskKind.EVENT_STREAM)
    await link.fake_service.send(Offer(task=created))
    await link.fake_service.credit(created.id, 1)
    await eventually(lambda: phases(link, created.id) == ["it was there before"])
    await happened(link, "later", "web", f"it came with {canary}")
    assert phases(link, created.id) == ["it was there before"], "more than there was credit for"
    await link.fake_service.credit(created.id, 8)
    await eventually(lambda: len(phases(link, created.id)) == 2)
    await link.fake_service.send(Cancel(id=created.id))
    await eventually(lambda: link.fake_service.results.get(created.id))
    assert link.fake_service.results[created.id][0].phase is TaskPhase.CANCELLED
    assert phases(link, created.id)[1].startswith("it came with ")
    assert not [frame for frame in link.fake_service.raw if canary in frame]


def phases(link: FakeServiceLink, task: str) -> list[str]:
    """The messages of the events that a stream has told of."""
    text = "".join(chunk.text for chunk in link.fake_service.chunks.get(task, ()))
    return [json.loads(line)["message"] for line in text.splitlines() if line]


async def happened(link: FakeServiceLink, name: str, about: str, message: str) -> None:
    """The cluster says something about a ConfigMap."""
    space = link.agent.destination
    found = await link.agent.get(f"configmaps/{about}")
    assert found is not None
    uid = found["metadata"]["uid"]
    spoken = {
        "metadata": {"name": f"{name}-{uuid.uuid4().hex[:8]}"},
        "involvedObject": {"kind": "ConfigMap", "name": about, "namespace": space, "uid": uid},
        "message": message,
        "lastTimestamp": "2026-11-21T12:00:00Z",
    }
    await link.agent.api.create(f"/api/v1/namespaces/{space}/events", spoken)


async def test_an_application_is_made_changed_and_deleted_by_tasks(link: FakeServiceLink) -> None:
    link.agent.commit({"web/config.yaml": config_map("web", a="1")})
    manifest = an_application(link)
    first, second = [
        await link.do(TaskKind.PUT, kind="Application", manifest=manifest, create=True)
        for _ in range(2)
    ]
    shown = await eventually(lambda: link.fake_service.state("Application", link.web))
    edited = {**manifest, "spec": {**shown["spec"], "project": "other"}}
    changed = await link.do(TaskKind.PUT, kind="Application", manifest=edited)
    live = await link.app()
    gone = await link.do(TaskKind.DELETE, kind="Application", cascade=False)
    await eventually(lambda: link.fake_service.states["application.v1", link.web].deleted)
    assert (first.code, second.code, changed.code, gone.code) == ("ok", "conflict", "ok", "ok")
    assert live["spec"]["project"] == "other"
    assert live["spec"]["source"]["helm"] == manifest["spec"]["source"]["helm"]
    assert "kept" not in str(shown["spec"])


async def test_an_edit_is_refused_after_another_edit_and_not_after_a_sync(
    link: FakeServiceLink,
) -> None:
    await link.differs()
    before = await eventually(lambda: _reported(link)["editVersion"])
    await link.do(TaskKind.SYNC)
    await eventually(lambda: _reported(link)["status"]["sync"]["status"] == "Synced")
    after = _reported(link)["editVersion"]
    annotations = {"team": "a", PENDING_FACTS.name: "forged"}
    metadata = {"name": "web", "annotations": annotations}
    manifest = {**an_application(link), "metadata": metadata}
    first, second = [
        await link.fake_service.do(
            replace(
                link.task(TaskKind.PUT, kind="Application", manifest=manifest),
                precondition={"editVersion": before},
            )
        )
        for _ in range(2)
    ]
    deletion = link.task(TaskKind.DELETE, kind="Application", cascade=False)
    kept = await link.fake_service.do(replace(deletion, precondition={"editVersion": before}))
    assert before == after
    assert (first.code, second.code, kept.code) == ("ok", "conflict", "conflict")
    assert "read it again" in second.message
    written = (await link.app())["metadata"]["annotations"]
    assert {"team", COMMANDS.name} <= written.keys()
    assert written.get(PENDING_FACTS.name) != "forged"


async def test_a_create_that_is_repeated_after_a_crash_replaces_nobodys_application(
    link: FakeServiceLink,
) -> None:
    """The task was begun; whether its Application was made before the crash is not recorded."""
    link.agent.commit({"web/config.yaml": config_map("web", a="1")})
    manifest = an_application(link)
    await link.do(TaskKind.PUT, kind="Application", manifest=manifest, create=True)
    live = await link.app()
    other = {**manifest, "spec": {**manifest["spec"], "project": "other"}}
    ends = []
    for created in (manifest, other):
        task = link.task(TaskKind.PUT, kind="Application", manifest=created, create=True)
        await begun(link, task)
        ends.append(await link.fake_service.do(task))
    now = await link.app()
    assert [ended.code for ended in ends] == ["ok", "conflict"]
    assert ends[0].body["resourceVersion"]
    assert now["spec"] == live["spec"]


def _reported(link: FakeServiceLink) -> dict[str, Any]:
    return link.fake_service.state("Application", link.web)


def an_application(link: FakeServiceLink) -> dict[str, Any]:
    """With a value that may not leave the cluster and has to outlive an edit."""
    source = {"repoURL": link.agent.repository.url, "path": "web", "targetRevision": "main"}
    helm = {"parameters": [{"name": "adminPassword", "value": "kept"}]}
    return {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "Application",
        "metadata": {"name": "web"},
        "spec": {
            "project": "default",
            "source": {**source, "helm": helm},
            "destination": {"name": "in-cluster", "namespace": link.agent.destination},
        },
    }


async def test_a_credential_comes_sealed_and_is_in_no_frame(link: FakeServiceLink) -> None:
    canary, url = "pw-" + uuid.uuid4().hex, "https://git.example.test/team/app.git"
    key = PublicKey(base64.b64decode(link.fake_service.sealing_key))
    plain = json.dumps({"url": url, "username": "bob", "password": canary})
    sealed = base64.b64encode(SealedBox(key).encrypt(plain.encode())).decode()
    done = await link.do(TaskKind.PUT, url, kind="Repository", url=url, sealed=sealed)
    name, space = done.body["name"], link.agent.namespace
    stored = await link.agent.api.get(f"/api/v1/namespaces/{space}/secrets/{name}")
    shown = await eventually(lambda: link.fake_service.state("Repository", f"{space}/{name}"))
    assert base64.b64decode(stored["data"]["password"]).decode() == canary
    assert (shown["spec"]["url"], shown["spec"]["hasCredential"]) == (url, True)
    assert not [frame for frame in link.fake_service.raw if canary in frame]


async def test_a_secret_may_be_named_only_where_its_owner_allows_it(link: FakeServiceLink) -> None:
    path = f"/api/v1/namespaces/{link.agent.namespace}/secrets"
    label = {"plumbline.dev/credential": "true"}
    urls = {"plumbline.dev/credential-urls": "https://git.example.test/team/"}
    for name, labels in (("mine", {}), ("offered", label)):
        metadata = {"name": name, "labels": labels, "annotations": urls}
        body = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata}
        await link.agent.api.create(path, {**body, "stringData": {"password": "pw-1234567"}})
    url = "https://git.example.test/team/ref.git"
    mine, offered = [
        await link.do(TaskKind.PUT, url, kind="Repository", url=url, secretRef={"name": name})
        for name in ("mine", "offered")
    ]
    stored = await link.agent.api.get(f"{path}/{offered.body['name']}")
    assert mine.code == "not_allowed"
    assert base64.b64decode(stored["data"]["password"]) == b"pw-1234567"


async def test_a_sync_that_was_cut_off_after_its_effect_is_not_done_twice(
    link: FakeServiceLink,
) -> None:
    """As `kill -9` leaves it between the effect and the record of the end."""
    await link.differs()
    created = link.task(TaskKind.SYNC)
    await begun(link, created)
    await link.agent.publish(SyncApp(id=created.id, actor="ann", app=link.key))
    await link.agent.until_synced("web")
    ended = await link.fake_service.do(created)
    app = await link.app()
    assert ended.phase is TaskPhase.SUCCEEDED, ended
    assert len(app["status"]["history"]) == 1


async def test_where_it_cannot_be_known_whether_a_sync_was_done_a_person_is_asked(
    link: FakeServiceLink,
) -> None:
    await link.synced()
    created = link.task(TaskKind.SYNC)
    note = {"plumbline.dev/commands": created.id}
    await link.agent.patch_app("web", {"metadata": {"annotations": note}})
    await eventually(lambda: is_noted(link, note))
    await begun(link, created)
    ended = await link.fake_service.do(created)
    assert ended.phase is TaskPhase.UNKNOWN


async def begun(link: FakeServiceLink, task: LinkTask) -> None:
    """The agent remembers that it began this task, and not how it ended."""
    results = TaskResults(await link.agent.parts.bus.bucket("results"))
    await results.begin(task, LONG_AGO)


def is_noted(link: FakeServiceLink, note: dict[str, str]) -> bool:
    app = link.agent.known("web")
    return app is not None and note.items() <= app.metadata.annotations.items()


async def test_a_command_that_is_delivered_again_after_another_one_does_nothing(
    link: FakeServiceLink,
) -> None:
    await link.differs()
    first, second, third = (link.task(TaskKind.SYNC) for _ in range(3))
    await link.fake_service.do(first)
    await link.fake_service.do(second)
    await link.agent.publish(SyncApp(id=first.id, actor="again", app=link.key))
    await link.fake_service.do(third)
    app = await link.app()
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


async def test_a_cancelled_sync_terminates_what_it_began(link: FakeServiceLink) -> None:
    await link.differs({"web/never.yaml": NEVER, "web/later.yaml": LATER})
    created = link.task(TaskKind.SYNC)
    await link.fake_service.send(Offer(task=created))
    await link.agent.until(is_running, app="web")
    await link.fake_service.send(Cancel(id=created.id))
    ended = (await eventually(lambda: link.fake_service.results.get(created.id, [])))[0]
    app = await link.app()
    assert (ended.phase, ended.code) == (TaskPhase.CANCELLED, "cancelled"), ended
    assert app["status"]["operationState"]["phase"] == "Failed"
    assert await link.agent.get("configmaps/later") is None


async def test_a_task_that_is_too_late_is_not_begun(link: FakeServiceLink) -> None:
    ended = await link.fake_service.do(replace(link.task(TaskKind.REFRESH), not_after=LONG_AGO))
    assert (ended.phase, ended.code) == (TaskPhase.EXPIRED, "expired")


async def test_a_precondition_that_does_not_hold_is_a_conflict(link: FakeServiceLink) -> None:
    await link.differs()
    another = {"uid": "of another life"}
    ended = await link.fake_service.do(replace(link.task(TaskKind.SYNC), precondition=another))
    assert ended.code == "conflict"
    assert "uid" in ended.message
