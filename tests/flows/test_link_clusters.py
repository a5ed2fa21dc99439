"""Clusters by tasks: a Secret as Argo CD keeps them, told upward without what opens them."""

import base64
import json
import uuid

import pytest
from nacl.public import PublicKey, SealedBox

from bus.link import Task, TaskKind
from tests.bridge.farend import FarEnd
from tests.flows.house import House
from tests.support import eventually

pytestmark = pytest.mark.flow

SERVER = "https://prod-2.example.test:6443"


def task(kind: TaskKind, subject: str, **arguments: object) -> Task:
    arguments = {"kind": "Cluster", **arguments}
    return Task(id=uuid.uuid4().hex, kind=kind, subject=subject, actor="ann", arguments=arguments)


def sealed(far: FarEnd, **fields: str) -> str:
    key = PublicKey(base64.b64decode(far.sealing_key))
    return base64.b64encode(SealedBox(key).encrypt(json.dumps(fields).encode())).decode()


async def test_a_cluster_is_made_changed_and_deleted(linked: House, far: FarEnd) -> None:
    canary = "t0ken-" + uuid.uuid4().hex
    config = json.dumps({"bearerToken": canary})
    async with linked.running():
        await far.connected()
        spec = {"server": SERVER}
        box = sealed(far, server=SERVER, config=config)
        made = await far.do(task(TaskKind.PUT, SERVER, name="prod-2", spec=spec, sealed=box))
        assert made.code == "ok", made
        name = made.body["name"]
        path = f"/api/v1/namespaces/{linked.namespace}/secrets/{name}"
        stored = await linked.api.get(path)
        told = await eventually(lambda: far.state("Cluster", f"{linked.namespace}/{name}"))
        again = await far.do(task(TaskKind.PUT, SERVER, name="prod-two", spec=spec))
        renamed = await linked.api.get(path)
        gone = await far.do(task(TaskKind.DELETE, f"{linked.namespace}/{name}"))
        kept = await linked.api.exists(path)
    assert stored["metadata"]["labels"]["argocd.argoproj.io/secret-type"] == "cluster"
    assert base64.b64decode(stored["data"]["server"]).decode() == SERVER
    assert json.loads(base64.b64decode(stored["data"]["config"])) == {"bearerToken": canary}
    assert (told["spec"]["server"], told["spec"]["hasCredential"]) == (SERVER, True)
    assert (again.code, again.body["name"], gone.code, kept) == ("ok", name, "ok", False)
    assert base64.b64decode(renamed["data"]["name"]).decode() == "prod-two"
    assert renamed["data"]["config"] == stored["data"]["config"]
    assert not [frame for frame in far.raw if canary in frame]


async def test_a_box_for_another_server_changes_nothing(linked: House, far: FarEnd) -> None:
    async with linked.running():
        await far.connected()
        box = sealed(far, server="https://elsewhere.example.test", config="{}")
        spec = {"server": SERVER}
        refused = await far.do(task(TaskKind.PUT, SERVER, name="prod-2", spec=spec, sealed=box))
        held = await linked.api.get(f"/api/v1/namespaces/{linked.namespace}/secrets")
    labels = [one["metadata"].get("labels", {}) for one in held["items"]]
    assert refused.code == "invalid"
    assert not [it for it in labels if it.get("argocd.argoproj.io/secret-type") == "cluster"]
