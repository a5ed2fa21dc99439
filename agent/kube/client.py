"""A thin client of the Kubernetes API on aiohttp: paths and bytes in, bytes out.

Errors are those of the ports. No typed models and no discovery: callers build paths with
`agent.kube.paths` and decode what they need. Every call but a watch has a deadline for all of it,
waits its turn in the throttle, and is told to the observer. A 429 is tried again when the server
asks for that; everything else is for the caller to decide.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import Any

import aiohttp
import msgspec
import orjson

from agent.kube.config import Connection
from agent.kube.errors import read_status, refusal
from agent.kube.throttle import Limit, Throttle
from handlers.ports import ClusterUnreachableError

_JSON = "application/json"
_APPLY_PATCH = "application/apply-patch+yaml"
_MERGE_PATCH = "application/merge-patch+json"
_TRIES = 4
_LONGEST_PAUSE = 5.0
_LARGEST_ANSWER = 256 * 1024 * 1024

Query = Mapping[str, str]
Observer = Callable[["RequestSeen"], None]


class RequestSeen(msgspec.Struct, frozen=True, kw_only=True):
    """One answered request, for metrics. `code` is 0 where nothing answered."""

    verb: str
    path: str
    code: int
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    verb: str
    """As Kubernetes names it: get, list, watch, patch, create, update, delete."""
    method: str
    path: str
    query: Query
    body: bytes | None = None
    content_type: str = _JSON
    accept: str = _JSON


class ApplyQuery(msgspec.Struct, frozen=True, kw_only=True):
    manager: str
    force: bool = False
    dry_run: bool = False
    validate: bool = True

    def query(self) -> dict[str, str]:
        strictness = "Strict" if self.validate else "Ignore"
        dry_run = {"dryRun": "All"} if self.dry_run else {}
        force = "true" if self.force else "false"
        return {
            "fieldManager": self.manager,
            "force": force,
            "fieldValidation": strictness,
            **dry_run,
        }


class KubeClient:
    """An open connection to one API server; get one from `kube_client`."""

    def __init__(
        self,
        session: aiohttp.ClientSession,
        connection: Connection,
        throttle: Throttle,
        observe: Observer | None = None,
    ) -> None:
        self._session = session
        self._connection = connection
        self._throttle = throttle
        self._observe = observe

    @property
    def url(self) -> str:
        return self._connection.url

    async def get(self, path: str, query: Query | None = None, *, accept: str = _JSON) -> bytes:
        return await self._call(
            Request(verb="get", method="GET", path=path, query=query or {}, accept=accept)
        )

    async def list_page(self, path: str, query: Query) -> bytes:
        """One page; `agent.kube.pages` walks all of them."""
        return await self._call(Request(verb="list", method="GET", path=path, query=query))

    async def apply(self, path: str, body: bytes, how: ApplyQuery) -> bytes:
        """Server-side apply of JSON (which is YAML)."""
        return await self._call(
            Request(
                verb="patch",
                method="PATCH",
                path=path,
                query=how.query(),
                body=body,
                content_type=_APPLY_PATCH,
            )
        )

    async def merge_patch(
        self, path: str, patch: Mapping[str, Any], query: Query | None = None
    ) -> bytes:
        return await self._call(
            Request(
                verb="patch",
                method="PATCH",
                path=path,
                query=query or {},
                body=orjson.dumps(patch),
                content_type=_MERGE_PATCH,
            )
        )

    async def create(self, path: str, body: bytes, query: Query | None = None) -> bytes:
        return await self._call(
            Request(verb="create", method="POST", path=path, query=query or {}, body=body)
        )

    async def replace(self, path: str, body: bytes, query: Query | None = None) -> bytes:
        return await self._call(
            Request(verb="update", method="PUT", path=path, query=query or {}, body=body)
        )

    async def delete(
        self,
        path: str,
        *,
        uid: str = "",
        propagation: str = "Background",
        resource_version: str = "",
    ) -> bytes:
        """Exactly the object of that UID (and version) where one is given."""
        wanted = {"uid": uid, "resourceVersion": resource_version}
        preconditions = {name: value for name, value in wanted.items() if value}
        options = {"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": propagation}
        body = orjson.dumps({**options, "preconditions": preconditions})
        return await self._call(
            Request(verb="delete", method="DELETE", path=path, query={}, body=body)
        )

    @asynccontextmanager
    async def watch(
        self, path: str, query: Query, *, silence: float
    ) -> AsyncIterator[aiohttp.StreamReader]:
        """The open body of a watch; `silence` seconds without a byte end it as unreachable."""
        request = Request(verb="watch", method="GET", path=path, query={**query, "watch": "true"})
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=10, sock_read=silence)
        async with self._open(request, timeout) as answer:
            if answer.status != 200:
                raise refusal(answer.status, await answer.read())
            yield answer.content

    async def _call(self, request: Request) -> bytes:
        for left in reversed(range(_TRIES)):
            async with self._throttle:
                code, body, pause = await self._once(request)
            if code < 400:
                return body
            if code != 429 or not left or pause > _LONGEST_PAUSE:
                raise refusal(code, body)
            await asyncio.sleep(pause)
        raise AssertionError("the last try returns or raises")

    async def _once(self, request: Request) -> tuple[int, bytes, float]:
        loop = asyncio.get_running_loop()
        began = loop.time()
        async with self._open(request, self._session.timeout) as answer:
            body = await _read(answer.content)
            now = loop.time()
            if answer.status == 429:
                self._throttle.limit.overloaded(now)
            else:
                self._throttle.limit.answered(now, now - began)
            return answer.status, body, _pause(answer, body)

    @asynccontextmanager
    async def _open(
        self, request: Request, limits: aiohttp.ClientTimeout
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        loop = asyncio.get_running_loop()
        began, code = loop.time(), 0
        try:
            with _translated(self.url):
                headers = {**await self._connection.headers(), "Accept": request.accept}
                if request.body is not None:
                    headers["Content-Type"] = request.content_type
                async with self._session.request(
                    request.method,
                    self.url + request.path,
                    params=request.query,
                    data=request.body,
                    headers=headers,
                    timeout=limits,
                    server_hostname=self._connection.server_name,
                    proxy=self._connection.proxy,
                ) as answer:
                    code = answer.status
                    yield answer
        finally:
            self._tell(request, code, loop.time() - began)

    def _tell(self, request: Request, code: int, seconds: float) -> None:
        if self._observe is not None:
            seen = RequestSeen(verb=request.verb, path=request.path, code=code, seconds=seconds)
            self._observe(seen)


@asynccontextmanager
async def kube_client(
    connection: Connection,
    *,
    ceiling: int = 64,
    answer_within: float = 30.0,
    observe: Observer | None = None,
) -> AsyncIterator[KubeClient]:
    """At most `ceiling` requests open at once (watches aside), each done within some seconds."""
    connector = aiohttp.TCPConnector(limit=0, ssl=connection.tls)
    async with aiohttp.ClientSession(
        connector=connector,
        timeout=aiohttp.ClientTimeout(total=answer_within, sock_connect=10),
        headers={"User-Agent": "gitops-house"},
        auto_decompress=True,
        trust_env=True,
    ) as session:
        yield KubeClient(session, connection, Throttle(Limit(ceiling)), observe)


async def _read(content: aiohttp.StreamReader) -> bytes:
    chunks: list[bytes] = []
    size = 0
    async for chunk in content.iter_any():
        chunks.append(chunk)
        size += len(chunk)
        if size > _LARGEST_ANSWER:
            raise ClusterUnreachableError(f"an answer of more than {_LARGEST_ANSWER} bytes")
    return b"".join(chunks)


@contextmanager
def _translated(url: str) -> Iterator[None]:
    try:
        yield
    except TimeoutError as error:
        raise ClusterUnreachableError(f"{url} did not answer in time") from error
    except (aiohttp.ClientError, OSError) as error:
        raise ClusterUnreachableError(f"{url}: {str(error) or type(error).__name__}") from error


def _pause(answer: aiohttp.ClientResponse, body: bytes) -> float:
    """Seconds that the server asks us to wait, or 1."""
    if answer.status != 429:
        return 0.0
    said = answer.headers.get("Retry-After", "")
    return float(said) if said.isdigit() else read_status(body).details.retry_after or 1.0
