"""Enroller: registers the agent's key with a one-time token, and opens sessions with that key.

The keys are stored before the token is sent, and the service's answer is stored before it is used:
a crash in between repeats a step and loses nothing. An old key is replaced when a session is
opened; it stays valid until the new key has been used.
"""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path

import structlog
from msgspec.structs import replace

from agent.bridge.identity.audit_heads import AuditWitness
from agent.bridge.identity.key_store import KeyStore, LinkKeys, new_seed, public_key_of
from agent.bridge.transport.link import LinkRefusedError
from agent.bridge.transport.service_http import ServiceHttpClient
from bus.link import (
    PROTOCOL,
    AgentSession,
    Challenge,
    Enrol,
    Enrolled,
    SessionRequest,
    connection_proof,
    proof,
)
from bus.link.wire import WireValue
from handlers.ports import Clock

log = structlog.get_logger()

KEY_LIFETIME = timedelta(days=30)


class ChallengeRequest(WireValue, frozen=True, kw_only=True):
    account: str
    agent: str


@dataclass(slots=True, kw_only=True)
class Enroller:
    """`cluster_uid` is called for each enrolment: another cluster may answer by then."""

    http: ServiceHttpClient
    key_store: KeyStore
    clock: Clock
    token_file: Path | None
    cluster_uid: Callable[[], Awaitable[str]]
    version: str
    key_lifetime: timedelta = KEY_LIFETIME
    keys: LinkKeys | None = field(default=None)

    async def enrolled_keys(self) -> LinkKeys:
        """The keys, enrolled at the service if they are not yet. LinkLostError, BrokenKeysError."""
        keys = self.keys or await self.key_store.load(self.clock.now())
        if not keys.enrolled or keys.service != self.http.address.url:
            keys = await self._enrol(keys)
        if self.keys is None:
            log.info("credentials are sealed to this key", fingerprint=keys.sealing_fingerprint)
        self.keys = keys
        return keys

    async def session(self) -> AgentSession:
        """Open a session; enrol again if the key is refused and there is a new token."""
        keys = await self.enrolled_keys()
        try:
            return await self._session(keys)
        except LinkRefusedError:
            token = self._token()
            if not token or _hash(token) == keys.token_hash:
                raise
            log.warning("key refused: enrolling again with the new token")
            self.keys = keys = await self._enrol(keys)
            return await self._session(keys)

    def proof_of(self, session: AgentSession) -> str:
        """Prove possession of the key for one connection; empty for an older service."""
        keys = self.keys
        if keys is None or not session.nonce:
            return ""
        message = connection_proof(keys.account, keys.agent, keys.key_id, session.nonce)
        return f"{keys.key_id} {keys.sign(message)}"

    async def _session(self, keys: LinkKeys) -> AgentSession:
        keys = await self._with_successor(keys)
        asked = ChallengeRequest(account=keys.account, agent=keys.agent)
        challenge = await self.http.post("/challenge", asked, Challenge)
        request = SessionRequest(
            account=keys.account,
            agent=keys.agent,
            key_id=keys.key_id,
            nonce=challenge.nonce,
            signature=keys.sign(proof("session", challenge.nonce)),
            protocol=PROTOCOL[1],
            next_public_key=public_key_of(keys.next_seed) if keys.next_seed else "",
        )
        session = await self.http.post("/session", request, AgentSession)
        if keys.next_seed and session.key_id != keys.key_id:
            await self._succeed(keys, session.key_id)
        return session

    async def _with_successor(self, keys: LinkKeys) -> LinkKeys:
        """Add a successor to an old key, stored before it is sent: no lost answer locks us out."""
        now = self.clock.now()
        if keys.next_seed or not keys.made_at:
            return keys
        if now - datetime.fromisoformat(keys.made_at) < self.key_lifetime:
            return keys
        keys = replace(keys, next_seed=new_seed())
        await self.key_store.save(keys)
        self.keys = keys
        return keys

    async def _succeed(self, keys: LinkKeys, key_id: str) -> None:
        now = self.clock.now().isoformat()
        keys = replace(keys, signing_seed=keys.next_seed, next_seed="", key_id=key_id, made_at=now)
        await self.key_store.save(keys)
        self.keys = keys
        log.info("key of the link replaced", key=key_id)

    async def _enrol(self, keys: LinkKeys) -> LinkKeys:
        token = self._token()
        if not token:
            raise LinkRefusedError(
                "this agent is not enrolled: create a token for it at the service and set "
                "GITOPS_LINK_TOKEN_FILE to a file with it"
            )
        request = Enrol(
            token=token,
            public_key=keys.public_key,
            sealing_key=keys.sealing_key,
            cluster_uid=await self.cluster_uid(),
            version=self.version,
            proof=keys.sign(proof("enrol", token)),
        )
        enrolled = await self.http.post("/enrol", request, Enrolled)
        if keys.service and keys.service != self.http.address.url:
            await self.key_store.save_witness(AuditWitness())  # heads of another service
        keys = replace(
            keys,
            account=enrolled.account,
            agent=enrolled.agent,
            key_id=enrolled.key_id,
            service=self.http.address.url,
            token_hash=_hash(token),
        )
        await self.key_store.save(keys)
        log.info(
            "enrolled",
            account=enrolled.account,
            agent=enrolled.agent,
            key=enrolled.key_id,
        )
        return keys

    def token_digest(self) -> str:
        """Changes when another token is put into the token file; empty if there is none."""
        if self.token_file is None:
            return ""
        try:
            return _hash(self.token_file.read_text())
        except OSError:
            return ""

    def _token(self) -> str:
        try:
            return self.token_file.read_text().strip() if self.token_file else ""
        except OSError as error:
            log.warning("enrolment token cannot be read", reason=error.strerror)
            return ""


def _hash(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()
