"""Tickets: what a session gives an agent to open one connection with.

A ticket is a signed list of claims. The key that signs it stands outside the database, so a ticket
cannot be made from anything that is stored; its nonce is burnt at its first use.
"""

from __future__ import annotations

from typing import Any

from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import OctKey

from service.keys.key_ring import KeyRing

_ALGORITHM = "HS256"


def issue(ring: KeyRing, claims: dict[str, Any]) -> str:
    key = ring.current
    head = {"alg": _ALGORITHM, "kid": key.id}
    return jwt.encode(head, claims, OctKey.import_key(key.ticket_key))


def read(ring: KeyRing, ticket: str) -> dict[str, Any] | None:
    """The claims of a ticket that one of our keys signed; what they mean is for the caller."""
    for key in ring.secret:
        try:
            secret = OctKey.import_key(key.ticket_key)
            return jwt.decode(ticket, secret, algorithms=[_ALGORITHM]).claims
        except (JoseError, ValueError):
            continue
    return None
