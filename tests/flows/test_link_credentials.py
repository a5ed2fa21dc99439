"""What somebody who may edit repositories cannot do with the credentials that an agent has.

The attacks of the security review: a box without a credential but with a proxy, a setting that
switches a check off, an address that is spelled otherwise (C2); a Secret that was marked usable,
beside an address of the attacker's (M10).
"""

import base64
import json
import uuid
from typing import Any

import pytest
from nacl.public import PublicKey, SealedBox

from bus.link import TaskKind, TaskResult
from tests.flows.near import Near
from tests.flows.test_git_origins import Listener, listening
from tests.support import eventually

pytestmark = pytest.mark.flow

URL = "http://git.corp.internal/acme/app.git"
TYPE = "argocd.argoproj.io/secret-type"
USABLE, FOR = "gitops-house.io/credential", "gitops-house.io/credential-urls"


def sealed(near: Near, **fields: str) -> str:
    key = PublicKey(base64.b64decode(near.far.sealing_key))
    return base64.b64encode(SealedBox(key).encrypt(json.dumps(fields).encode())).decode()


async def put(near: Near, url: str = URL, kind: str = "Repository", **more: object) -> TaskResult:
    return await near.do(TaskKind.PUT, url, kind=kind, url=url, **more)


async def create(near: Near, name: str, data: dict[str, str], **metadata: Any) -> None:
    body = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, **metadata}}
    path = f"/api/v1/namespaces/{near.house.namespace}/secrets"
    await near.house.api.create(path, {**body, "stringData": data})


async def data_of(near: Near, name: str) -> dict[str, str]:
    space = near.house.namespace
    found = await near.house.api.get(f"/api/v1/namespaces/{space}/secrets/{name}")
    return {key: base64.b64decode(value).decode() for key, value in found["data"].items()}


async def victim(near: Near, kind: str = "repository", url: str = URL, **more: str) -> str:
    """A Secret that the owner of the cluster made; known to the agent. Its password."""
    password = "pw-" + uuid.uuid4().hex
    login = {"url": url, "username": "svc", "password": password, **more}
    await create(near, "victim", login, labels={TYPE: kind})
    secrets = near.house.parts.secrets
    await eventually(lambda: [one for one in secrets.all() if one.name == "victim"])
    return password


@pytest.mark.parametrize("kind", ["Repository", "RepositoryCredentials"])
async def test_no_box_and_no_setting_sends_a_password_elsewhere(near: Near, kind: str) -> None:
    async with listening(Listener()) as thief:
        wire = {"Repository": "repository", "RepositoryCredentials": "repo-creds"}[kind]
        await victim(near, wire)
        before = await data_of(near, "victim")
        spelled = "HTTP://git.corp.internal:80/acme/app.git/"
        tried = [
            await put(near, kind=kind, sealed=sealed(near, url=URL, proxy=thief.url)),
            await put(near, spelled, kind=kind, sealed=sealed(near, url=URL, proxy=thief.url)),
            await put(near, kind=kind, spec={"proxy": thief.url}),
            await put(near, kind=kind, spec={"insecure": True}),
            await put(near, kind=kind, spec={"noProxy": "*"}),
            await put(near, kind=kind, sealed=sealed(near, url=f"{thief.url}/x", password="x")),
        ]
        await near.do(TaskKind.REFS, url=URL)
    assert [one.code for one in tried] == ["invalid"] * 2 + ["not_allowed"] * 3 + ["invalid"]
    assert await data_of(near, "victim") == before
    assert not thief.asked


async def test_a_credential_that_is_brought_replaces_the_old_one_and_keeps_the_owner_s_settings(
    near: Near,
) -> None:
    await victim(near, proxy="http://proxy.corp.internal:3128", bearerToken="old")
    box = sealed(near, url=URL, username="bob", password="hunter22")
    done = await put(near, sealed=box, name="shop", spec={"insecure": False, "enableLfs": True})
    renamed = await put(near, "http://GIT.corp.internal/acme/app.git", name="shop-2")
    found = await data_of(near, "victim")
    assert (done.code, renamed.code) == ("ok", "ok"), (done, renamed)
    assert done.body["name"] == "victim"
    assert found == {
        "url": URL,
        "username": "bob",
        "password": "hunter22",
        "proxy": "http://proxy.corp.internal:3128",
        "enableLfs": "true",
        "name": "shop-2",
    }


async def test_another_address_or_project_is_another_secret_without_the_password(
    near: Near,
) -> None:
    password = await victim(near)
    others = [
        await put(near, "http://git.corp.internal/Acme/app.git"),
        await put(near, "http://git.corp.internal:8080/acme/app.git"),
        await put(near, "https://git.corp.internal/acme/app.git"),
        await put(near, project="shop"),
    ]
    names = {one.body["name"] for one in others}
    assert len(names) == 4
    for name in names:
        assert password not in (await data_of(near, name)).values()
    assert (await data_of(near, "victim"))["password"] == password


async def test_a_secret_is_used_for_the_addresses_only_that_its_owner_named(near: Near) -> None:
    labels = {USABLE: "true"}
    await create(near, "anywhere", {"password": "pw-1234567"}, labels=labels)
    named = {FOR: "https://git.example.test/team, https://other.example.test"}
    await create(near, "offered", {"password": "pw-1234567"}, labels=labels, annotations=named)
    good = await put(near, "https://git.example.test/team/a", secretRef={"name": "offered"})
    bad = [
        await put(near, url, secretRef={"name": name})
        for name, url in (
            ("anywhere", "https://git.example.test/team/a"),
            ("offered", "https://git.example.test/team-evil/a"),
            ("offered", "https://git.example.test:8443/team/a"),
            ("offered", "http://git.example.test/team/a"),
            ("offered", "https://other.example.test.evil.example/team/a"),
        )
    ]
    assert good.code == "ok", good
    assert (await data_of(near, good.body["name"]))["password"] == "pw-1234567"
    assert {one.code for one in bad} == {"not_allowed"}
    assert all(FOR in one.message for one in bad)


async def test_a_secret_of_the_same_name_that_is_of_something_else_stays(near: Near) -> None:
    made = await put(near)
    name = made.body["name"]
    path = f"/api/v1/namespaces/{near.house.namespace}/secrets/{name}"
    await near.house.api.patch(path, {"metadata": {"labels": {TYPE: None}}})
    secrets = near.house.parts.secrets
    await eventually(lambda: not [one for one in secrets.all() if one.name == name])
    again = await put(near, sealed=sealed(near, url=URL, password="x" * 8))
    assert again.code == "conflict"
    assert "password" not in await data_of(near, name)
