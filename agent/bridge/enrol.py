"""Enrol: from a one-time token to a key that is known, and from the key to a short session.

The keys are stored before the token is shown to anybody, and what the service answered is stored
before it is used: a crash in between repeats a step and loses nothing. A key that has served its
time is replaced on the way: the old one stays good until the new one was used.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path

import structlog
from msgspec.structs import replace

from agent.bridge.heads import AuditWitness
from agent.bridge.keeping import Keeping
from agent.bridge.keys import Keys, new_seed, public_key_of
from agent.bridge.link import LinkRefusedError
from agent.bridge.outside import Outside
from bus.link import (
    PROTOCOL,
    Challenge,
    Enrol,
    Enrolled,
    Session,
    SessionRequest,
    connection_proof,
    proof,
)
from bus.link.wire import Value
from handlers.ports import Clock

log = structlog.get_logger()

KEY_LIFETIME = timedelta(days=30)


class ChallengeRequest(Value, frozen=True, kw_only=True):
    account: str
    agent: str


@dataclass(slots=True, kw_only=True)
class Introduction:
    """How we get in. `cluster_uid` and `version` say what we are."""

    way: Outside
    keeping: Keeping
    clock: Clock
    token_file: Path | None
    cluster_uid: str
    version: str
    key_lifetime: timedelta = KEY_LIFETIME
    keys: Keys | None = field(default=None)

    async def known(self) -> Keys:
        """Our keys, known to the service. Raises LinkLostError, BrokenKeysError."""
        keys = self.keys or await self.keeping.load(self.clock.now())
        if not keys.enrolled or keys.service != self.way.place.url:
            keys = await self._enrol(keys)
        self.keys = keys
        return keys

    async def session(self) -> Session:
        """A new session; where the key is refused and there is a new token, that is used."""
        keys = await self.known()
        try:
            return await self._session(keys)
        except LinkRefusedError:
            token = self._token()
            if not token or _hash(token) == keys.token_hash:
                raise
            log.warning("key refused: enrolling again with the new token")
            self.keys = keys = await self._enrol(keys)
            return await self._session(keys)

    def proof_of(self, session: Session) -> str:
        """That we hold the key, for one connection of `session`; empty: an older service."""
        keys = self.keys
        if keys is None or not session.nonce:
            return ""
        message = connection_proof(keys.account, keys.agent, keys.key_id, session.nonce)
        return f"{keys.key_id} {keys.sign(message)}"

    async def _session(self, keys: Keys) -> Session:
        keys = await self._with_successor(keys)
        asked = ChallengeRequest(account=keys.account, agent=keys.agent)
        challenge = await self.way.post("/challenge", asked, Challenge)
        request = SessionRequest(
            account=keys.account,
            agent=keys.agent,
            key_id=keys.key_id,
            nonce=challenge.nonce,
            signature=keys.sign(proof("session", challenge.nonce)),
            protocol=PROTOCOL[1],
            next_public_key=public_key_of(keys.next_seed) if keys.next_seed else "",
        )
        session = await self.way.post("/session", request, Session)
        if keys.next_seed and session.key_id != keys.key_id:
            await self._succeed(keys, session.key_id)
        return session

    async def _with_successor(self, keys: Keys) -> Keys:
        """Stored before it is sent, so that an answer that is lost locks nobody out."""
        now = self.clock.now()
        if keys.next_seed or not keys.made_at:
            return keys
        if now - datetime.fromisoformat(keys.made_at) < self.key_lifetime:
            return keys
        keys = replace(keys, next_seed=new_seed())
        await self.keeping.save(keys)
        self.keys = keys
        return keys

    async def _succeed(self, keys: Keys, key_id: str) -> None:
        now = self.clock.now().isoformat()
        keys = replace(keys, signing_seed=keys.next_seed, next_seed="", key_id=key_id, made_at=now)
        await self.keeping.save(keys)
        self.keys = keys
        log.info("key of the link replaced", key=key_id)

    async def _enrol(self, keys: Keys) -> Keys:
        token = self._token()
        if not token:
            raise LinkRefusedError(
                "this agent is not enrolled: create a token for it at the service and set "
                "GITOPS_LINK_TOKEN_FILE to a file with it"
            )
        said = Enrol(
            token=token,
            public_key=keys.public_key,
            sealing_key=keys.sealing_key,
            cluster_uid=self.cluster_uid,
            version=self.version,
            proof=keys.sign(proof("enrol", token)),
        )
        known = await self.way.post("/enrol", said, Enrolled)
        if keys.service and keys.service != self.way.place.url:
            await self.keeping.save_witness(AuditWitness())  # heads of another service
        keys = replace(
            keys,
            account=known.account,
            agent=known.agent,
            key_id=known.key_id,
            service=self.way.place.url,
            token_hash=_hash(token),
        )
        await self.keeping.save(keys)
        log.info("enrolled", account=known.account, agent=known.agent, key=known.key_id)
        return keys

    def token_mark(self) -> str:
        """Another one as soon as another token is put there."""
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
