"""What somebody who may edit repositories cannot do with the credentials that an agent has.

The attacks of the security review: a box without a credential but with a proxy, a setting that
switches a check off, an address that is spelled otherwise (C2); a Secret that was marked usable,
beside an address of the attacker's (M10).
"""

import base64
import json
import uuid
from collections.abc import Callable
from typing import Any

import pytest
from nacl.public import PublicKey, SealedBox

from bus.link import TaskKind, TaskResult
from bus.metadata_keys import CREDENTIAL, CREDENTIAL_URLS, MetadataKey
from tests.flows.fake_service_link import FakeServiceLink
from tests.flows.test_git_origins import HeadRecorder, listening
from tests.support import eventually

URL = "http://git.corp.internal/acme/app.git"
TYPE = "argocd.argoproj.io/secret-type"


def sealed(link: FakeServiceLink, **fields: str) -> str:
    key = PublicKey(base64.b64decode(link.fake_service.sealing_key))
    return base64.b64encode(SealedBox(key).encrypt(json.dumps(fields).encode())).decode()


async def put(
    link: FakeServiceLink, url: str = URL, kind: str = "Repository", **more: object
) -> TaskResult:
    return await link.do(TaskKind.PUT, url, kind=kind, url=url, **more)


async def create(link: FakeServiceLink, name: str, data: dict[str, str], **metadata: Any) -> None:
    body = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, **metadata}}
    path = f"/api/v1/namespaces/{link.agent.namespace}/secrets"
    await link.agent.api.create(path, {**body, "stringData": data})


async def data_of(link: FakeServiceLink, name: str) -> dict[str, str]:
    space = link.agent.namespace
    found = await link.agent.api.get(f"/api/v1/namespaces/{space}/secrets/{name}")
    return {key: base64.b64decode(value).decode() for key, value in found["data"].items()}


async def victim(
    link: FakeServiceLink, kind: str = "repository", url: str = URL, **more: str
) -> str:
    """A Secret that the owner of the cluster made; known to the agent. Its password."""
    password = "pw-" + uuid.uuid4().hex
    login = {"url": url, "username": "svc", "password": password, **more}
    await create(link, "victim", login, labels={TYPE: kind})
    secrets = link.agent.parts.secrets
    await eventually(lambda: [one for one in secrets.all() if one.name == "victim"])
    return password


@pytest.mark.parametrize("kind", ["Repository", "RepositoryCredentials"])
async def test_no_box_and_no_setting_sends_a_password_elsewhere(
    link: FakeServiceLink, kind: str
) -> None:
    async with listening(HeadRecorder()) as thief:
        wire = {"Repository": "repository", "RepositoryCredentials": "repo-creds"}[kind]
        await victim(link, wire)
        before = await data_of(link, "victim")
        spelled = "HTTP://git.corp.internal:80/acme/app.git/"
        tried = [
            await put(link, kind=kind, sealed=sealed(link, url=URL, proxy=thief.url)),
            await put(link, spelled, kind=kind, sealed=sealed(link, url=URL, proxy=thief.url)),
            await put(link, kind=kind, spec={"proxy": thief.url}),
            await put(link, kind=kind, spec={"insecure": True}),
            await put(link, kind=kind, spec={"noProxy": "*"}),
            await put(link, kind=kind, sealed=sealed(link, url=f"{thief.url}/x", password="x")),
        ]
        await link.do(TaskKind.REFS, url=URL)
    assert [one.code for one in tried] == ["invalid"] * 2 + ["not_allowed"] * 3 + ["invalid"]
    assert await data_of(link, "victim") == before
    assert not thief.asked


async def test_a_credential_that_is_brought_replaces_the_old_one_and_keeps_the_owner_s_settings(
    link: FakeServiceLink,
) -> None:
    await victim(link, proxy="http://proxy.corp.internal:3128", bearerToken="old")
    box = sealed(link, url=URL, username="bob", password="hunter22")
    done = await put(link, sealed=box, name="shop", spec={"insecure": False, "enableLfs": True})
    renamed = await put(link, "http://GIT.corp.internal/acme/app.git", name="shop-2")
    found = await data_of(link, "victim")
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
    link: FakeServiceLink,
) -> None:
    password = await victim(link)
    others = [
        await put(link, "http://git.corp.internal/Acme/app.git"),
        await put(link, "http://git.corp.internal:8080/acme/app.git"),
        await put(link, "https://git.corp.internal/acme/app.git"),
        await put(link, project="shop"),
    ]
    names = {one.body["name"] for one in others}
    assert len(names) == 4
    for name in names:
        assert password not in (await data_of(link, name)).values()
    assert (await data_of(link, "victim"))["password"] == password


@pytest.mark.parametrize("name_of", [lambda key: key.name, lambda key: key.former])
async def test_a_secret_is_used_for_the_addresses_only_that_its_owner_named(
    link: FakeServiceLink, name_of: Callable[[MetadataKey], str]
) -> None:
    labels = {name_of(CREDENTIAL): "true"}
    await create(link, "anywhere", {"password": "pw-1234567"}, labels=labels)
    named = {name_of(CREDENTIAL_URLS): "https://git.example.test/team, https://other.example.test"}
    await create(link, "offered", {"password": "pw-1234567"}, labels=labels, annotations=named)
    good = await put(link, "https://git.example.test/team/a", secretRef={"name": "offered"})
    bad = [
        await put(link, url, secretRef={"name": name})
        for name, url in (
            ("anywhere", "https://git.example.test/team/a"),
            ("offered", "https://git.example.test/team-evil/a"),
            ("offered", "https://git.example.test:8443/team/a"),
            ("offered", "http://git.example.test/team/a"),
            ("offered", "https://other.example.test.evil.example/team/a"),
        )
    ]
    assert good.code == "ok", good
    assert (await data_of(link, good.body["name"]))["password"] == "pw-1234567"
    assert {one.code for one in bad} == {"not_allowed"}
    assert all(CREDENTIAL_URLS.name in one.message for one in bad)


async def test_a_secret_of_the_same_name_that_is_of_something_else_stays(
    link: FakeServiceLink,
) -> None:
    made = await put(link)
    name = made.body["name"]
    path = f"/api/v1/namespaces/{link.agent.namespace}/secrets/{name}"
    await link.agent.api.patch(path, {"metadata": {"labels": {TYPE: None}}})
    secrets = link.agent.parts.secrets
    await eventually(lambda: not [one for one in secrets.all() if one.name == name])
    again = await put(link, sealed=sealed(link, url=URL, password="x" * 8))
    assert again.code == "conflict"
    assert "password" not in await data_of(link, name)
