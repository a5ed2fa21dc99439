"""Who writes the database trusts no agent of his own: its keys and tokens carry a MAC."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import aiohttp
import pytest
from sqlalchemy import insert, select, text, update
from structlog.testing import capture_logs

from bus.identity import new_id
from service.gateway.enrolment import revoke
from service.gateway.proofs import token_hash
from service.keys.key_file import KeyRing, with_new_key, with_only_current
from service.keys.root_key import new_root_key
from service.lifecycle import now
from service.store.protected_columns import bound, is_bound
from service.store.tables import agent_keys, audit, enrolment_tokens
from tests.service.fake_agent import (
    AgentIdentity,
    AgentKeyPair,
    HandshakeRefusedError,
    connect,
    enrol,
    open_session,
)
from tests.service.service_fixture import RunningService

STRANGER = AgentKeyPair()
Write = Callable[[RunningService, AgentIdentity], Awaitable[AgentIdentity]]


async def execute(running_service: RunningService, *statements: Any) -> None:
    """As anybody who has the password of the database."""
    async with running_service.service.dependencies.engine.begin() as connection:
        for statement in statements:
            await connection.execute(statement)


async def added(running_service: RunningService, identity: AgentIdentity) -> AgentIdentity:
    (mine,) = [it for it in await running_service.rows(agent_keys) if it.id == identity.key_id]
    row = {**mine._asdict(), "id": new_id(), "public_key": STRANGER.public}
    await execute(running_service, insert(agent_keys).values(row))
    return replace(identity, key_id=row["id"], keys=STRANGER)


async def exchanged(running_service: RunningService, identity: AgentIdentity) -> AgentIdentity:
    mine = agent_keys.c.id == identity.key_id
    await execute(
        running_service, update(agent_keys).where(mine).values(public_key=STRANGER.public)
    )
    return replace(identity, keys=STRANGER)


async def moved(running_service: RunningService, identity: AgentIdentity) -> AgentIdentity:
    """The key of another agent, which the stranger enrolled by right."""
    other = await running_service.enrolled("other")
    (row,) = [it for it in await running_service.rows(agent_keys) if it.id == identity.key_id]
    mine = agent_keys.c.id == other.key_id
    await execute(running_service, update(agent_keys).where(mine).values(agent_id=row.agent_id))
    return replace(identity, key_id=other.key_id, keys=other.keys)


async def revived(running_service: RunningService, identity: AgentIdentity) -> AgentIdentity:
    """The key of an agent that was revoked, and its state as before."""
    (row,) = await running_service.rows(agent_keys)
    async with running_service.service.dependencies.engine.begin() as connection:
        await revoke(connection, row.agent_id, now())
    await execute(
        running_service,
        text("UPDATE agent_keys SET retired_at = NULL"),
        text("UPDATE agents SET state = 'enrolled'"),
    )
    return identity


async def emptied(running_service: RunningService, identity: AgentIdentity) -> AgentIdentity:
    """As an earlier version left it."""
    await execute(running_service, update(agent_keys).values(mac="", key_id=""))
    return identity


WRITES = (added, exchanged, moved, revived, emptied)


@pytest.mark.parametrize("write", WRITES, ids=lambda write: write.__name__)
async def test_a_key_that_the_service_did_not_write_opens_no_link(
    running_service: RunningService, write: Write
) -> None:
    forged = await write(running_service, await running_service.enrolled())
    with capture_logs() as logs:
        for _ in range(3):
            with pytest.raises(HandshakeRefusedError) as refused:
                await open_session(forged)
            assert (refused.value.status, refused.value.rule) == (401, "unbound")
    (error, *_) = [it for it in logs if it["log_level"] == "error"]
    assert error["agent"] == "prod"
    assert "gitops service bind-agents" in error["remedy"]
    recorded = [it for it in await running_service.rows(audit) if it.action == "agent.link"]
    assert [(it.resource, it.decision) for it in recorded] == [("agent/prod", "denied")]


async def test_a_key_that_is_exchanged_after_the_session_opens_no_connection(
    running_service: RunningService,
) -> None:
    identity = await running_service.enrolled()
    session = await open_session(identity)
    forged = await exchanged(running_service, identity)
    with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
        async with connect(forged, session):
            pass
    assert refused.value.status == 401


async def test_a_rotated_key_is_bound_too(running_service: RunningService) -> None:
    identity, following = await running_service.enrolled(), AgentKeyPair()
    session = await open_session(identity, following.public)
    await open_session(replace(identity, key_id=session.key_id, keys=following))


# --- enrolment tokens -----------------------------------------------------------------------------


async def test_a_token_that_the_service_did_not_make_enrols_nobody(
    running_service: RunningService,
) -> None:
    agent_id = await running_service.agent()
    row = {
        "id": new_id(),
        "agent_id": agent_id,
        "hash": token_hash("ge_mine"),
        "expires_at": now() + timedelta(hours=1),
    }
    await execute(running_service, insert(enrolment_tokens).values(row))
    with pytest.raises(HandshakeRefusedError) as refused:
        await enrol(running_service.service.url, "ge_mine", STRANGER)
    assert (refused.value.status, refused.value.rule) == (403, "unbound")
    assert await running_service.rows(agent_keys) == []
    denied = (await running_service.rows(audit))[-1]
    assert (denied.resource, denied.detail) == ("agent/prod", {"rule": "unbound"})


@pytest.mark.parametrize(
    "change",
    [
        "expires_at = expires_at + interval '1 day'",
        "agent_id = (SELECT id FROM agents WHERE name = 'other')",
        "cluster_uid = ''",
    ],
    ids=["longer", "another agent", "any cluster"],
)
async def test_a_changed_token_enrols_nobody(running_service: RunningService, change: str) -> None:
    await running_service.agent("other")
    token = await running_service.token(await running_service.agent(), cluster="cluster-1")
    await execute(running_service, text(f"UPDATE enrolment_tokens SET {change}"))  # noqa: S608  ours, above
    with pytest.raises(HandshakeRefusedError, match="unbound"):
        await enrol(running_service.service.url, token, STRANGER)


async def test_a_used_token_does_not_come_back(running_service: RunningService) -> None:
    token = await running_service.token(await running_service.agent())
    await enrol(running_service.service.url, token, AgentKeyPair())
    await execute(running_service, update(enrolment_tokens).values(used_at=None, used_by=""))
    with pytest.raises(HandshakeRefusedError, match="unbound"):
        await enrol(running_service.service.url, token, STRANGER)


# --- what is sealed to an agent -------------------------------------------------------------------


async def test_nothing_is_sealed_to_a_key_that_somebody_else_wrote(
    running_service: RunningService,
) -> None:
    await running_service.enrolled()
    (key,) = await running_service.rows(agent_keys)
    path = f"/agents/{key.agent_id}/sealing-key"
    assert (await running_service.call("GET", path))[0] == 200
    await execute(running_service, update(agent_keys).values(sealing_key=STRANGER.public))
    status, problem = await running_service.call("GET", path)
    assert (status, problem["rule"]) == (409, "unbound-key")
    assert "prod" in problem["detail"]


# --- the MAC itself -------------------------------------------------------------------------------

ROW: Mapping[str, Any] = {
    "id": "one",
    "agent_id": "a",
    "hash": "h",
    "cluster_uid": "",
    "expires_at": datetime(2026, 11, 21, 10, tzinfo=UTC),
}


def test_a_time_is_the_same_in_any_zone() -> None:
    ring = KeyRing((new_root_key(),))
    stored = bound(ring, enrolment_tokens, ROW)
    there = ROW["expires_at"].astimezone(timezone(timedelta(hours=2)))
    assert is_bound(ring, enrolment_tokens, {**stored, "expires_at": there})


def test_a_text_cannot_be_shifted_into_the_next_column() -> None:
    ring = KeyRing((new_root_key(),))
    stored = bound(ring, enrolment_tokens, ROW)
    assert not is_bound(ring, enrolment_tokens, {**stored, "agent_id": "ah", "hash": ""})


def test_an_older_key_still_verifies_and_a_retired_one_does_not() -> None:
    ring = KeyRing((new_root_key(),))
    stored = bound(ring, enrolment_tokens, ROW)
    newer = with_new_key(ring, new_root_key())
    assert is_bound(newer, enrolment_tokens, stored)
    assert not is_bound(with_only_current(newer), enrolment_tokens, stored)


async def test_all_rows_are_bound_after_a_start(running_service: RunningService) -> None:
    await running_service.enrolled()
    ring = running_service.service.dependencies.keys.ring
    async with running_service.service.dependencies.engine.connect() as connection:
        found = (await connection.execute(select(agent_keys))).mappings().all()
    assert [is_bound(ring, agent_keys, row) for row in found] == [True]
