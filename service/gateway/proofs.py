"""Proofs of an agent: signatures with its key, nonces that count once, tickets of connections.

An agent signs with its own key what the service gave. Keys and signatures are Ed25519, raw and
base64 on the wire; what cannot be read is a wrong proof, not an error of its own.

A nonce is stored for a minute, and deleted by the statement that reads it: of two requests with one
nonce only one finds it, on whichever replicas they are. A ticket opens one connection of a session:
a signed list of claims, whose key stands outside the database, so that a ticket cannot be made from
anything that is stored.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import secrets
from datetime import datetime, timedelta
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import OctKey
from sqlalchemy import Row, delete, insert
from sqlalchemy.ext.asyncio import AsyncConnection

from service.keys.key_file import KeyRing
from service.store.tables import challenges

_KEY_BYTES = 32
NONCE_SECONDS = 60.0
_ALGORITHM = "HS256"


def signed(public_key: str, signature: str, message: bytes) -> bool:
    key, proof = raw(public_key), raw(signature)
    if key is None or proof is None or len(key) != _KEY_BYTES:
        return False
    try:
        Ed25519PublicKey.from_public_bytes(key).verify(proof, message)
    except (InvalidSignature, ValueError):
        return False
    return True


def is_key(text: str) -> bool:
    key = raw(text)
    return key is not None and len(key) == _KEY_BYTES


def raw(text: str) -> bytes | None:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None


def token_hash(token: str) -> str:
    """Hash a one-time token for its row."""
    return hashlib.sha256(token.encode()).hexdigest()


def new_nonce() -> str:
    return secrets.token_urlsafe(32)


async def store_nonce(
    connection: AsyncConnection, agent_id: str, nonce: str, now: datetime
) -> None:
    """Store a nonce for one session or connection of the agent, begun within a minute."""
    expires_at = now + timedelta(seconds=NONCE_SECONDS)
    row = {"nonce": nonce, "agent_id": agent_id, "expires_at": expires_at}
    await connection.execute(insert(challenges).values(row))


async def take_nonce(connection: AsyncConnection, nonce: str) -> Row[str, datetime] | None:
    """Use up a nonce: `agent_id` and `expires_at` of it; None where it is unknown or used."""
    used = delete(challenges).where(challenges.c.nonce == nonce)
    columns = (challenges.c.agent_id, challenges.c.expires_at)
    return (await connection.execute(used.returning(*columns))).one_or_none()


async def burn_nonce(connection: AsyncConnection, agent_id: str, nonce: str, now: datetime) -> bool:
    """Use up a nonce of this agent; False where it was used already, or is too old."""
    mine = (challenges.c.nonce == nonce) & (challenges.c.agent_id == agent_id)
    used = delete(challenges).where(mine).returning(challenges.c.expires_at)
    expires_at = (await connection.execute(used)).scalar_one_or_none()
    return expires_at is not None and expires_at > now


async def forget_expired_nonces(connection: AsyncConnection, now: datetime) -> None:
    await connection.execute(delete(challenges).where(challenges.c.expires_at < now))


def issue_ticket(ring: KeyRing, claims: dict[str, Any]) -> str:
    key = ring.current
    head = {"alg": _ALGORITHM, "kid": key.id}
    return jwt.encode(head, claims, OctKey.import_key(key.ticket_key))


def read_ticket(ring: KeyRing, ticket: str) -> dict[str, Any] | None:
    """Read the claims of a ticket that one of our keys signed; their meaning is for the caller."""
    for key in ring.secret:
        try:
            secret = OctKey.import_key(key.ticket_key)
            return jwt.decode(ticket, secret, algorithms=[_ALGORITHM]).claims
        except (JoseError, ValueError):
            continue
    return None
