"""Authorization is the part of a nats-server's configuration that lists logins and permissions.

A login is an nkey: the server's file holds public keys and permissions only, and the seed that
proves a login stays with its user.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec
import nkeys
from nacl.signing import SigningKey

from bus.logins import AGENTS_ACCOUNT, BusLogin, account_of, permissions, shared
from bus.subjects import AgentScope


class User(msgspec.Struct, frozen=True, kw_only=True):
    """One login of one agent, by its public key."""

    scope: AgentScope
    login: BusLogin
    public_key: str


def new_seed() -> str:
    """Make the secret that proves a login."""
    encoded = nkeys.encode_seed(bytes(SigningKey.generate()), nkeys.PREFIX_BYTE_USER)
    return bytes(encoded).decode()


def new_seeds() -> Mapping[BusLogin, str]:
    return {login: new_seed() for login in BusLogin}


def users_of(scope: AgentScope, seeds: Mapping[BusLogin, str]) -> tuple[User, ...]:
    """Derive the users from their seeds; raises ValueError for a text that is no seed."""
    return tuple(
        User(scope=scope, login=login, public_key=_public_key(seed))
        for login, seed in seeds.items()
    )


def authorization(users: Iterable[User]) -> str:
    """Write the accounts for nats.conf; only these users can connect."""
    listed = tuple(users)
    scopes = [one.scope for one in listed if one.login is BusLogin.SUBSCRIBER]
    readers = {account_of(scope, BusLogin.SUBSCRIBER): _readers(scope, listed) for scope in scopes}
    accounts = {AGENTS_ACCOUNT: _agents(scopes, listed), **readers}
    text = msgspec.json.format(msgspec.json.encode(accounts), indent=2).decode()
    return f"accounts: {text}\n"


def _agents(scopes: Iterable[AgentScope], users: Iterable[User]) -> dict[str, object]:
    """Describe the account that holds the streams; it exports facts to subscribers only."""
    exports: list[dict[str, object]] = []
    for scope in scopes:
        exported, to = shared(scope), [account_of(scope, BusLogin.SUBSCRIBER)]
        exports.append({"stream": exported.facts, "accounts": to})
        exports.append({"service": exported.reads, "response_type": "Stream", "accounts": to})
    own = [_user(one) for one in users if one.login is not BusLogin.SUBSCRIBER]
    return {"jetstream": "enabled", "users": own, "exports": exports}


def _readers(scope: AgentScope, users: Iterable[User]) -> dict[str, object]:
    exported = shared(scope)
    imports = [
        {"stream": {"account": AGENTS_ACCOUNT, "subject": exported.facts}},
        {"service": {"account": AGENTS_ACCOUNT, "subject": exported.reads}},
    ]
    mine = [one for one in users if (one.scope, one.login) == (scope, BusLogin.SUBSCRIBER)]
    return {"users": [_user(one) for one in mine], "imports": imports}


def _user(user: User) -> dict[str, object]:
    granted = permissions(user.scope, user.login)
    return {
        "nkey": user.public_key,
        "permissions": {
            "publish": {"allow": granted.publish},
            "subscribe": {"allow": granted.subscribe},
        },
    }


def _public_key(seed: str) -> str:
    try:
        pair = nkeys.from_seed(bytearray(seed.encode()))
        return bytes(pair.public_key).decode()
    except nkeys.NkeysError as error:
        raise ValueError("a text that is no nkey seed") from error
