"""What opens a link: a token of ours, once, in its time, and the signature of the agent's key."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import aiohttp
import msgspec
import pytest
from joserfc import jwt
from joserfc.jwk import OctKey

from bus.link import PROOF_HEADER, AgentSession
from service.gateway.proofs import issue_ticket, read_ticket
from service.store import tables
from service.store.tables import challenges
from tests.service.fake_agent import (
    AgentIdentity,
    AgentKeyPair,
    FakeOutbox,
    application,
    connect,
    handshake,
    open_session,
)
from tests.service.service_fixture import RunningService

Forge = Callable[[str], str]


def another_agent(token: str) -> str:
    """The claims are exchanged, the signature stays."""
    head, _, signature = token.split(".")
    return f"{head}.{_part({**claims_of(token), 'sub': 'another'})}.{signature}"


def longer(token: str) -> str:
    head, _, signature = token.split(".")
    claims = claims_of(token)
    return f"{head}.{_part({**claims, 'exp': claims['exp'] + 9000})}.{signature}"


def unsigned(token: str) -> str:
    return f"{_part({'alg': 'none'})}.{token.split('.')[1]}."


def strangers_key(token: str) -> str:
    return jwt.encode({"alg": "HS256"}, claims_of(token), OctKey.import_key("s" * 32))


def cut(token: str) -> str:
    return token[:-4]


def nothing(_token: str) -> str:
    return "nothing"


FORGERS = (another_agent, longer, unsigned, strangers_key, cut, nothing)


@pytest.mark.parametrize("forge", FORGERS, ids=lambda forge: forge.__name__)
async def test_a_token_that_we_did_not_sign_opens_nothing(
    running_service: RunningService, forge: Forge
) -> None:
    identity, outbox = await running_service.enrolled(), FakeOutbox()
    session = await open_session(identity)
    assert await refused(identity, with_token(session, forge(session.token))) == 401
    async with connect(identity, session) as link:
        await link.hello(identity, outbox.epoch)
        assert (await link.put([outbox.state(application("shop"))])).through == 1


async def test_a_token_that_we_signed_for_something_else_opens_nothing(
    running_service: RunningService,
) -> None:
    identity = await running_service.enrolled()
    ring = running_service.service.dependencies.keys.ring
    session = await open_session(identity)
    claims = claims_of(session.token)
    elsewhere = issue_ticket(ring, {**claims, "aud": "somewhere else"})
    over = issue_ticket(ring, {**claims, "exp": int(time.time()) - 1})
    tried = [await refused(identity, with_token(session, it)) for it in (elsewhere, over)]
    assert tried == [401, 401]


async def test_a_captured_handshake_opens_no_second_connection(
    running_service: RunningService,
) -> None:
    identity, outbox = await running_service.enrolled(), FakeOutbox()
    session = await open_session(identity)
    captured = handshake(identity, session)
    async with connect(identity, headers=captured) as link:
        await link.hello(identity, outbox.epoch)
        assert await refused(identity, session, captured) == 401
    assert await refused(identity, session, captured) == 401


async def test_a_token_without_the_agents_signature_opens_nothing(
    running_service: RunningService,
) -> None:
    identity = await running_service.enrolled()
    session = await open_session(identity)
    stranger = msgspec.structs.replace(session, nonce=session.nonce)
    other = AgentIdentity(
        url=identity.url,
        account=identity.account,
        agent=identity.agent,
        key_id=identity.key_id,
        keys=AgentKeyPair(),
    )
    assert await refused(identity, session, {PROOF_HEADER: ""}) == 401
    assert await refused(other, stranger) == 401
    async with connect(identity, session):
        pass


async def test_another_agents_proof_opens_nothing(running_service: RunningService) -> None:
    mine, other = await running_service.enrolled("mine"), await running_service.enrolled("other")
    session = await open_session(mine)
    proof = handshake(other, session)[PROOF_HEADER]
    assert await refused(mine, session, {PROOF_HEADER: proof}) == 401


async def test_an_agent_of_protocol_1_connects_with_a_token_that_serves_once(
    running_service: RunningService,
) -> None:
    identity = await running_service.enrolled()
    session = await open_session(identity, protocol=1)
    async with connect(identity, session, {PROOF_HEADER: ""}) as link:
        await link.hello(identity, "e", protocol=(1, 1))
    assert await refused(identity, session, {PROOF_HEADER: ""}) == 401


async def test_nothing_in_the_database_makes_a_token(running_service: RunningService) -> None:
    """Every text of every table is tried as the key, in clear and out of base64."""
    identity = await running_service.enrolled()
    claims = claims_of((await open_session(identity)).token)
    stored = [text for row in await everything(running_service) for text in row]
    assert any(row.nonce == claims["jti"] for row in await running_service.rows(challenges))
    for secret in {key for text in stored for key in keys_of(text)}:
        forged = jwt.encode({"alg": "HS256"}, claims, OctKey.import_key(secret))
        assert read_ticket(running_service.service.dependencies.keys.ring, forged) is None


async def everything(running_service: RunningService) -> list[tuple[str, ...]]:
    return [
        tuple(str(value) for value in row)
        for table in tables.metadata.sorted_tables
        for row in await running_service.rows(table)
    ]


def keys_of(text: str) -> list[bytes]:
    found = [text.encode()]
    with suppress(ValueError):
        found.append(base64.b64decode(text, validate=True))
    return [key for key in found if len(key) >= 16]


async def refused(
    identity: AgentIdentity, session: AgentSession, headers: dict[str, str] | None = None
) -> int:
    with pytest.raises(aiohttp.WSServerHandshakeError) as refusal:
        async with connect(identity, session, headers):
            pass
    return refusal.value.status


def with_token(session: AgentSession, token: str) -> AgentSession:
    return msgspec.structs.replace(session, token=token)


def claims_of(token: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(base64.urlsafe_b64decode(token.split(".")[1] + "=="))
    return found


def _part(claims: dict[str, object]) -> str:
    return base64.urlsafe_b64encode(json.dumps(claims).encode()).decode().rstrip("=")
