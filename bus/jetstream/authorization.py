"""Authorization: the part of a nats-server's configuration that says who may log in, and for what.

A login is an nkey: the server's file holds public keys and permissions only, and the seed that
proves a login stays with whoever uses it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec
import nkeys
from nacl.signing import SigningKey

from bus.logins import Login, permissions
from bus.subjects import Scope


class User(msgspec.Struct, frozen=True, kw_only=True):
    """One login of one agent, by its public key."""

    scope: Scope
    login: Login
    public_key: str


def new_seed() -> str:
    """A secret that proves a login."""
    encoded = nkeys.encode_seed(bytes(SigningKey.generate()), nkeys.PREFIX_BYTE_USER)
    return bytes(encoded).decode()


def new_seeds() -> Mapping[Login, str]:
    return {login: new_seed() for login in Login}


def users_of(scope: Scope, seeds: Mapping[Login, str]) -> tuple[User, ...]:
    """Raises ValueError where a seed is none."""
    return tuple(
        User(scope=scope, login=login, public_key=_public_key(seed))
        for login, seed in seeds.items()
    )


def authorization(users: Iterable[User]) -> str:
    """Lines for nats.conf; whoever is not listed cannot connect."""
    listed = {"users": [_user(one) for one in users]}
    text = msgspec.json.format(msgspec.json.encode(listed), indent=2).decode()
    return f"authorization: {text}\n"


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
