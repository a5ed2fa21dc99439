"""The keys outside the database: their file, refusals at the start, columns, rotation."""

from __future__ import annotations

import base64
import dataclasses
import stat
from pathlib import Path
from typing import Any

import aiohttp
import asyncpg
import pytest
from sqlalchemy import select, update
from structlog.testing import capture_logs

from service.key_management.rotation import bind_agents, rotate, sign_audits, unbound_agents
from service.keys.key_file import (
    KeyFileError,
    KeyRing,
    generate,
    open_key_file,
    parse,
    read_ring,
    render,
    replace,
    with_new_key,
)
from service.keys.root_key import SealedValueError, new_root_key
from service.lifecycle import now
from service.store import tables
from service.store.protected_columns import sealed, unsealed
from service.store.tables import audit, service_keys, webhooks
from tests.service.fake_agent import AgentIdentity, HandshakeRefusedError, connect, open_session
from tests.service.service_fixture import RunningService, open_service, settings

SECRET = "whsec_"
URL = "https://hooks.example/services/T0/canary-path"


async def make_webhook(running_service: RunningService) -> str:
    """The secret that was shown."""
    headers = {"Authorization": f"Bearer {await running_service.bearer()}"}
    body = {"name": "chat", "url": URL}
    url = f"{running_service.service.url}/api/v1/webhooks"
    async with aiohttp.ClientSession(headers=headers) as http, http.post(url, json=body) as answer:
        assert answer.status == 201, await answer.text()
        reply = await answer.json()
        assert reply["url"] == URL
        return str(reply["secret"])


def replace_url(identity: AgentIdentity, url: str) -> AgentIdentity:
    """The same agent, and the service after a restart."""
    return dataclasses.replace(identity, url=url)


async def dumped(running_service: RunningService) -> str:
    """Everything that stands in any table."""
    rows = [
        str(row)
        for table in tables.metadata.sorted_tables
        for row in await running_service.rows(table)
    ]
    return "\n".join(rows)


# --- the file -------------------------------------------------------------------------------------


def test_a_file_is_made_once_and_for_its_owner_only(tmp_path: Path) -> None:
    file = tmp_path / "keys" / "service.key"
    assert generate(file)
    made = file.read_text()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert not generate(file)
    assert file.read_text() == made
    assert [it.name for it in file.parent.iterdir()] == ["service.key"]


def test_a_ring_is_read_as_it_was_written(tmp_path: Path) -> None:
    ring = KeyRing((new_root_key(), new_root_key()), (new_root_key().public,))
    again = parse(render(ring))
    assert [key.id for key in again.secret] == [key.id for key in ring.secret]
    assert [key.id for key in again.retired] == [key.id for key in ring.retired]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no line 'secret KEY'"),
        ("secret canary", "line 1: expected 32 bytes"),
        ("# mine\nopen canary", "line 2: expected 'secret KEY'"),
        (f"retired {base64.b64encode(bytes(32)).decode()}", "no line 'secret KEY'"),
    ],
)
def test_a_wrong_file_is_refused_and_not_repeated(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "service.key"
    file.write_text(text)
    with pytest.raises(KeyFileError) as wrong:
        read_ring(file)
    assert message in str(wrong.value)
    assert "canary" not in str(wrong.value)


def test_a_changed_file_is_read_again_and_a_broken_one_is_not(tmp_path: Path) -> None:
    file = tmp_path / "service.key"
    generate(file)
    keys = open_key_file(file)
    old = keys.ring.current.id
    replace(file, with_new_key(keys.ring, new_root_key()))
    new = keys.ring.current.id
    file.write_text("broken")
    assert new != old
    assert keys.ring.current.id == new


# --- encrypted columns ----------------------------------------------------------------------------


def row(**more: Any) -> dict[str, Any]:
    return {"id": "one", "url": URL, "secret": "whsec_x", "key_id": "", **more}


@pytest.mark.parametrize(
    "change",
    [
        {"id": "two"},
        {"key_id": "0" * 16},
        {"secret": "AAAA"},
        {"secret": "not base64"},
    ],
    ids=["another row", "another key", "cut", "garbage"],
)
def test_a_value_opens_in_its_own_row_only(change: dict[str, Any]) -> None:
    ring = KeyRing((new_root_key(),))
    stored = sealed(ring, webhooks, row())
    assert unsealed(ring, webhooks, stored)["secret"] == "whsec_x"
    with pytest.raises(SealedValueError):
        unsealed(ring, webhooks, {**stored, **change})


def test_two_columns_of_a_row_cannot_be_exchanged() -> None:
    ring = KeyRing((new_root_key(),))
    stored = sealed(ring, webhooks, row())
    with pytest.raises(SealedValueError):
        unsealed(ring, webhooks, {**stored, "url": stored["secret"], "secret": stored["url"]})


async def test_no_secret_and_no_path_of_a_webhook_stands_in_a_table(database_url: str) -> None:
    async with open_service(settings(database_url)) as service:
        running_service = RunningService(service)
        secret = await make_webhook(running_service)
        found = await dumped(running_service)
    assert secret.startswith(SECRET)
    assert secret not in found
    assert "canary-path" not in found


async def test_what_an_older_version_left_in_clear_is_encrypted_at_the_start(
    database_url: str,
) -> None:
    async with open_service(settings(database_url)) as service:
        running_service = RunningService(service)
        secret = await make_webhook(running_service)
        (made,) = await running_service.rows(webhooks)
        clear = {"url": URL, "secret": secret, "key_id": ""}
        async with service.dependencies.engine.begin() as connection:
            await connection.execute(update(webhooks).values(clear))
    async with open_service(settings(database_url)) as service:
        running_service = RunningService(service)
        (after,) = await running_service.rows(webhooks)
        assert secret not in await dumped(running_service)
        assert (
            unsealed(service.dependencies.keys.ring, webhooks, after._mapping)["secret"] == secret
        )
        assert (await running_service.call("GET", f"/webhooks/{made.id}"))[1]["url"] == URL


# --- refusals at the start ------------------------------------------------------------------------


async def test_a_missing_file_is_refused_unless_it_may_be_made(
    database_url: str, tmp_path: Path
) -> None:
    file = tmp_path / "service.key"
    with pytest.raises(KeyFileError, match="there is no file"):
        async with open_service(settings(database_url, key_file=file)):
            pass
    async with open_service(settings(database_url, key_file=file, key_generate=True)) as service:
        assert service.dependencies.keys.ring.current.id == read_ring(file).current.id


async def test_the_key_of_another_database_is_refused(database_url: str, tmp_path: Path) -> None:
    async with open_service(settings(database_url)) as service:
        mine = service.dependencies.keys.ring.current.id
    other = tmp_path / "other.key"
    generate(other)
    with pytest.raises(KeyFileError, match=f"was used with {mine}"):
        async with open_service(settings(database_url, key_file=other)):
            pass


async def as_before_keys(database_url: str) -> None:
    """Make the database look as an earlier version left it: its owner can always do that."""
    connection = await asyncpg.connect(database_url, timeout=180)
    await connection.execute("ALTER TABLE audit DISABLE TRIGGER audit_append_only")
    await connection.execute("UPDATE audit SET signature = '', key_id = ''")
    await connection.execute("UPDATE agent_keys SET mac = '', key_id = ''")
    await connection.execute("DELETE FROM service_keys")
    await connection.close()


async def test_what_an_older_version_left_is_vouched_for_by_a_key_that_is_made_at_the_start(
    database_url: str, tmp_path: Path
) -> None:
    async with open_service(settings(database_url)) as service:
        await RunningService(service).enrolled()
    await as_before_keys(database_url)
    file = tmp_path / "service.key"
    async with open_service(settings(database_url, key_file=file, key_generate=True)) as service:
        running_service = RunningService(service)
        actions = [it.action for it in await running_service.rows(audit)]
        assert actions[-2:] == ["audit.signed", "agent-key.bound"]
        assert (await running_service.call("GET", "/audit/verify"))[1]["ok"]


async def test_a_key_that_was_used_vouches_for_nothing_however_new_the_database_looks(
    database_url: str,
) -> None:
    configured = settings(database_url)
    async with open_service(configured) as service:
        identity = await RunningService(service).enrolled()
    await as_before_keys(database_url)
    with capture_logs() as logs:
        async with open_service(configured) as service:
            running_service = RunningService(service)
            assert not (await running_service.call("GET", "/audit/verify"))[1]["ok"]
            with pytest.raises(HandshakeRefusedError, match="unbound"):
                await open_session(replace_url(identity, service.url))
    assert await unbound_agents(configured) == ["prod"]
    assert await bind_agents(configured, now(), ["other"]) == []
    assert await bind_agents(configured, now(), None) == ["prod"]
    assert list(await sign_audits(configured, now())) == ["default"]
    async with open_service(configured) as service:
        running_service = RunningService(service)
        assert (await running_service.call("GET", "/audit/verify"))[1]["ok"]
        await open_session(replace_url(identity, service.url))
    message = {it["event"] for it in logs if it["log_level"] == "error"}
    assert "audit is not signed to its end" in message
    assert "keys of agents are not the service's own: they open no link" in message


# --- rotation -------------------------------------------------------------------------------------


async def test_a_running_service_goes_on_while_its_key_is_replaced(
    database_url: str, tmp_path: Path
) -> None:
    file = tmp_path / "service.key"
    configured = settings(database_url, key_file=file, key_generate=True)
    async with open_service(configured) as service:
        running_service = RunningService(service)
        old = service.dependencies.keys.ring.current.id
        await make_webhook(running_service)
        identity = await running_service.enrolled()
        session = await open_session(identity)
        rotated = await rotate(configured, now(), add=True, retire=False)
        assert (rotated.rows, rotated.key_id != old) == (1, True)
        async with connect(identity, session) as link:
            await link.hello(identity, "e")
        (hook,) = await running_service.rows(webhooks)
        assert hook.key_id == rotated.key_id
        assert (await running_service.call("GET", f"/webhooks/{hook.id}"))[1]["url"] == URL
        verified = (await running_service.call("GET", "/audit/verify"))[1]
        assert verified["ok"], verified
        assert {it.key_id for it in await running_service.rows(audit)} == {old, rotated.key_id}
        assert {it.id for it in await running_service.rows(service_keys)} == {old, rotated.key_id}


async def test_a_retired_key_opens_nothing_and_still_verifies(
    database_url: str, tmp_path: Path
) -> None:
    file = tmp_path / "service.key"
    configured = settings(database_url, key_file=file, key_generate=True)
    async with open_service(configured) as service:
        running_service = RunningService(service)
        await make_webhook(running_service)
        identity = await running_service.enrolled()
        session = await open_session(identity)
        stolen = read_ring(file).current.text
        await rotate(configured, now(), add=True, retire=True)
        with pytest.raises(aiohttp.WSServerHandshakeError):
            async with connect(identity, session):
                pass
        async with connect(identity):
            pass
        assert stolen not in file.read_text()
        assert (await running_service.call("GET", "/audit/verify"))[1]["ok"]
        (hook,) = await running_service.rows(webhooks)
        assert (await running_service.call("GET", f"/webhooks/{hook.id}"))[1]["url"] == URL


async def test_rows_under_a_key_that_is_gone_are_named(database_url: str, tmp_path: Path) -> None:
    file = tmp_path / "service.key"
    configured = settings(database_url, key_file=file, key_generate=True)
    async with open_service(configured) as service:
        await make_webhook(RunningService(service))
        async with service.dependencies.engine.connect() as connection:
            hook = (await connection.execute(select(webhooks.c.id))).scalar_one()
    replace(file, KeyRing((new_root_key(), *read_ring(file).secret)))
    kept = read_ring(file)
    async with open_service(configured):
        pass  # the rows are under the new key now
    replace(file, KeyRing((kept.secret[1],)))
    with pytest.raises(SealedValueError, match=f"webhooks/url/{hook} was encrypted with key"):
        async with open_service(configured):
            pass
