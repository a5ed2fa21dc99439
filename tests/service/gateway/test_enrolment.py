"""Enrolment and sessions: what is refused, what is burnt, what is rotated, what revocation cuts."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import aiohttp
import pytest

from bus.link import Beat, Fenced, Session, SessionRequest
from service.app import now
from service.store.tables import agent_keys, audit, enrolment_tokens
from tests.service.client import (
    Identity,
    Keys,
    RefusedError,
    challenge,
    connect,
    enrol,
    open_session,
    post,
)
from tests.service.world import World, open_service, settings


async def test_a_token_works_once(world: World) -> None:
    token = await world.token(await world.agent())
    await enrol(world.service.url, token, Keys())
    with pytest.raises(RefusedError) as refused:
        await enrol(world.service.url, token, Keys())
    assert (refused.value.status, refused.value.rule) == (403, "token")


async def test_who_has_lost_the_answer_gets_it_again(world: World) -> None:
    token, keys = await world.token(await world.agent()), Keys()
    first = await enrol(world.service.url, token, keys)
    assert await enrol(world.service.url, token, keys) == first
    assert len(await world.rows(agent_keys)) == 1
    await open_session(first)


async def test_at_once_the_same_key_is_told_the_same(world: World) -> None:
    token, keys = await world.token(await world.agent()), Keys()
    async with asyncio.TaskGroup() as tasks:
        asked = [
            tasks.create_task(enrol(world.service.url, token, keys), name=f"ask {n}")
            for n in range(3)
        ]
    assert len({it.result().key_id for it in asked}) == 1


async def test_a_lost_answer_is_not_repeated_when_the_token_is_over(world: World) -> None:
    token, keys = await world.token(await world.agent()), Keys()
    await enrol(world.service.url, token, keys)
    async with world.service.parts.engine.begin() as connection:
        await connection.execute(enrolment_tokens.update().values(expires_at=now()))
    with pytest.raises(RefusedError):
        await enrol(world.service.url, token, keys)


async def test_a_lost_answer_is_not_repeated_when_another_enrolled_since(world: World) -> None:
    agent_id, keys = await world.agent(), Keys()
    token = await world.token(agent_id)
    await enrol(world.service.url, token, keys)
    await enrol(world.service.url, await world.token(agent_id), Keys())
    with pytest.raises(RefusedError):
        await enrol(world.service.url, token, keys)


async def test_enrolments_and_their_refusals_are_in_the_audit(world: World) -> None:
    token = await world.token(await world.agent())
    await enrol(world.service.url, token, Keys())
    with pytest.raises(RefusedError):
        await enrol(world.service.url, token, Keys())
    records = [row for row in await world.rows(audit) if row.action == "agent.enrolled"]
    assert [(it.decision, it.actor) for it in records] == [
        ("allowed", "agent/prod"),
        ("denied", "agent/prod"),
    ]
    assert {it.address for it in records} == {"127.0.0.1"}
    assert token not in str(records)


async def test_of_two_agents_with_one_token_one_succeeds(world: World) -> None:
    token = await world.token(await world.agent())

    async def attempt() -> bool:
        try:
            await enrol(world.service.url, token, Keys())
        except RefusedError:
            return False
        return True

    async with asyncio.TaskGroup() as tasks:
        attempts = [tasks.create_task(attempt(), name=f"attempt {n}") for n in range(4)]
    assert sum(it.result() for it in attempts) == 1
    assert len(await world.rows(agent_keys)) == 1


async def test_an_expired_token_is_refused(world: World) -> None:
    token = await world.token(await world.agent(), seconds=-1)
    with pytest.raises(RefusedError) as refused:
        await enrol(world.service.url, token, Keys())
    assert refused.value.rule == "token"


async def test_a_newer_token_replaces_an_older_one(world: World) -> None:
    agent_id = await world.agent()
    older, newer = await world.token(agent_id), await world.token(agent_id)
    with pytest.raises(RefusedError):
        await enrol(world.service.url, older, Keys())
    await enrol(world.service.url, newer, Keys())


async def test_a_wrong_proof_burns_nothing(world: World) -> None:
    token = await world.token(await world.agent())
    with pytest.raises(RefusedError) as refused:
        await enrol(world.service.url, token, Thief())
    assert refused.value.rule == "proof"
    await enrol(world.service.url, token, Keys())


async def test_a_token_for_one_cluster_does_not_serve_another(world: World) -> None:
    token = await world.token(await world.agent(), cluster="cluster-2")
    with pytest.raises(RefusedError) as refused:
        await enrol(world.service.url, token, Keys(), cluster="cluster-1")
    assert refused.value.rule == "cluster"
    await enrol(world.service.url, token, Keys(), cluster="cluster-2")


async def test_no_token_is_kept(world: World) -> None:
    token = await world.token(await world.agent())
    assert token not in str(await world.rows(enrolment_tokens))


async def test_a_nonce_serves_one_session(world: World) -> None:
    identity = await world.enrolled()
    nonce = await challenge(identity)
    ask = _ask(identity, nonce)
    await post(identity.url, "session", ask, Session)
    with pytest.raises(RefusedError) as refused:
        await post(identity.url, "session", ask, Session)
    assert refused.value.status == 401


async def test_a_signature_for_another_purpose_is_refused(world: World) -> None:
    identity = await world.enrolled()
    nonce = await challenge(identity)
    ask = _ask(identity, nonce, purpose="enrol")
    with pytest.raises(RefusedError):
        await post(identity.url, "session", ask, Session)


async def test_an_unknown_agent_gets_a_nonce_like_any_other(world: World) -> None:
    identity = await world.enrolled()
    assert len(await challenge(replace(identity, agent="nobody"))) > 20


async def test_both_keys_work_until_the_next_one_is_used(world: World) -> None:
    identity, following = await world.enrolled(), Keys()
    session = await open_session(identity, following.public)
    await open_session(identity)
    rotated = replace(identity, keys=following, key_id=session.key_id)
    await open_session(rotated)
    with pytest.raises(RefusedError):
        await open_session(identity)


async def test_a_session_that_is_over_opens_nothing(database_url: str) -> None:
    async with open_service(settings(database_url, session_seconds=0.001)) as service:
        identity = await World(service).enrolled()
        session = await open_session(identity)
        with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
            async with connect(identity, session):
                pass
    assert refused.value.status == 401


async def test_a_connection_ends_with_its_session_and_may_come_back(database_url: str) -> None:
    async with open_service(settings(database_url, session_seconds=1)) as service:
        identity = await World(service).enrolled()
        async with connect(identity) as link:
            await link.hello(identity, "e")
            ended = await link.until(Fenced)
    assert "session" in ended.reason
    assert ended.retry_after > 0


async def test_a_renewed_session_is_told_to_the_link(database_url: str) -> None:
    async with open_service(settings(database_url, session_seconds=8, beat_seconds=1)) as service:
        world = World(service)
        identity = await world.enrolled()
        async with connect(identity) as link:
            began = await link.hello(identity, "e")
            ended = began.server_time
            while ended < began.server_time + 9:
                await open_session(identity)
                await link.send(Beat(sent_at=1.0, echo=1.0))
                ended = (await link.until(Beat)).sent_at


async def test_a_body_that_cannot_be_read_is_refused_with_a_reason(world: World) -> None:
    with pytest.raises(RefusedError) as refused:
        await post(world.service.url, "enrol", {"token": 7}, Session)
    assert (refused.value.status, refused.value.rule) == (400, "body")


class Thief(Keys):
    """Sends a key that is not the one it signs with."""

    @property
    def public(self) -> str:
        return Keys().public


def _ask(identity: Identity, nonce: str, purpose: str = "session") -> SessionRequest:
    return SessionRequest(
        account=identity.account,
        agent=identity.agent,
        key_id=identity.key_id,
        nonce=nonce,
        signature=identity.keys.sign(purpose, nonce),
    )
