"""Clusters by tasks: a Secret as Argo CD keeps them, told upward without what opens them."""

import asyncio
import base64
import json
import uuid

import msgspec
from nacl.public import PublicKey, SealedBox

from bus.link import LinkTask, TaskKind
from tests.flows.agent_fixture import AgentFixture
from tests.flows.fake_service_link import allow
from tests.support import eventually
from tests.unit.agent.bridge.fake_service import FakeService

SERVER = "https://prod-2.example.test:6443"


OF_A_PERSON = '{"bearerToken": "of a person"}'


def task(kind: TaskKind, subject: str, **arguments: object) -> LinkTask:
    arguments = {"kind": "Cluster", **arguments}
    return LinkTask(
        id=uuid.uuid4().hex, kind=kind, subject=subject, actor="ann", arguments=arguments
    )


def as_seen(one: LinkTask, precondition: dict[str, str]) -> LinkTask:
    return msgspec.structs.replace(one, id=uuid.uuid4().hex, precondition=precondition)


def sealed(fake_service: FakeService, **fields: str) -> str:
    key = PublicKey(base64.b64decode(fake_service.sealing_key))
    return base64.b64encode(SealedBox(key).encrypt(json.dumps(fields).encode())).decode()


async def test_a_cluster_is_made_changed_and_deleted(
    linked_agent: AgentFixture, fake_service: FakeService
) -> None:
    await allow(linked_agent, clusters="https://*.example.test:6443")
    canary = "t0ken-" + uuid.uuid4().hex
    config = json.dumps({"bearerToken": canary})
    async with linked_agent.running():
        await fake_service.connected()
        spec = {"server": SERVER}
        box = sealed(fake_service, server=SERVER, config=config)
        made = await fake_service.do(
            task(TaskKind.PUT, SERVER, name="prod-2", spec=spec, sealed=box)
        )
        assert made.code == "ok", made
        name = made.body["name"]
        path = f"/api/v1/namespaces/{linked_agent.namespace}/secrets/{name}"
        stored = await linked_agent.api.get(path)
        reported = await eventually(
            lambda: fake_service.state("Cluster", f"{linked_agent.namespace}/{name}")
        )
        again = await fake_service.do(
            task(TaskKind.PUT, SERVER, name="prod-2", spec={**spec, "depth": 1})
        )
        changed = await linked_agent.api.get(path)
        renamed = await fake_service.do(task(TaskKind.PUT, SERVER, name="prod-two", spec=spec))
        elsewhere = {"server": "https://prod-3.example.test:6443"}
        taken = await fake_service.do(task(TaskKind.PUT, "x", name="prod-2", spec=elsewhere))
        beyond = {"server": "https://evil.test"}
        not_named = await fake_service.do(task(TaskKind.PUT, "x", name="evil", spec=beyond))
        deletion = task(TaskKind.DELETE, f"{linked_agent.namespace}/{name}")
        identity = stored["metadata"]["uid"]
        seen = {"uid": identity, "editVersion": changed["metadata"]["resourceVersion"]}
        item = fake_service.states["cluster.v1", f"{linked_agent.namespace}/{name}"]
        refusals = [
            (await fake_service.do(as_seen(deletion, one))).code
            for one in ({}, {**seen, "uid": "another"}, {**seen, "editVersion": "1"})
        ]
        gone = await fake_service.do(as_seen(deletion, seen))
        kept = await linked_agent.api.exists(path)
    assert stored["metadata"]["labels"]["argocd.argoproj.io/secret-type"] == "cluster"
    assert base64.b64decode(stored["data"]["server"]).decode() == SERVER
    assert json.loads(base64.b64decode(stored["data"]["config"])) == {"bearerToken": canary}
    assert (reported["spec"]["server"], reported["spec"]["hasCredential"]) == (SERVER, True)
    assert (again.code, again.body["name"], gone.code, kept) == ("ok", name, "ok", False)
    assert (item.uid, reported["editVersion"]) == (identity, stored["metadata"]["resourceVersion"])
    assert refusals == ["invalid", "conflict", "conflict"]
    assert base64.b64decode(changed["data"]["depth"]).decode() == "1"
    assert changed["data"]["config"] == stored["data"]["config"]
    assert [one.code for one in (renamed, taken, not_named)] == [
        "not_allowed",
        "conflict",
        "not_allowed",
    ]
    assert not [frame for frame in fake_service.raw if canary in frame]


async def test_of_two_puts_at_once_under_one_name_one_is_refused(
    linked_agent: AgentFixture, fake_service: FakeService
) -> None:
    await allow(linked_agent, clusters="*")
    async with linked_agent.running():
        await fake_service.connected()
        servers = [f"https://prod-{number}.example.test" for number in range(3)]
        async with asyncio.TaskGroup() as group:
            puts = [
                group.create_task(
                    fake_service.do(task(TaskKind.PUT, one, name="prod", spec={"server": one}))
                )
                for one in servers
            ]
        reference = {"name": "..", "namespace": linked_agent.namespace}
        spec = {"server": "https://other.example.test"}
        stray = await fake_service.do(
            task(TaskKind.PUT, "x", name="other", spec=spec, secretRef=reference)
        )
    assert sorted(put.result().code for put in puts) == ["conflict", "conflict", "ok"]
    assert (stray.code, "the name of a Secret" in stray.message) == ("invalid", True)


async def test_no_write_over_the_link_moves_a_cluster_away_from_its_applications(
    linked_agent: AgentFixture, fake_service: FakeService
) -> None:
    agent = linked_agent
    await allow(agent, clusters="*")
    path = f"/api/v1/namespaces/{agent.namespace}/secrets"
    labels = {"argocd.argoproj.io/secret-type": "cluster"}
    await agent.api.create(
        path,
        {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": "prod", "labels": labels},
            "stringData": {"server": SERVER, "name": "prod", "config": OF_A_PERSON},
        },
    )
    async with agent.running():
        await fake_service.connected()
        await agent.apply_app("web", "web", destination={"name": "prod", "namespace": "web"})
        await eventually(lambda: agent.known("web"))
        await eventually(lambda: fake_service.state("Cluster", f"{agent.namespace}/prod"))
        evil = "https://evil.example.test"
        tried = [
            await fake_service.do(
                task(TaskKind.PUT, SERVER, name="prod-old", spec={"server": SERVER})
            ),
            await fake_service.do(task(TaskKind.PUT, evil, name="prod", spec={"server": evil})),
        ]
        box = sealed(fake_service, server=SERVER, config='{"bearerToken": "of the service"}')
        login = await fake_service.do(
            task(TaskKind.PUT, SERVER, name="prod", spec={"server": SERVER}, sealed=box)
        )
        prod = await agent.api.get(f"{path}/prod")
        disabling = await disabled(fake_service, agent.namespace)
        await agent.api.delete(f"{path}/prod")
        await eventually(lambda: not fake_service.state("Cluster", f"{agent.namespace}/prod"))
        tried.append(
            await fake_service.do(task(TaskKind.PUT, evil, name="prod", spec={"server": evil}))
        )
        held = await agent.api.get(path)
    assert (login.code, "not made over the link" in login.message) == ("not_allowed", True)
    assert base64.b64decode(prod["data"]["config"]).decode() == OF_A_PERSON
    assert [one.code for one in tried] == ["not_allowed", "conflict", "not_allowed"], tried
    assert f"{agent.namespace}/web" in tried[-1].message
    assert disabling == ["not_allowed", "conflict", "not_allowed"]
    assert not [one for one in held["items"] if "server" in one.get("data", {})]


async def disabled(fake_service: FakeService, namespace: str) -> list[str]:
    """The answers to what would make the cluster of the Secret `prod`, or the own one, unknown."""
    own = {"server": "https://kubernetes.default.svc"}
    tried = [
        await fake_service.do(task(TaskKind.DELETE, f"{namespace}/prod")),
        await fake_service.do(
            task(TaskKind.PUT, SERVER, name="other", project="x", spec={"server": SERVER})
        ),
        await fake_service.do(task(TaskKind.PUT, "x", name="own", project="x", spec=own)),
    ]
    return [one.code for one in tried]


async def test_a_box_for_another_server_changes_nothing(
    linked_agent: AgentFixture, fake_service: FakeService
) -> None:
    await allow(linked_agent, clusters="*")
    async with linked_agent.running():
        await fake_service.connected()
        box = sealed(fake_service, server="https://elsewhere.example.test", config="{}")
        spec = {"server": SERVER}
        refused = await fake_service.do(
            task(TaskKind.PUT, SERVER, name="prod-2", spec=spec, sealed=box)
        )
        held = await linked_agent.api.get(f"/api/v1/namespaces/{linked_agent.namespace}/secrets")
    labels = [one["metadata"].get("labels", {}) for one in held["items"]]
    assert refused.code == "invalid"
    assert not [it for it in labels if it.get("argocd.argoproj.io/secret-type") == "cluster"]
