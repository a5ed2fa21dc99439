"""One try of one delivery: an HTTP POST with a deadline, and what came of it in a sentence."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import aiohttp
import msgspec
from yarl import URL

from service.live.hooks.signing import Signed
from service.live.hooks.target import ForbiddenTargetError, Outside, problem_of

SECONDS = 10.0
_ANSWER = 200


class Answered(msgspec.Struct, frozen=True, kw_only=True):
    delivered: bool
    words: str


class Sender:
    """Get one from `open_sender`."""

    def __init__(self, http: aiohttp.ClientSession, *, inside: bool) -> None:
        self._http = http
        self._inside = inside

    async def send(self, url: str, signed: Signed) -> Answered:
        """Only 2xx is delivered. Our own words about the network: they name no inner address."""
        problem = problem_of(url, inside=self._inside)
        if problem:
            return Answered(delivered=False, words=problem)
        try:
            async with self._http.post(
                URL(url), data=signed.body, headers=signed.headers, allow_redirects=False
            ) as response:
                text = (await response.content.read(_ANSWER)).decode(errors="replace")
                return _answered(response.status, text)
        except TimeoutError:
            return Answered(delivered=False, words=f"no answer within {SECONDS:g} s")
        except (aiohttp.ClientError, OSError, ValueError) as e:
            return Answered(delivered=False, words=_words(e))


@asynccontextmanager
async def open_sender(*, inside: bool) -> AsyncIterator[Sender]:
    connector = aiohttp.TCPConnector(
        resolver=Outside(inside=inside), use_dns_cache=False, limit=200, limit_per_host=4
    )
    timeout = aiohttp.ClientTimeout(total=SECONDS)
    async with aiohttp.ClientSession(
        connector=connector, timeout=timeout, cookie_jar=aiohttp.DummyCookieJar()
    ) as http:
        yield Sender(http, inside=inside)


def _answered(status: int, text: str) -> Answered:
    if 200 <= status < 300:
        return Answered(delivered=True, words=f"{status}")
    if 300 <= status < 400:
        return Answered(delivered=False, words=f"{status}: redirects are not followed")
    return Answered(delivered=False, words=f"{status} {text}".replace("\0", "").strip())


def _words(error: BaseException) -> str:
    causes = (error, error.__cause__, error.__context__, getattr(error, "os_error", None))
    if any(isinstance(it, ForbiddenTargetError) for it in causes):
        return "the host is not on the public internet"
    return f"no connection: {type(error).__name__}"
