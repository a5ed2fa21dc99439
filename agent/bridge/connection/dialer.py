"""Dialer: opens a session and a link, and opens them again whenever the link is lost.

The session's token is renewed before it expires, while the link stays open. The reason for having
no link is logged when it changes, not at each attempt.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from random import Random

import structlog

from agent.bridge.connection.link_session import LinkSession
from agent.bridge.identity.enroller import Enroller
from agent.bridge.identity.key_store import BrokenKeysError
from agent.bridge.transport.link import AgentLink, Dial, LinkLostError, LinkRefusedError
from bus.carrier import CarrierError
from bus.link import AgentSession as Token
from handlers.ports import ApplyRefusedError, Clock, ClusterUnreachableError

log = structlog.get_logger()

_SHORTEST, _LONGEST = 1.0, 60.0
_LONGEST_ASKED = 3600.0
_RENEW_AT = 2 / 3
_REFUSED_SECONDS = 30.0
_TOKEN_SECONDS = 5.0
"""Between two checks for a new enrolment token."""
_SHORTEST_RENEWAL, _LONGEST_RENEWAL = 1.0, 3600.0


@dataclass(slots=True, kw_only=True)
class ReconnectBackoff:
    """Waits before the next attempt: one second to one minute, with jitter. Pure.

    Each wait is drawn between the shortest and three times the previous one (decorrelated
    jitter), so that a thousand agents of a restarted service do not reconnect at the same
    moments. A `retry_after` of the service is the least.
    """

    random: Random
    shortest: float = _SHORTEST
    longest: float = _LONGEST
    _last: float = 0.0

    def next(self, retry_after: float = 0.0) -> float:
        before = max(self._last, self.shortest)
        self._last = min(self.longest, self.random.uniform(self.shortest, 3 * before))
        asked = min(max(0.0, retry_after), _LONGEST_ASKED)
        return max(self._last, asked + self.random.uniform(0, 0.2 * asked))

    def reset(self) -> None:
        """Begin with the shortest wait again, after a success."""
        self._last = 0.0


@dataclass(slots=True, kw_only=True)
class Dialer:
    enroller: Enroller
    dial: Dial
    prepare: Callable[[AgentLink], Awaitable[LinkSession]]
    """Prepare a session over this link, with the current facts in its Hello."""
    clock: Clock
    random: Random
    _backoff: ReconnectBackoff = field(init=False)
    _last_reason: str = ""
    _session: LinkSession | None = None

    @property
    def up(self) -> bool:
        """Whether there is a link and the service has welcomed the agent."""
        return self._session is not None and self._session.welcome is not None

    def __post_init__(self) -> None:
        self._backoff = ReconnectBackoff(random=self.random)

    async def run(self) -> None:
        while True:
            try:
                await self._once()
            except LinkRefusedError as error:
                await self._wait(str(error), max(_REFUSED_SECONDS, error.retry_after))
            except LinkLostError as error:
                await self._wait(str(error), error.retry_after)
            except (BrokenKeysError, CarrierError) as error:
                await self._wait(str(error), _REFUSED_SECONDS)
            except (ApplyRefusedError, ClusterUnreachableError) as error:
                await self._wait(f"the Secret with our keys: {error}", 0.0)

    async def _once(self) -> None:
        token = await self.enroller.session()
        async with self.dial(token.token, self.enroller.proof_of(token)) as link:
            self._session = session = await self.prepare(link)
            try:
                await self._serve(session, token)
            finally:
                if self.up:
                    self._backoff.reset()
                    self._last_reason = ""
                self._session = None

    async def _serve(self, session: LinkSession, token: Token) -> None:
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._renew(token), name="link-renewal")
                await session.run()
        except* LinkLostError as ended:
            raise _cause(ended) from None

    async def _renew(self, token: Token) -> None:
        """Renew the token at about two thirds of its life; a failed renewal is tried again soon."""
        while True:
            left = seconds_left(token, self.clock.now().timestamp())
            share = _RENEW_AT * self.random.uniform(0.8, 1.0)
            await asyncio.sleep(min(max(_SHORTEST_RENEWAL, left * share), _LONGEST_RENEWAL))
            try:
                token = await self.enroller.session()
            except LinkRefusedError:
                raise
            except LinkLostError as error:
                log.info("session not renewed yet", reason=str(error))

    async def _wait(self, reason: str, retry_after: float) -> None:
        pause = self._backoff.next(retry_after)
        if reason != self._last_reason:
            log.warning("no link to the service", reason=reason, retry_in_seconds=round(pause, 1))
        self._last_reason = reason
        await self._sleep(pause)

    async def _sleep(self, seconds: float) -> None:
        """Sleep, at most until another enrolment token is put into the token file."""
        until, token = time.monotonic() + seconds, self.enroller.token_digest()
        while (left := until - time.monotonic()) > 0:
            if self.enroller.token_digest() != token:
                return
            await asyncio.sleep(min(left, _TOKEN_SECONDS))


def seconds_left(token: Token, now: float) -> float:
    """Seconds until the token expires; an older service sends only the timestamp of that."""
    return token.seconds or token.expires_at - now


def _cause(group: BaseExceptionGroup[LinkLostError]) -> LinkLostError:
    found: BaseException = group
    while isinstance(found, BaseExceptionGroup):
        found = found.exceptions[0]
    return found if isinstance(found, LinkLostError) else LinkLostError(repr(found))
