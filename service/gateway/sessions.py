"""Sessions: an enrolled agent signs a nonce, and signs once more for each connection it opens.

A nonce is used once, and so is a session's token: it holds the nonce of one connection. An agent
that speaks protocol 2 has to sign that nonce when it connects; from an older one the token, which
nothing in the database can make, is enough. The key may be rotated on the way: the next one is
accepted beside the old from now on, and alone after its own first use, so an answer that is lost
locks nobody out. A key in the database that the service did not write there opens nothing.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import msgspec
import structlog
from sqlalchemy import Row, delete, insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from bus.ids import new_id
from bus.link import PROVEN, Challenge, Session, SessionRequest, connection_proof, proof
from service.audit import book
from service.audit.denials import Denials
from service.audit.record import Entry, Source
from service.gateway import tickets
from service.gateway.links import Wish, wish
from service.gateway.problems import LinkRefusedError
from service.gateway.proofs import is_key, signed
from service.keys.bound_rows import UNBOUND, bound, is_bound
from service.keys.key_file import KeyFile
from service.store.tables import accounts, agent_keys, agents, challenges

log = structlog.get_logger()

NONCE_SECONDS = 60.0
_AUDIENCE = "gitops-house link"


class ChallengeRequest(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    agent: str
    account: str = ""
    """Empty: the service's own account."""


class Caller(msgspec.Struct, frozen=True, kw_only=True):
    """Who holds a session."""

    account_id: str
    account: str
    agent_id: str
    agent: str
    expires_at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Sessions:
    engine: AsyncEngine
    keys: KeyFile
    clock: Callable[[], datetime]
    denials: Denials
    lifetime: float
    """Seconds."""
    account: str

    async def challenge(self, ask: ChallengeRequest) -> Challenge:
        """Whether there is such an agent is not told: a nonce for nobody is as good as any."""
        now, nonce = self.clock(), secrets.token_urlsafe(32)
        expires_at = now + timedelta(seconds=NONCE_SECONDS)
        async with self.engine.begin() as connection:
            await connection.execute(delete(challenges).where(challenges.c.expires_at < now))
            agent_id = await self._agent_id(connection, ask)
            if agent_id is not None:
                row = {"nonce": nonce, "agent_id": agent_id, "expires_at": expires_at}
                await connection.execute(insert(challenges).values(row))
        return Challenge(nonce=nonce, expires_at=expires_at.timestamp())

    async def open(self, ask: SessionRequest) -> Session:
        """Raises LinkRefusedError, the same for all reasons but a revoked agent, an unbound key."""
        try:
            return await self._opened(ask)
        except UnboundKeyError as error:
            await self._record(error.key)
            raise

    async def _opened(self, ask: SessionRequest) -> Session:
        expires_at = self.clock() + timedelta(seconds=self.lifetime)
        async with self.engine.begin() as connection:
            key = await self._proven(connection, ask)
            key_id = await self._rotate(connection, key, ask.next_public_key)
            renewed = Wish(agent_id=key.agent_id, extend=expires_at.timestamp())
            await wish(connection, renewed)
            nonce = await self._nonce(connection, key.agent_id)
        claims = {
            "aud": _AUDIENCE,
            "sub": key.agent_id,
            "exp": expires_at.timestamp(),
            "jti": nonce,
            "proven": ask.protocol >= PROVEN,
        }
        return Session(
            token=tickets.issue(self.keys.ring, claims),
            expires_at=expires_at.timestamp(),
            seconds=self.lifetime,
            key_id=key_id,
            nonce=nonce,
        )

    async def caller(self, token: str, given: str = "") -> Caller | None:
        """Who opens a connection with `token` and the proof `given`; None where nobody may.

        The token is used up by it, so that what was overheard opens nothing.
        """
        claims = tickets.read(self.keys.ring, token)
        now = self.clock().timestamp()
        if not claims or claims.get("aud") != _AUDIENCE or float(claims.get("exp", 0)) <= now:
            return None
        nonce = str(claims.get("jti"))
        async with self.engine.begin() as connection:
            row = await _agent(connection, agents.c.id == str(claims.get("sub")))
            if row is None or row.state != "enrolled":
                return None
            if claims.get("proven") and not await self._is_proof(connection, row, nonce, given):
                return None
            if not await self._burnt(connection, row.id, nonce):
                return None
        return Caller(
            account_id=row.account_id,
            account=row.account,
            agent_id=row.id,
            agent=row.name,
            expires_at=float(claims["exp"]),
        )

    async def _nonce(self, connection: AsyncConnection, agent_id: str) -> str:
        """Of one connection, to be opened within a minute."""
        nonce = secrets.token_urlsafe(32)
        expires_at = self.clock() + timedelta(seconds=NONCE_SECONDS)
        row = {"nonce": nonce, "agent_id": agent_id, "expires_at": expires_at}
        await connection.execute(insert(challenges).values(row))
        return nonce

    async def _burnt(self, connection: AsyncConnection, agent_id: str, nonce: str) -> bool:
        """False: it was used already, or is too old."""
        mine = (challenges.c.nonce == nonce) & (challenges.c.agent_id == agent_id)
        used = delete(challenges).where(mine).returning(challenges.c.expires_at)
        expires_at = (await connection.execute(used)).scalar_one_or_none()
        return expires_at is not None and expires_at > self.clock()

    async def _is_proof(
        self, connection: AsyncConnection, agent: Row[Any], nonce: str, given: str
    ) -> bool:
        """`given`: key id and signature, of a key of this agent that is not retired."""
        key_id, _, signature = given.partition(" ")
        query = select(agent_keys).where(
            agent_keys.c.id == key_id[:36], agent_keys.c.agent_id == agent.id
        )
        key = (await connection.execute(query)).one_or_none()
        if key is None or (key.retired_at is not None and key.retired_at <= self.clock()):
            return False
        if not is_bound(self.keys.ring, agent_keys, key._asdict()):
            return False
        message = connection_proof(agent.account, agent.name, key_id, nonce)
        return signed(key.public_key, signature, message)

    async def _agent_id(self, connection: AsyncConnection, ask: ChallengeRequest) -> str | None:
        wanted = (agents.c.name == ask.agent) & (accounts.c.name == (ask.account or self.account))
        row = await _agent(connection, wanted)
        return None if row is None else str(row.id)

    async def _proven(self, connection: AsyncConnection, ask: SessionRequest) -> Row[Any]:
        """The key's row; a nonce serves one session."""
        used = delete(challenges).where(challenges.c.nonce == ask.nonce)
        columns = (challenges.c.agent_id, challenges.c.expires_at)
        nonce = (await connection.execute(used.returning(*columns))).one_or_none()
        key = (await connection.execute(_key_query(ask.key_id))).one_or_none()
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
        if not is_bound(self.keys.ring, agent_keys, key._asdict()):
            raise UnboundKeyError(key)
        return key

    async def _record(self, key: Row[Any]) -> None:
        """Say in log and audit that a key was refused which somebody else put there."""
        log.error(
            "link refused: the service did not write this agent's key",
            agent=key.agent,
            key=key.id,
            remedy="gitops service bind-agents after an upgrade; otherwise find out who writes to"
            " the database, revoke the agent and enrol it again",
        )
        entry = Entry(
            account=key.account_id,
            id=new_id(),
            time=self.clock(),
            actor=f"agent/{key.agent}",
            action="agent.link",
            resource=f"agent/{key.agent}",
            decision="denied",
            outcome="refused",
            source=Source.AGENT,
            detail={"rule": "unbound", "key": key.id},
        )
        noted = self.denials.note(entry, "unbound")
        if noted is not None:
            async with self.engine.begin() as connection:
                await book.record(connection, noted)

    async def _rotate(self, connection: AsyncConnection, key: Row[Any], following: str) -> str:
        """Retire what this key replaces, and take up its successor; the key to use next."""
        now = self.clock()
        if key.used_at is None:
            older = (agent_keys.c.agent_id == key.agent_id) & (agent_keys.c.id < key.id)
            retired = {"retired_at": now, **UNBOUND}
            await connection.execute(update(agent_keys).where(older).values(retired))
        mine = agent_keys.c.id == key.id
        await connection.execute(update(agent_keys).where(mine).values(used_at=now))
        if not following:
            return str(key.id)
        if not is_key(following):
            raise LinkRefusedError(400, "next-key", "The next key is not an Ed25519 key.", _REMEDY)
        key_id = new_id()
        made = {
            "id": key_id,
            "agent_id": key.agent_id,
            "public_key": following,
            "sealing_key": key.sealing_key,
        }
        row = bound(self.keys.ring, agent_keys, made)
        await connection.execute(insert(agent_keys).values(row))
        return key_id


_REMEDY = "Ask for a new challenge; if this goes on, enrol the agent again with a new token."


class UnboundKeyError(LinkRefusedError):
    """The agent holds a key whose row in the database is not the service's own."""

    def __init__(self, key: Row[Any]) -> None:
        detail = "The service did not write this agent's key into its database."
        remedy = "Ask the service's operator to look at its log: gitops service bind-agents."
        super().__init__(401, "unbound", detail, remedy)
        self.key = key


def _refused(rule: str, detail: str) -> LinkRefusedError:
    return LinkRefusedError(401, rule, detail, _REMEDY)


async def _agent(connection: AsyncConnection, where: Any) -> Any:
    query = (
        select(
            agents.c.id,
            agents.c.name,
            agents.c.state,
            agents.c.account_id,
            accounts.c.name.label("account"),
        )
        .join(accounts, accounts.c.id == agents.c.account_id)
        .where(where)
    )
    return (await connection.execute(query)).one_or_none()


def _key_query(key_id: str) -> Any:
    return (
        select(
            agent_keys,
            agents.c.state,
            agents.c.account_id,
            agents.c.name.label("agent"),
            accounts.c.name.label("account"),
        )
        .join(agents, agents.c.id == agent_keys.c.agent_id)
        .join(accounts, accounts.c.id == agents.c.account_id)
        .where(agent_keys.c.id == key_id)
        .with_for_update(of=agent_keys)
    )
