"""Sessions of enrolled agents: one signed nonce opens a session, another each connection.

A nonce is used once, and so is a session's token, which holds the nonce of one connection. An agent
that speaks protocol 2 has to sign that nonce when it connects; from an older agent the token is
enough, which nothing in the database can make. Keys rotate here (agent_key_rows.py). A key in the
database that the service did not write opens nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

import msgspec
import structlog
from msgspec.structs import asdict
from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from bus.identity import new_id
from bus.link import PROVEN, AgentSession, Challenge, SessionRequest, connection_proof, proof
from service.audit import audit_book
from service.audit.audit_record import AuditEntry, AuditSource
from service.audit.denials import DenialRecorder
from service.gateway.agent_key_rows import (
    LinkAgentRow,
    LinkKeyRow,
    agent_row,
    locked_key,
    rotate_key,
)
from service.gateway.proofs import (
    NONCE_SECONDS,
    burn_nonce,
    forget_expired_nonces,
    issue_ticket,
    new_nonce,
    read_ticket,
    signed,
    store_nonce,
    take_nonce,
)
from service.gateway.refusals import SESSION_REMEDY, LinkRequestRefusedError
from service.keys.key_file import KeyFile
from service.store.link_signals import LinkSignal, signal_link
from service.store.protected_columns import BoundKeyRow, is_bound
from service.store.rows import find_row
from service.store.tables import accounts, agent_keys, agents

log = structlog.get_logger()

_AUDIENCE = "gitops-house link"


class SessionChallengeRequest(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    agent: str
    account: str = ""
    """Empty: the service's own account."""


class SessionHolder(msgspec.Struct, frozen=True, kw_only=True):
    """Who holds a session."""

    account_id: str
    account: str
    agent_id: str
    agent: str
    expires_at: float


class ProofKeyRow(BoundKeyRow, frozen=True, kw_only=True):
    retired_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentSessions:
    engine: AsyncEngine
    keys: KeyFile
    clock: Callable[[], datetime]
    denials: DenialRecorder
    lifetime: float
    """Seconds."""
    account: str

    async def challenge(self, ask: SessionChallengeRequest) -> Challenge:
        """Make a nonce; one for an unknown agent is as good as any, so the answer tells nothing."""
        now, nonce = self.clock(), new_nonce()
        async with self.engine.begin() as connection:
            await forget_expired_nonces(connection, now)
            agent_id = await self._agent_id(connection, ask)
            if agent_id is not None:
                await store_nonce(connection, agent_id, nonce, now)
        return Challenge(nonce=nonce, expires_at=now.timestamp() + NONCE_SECONDS)

    async def open(self, ask: SessionRequest) -> AgentSession:
        """Open a session; raises LinkRequestRefusedError, mostly without saying which reason."""
        try:
            return await self._opened(ask)
        except UnboundKeyError as error:
            await self._record(error.key)
            raise

    async def _opened(self, ask: SessionRequest) -> AgentSession:
        expires_at = self.clock() + timedelta(seconds=self.lifetime)
        async with self.engine.begin() as connection:
            key = await self._proven(connection, ask)
            key_id = await rotate_key(
                connection, self.keys.ring, key, ask.next_public_key, self.clock()
            )
            renewed = LinkSignal(agent_id=key.agent_id, extend=expires_at.timestamp())
            await signal_link(connection, renewed)
            nonce = new_nonce()
            await store_nonce(connection, key.agent_id, nonce, self.clock())
        claims = {
            "aud": _AUDIENCE,
            "sub": key.agent_id,
            "exp": expires_at.timestamp(),
            "jti": nonce,
            "proven": ask.protocol >= PROVEN,
        }
        return AgentSession(
            token=issue_ticket(self.keys.ring, claims),
            expires_at=expires_at.timestamp(),
            seconds=self.lifetime,
            key_id=key_id,
            nonce=nonce,
        )

    async def caller(self, token: str, shown_proof: str = "") -> SessionHolder | None:
        """Read who opens a connection with `token` and `shown_proof`; None where nobody may.

        The token is used up by it, so that what was overheard opens nothing.
        """
        claims = read_ticket(self.keys.ring, token)
        now = self.clock().timestamp()
        if not claims or claims.get("aud") != _AUDIENCE or float(claims.get("exp", 0)) <= now:
            return None
        nonce = str(claims.get("jti"))
        async with self.engine.begin() as connection:
            row = await agent_row(connection, agents.c.id == str(claims.get("sub")))
            if row is None or row.state != "enrolled":
                return None
            if claims.get("proven") and not await self._is_proof(
                connection, row, nonce, shown_proof
            ):
                return None
            if not await burn_nonce(connection, row.id, nonce, self.clock()):
                return None
        return SessionHolder(
            account_id=row.account_id,
            account=row.account,
            agent_id=row.id,
            agent=row.name,
            expires_at=float(claims["exp"]),
        )

    async def _is_proof(
        self, connection: AsyncConnection, agent: LinkAgentRow, nonce: str, shown_proof: str
    ) -> bool:
        """`shown_proof`: key id and signature, of a key of this agent that is not retired."""
        key_id, _, signature = shown_proof.partition(" ")
        query = select(agent_keys).where(
            agent_keys.c.id == key_id[:36], agent_keys.c.agent_id == agent.id
        )
        key = await find_row(connection, query, ProofKeyRow)
        if key is None or (key.retired_at is not None and key.retired_at <= self.clock()):
            return False
        if not is_bound(self.keys.ring, agent_keys, asdict(key)):
            return False
        message = connection_proof(agent.account, agent.name, key_id, nonce)
        return signed(key.public_key, signature, message)

    async def _agent_id(
        self, connection: AsyncConnection, ask: SessionChallengeRequest
    ) -> str | None:
        named = (agents.c.name == ask.agent) & (accounts.c.name == (ask.account or self.account))
        row = await agent_row(connection, named)
        return None if row is None else row.id

    async def _proven(self, connection: AsyncConnection, ask: SessionRequest) -> LinkKeyRow:
        """Read the key whose signature over the nonce is valid; a nonce serves one session."""
        nonce = await take_nonce(connection, ask.nonce)
        key = await locked_key(connection, ask.key_id)
        public_key = key.public_key if key is not None else "A" * 43 + "="
        proven = signed(public_key, ask.signature, proof("session", ask.nonce))
        if key is not None and proven and key.state == "revoked":
            raise _refused("revoked", "This agent was revoked.")
        fresh = nonce is not None and nonce.expires_at > self.clock()
        if key is None or not proven or not fresh or nonce is None:
            raise _refused("proof", "The key is not known, or the signature or nonce is not valid.")
        known = (nonce.agent_id, ask.agent, ask.account)
        retired = key.retired_at is not None and key.retired_at <= self.clock()
        if known != (key.agent_id, key.agent, key.account) or retired:
            raise _refused("proof", "The key is not known, or the signature or nonce is not valid.")
        if not is_bound(self.keys.ring, agent_keys, asdict(key)):
            raise UnboundKeyError(key)
        return key

    async def _record(self, key: LinkKeyRow) -> None:
        """Say in log and audit that a key was refused which somebody else put there."""
        log.error(
            "link refused: the service did not write this agent's key",
            agent=key.agent,
            key=key.id,
            remedy="gitops service bind-agents after an upgrade; otherwise find out who writes to"
            " the database, revoke the agent and enrol it again",
        )
        entry = AuditEntry(
            account=key.account_id,
            id=new_id(),
            time=self.clock(),
            actor=f"agent/{key.agent}",
            action="agent.link",
            resource=f"agent/{key.agent}",
            decision="denied",
            outcome="refused",
            source=AuditSource.AGENT,
            detail={"rule": "unbound", "key": key.id},
        )
        noted = self.denials.note(entry, "unbound")
        if noted is not None:
            async with self.engine.begin() as connection:
                await audit_book.record(connection, noted)


class UnboundKeyError(LinkRequestRefusedError):
    """The agent holds a key whose row in the database is not the service's own."""

    def __init__(self, key: LinkKeyRow) -> None:
        detail = "The service did not write this agent's key into its database."
        remedy = "Ask the service's operator to look at its log: gitops service bind-agents."
        super().__init__(401, "unbound", detail, remedy)
        self.key = key


def _refused(rule: str, detail: str) -> LinkRequestRefusedError:
    return LinkRequestRefusedError(401, rule, detail, SESSION_REMEDY)
