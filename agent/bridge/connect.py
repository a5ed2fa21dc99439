"""Connect: a session, a link, and again when it is lost; for as long as we act.

The session's token is renewed before it ends, while the link stays. Why there is no link is said
once for each reason, not at each try.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from random import Random

import structlog

from agent.bridge.enrol import Introduction
from agent.bridge.keeping import BrokenKeysError
from agent.bridge.link import Dial, Link, LinkLostError, LinkRefusedError
from agent.bridge.pause import Pause
from agent.bridge.session import Session
from bus.carrier import CarrierError
from bus.link import Session as Token
from handlers.ports import ApplyRefusedError, Clock, ClusterUnreachableError

log = structlog.get_logger()

_RENEW_AT = 2 / 3
_REFUSED_SECONDS = 30.0
_TOKEN_SECONDS = 5.0
"""Between looks whether there is a new token."""
_SHORTEST_RENEWAL, _LONGEST_RENEWAL = 1.0, 3600.0


@dataclass(slots=True, kw_only=True)
class Connect:
    introduction: Introduction
    dial: Dial
    prepare: Callable[[Link], Awaitable[Session]]
    """A session over this link, with what is true now in its Hello."""
    clock: Clock
    random: Random
    _pause: Pause = field(init=False)
    _said: str = ""
    _session: Session | None = None

    @property
    def up(self) -> bool:
        """There is a link and the service took us in."""
        return self._session is not None and self._session.welcome is not None

    def __post_init__(self) -> None:
        self._pause = Pause(random=self.random)

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
        token = await self.introduction.session()
        async with self.dial(token.token, self.introduction.proof_of(token)) as link:
            self._session = session = await self.prepare(link)
            try:
                await self._serve(session, token)
            finally:
                if self.up:
                    self._pause.reset()
                    self._said = ""
                self._session = None

    async def _serve(self, session: Session, token: Token) -> None:
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._renew(token), name="link-renewal")
                await session.run()
        except* LinkLostError as ended:
            raise _cause(ended) from None

    async def _renew(self, token: Token) -> None:
        """At two thirds of a session's life, give or take; a failure is tried again soon."""
        while True:
            left = left_of(token, self.clock.now().timestamp())
            share = _RENEW_AT * self.random.uniform(0.8, 1.0)
            await asyncio.sleep(min(max(_SHORTEST_RENEWAL, left * share), _LONGEST_RENEWAL))
            try:
                token = await self.introduction.session()
            except LinkRefusedError:
                raise
            except LinkLostError as error:
                log.info("session not renewed yet", reason=str(error))

    async def _wait(self, reason: str, retry_after: float) -> None:
        pause = self._pause.next(retry_after)
        if reason != self._said:
            log.warning("no link to the service", reason=reason, again_in=round(pause, 1))
        self._said = reason
        await self._sleep(pause)

    async def _sleep(self, seconds: float) -> None:
        """Who was refused waits long, but not for longer than it takes to get a new token."""
        until, token = time.monotonic() + seconds, self.introduction.token_mark()
        while (left := until - time.monotonic()) > 0:
            if self.introduction.token_mark() != token:
                return
            await asyncio.sleep(min(left, _TOKEN_SECONDS))


def left_of(token: Token, now: float) -> float:
    """Seconds. A service that says how many needs no clock of ours; an older one names a moment."""
    return token.seconds or token.expires_at - now


def _cause(group: BaseExceptionGroup[LinkLostError]) -> LinkLostError:
    found: BaseException = group
    while isinstance(found, BaseExceptionGroup):
        found = found.exceptions[0]
    return found if isinstance(found, LinkLostError) else LinkLostError(repr(found))
