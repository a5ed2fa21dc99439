"""WitnessedHeads: signed heads of the service's audit log, kept by the agent as a witness.

A service that truncates or rewrites its audit log contradicts the heads kept here, in the Secret
with the agent's keys, which the service cannot reach. The public keys of the first head are
trusted. A later head must be signed by a trusted key, so a new key is introduced by a head that the
old key signed too.
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
    """The trusted public keys and the kept heads, the oldest first."""

    public_keys: tuple[str, ...] = ()
    heads: tuple[AuditHead, ...] = ()


class HeadRefusedError(Exception):
    """The head contradicts a kept head, or no trusted key signed it."""


class WitnessStore(Protocol):
    async def load_witness(self) -> AuditWitness: ...
    async def save_witness(self, witness: AuditWitness) -> None: ...


@dataclass(slots=True, kw_only=True)
class WitnessedHeads:
    store: WitnessStore
    _witness: AuditWitness | None = None
    _last_refusal: str = field(default="")

    async def heads(self) -> tuple[AuditHead, ...]:
        """The kept heads; empty while the cluster does not answer."""
        try:
            return (await self._load()).heads
        except (ApplyRefusedError, ClusterUnreachableError) as error:
            log.info("heads of the audit not read", reason=str(error))
            return ()

    async def keep(self, head: AuditHead) -> tuple[AuditHead, ...]:
        """Keep `head` if it continues the kept heads; returns the kept heads."""
        try:
            before = await self._load()
            after = with_head(before, head)
            if after != before:
                await self.store.save_witness(after)
                self._witness = after
        except HeadRefusedError as error:
            self._refused(str(error), head)
        except (ApplyRefusedError, ClusterUnreachableError) as error:
            log.info("head of the audit not kept", reason=str(error))
        return await self.heads()

    async def _load(self) -> AuditWitness:
        if self._witness is None:
            self._witness = await self.store.load_witness()
        return self._witness

    def _refused(self, reason: str, head: AuditHead) -> None:
        if reason != self._last_refusal:
            log.error(
                "the service's audit contradicts what is kept here",
                reason=reason,
                sequence=head.sequence,
            )
        self._last_refusal = reason


def with_head(kept: AuditWitness, head: AuditHead) -> AuditWitness:
    """Add `head` to the kept heads. Pure; raises HeadRefusedError."""
    verified = tuple(it.public_key for it in head.signatures[:_MOST_KEYS] if _is_signed(it, head))
    if not verified or (kept.public_keys and not set(verified) & set(kept.public_keys)):
        raise HeadRefusedError(
            f"head {head.sequence} is signed with no key of the service that is known here; if its"
            " keys were lost, delete the key `audit` of the Secret gitops-agent-link"
        )
    if kept.heads:
        newest = kept.heads[-1]
        if head.account != newest.account:
            raise HeadRefusedError(f"the heads kept here are of account {newest.account}")
        if head.sequence == newest.sequence and head.hash == newest.hash:
            return msgspec.structs.replace(kept, public_keys=verified)
        if head.sequence <= newest.sequence:
            raise HeadRefusedError(
                f"record {newest.sequence} was signed before, and now the newest is"
                f" {head.sequence} with another hash: the audit was cut or made anew"
            )
    return AuditWitness(public_keys=verified, heads=thinned((*kept.heads, head)))


def thinned(heads: tuple[AuditHead, ...]) -> tuple[AuditHead, ...]:
    """At most KEPT_HEADS heads: the first, the newest, and ever fewer the older they are."""
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
