"""Heads of the audit: the newest record of an account, signed by the service, kept by its agents.

An agent keeps a few of them in its own cluster and gives them back. So a service whose database was
cut or rewritten is contradicted by every cluster that it serves, and no key of the service helps
to answer: a head cannot be taken back.
"""

from __future__ import annotations

from bus.link.wire import Frame, WireValue

KEPT_HEADS = 8
"""An agent keeps so many at most."""


class HeadSignature(WireValue, frozen=True, kw_only=True):
    public_key: str
    """Ed25519, raw, base64."""
    signature: str
    """Over `head_statement`, base64."""


class AuditHead(WireValue, frozen=True, kw_only=True):
    account: str
    """The account's id in the service's audit."""
    sequence: int
    hash: str
    signatures: tuple[HeadSignature, ...] = ()
    """One of each key of the service: so an agent that knows the old key comes to know the new."""


class KeepHead(Frame, frozen=True, kw_only=True):
    """The service's newest head: to be kept. Sent since protocol 2."""

    head: AuditHead


class KeptHeads(Frame, frozen=True, kw_only=True):
    """The agent's answer to KeepHead: all that it keeps, the oldest first."""

    heads: tuple[AuditHead, ...]


def head_statement(account: str, sequence: int, hash_: str) -> bytes:
    """What a head's signature is over; the signature of an audit record is the same."""
    return f"gitops service audit\n{account}\n{sequence}\n{hash_}".encode()
