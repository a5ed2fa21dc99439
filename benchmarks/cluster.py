"""The benchmark's own eyes and hands in the cluster: no code of the agent's is in the way.

Plain requests, the API server's metrics, and a watch that notes the moment at which an event came.
"""

from __future__ import annotations

import ssl
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import aiohttp
import msgspec
import orjson

from playground.kubeapi import Access

_TIMEOUT = aiohttp.ClientTimeout(total=60)
_WATCHING = aiohttp.ClientTimeout(total=None, sock_read=120)
_LONGEST_LINE = 4 * 1024 * 1024
_MANAGER = "argocd-controller"
_ERROR = "ERROR"

Object = dict[str, Any]


class WriteRefusedError(RuntimeError):
    """The API server said no to the benchmark itself."""


class Container(msgspec.Struct, frozen=True):
    image: str = ""


class PodSpec(msgspec.Struct, frozen=True):
    containers: tuple[Container, ...] = ()


class Template(msgspec.Struct, frozen=True):
    spec: PodSpec = PodSpec()


class Spec(msgspec.Struct, frozen=True):
    replicas: int = 0
    template: Template = Template()


class SyncField(msgspec.Struct, frozen=True):
    status: str = ""
    revision: str = ""


class OperationField(msgspec.Struct, frozen=True):
    phase: str = ""


class StatusField(msgspec.Struct, frozen=True, rename="camel"):
    sync: SyncField = SyncField()
    operation_state: OperationField = OperationField()


class MetadataField(msgspec.Struct, frozen=True, rename="camel"):
    name: str = ""
    resource_version: str = ""


class Watched(msgspec.Struct, frozen=True):
    """Of a Deployment or an Application, what the benchmarks wait for."""

    metadata: MetadataField = MetadataField()
    spec: Spec = Spec()
    status: StatusField = StatusField()
    data: dict[str, Any] = {}
    """Of a ConfigMap."""

    @property
    def name(self) -> str:
        return self.metadata.name

    @property
    def image(self) -> str:
        return next((one.image for one in self.spec.template.spec.containers), "")


class _List(msgspec.Struct, frozen=True):
    metadata: MetadataField


class _Event(msgspec.Struct, frozen=True):
    type: str
    object: msgspec.Raw


@dataclass(frozen=True, slots=True)
class Seen:
    seen_at: float
    """`time.monotonic()` when the event came."""
    object: Watched


@dataclass(frozen=True, slots=True)
class BenchmarkCluster:
    session: aiohttp.ClientSession

    async def create(self, path: str, body: Object) -> None:
        await self._call("POST", path, body, "application/json")

    async def apply(self, path: str, body: Object) -> None:
        query = f"?fieldManager={_MANAGER}&force=true"
        await self._call("PATCH", path + query, body, "application/apply-patch+yaml")

    async def edit(self, path: str, body: Object, manager: str) -> None:
        """Merge a patch, as `kubectl edit` does."""
        query = f"?fieldManager={manager}"
        await self._call("PATCH", path + query, body, "application/merge-patch+json")

    async def delete_all(self, collection: str) -> None:
        await self._call("DELETE", collection, None, "application/json")

    async def delete(self, path: str) -> None:
        await self._call("DELETE", path, None, "application/json")

    async def metrics(self) -> str:
        return (await self._call("GET", "/metrics", None, "application/json")).decode()

    @asynccontextmanager
    async def watch(self, collection: str) -> AsyncIterator[BenchmarkWatch]:
        """Of what happens after it is open; read on with `async for`."""
        listed = await self._call("GET", f"{collection}?limit=1", None, "application/json")
        version = msgspec.json.decode(listed, type=_List).metadata.resource_version
        watch = BenchmarkWatch(session=self.session, collection=collection, version=version)
        await watch.open()
        try:
            yield watch
        finally:
            watch.close()

    async def _call(self, method: str, path: str, body: Object | None, content: str) -> bytes:
        data = None if body is None else orjson.dumps(body)
        headers = {"Content-Type": content}
        async with self.session.request(method, path, data=data, headers=headers) as answer:
            payload = await answer.read()
            if answer.status >= 400:
                raise WriteRefusedError(f"{method} {path}: {answer.status} {payload[:300]!r}")
            return payload


@dataclass(slots=True, kw_only=True)
class BenchmarkWatch:
    """A busy API server ends watches; then it goes on behind the last event."""

    session: aiohttp.ClientSession
    collection: str
    version: str
    _answer: aiohttp.ClientResponse | None = None
    _decoder: msgspec.json.Decoder[Watched] = field(
        default_factory=lambda: msgspec.json.Decoder(Watched)
    )

    async def open(self) -> None:
        path = f"{self.collection}?watch=1&resourceVersion={self.version}"
        self._answer = await self.session.get(path, timeout=_WATCHING)
        if self._answer.status != 200:
            raise WriteRefusedError(f"watch {self.collection}: {self._answer.status}")

    def close(self) -> None:
        if self._answer is not None:
            self._answer.close()
            self._answer = None

    def __aiter__(self) -> BenchmarkWatch:
        return self

    async def __anext__(self) -> Seen:
        while not (line := await self._line()).endswith(b"\n"):
            self.close()
            await self.open()
        seen_at = time.monotonic()
        event = msgspec.json.decode(line, type=_Event)
        if event.type == _ERROR:
            raise WriteRefusedError(f"watch {self.collection}: {line[:300]!r}")
        found = self._decoder.decode(event.object)
        self.version = found.metadata.resource_version
        return Seen(seen_at, found)

    async def _line(self) -> bytes:
        return await self._answer.content.readline() if self._answer is not None else b""


@asynccontextmanager
async def open_cluster(access: Access) -> AsyncIterator[BenchmarkCluster]:
    trust = ssl.create_default_context(cafile=str(access.ca_file))
    async with aiohttp.ClientSession(
        access.url,
        connector=aiohttp.TCPConnector(ssl=trust, limit=0),
        headers={"Authorization": f"Bearer {access.token}"},
        timeout=_TIMEOUT,
        read_bufsize=_LONGEST_LINE,
    ) as session:
        yield BenchmarkCluster(session)
