"""Heads of the service's audit, as this agent keeps them: what was once signed cannot be unsaid.

Few are kept, they only grow, and they stand in the Secret with our keys: a service whose audit is
cut or made anew cannot reach them. The service's public keys are those of the first head; a head
that none of them signed is not taken, so a new key is known by a head that the old one signed too.
"""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass, field
from typing import Protocol

import msgspec
import structlog
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from bus.link import KEPT_HEADS, AuditHead, HeadSignature, head_statement
from handlers.ports import ApplyRefusedError, ClusterUnreachableError

log = structlog.get_logger()

_MOST_KEYS = 8


class AuditWitness(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What is kept: the keys that are believed, and the heads, the oldest first."""

    public_keys: tuple[str, ...] = ()
    heads: tuple[AuditHead, ...] = ()


class HeadRefusedError(Exception):
    """A head that contradicts what is kept, or that nobody signed whom we know."""


class HeadStore(Protocol):
    async def load_witness(self) -> AuditWitness: ...
    async def save_witness(self, witness: AuditWitness) -> None: ...


@dataclass(slots=True, kw_only=True)
class HeadBook:
    store: HeadStore
    _witness: AuditWitness | None = None
    _said: str = field(default="")

    async def heads(self) -> tuple[AuditHead, ...]:
        """All that are kept; none where the cluster cannot be asked just now."""
        try:
            return (await self._kept()).heads
        except (ApplyRefusedError, ClusterUnreachableError) as error:
            log.info("heads of the audit not read", reason=str(error))
            return ()

    async def keep(self, head: AuditHead) -> tuple[AuditHead, ...]:
        """All that are kept, with `head` where it continues them."""
        try:
            before = await self._kept()
            after = with_head(before, head)
            if after != before:
                await self.store.save_witness(after)
                self._witness = after
        except HeadRefusedError as error:
            self._refused(str(error), head)
        except (ApplyRefusedError, ClusterUnreachableError) as error:
            log.info("head of the audit not kept", reason=str(error))
        return await self.heads()

    async def _kept(self) -> AuditWitness:
        if self._witness is None:
            self._witness = await self.store.load_witness()
        return self._witness

    def _refused(self, reason: str, head: AuditHead) -> None:
        if reason != self._said:
            log.error(
                "the service's audit contradicts what is kept here",
                reason=reason,
                sequence=head.sequence,
            )
        self._said = reason


def with_head(kept: AuditWitness, head: AuditHead) -> AuditWitness:
    """Pure. Raises HeadRefusedError."""
    proven = tuple(it.public_key for it in head.signatures[:_MOST_KEYS] if _is_signed(it, head))
    if not proven or (kept.public_keys and not set(proven) & set(kept.public_keys)):
        raise HeadRefusedError(
            f"head {head.sequence} is signed with no key of the service that is known here; if its"
            " keys were lost, delete the key `audit` of the Secret gitops-agent-link"
        )
    if kept.heads:
        newest = kept.heads[-1]
        if head.account != newest.account:
            raise HeadRefusedError(f"the heads kept here are of account {newest.account}")
        if head.sequence == newest.sequence and head.hash == newest.hash:
            return msgspec.structs.replace(kept, public_keys=proven)
        if head.sequence <= newest.sequence:
            raise HeadRefusedError(
                f"record {newest.sequence} was signed before, and now the newest is"
                f" {head.sequence} with another hash: the audit was cut or made anew"
            )
    return AuditWitness(public_keys=proven, heads=thinned((*kept.heads, head)))


def thinned(heads: tuple[AuditHead, ...]) -> tuple[AuditHead, ...]:
    """At most KEPT_HEADS: the first and the newest stay, between them the older are the sparser."""
    while len(heads) > KEPT_HEADS:
        newest = heads[-1].sequence
        drop = min(
            range(1, len(heads) - 1),
            key=lambda at: (
                (heads[at + 1].sequence - heads[at - 1].sequence)
                / (newest - heads[at - 1].sequence)
            ),
        )
        heads = heads[:drop] + heads[drop + 1 :]
    return heads


def _is_signed(one: HeadSignature, head: AuditHead) -> bool:
    message = head_statement(head.account, head.sequence, head.hash)
    try:
        key = Ed25519PublicKey.from_public_bytes(base64.b64decode(one.public_key, validate=True))
        key.verify(base64.b64decode(one.signature, validate=True), message)
    except (InvalidSignature, ValueError, binascii.Error):
        return False
    return True
