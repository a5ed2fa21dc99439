"""Enrolment and sessions: what is refused, what is burnt, what is rotated, what revocation cuts."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace

import aiohttp
import pytest

from bus.link import AgentSession, Beat, Fenced, SessionRequest
from service.lifecycle import now
from service.store.link_signals import CHANNEL
from service.store.tables import agent_keys, audit, enrolment_tokens
from tests.service.fake_agent import (
    AgentIdentity,
    AgentKeyPair,
    HandshakeRefusedError,
    challenge,
    connect,
    enrol,
    open_session,
    post,
)
from tests.service.service_fixture import MovableClock, RunningService, open_service, settings
from tests.support import eventually


async def test_a_token_works_once(running_service: RunningService) -> None:
    token = await running_service.token(await running_service.agent())
    await enrol(running_service.service.url, token, AgentKeyPair())
    with pytest.raises(HandshakeRefusedError) as refused:
        await enrol(running_service.service.url, token, AgentKeyPair())
    assert (refused.value.status, refused.value.rule) == (403, "token")


async def test_an_agent_that_lost_the_answer_gets_it_again(running_service: RunningService) -> None:
    token, keys = await running_service.token(await running_service.agent()), AgentKeyPair()
    first = await enrol(running_service.service.url, token, keys)
    assert await enrol(running_service.service.url, token, keys) == first
    assert len(await running_service.rows(agent_keys)) == 1
    await open_session(first)


async def test_two_enrolments_with_one_key_at_once_get_the_same_answer(
    running_service: RunningService,
) -> None:
    token, keys = await running_service.token(await running_service.agent()), AgentKeyPair()
    async with asyncio.TaskGroup() as tasks:
        asked = [
            tasks.create_task(enrol(running_service.service.url, token, keys), name=f"ask {n}")
            for n in range(3)
        ]
    assert len({it.result().key_id for it in asked}) == 1


async def test_a_lost_answer_is_not_repeated_when_the_token_is_over(
    running_service: RunningService,
) -> None:
    token, keys = await running_service.token(await running_service.agent()), AgentKeyPair()
    await enrol(running_service.service.url, token, keys)
    async with running_service.service.dependencies.engine.begin() as connection:
        await connection.execute(enrolment_tokens.update().values(expires_at=now()))
    with pytest.raises(HandshakeRefusedError):
        await enrol(running_service.service.url, token, keys)


async def test_a_lost_answer_is_not_repeated_when_another_enrolled_since(
    running_service: RunningService,
) -> None:
    agent_id, keys = await running_service.agent(), AgentKeyPair()
    token = await running_service.token(agent_id)
    await enrol(running_service.service.url, token, keys)
    await enrol(running_service.service.url, await running_service.token(agent_id), AgentKeyPair())
    with pytest.raises(HandshakeRefusedError):
        await enrol(running_service.service.url, token, keys)


async def test_enrolments_and_their_refusals_are_in_the_audit(
    running_service: RunningService,
) -> None:
    token = await running_service.token(await running_service.agent())
    await enrol(running_service.service.url, token, AgentKeyPair())
    with pytest.raises(HandshakeRefusedError):
        await enrol(running_service.service.url, token, AgentKeyPair())
    records = [row for row in await running_service.rows(audit) if row.action == "agent.enrolled"]
    assert [(it.decision, it.actor) for it in records] == [
        ("allowed", "agent/prod"),
        ("denied", "agent/prod"),
    ]
    assert {it.address for it in records} == {"127.0.0.1"}
    assert token not in str(records)


async def test_one_of_two_agents_with_the_same_token_enrols(
    running_service: RunningService,
) -> None:
    token = await running_service.token(await running_service.agent())

    async def attempt() -> bool:
        try:
            await enrol(running_service.service.url, token, AgentKeyPair())
        except HandshakeRefusedError:
            return False
        return True

    async with asyncio.TaskGroup() as tasks:
        attempts = [tasks.create_task(attempt(), name=f"attempt {n}") for n in range(4)]
    assert sum(it.result() for it in attempts) == 1
    assert len(await running_service.rows(agent_keys)) == 1


async def test_an_expired_token_is_refused(running_service: RunningService) -> None:
    token = await running_service.token(await running_service.agent(), seconds=-1)
    with pytest.raises(HandshakeRefusedError) as refused:
        await enrol(running_service.service.url, token, AgentKeyPair())
    assert refused.value.rule == "token"


async def test_a_newer_token_replaces_an_older_one(running_service: RunningService) -> None:
    agent_id = await running_service.agent()
    older, newer = await running_service.token(agent_id), await running_service.token(agent_id)
    with pytest.raises(HandshakeRefusedError):
        await enrol(running_service.service.url, older, AgentKeyPair())
    await enrol(running_service.service.url, newer, AgentKeyPair())


async def test_a_wrong_proof_burns_nothing(running_service: RunningService) -> None:
    token = await running_service.token(await running_service.agent())
    with pytest.raises(HandshakeRefusedError) as refused:
        await enrol(running_service.service.url, token, Thief())
    assert refused.value.rule == "proof"
    await enrol(running_service.service.url, token, AgentKeyPair())


async def test_a_token_for_one_cluster_does_not_serve_another(
    running_service: RunningService,
) -> None:
    token = await running_service.token(await running_service.agent(), cluster="cluster-2")
    with pytest.raises(HandshakeRefusedError) as refused:
        await enrol(running_service.service.url, token, AgentKeyPair(), cluster="cluster-1")
    assert refused.value.rule == "cluster"
    await enrol(running_service.service.url, token, AgentKeyPair(), cluster="cluster-2")


async def test_no_token_is_kept(running_service: RunningService) -> None:
    token = await running_service.token(await running_service.agent())
    assert token not in str(await running_service.rows(enrolment_tokens))


async def test_a_nonce_serves_one_session(running_service: RunningService) -> None:
    identity = await running_service.enrolled()
    nonce = await challenge(identity)
    ask = _ask(identity, nonce)
    await post(identity.url, "session", ask, AgentSession)
    with pytest.raises(HandshakeRefusedError) as refused:
        await post(identity.url, "session", ask, AgentSession)
    assert refused.value.status == 401


async def test_a_signature_for_another_purpose_is_refused(running_service: RunningService) -> None:
    identity = await running_service.enrolled()
    nonce = await challenge(identity)
    ask = _ask(identity, nonce, purpose="enrol")
    with pytest.raises(HandshakeRefusedError):
        await post(identity.url, "session", ask, AgentSession)


async def test_an_unknown_agent_gets_a_nonce_like_any_other(
    running_service: RunningService,
) -> None:
    identity = await running_service.enrolled()
    assert len(await challenge(replace(identity, agent="nobody"))) > 20


async def test_both_keys_work_until_the_next_one_is_used(running_service: RunningService) -> None:
    identity, following = await running_service.enrolled(), AgentKeyPair()
    session = await open_session(identity, following.public)
    await open_session(identity)
    rotated = replace(identity, keys=following, key_id=session.key_id)
    await open_session(rotated)
    with pytest.raises(HandshakeRefusedError):
        await open_session(identity)


async def test_a_session_that_is_over_opens_nothing(database_url: str) -> None:
    clock = MovableClock()
    async with open_service(settings(database_url, session_seconds=60), clock) as service:
        identity = await RunningService(service).enrolled()
        session = await open_session(identity)
        clock.on(seconds=60)
        with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
            async with connect(identity, session):
                pass
    assert refused.value.status == 401


@pytest.fixture
async def session_of_a_minute(
    database_url: str, clock: MovableClock
) -> AsyncIterator[RunningService]:
    """A service on the test's clock, which takes an agent's silence for two minutes."""
    minute = settings(database_url, session_seconds=60, beat_seconds=40)
    async with open_service(minute, clock) as service:
        yield RunningService(service)


@pytest.fixture
def clock() -> MovableClock:
    return MovableClock()


async def test_a_connection_ends_with_its_session_and_may_come_back(
    session_of_a_minute: RunningService, clock: MovableClock
) -> None:
    identity = await session_of_a_minute.enrolled()
    async with connect(identity) as link:
        await link.hello(identity, "e")
        clock.on(seconds=61)
        ended = await link.until(Fenced)
    assert "session" in ended.reason
    assert ended.retry_after > 0
    async with connect(identity) as again:
        await again.hello(identity, "e")


async def test_a_session_ends_also_while_its_link_is_signalled_all_the_time(
    session_of_a_minute: RunningService, clock: MovableClock
) -> None:
    identity = await session_of_a_minute.enrolled()
    links = session_of_a_minute.service.dependencies.link_registry

    async def signals() -> None:
        while True:
            links.receive("signals were lost")
            await asyncio.sleep(0.02)

    async with connect(identity) as link:
        await link.hello(identity, "e")
        storm = asyncio.ensure_future(signals())
        try:
            clock.on(seconds=61)
            assert "session" in (await link.until(Fenced)).reason
        finally:
            storm.cancel()


async def test_a_renewed_session_extends_the_open_link(
    session_of_a_minute: RunningService, clock: MovableClock
) -> None:
    identity = await session_of_a_minute.enrolled()
    heard: list[str] = []
    signals = session_of_a_minute.service.dependencies.signals
    async with connect(identity) as link:
        await link.hello(identity, "e")
        with signals.subscribed(CHANNEL, heard.append):
            clock.on(seconds=45)
            await link.until(Beat)
            await open_session(identity)
            await eventually(lambda: any('"extend":' in one for one in heard))
        clock.on(seconds=45)
        assert (await link.until(Beat)).sent_at == clock().timestamp()


async def test_a_body_that_cannot_be_read_is_refused_with_a_reason(
    running_service: RunningService,
) -> None:
    with pytest.raises(HandshakeRefusedError) as refused:
        await post(running_service.service.url, "enrol", {"token": 7}, AgentSession)
    assert (refused.value.status, refused.value.rule) == (400, "body")


class Thief(AgentKeyPair):
    """Sends a key that is not the one it signs with."""

    @property
    def public(self) -> str:
        return AgentKeyPair().public


def _ask(identity: AgentIdentity, nonce: str, purpose: str = "session") -> SessionRequest:
    return SessionRequest(
        account=identity.account,
        agent=identity.agent,
        key_id=identity.key_id,
        nonce=nonce,
        signature=identity.keys.sign(purpose, nonce),
    )
