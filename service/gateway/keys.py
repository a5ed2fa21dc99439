"""The service's own signing keys: they sign the sessions of agents and open nothing else.

Kept in a table of their own, so that every replica accepts what another signed. The newest signs;
an older one is accepted until it is retired: rotation is `rotate`, and `retire` a session's
lifetime later. A stolen one is useless after `retire`.
"""

from __future__ import annotations

import base64
import secrets
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import structlog
from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import OctKey
from sqlalchemy import func, insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from bus.ids import new_id
from service.store.tables import service_keys

log = structlog.get_logger()

_ALGORITHM = "HS256"
_LOCK = 0x67740003


@dataclass(frozen=True, slots=True, kw_only=True)
class SigningKeys:
    engine: AsyncEngine

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

    async def rotate(self) -> str:
        """The id of a new key, which signs from now on."""
        async with self.engine.begin() as connection:
            return (await _make(connection))[0]

    async def retire(self, before: datetime, now: datetime) -> None:
        """Refuse what older keys signed; the newest stays."""
        old = (service_keys.c.created_at < before) & service_keys.c.retired_at.is_(None)
        async with self.engine.begin() as connection:
            newest = (await _newest(connection))[0]
            spare = old & (service_keys.c.id != newest)
            await connection.execute(update(service_keys).where(spare).values(retired_at=now))

    async def _accepted(self) -> list[bytes]:
        query = select(service_keys.c.secret).where(service_keys.c.retired_at.is_(None))
        async with self.engine.connect() as connection:
            rows = (await connection.execute(query.order_by(service_keys.c.id.desc()))).scalars()
        return [base64.b64decode(row) for row in rows]


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
