"""Credentials of callers: secrets of sessions and API tokens, their end, and the recently valid.

A secret is shown once and kept as a hash. It is 32 random bytes, so a plain sha256 is enough: there
is nothing to guess. Whoever knew an old password may have made tokens with it, so a new password
ends them too.

Recently valid credentials name the rate limit that a request counts against. Requests with any
other credential are counted by address. So guesses at tokens cost the database no more than the
address's rate, and callers who have logged in do not notice them.
"""

from __future__ import annotations

import hashlib
import secrets
from collections import OrderedDict
from dataclasses import dataclass, field
from datetime import datetime

from sqlalchemy import delete, update
from sqlalchemy.ext.asyncio import AsyncConnection

from service.store.tables import api_tokens, sessions

API_TOKEN = "gt_"  # noqa: S105  the prefix, by which scanners find a leaked one
_MOST = 20_000


def new_secret(prefix: str = "") -> str:
    return prefix + secrets.token_urlsafe(32)


def hash_of(secret: str) -> str:
    return hashlib.sha256(secret.encode(errors="replace")).hexdigest()


def same(candidate: str, known: str) -> bool:
    """Compare secrets in constant time."""
    return secrets.compare_digest(candidate.encode(errors="replace"), known.encode())


async def end_all(connection: AsyncConnection, principal: str, now: datetime) -> None:
    """End the sessions and tokens of a principal: after a reset, or when it is disabled."""
    await end_sessions(connection, principal)
    await end_tokens(connection, principal, now)


async def end_sessions(connection: AsyncConnection, principal: str, but: str = "") -> int:
    """End the sessions of a principal, all `but` one; return how many."""
    others = (sessions.c.principal_id == principal) & (sessions.c.id != but)
    return (await connection.execute(delete(sessions).where(others))).rowcount


async def end_tokens(connection: AsyncConnection, principal: str, now: datetime) -> int:
    """End the API tokens of a principal; return how many."""
    open_ones = (api_tokens.c.principal_id == principal) & api_tokens.c.revoked_at.is_(None)
    statement = update(api_tokens).where(open_ones).values(revoked_at=now)
    return (await connection.execute(statement)).rowcount


@dataclass(slots=True)
class KnownCredentials:
    """It proves nothing: the database is still asked, each time."""

    most: int = _MOST
    _principals: OrderedDict[str, str] = field(default_factory=OrderedDict)

    def principal(self, credential: str) -> str | None:
        """Look up the principal that this hash was valid for."""
        return self._principals.get(credential)

    def note(self, credential: str, principal: str) -> None:
        self._principals[credential] = principal
        self._principals.move_to_end(credential)
        if len(self._principals) > self.most:
            self._principals.popitem(last=False)

    def forget(self, credential: str) -> None:
        self._principals.pop(credential, None)
