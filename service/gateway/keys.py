"""The service's own signing keys: they sign the sessions of agents and open nothing else.

Kept in a table of their own and read each time, so that every replica accepts what another signed
and a rotation needs to be told to nobody. The newest signs; an older one is accepted until
`retired_at`, which rotation sets to when the last session that it signed is over, or to now where
it was stolen.
"""

from __future__ import annotations

import base64
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import structlog
from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import OctKey
from sqlalchemy import delete, func, insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from bus.ids import new_id
from service.store.tables import service_keys

log = structlog.get_logger()

_ALGORITHM = "HS256"
_LOCK = 0x67740003


@dataclass(frozen=True, slots=True, kw_only=True)
class SigningKeys:
    engine: AsyncEngine
    clock: Callable[[], datetime]

    async def sign(self, claims: dict[str, Any]) -> str:
        async with self.engine.begin() as connection:
            key_id, secret = await _newest(connection)
        return jwt.encode({"alg": _ALGORITHM, "kid": key_id}, claims, OctKey.import_key(secret))

    async def read(self, token: str) -> dict[str, Any] | None:
        """Claims of a token that one of our keys signed; expiry is the caller's to check."""
        for secret in await self._accepted():
            try:
                return jwt.decode(token, OctKey.import_key(secret), algorithms=[_ALGORITHM]).claims
            except (JoseError, ValueError):
                continue
        return None

    async def _accepted(self) -> list[bytes]:
        retired_at = service_keys.c.retired_at
        accepted = retired_at.is_(None) | (retired_at > self.clock())
        query = select(service_keys.c.secret).where(accepted)
        async with self.engine.connect() as connection:
            rows = (await connection.execute(query.order_by(service_keys.c.id.desc()))).scalars()
        return [base64.b64decode(row) for row in rows]


async def rotate(connection: AsyncConnection, overlap: timedelta, now: datetime) -> str:
    """The id of a new key, which signs from now on; older ones are accepted for so long."""
    await connection.execute(select(func.pg_advisory_xact_lock(_LOCK)))
    await connection.execute(delete(service_keys).where(service_keys.c.retired_at <= now))
    retired_at, until = service_keys.c.retired_at, now + overlap
    later = update(service_keys).where(retired_at.is_(None) | (retired_at > until))
    await connection.execute(later.values(retired_at=until))
    return (await _make(connection))[0]


async def _newest(connection: AsyncConnection) -> tuple[str, bytes]:
    found = await _find(connection)
    if found is None:
        await connection.execute(select(func.pg_advisory_xact_lock(_LOCK)))
        found = await _find(connection) or await _make(connection)
    return found


async def _find(connection: AsyncConnection) -> tuple[str, bytes] | None:
    query = (
        select(service_keys.c.id, service_keys.c.secret)
        .where(service_keys.c.retired_at.is_(None))
        .order_by(service_keys.c.id.desc())
        .limit(1)
    )
    row = (await connection.execute(query)).one_or_none()
    return None if row is None else (row.id, base64.b64decode(row.secret))


async def _make(connection: AsyncConnection) -> tuple[str, bytes]:
    key_id, secret = new_id(), secrets.token_bytes(32)
    kept = base64.b64encode(secret).decode()
    await connection.execute(insert(service_keys).values(id=key_id, secret=kept))
    log.info("signing key made", key=key_id)
    return key_id, secret
