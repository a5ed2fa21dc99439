"""The way out: one HTTP client for everything the bridge says to the service.

HTTPS with the system's authorities or a private one, a client certificate where wanted, and the
proxy of the environment (HTTPS_PROXY with CONNECT, NO_PROXY). Plain HTTP is for a service on this
machine only: the session's token goes over it.
"""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import aiohttp
import msgspec

from agent.bridge.link import LinkLostError, LinkRefusedError

T = TypeVar("T")

_ANSWER_SECONDS = 20.0
_LARGEST_ANSWER = 64 * 1024


class _Problem(msgspec.Struct, frozen=True):
    detail: str = ""
    title: str = ""
    remedy: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where the service is, and whom we believe."""

    url: str
    ca: Path | None = None
    cert: Path | None = None
    key: Path | None = None

    def tls(self) -> ssl.SSLContext:
        context = ssl.create_default_context(cafile=str(self.ca) if self.ca else None)
        if self.cert is not None:
            context.load_cert_chain(str(self.cert), str(self.key) if self.key else None)
        return context

    def path(self, name: str) -> str:
        return f"{self.url.rstrip('/')}/api/v1/link{name}"


@dataclass(frozen=True, slots=True)
class Outside:
    place: Place
    session: aiohttp.ClientSession

    async def post(self, name: str, said: msgspec.Struct, answer: type[T]) -> T:
        """Raises LinkRefusedError on 4xx, LinkLostError where nobody answered properly."""
        try:
            async with self.session.post(
                self.place.path(name),
                data=msgspec.json.encode(said),
                headers={"Content-Type": "application/json"},
                allow_redirects=False,
            ) as response:
                body = await _read(response.content)
                if response.status in {200, 201}:
                    return msgspec.json.decode(body, type=answer)
                raise refused(response.status, response.headers.get("Retry-After", ""), body)
        except msgspec.MsgspecError as error:
            raise LinkLostError(f"{self.place.url} gave an answer we cannot read") from error
        except (TimeoutError, aiohttp.ClientError, OSError) as error:
            raise LinkLostError(f"{self.place.url}: {described(error)}") from error


@asynccontextmanager
async def outside(place: Place) -> AsyncIterator[Outside]:
    connector = aiohttp.TCPConnector(ssl=place.tls())
    timeout = aiohttp.ClientTimeout(total=_ANSWER_SECONDS, sock_connect=10)
    headers = {"User-Agent": "gitops-house agent"}
    async with aiohttp.ClientSession(
        connector=connector, timeout=timeout, headers=headers, trust_env=True
    ) as session:
        yield Outside(place, session)


async def _read(content: aiohttp.StreamReader) -> bytes:
    body = b""
    async for chunk in content.iter_chunked(8192):
        body += chunk
        if len(body) > _LARGEST_ANSWER:
            raise LinkLostError(f"an answer of more than {_LARGEST_ANSWER} bytes")
    return body


def refused(status: int, retry_after: str, body: bytes = b"") -> LinkLostError:
    """4xx is a no that a person must look at; 429 and 5xx pass."""
    pause = float(retry_after) if retry_after.isdigit() else 0.0
    try:
        problem = msgspec.json.decode(body or b"{}", type=_Problem)
    except msgspec.MsgspecError:
        problem = _Problem()
    said = f"{problem.detail or problem.title} {problem.remedy}".strip()[:500]
    text = f"the service answered {status}" + (f": {said}" if said else "")
    final = 400 <= status < 500 and status not in (408, 425, 429)
    return (LinkRefusedError if final else LinkLostError)(text, retry_after=pause)


def described(error: Exception) -> str:
    return str(error) or type(error).__name__
