"""What opens a link: a session token that one of our keys signed, for this purpose, in its time."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Callable

import aiohttp
import pytest
from joserfc import jwt
from joserfc.jwk import OctKey

from service.app import now
from service.gateway.keys import SigningKeys
from tests.service.client import Identity, Outbox, application, connect, open_session
from tests.service.world import World

Forge = Callable[[str], str]


def another_agent(token: str) -> str:
    """The claims are exchanged, the signature stays."""
    head, claims, signature = token.split(".")
    said = json.loads(base64.urlsafe_b64decode(claims + "=="))
    return f"{head}.{_part({**said, 'sub': 'another'})}.{signature}"


def longer(token: str) -> str:
    head, claims, signature = token.split(".")
    said = json.loads(base64.urlsafe_b64decode(claims + "=="))
    return f"{head}.{_part({**said, 'exp': said['exp'] + 9000})}.{signature}"


def unsigned(token: str) -> str:
    return f"{_part({'alg': 'none'})}.{token.split('.')[1]}."


def strangers_key(token: str) -> str:
    claims = json.loads(base64.urlsafe_b64decode(token.split(".")[1] + "=="))
    return jwt.encode({"alg": "HS256"}, claims, OctKey.import_key("s" * 32))


def cut(token: str) -> str:
    return token[:-4]


def nothing(_token: str) -> str:
    return "nothing"


FORGERS = (another_agent, longer, unsigned, strangers_key, cut, nothing)


@pytest.mark.parametrize("forge", FORGERS, ids=lambda forge: forge.__name__)
async def test_a_token_that_we_did_not_sign_opens_nothing(world: World, forge: Forge) -> None:
    identity, outbox = await world.enrolled(), Outbox()
    token = (await open_session(identity)).token
    async with connect(identity, token) as link:
        await link.hello(identity, outbox.epoch)
        assert await refused(identity, forge(token)) == 401
        assert (await link.put([outbox.state(application("shop"))])).through == 1


async def test_a_token_that_we_signed_for_something_else_opens_nothing(world: World) -> None:
    identity = await world.enrolled()
    claims = json.loads(
        base64.urlsafe_b64decode((await open_session(identity)).token.split(".")[1] + "==")
    )
    keys = SigningKeys(engine=world.service.parts.engine, clock=now)
    elsewhere = await keys.sign({**claims, "aud": "somewhere else"})
    over = await keys.sign({**claims, "exp": int(time.time()) - 1})
    assert [await refused(identity, token) for token in (elsewhere, over)] == [401, 401]


async def refused(identity: Identity, token: str) -> int:
    with pytest.raises(aiohttp.WSServerHandshakeError) as refusal:
        async with connect(identity, token):
            pass
    return refusal.value.status


def _part(said: dict[str, object]) -> str:
    return base64.urlsafe_b64encode(json.dumps(said).encode()).decode().rstrip("=")
