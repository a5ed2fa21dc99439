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

from bus.link import PROOF_HEADER, Session
from service.gateway import tickets
from service.store import tables
from service.store.tables import challenges
from tests.service.client import (
    Identity,
    Keys,
    Outbox,
    application,
    connect,
    handshake,
    open_session,
)
from tests.service.world import World

Forge = Callable[[str], str]


def another_agent(token: str) -> str:
    """The claims are exchanged, the signature stays."""
    head, _, signature = token.split(".")
    return f"{head}.{_part({**claims_of(token), 'sub': 'another'})}.{signature}"


def longer(token: str) -> str:
    head, _, signature = token.split(".")
    said = claims_of(token)
    return f"{head}.{_part({**said, 'exp': said['exp'] + 9000})}.{signature}"


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
async def test_a_token_that_we_did_not_sign_opens_nothing(world: World, forge: Forge) -> None:
    identity, outbox = await world.enrolled(), Outbox()
    session = await open_session(identity)
    assert await refused(identity, with_token(session, forge(session.token))) == 401
    async with connect(identity, session) as link:
        await link.hello(identity, outbox.epoch)
        assert (await link.put([outbox.state(application("shop"))])).through == 1


async def test_a_token_that_we_signed_for_something_else_opens_nothing(world: World) -> None:
    identity = await world.enrolled()
    ring = world.service.parts.keys.ring
    session = await open_session(identity)
    claims = claims_of(session.token)
    elsewhere = tickets.issue(ring, {**claims, "aud": "somewhere else"})
    over = tickets.issue(ring, {**claims, "exp": int(time.time()) - 1})
    tried = [await refused(identity, with_token(session, it)) for it in (elsewhere, over)]
    assert tried == [401, 401]


async def test_a_captured_handshake_opens_no_second_connection(world: World) -> None:
    identity, outbox = await world.enrolled(), Outbox()
    session = await open_session(identity)
    captured = handshake(identity, session)
    async with connect(identity, headers=captured) as link:
        await link.hello(identity, outbox.epoch)
        assert await refused(identity, session, captured) == 401
    assert await refused(identity, session, captured) == 401


async def test_a_token_without_the_agents_signature_opens_nothing(world: World) -> None:
    identity = await world.enrolled()
    session = await open_session(identity)
    stranger = msgspec.structs.replace(session, nonce=session.nonce)
    other = Identity(
        url=identity.url,
        account=identity.account,
        agent=identity.agent,
        key_id=identity.key_id,
        keys=Keys(),
    )
    assert await refused(identity, session, {PROOF_HEADER: ""}) == 401
    assert await refused(other, stranger) == 401
    async with connect(identity, session):
        pass


async def test_another_agents_proof_opens_nothing(world: World) -> None:
    mine, other = await world.enrolled("mine"), await world.enrolled("other")
    session = await open_session(mine)
    proof = handshake(other, session)[PROOF_HEADER]
    assert await refused(mine, session, {PROOF_HEADER: proof}) == 401


async def test_an_agent_of_protocol_1_connects_with_a_token_that_serves_once(
    world: World,
) -> None:
    identity = await world.enrolled()
    session = await open_session(identity, protocol=1)
    async with connect(identity, session, {PROOF_HEADER: ""}) as link:
        await link.hello(identity, "e", protocol=(1, 1))
    assert await refused(identity, session, {PROOF_HEADER: ""}) == 401


async def test_nothing_in_the_database_makes_a_token(world: World) -> None:
    """Every text of every table is tried as the key, in clear and out of base64."""
    identity = await world.enrolled()
    claims = claims_of((await open_session(identity)).token)
    stored = [text for row in await everything(world) for text in row]
    assert any(row.nonce == claims["jti"] for row in await world.rows(challenges))
    for secret in {key for text in stored for key in keys_of(text)}:
        forged = jwt.encode({"alg": "HS256"}, claims, OctKey.import_key(secret))
        assert tickets.read(world.service.parts.keys.ring, forged) is None


async def everything(world: World) -> list[tuple[str, ...]]:
    return [
        tuple(str(value) for value in row)
        for table in tables.metadata.sorted_tables
        for row in await world.rows(table)
    ]


def keys_of(text: str) -> list[bytes]:
    found = [text.encode()]
    with suppress(ValueError):
        found.append(base64.b64decode(text, validate=True))
    return [key for key in found if len(key) >= 16]


async def refused(
    identity: Identity, session: Session, headers: dict[str, str] | None = None
) -> int:
    with pytest.raises(aiohttp.WSServerHandshakeError) as refusal:
        async with connect(identity, session, headers):
            pass
    return refusal.value.status


def with_token(session: Session, token: str) -> Session:
    return msgspec.structs.replace(session, token=token)


def claims_of(token: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(base64.urlsafe_b64decode(token.split(".")[1] + "=="))
    return found


def _part(said: dict[str, object]) -> str:
    return base64.urlsafe_b64encode(json.dumps(said).encode()).decode().rstrip("=")
