"""Enrolment: a one-time token becomes a public key that this agent is known by.

The token is burnt in the transaction that stores the key, so two agents with one token cannot both
succeed. Who has lost the answer asks again: the same key with the same token is told the same, for
as long as the token lives. The signature is checked before the database is asked: an unknown token
takes as long as a known one. Keys of an earlier enrolment are retired. Tokens and keys are bound by
a key outside the database: who writes a row of his own there enrols nothing.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import structlog
from msgspec.structs import asdict
from sqlalchemy import insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from bus.identity import new_id
from bus.link import Enrol, Enrolled, proof
from service.audit import audit_book
from service.audit.audit_record import AuditEntry, AuditSource
from service.gateway.agent_key_rows import retire_keys
from service.gateway.agent_status import AgentStatus
from service.gateway.proofs import is_key, signed, token_hash
from service.gateway.refusals import LinkRequestRefusedError
from service.keys.key_file import KeyFile
from service.store.changes import note
from service.store.database import keys_of
from service.store.link_signals import LinkSignal, signal_link
from service.store.protected_columns import UNBOUND, BoundTokenRow, bound, is_bound
from service.store.rows import find_row
from service.store.tables import accounts, agent_keys, agents, enrolment_tokens

log = structlog.get_logger()

_TOKEN_PREFIX = "ge_"  # noqa: S105  how a lost token is recognised, not a token
_REMEDY = "Make a new token for this agent and start it with that."
_UID_LENGTH = 64
_VERSION_LENGTH = 64


class EnrolmentRow(BoundTokenRow, frozen=True, kw_only=True):
    """An enrolment token with its agent and account."""

    used_at: datetime | None
    used_by: str
    account_id: str
    agent_name: str
    account_name: str


async def new_token(
    connection: AsyncConnection, agent_id: str, expires_at: datetime, cluster_uid: str = ""
) -> str:
    """Shown once; only its hash is kept. Tokens made before for this agent stop working.

    Raises LookupError where the engine of `connection` was opened without keys.
    """
    keys = keys_of(connection)
    if keys is None:
        raise LookupError("no enrolment token without the key file: open_engine(keys=...)")
    token = _TOKEN_PREFIX + secrets.token_urlsafe(32)
    older = update(enrolment_tokens).where(
        enrolment_tokens.c.agent_id == agent_id, enrolment_tokens.c.used_at.is_(None)
    )
    await connection.execute(older.values(used_at=expires_at - timedelta(days=1), **UNBOUND))
    row = {
        "id": new_id(),
        "agent_id": agent_id,
        "hash": token_hash(token),
        "cluster_uid": cluster_uid,
        "expires_at": expires_at,
    }
    await connection.execute(
        insert(enrolment_tokens).values(bound(keys.ring, enrolment_tokens, row))
    )
    return token


@dataclass(frozen=True, slots=True, kw_only=True)
class Enrolment:
    engine: AsyncEngine
    keys: KeyFile
    clock: Callable[[], datetime]

    async def __call__(self, ask: Enrol, address: str = "") -> Enrolled:
        """Enrol the agent; raises LinkRequestRefusedError, and only the audit was changed then."""
        _check_proof(ask)
        async with self.engine.begin() as connection:
            found = await _find(connection, ask)
            key_id = await _stored_key(connection, found, ask, self.clock())
            problem = None if key_id else self._problem(found, ask)
            if problem is None:
                key_id = key_id or await self._store(connection, found, ask, address)
            else:
                await self._record(connection, found, address, problem)
        if problem is not None:
            raise problem
        log.info("agent enrolled", agent=found.agent_name, key=key_id)
        return Enrolled(account=found.account_name, agent=found.agent_name, key_id=key_id)

    async def _store(
        self, connection: AsyncConnection, found: EnrolmentRow, ask: Enrol, address: str
    ) -> str:
        now, agent_id, key_id = self.clock(), found.agent_id, new_id()
        token = update(enrolment_tokens).where(enrolment_tokens.c.id == found.id)
        await connection.execute(token.values(used_at=now, used_by=ask.public_key, **UNBOUND))
        await retire_keys(connection, agent_id, now)
        key = {
            "id": key_id,
            "agent_id": agent_id,
            "public_key": ask.public_key,
            "sealing_key": ask.sealing_key,
        }
        row = bound(self.keys.ring, agent_keys, key)
        await connection.execute(insert(agent_keys).values(row))
        values = {
            "state": "enrolled",
            "cluster_uid": ask.cluster_uid[:_UID_LENGTH],
            "agent_version": ask.version[:_VERSION_LENGTH],
        }
        await connection.execute(update(agents).where(agents.c.id == agent_id).values(values))
        await self._record(connection, found, address)
        body = {"state": "enrolled"}
        name = found.agent_name
        await note(connection, found.account_id, "agent.changed", name, "", agent_id, body)
        return key_id

    def _problem(self, found: EnrolmentRow, ask: Enrol) -> LinkRequestRefusedError | None:
        """Why this token does not serve this agent."""
        if found.used_at is not None or found.expires_at <= self.clock():
            return _unusable()
        if found.cluster_uid and found.cluster_uid != ask.cluster_uid:
            detail = "The token was made for another cluster."
            return LinkRequestRefusedError(403, "cluster", detail, _REMEDY)
        if not is_bound(self.keys.ring, enrolment_tokens, asdict(found)):
            log.error(
                "enrolment token refused: the service did not write it",
                agent=found.agent_name,
                token=found.id,
                remedy="find out who writes to the database; make a new token for the agent",
            )
            detail = "The service did not make this token, or made it with a key that is retired."
            return LinkRequestRefusedError(403, "unbound", detail, _REMEDY)
        return None

    async def _record(
        self,
        connection: AsyncConnection,
        found: EnrolmentRow,
        address: str,
        problem: LinkRequestRefusedError | None = None,
    ) -> None:
        entry = AuditEntry(
            account=found.account_id,
            id=new_id(),
            time=self.clock(),
            actor=f"agent/{found.agent_name}",
            address=address[:64],
            action="agent.enrolled",
            resource=f"agent/{found.agent_name}",
            decision="denied" if problem else "allowed",
            outcome="refused" if problem else "done",
            source=AuditSource.AGENT,
            detail={"rule": problem.rule} if problem else {},
        )
        await audit_book.record(connection, entry)


async def revoke(connection: AsyncConnection, agent_id: str, now: datetime) -> None:
    """End the agent's keys, tokens and live link; a new token enrols it again."""
    mine = enrolment_tokens.c.agent_id == agent_id
    await connection.execute(update(enrolment_tokens).where(mine).values(used_at=now, **UNBOUND))
    await retire_keys(connection, agent_id, now)
    ended = {"state": "revoked", "connected": False, "status": AgentStatus.REVOKED}
    query = update(agents).where(agents.c.id == agent_id).values(ended)
    columns = (agents.c.account_id, agents.c.name)
    row = (await connection.execute(query.returning(*columns))).one()
    await signal_link(connection, LinkSignal(agent_id=agent_id, revoked=True))
    body = {"state": "revoked", "status": AgentStatus.REVOKED}
    await note(connection, row.account_id, "agent.changed", row.name, "", agent_id, body)


def _check_proof(ask: Enrol) -> None:
    possessed = signed(ask.public_key, ask.proof, proof("enrol", ask.token))
    if not possessed or not is_key(ask.sealing_key):
        detail = "The proof is not a signature over the token by the given key."
        remedy = "Sign with the Ed25519 key that is sent, raw and base64."
        raise LinkRequestRefusedError(403, "proof", detail, remedy)


async def _find(connection: AsyncConnection, ask: Enrol) -> EnrolmentRow:
    """Read and lock the token with its agent; raises LinkRequestRefusedError."""
    digest = token_hash(ask.token)
    row = await find_row(connection, _token_query(digest), EnrolmentRow)
    if not hmac.compare_digest(digest, row.hash if row is not None else "0" * 64) or row is None:
        raise _unusable()
    return row


async def _stored_key(
    connection: AsyncConnection, found: EnrolmentRow, ask: Enrol, now: datetime
) -> str:
    """Read the id of the key that this token stored before; empty: it stored none."""
    if found.used_by != ask.public_key or found.expires_at <= now:
        return ""
    query = select(agent_keys.c.id).where(
        agent_keys.c.agent_id == found.agent_id,
        agent_keys.c.public_key == ask.public_key,
        agent_keys.c.retired_at.is_(None),
    )
    return (await connection.execute(query)).scalar_one_or_none() or ""


def _unusable() -> LinkRequestRefusedError:
    detail = "The token is unknown, used already, expired, or older than a revocation."
    return LinkRequestRefusedError(403, "token", detail, _REMEDY)


def _token_query(digest: str) -> Any:
    tokens = enrolment_tokens
    joined = tokens.join(agents, agents.c.id == tokens.c.agent_id).join(
        accounts, accounts.c.id == agents.c.account_id
    )
    return (
        select(
            tokens.c.id,
            tokens.c.hash,
            tokens.c.cluster_uid,
            tokens.c.expires_at,
            tokens.c.used_at,
            tokens.c.used_by,
            tokens.c.agent_id,
            tokens.c.key_id,
            tokens.c.mac,
            agents.c.account_id,
            agents.c.name.label("agent_name"),
            accounts.c.name.label("account_name"),
        )
        .select_from(joined)
        .where(tokens.c.hash == digest)
        .with_for_update(of=tokens)
    )
