"""A thin client of the Kubernetes API: paths and bytes in, bytes out.

No typed models and no discovery: callers build paths with `agent.kube.paths` and decode what they
need. Errors are those of the ports (`agent.kube.errors`), deadlines and throttle the transport's.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any
from urllib.parse import quote

import aiohttp
import msgspec
import orjson

from agent.kube.config import Connection
from agent.kube.throttle import Limit, Throttle
from agent.kube.transport import JSON, Observer, Query, Request, Transport

_APPLY_PATCH = "application/apply-patch+yaml"
_JSON_PATCH = "application/json-patch+json"
_MERGE_PATCH = "application/merge-patch+json"


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
    """The verbs of the API; get one from `kube_client`."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    @property
    def url(self) -> str:
        return self._transport.url

    async def get(self, path: str, query: Query | None = None, *, accept: str = JSON) -> bytes:
        return await self._transport.call(
            Request(verb="get", method="GET", path=path, query=query or {}, accept=accept)
        )

    async def list_page(self, path: str, query: Query) -> bytes:
        """One page; `agent.kube.pages` walks all of them."""
        return await self._transport.call(
            Request(verb="list", method="GET", path=path, query=query)
        )

    async def apply(self, path: str, body: bytes, how: ApplyQuery) -> bytes:
        """Server-side apply of JSON (which is YAML)."""
        return await self._transport.call(
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
        return await self._transport.call(
            Request(
                verb="patch",
                method="PATCH",
                path=path,
                query=query or {},
                body=orjson.dumps(patch),
                content_type=_MERGE_PATCH,
            )
        )

    async def json_patch(
        self, path: str, patch: Sequence[Mapping[str, Any]], query: Query | None = None
    ) -> bytes:
        return await self._transport.call(
            Request(
                verb="patch",
                method="PATCH",
                path=path,
                query=query or {},
                body=orjson.dumps(patch),
                content_type=_JSON_PATCH,
            )
        )

    async def create(self, path: str, body: bytes, query: Query | None = None) -> bytes:
        return await self._transport.call(
            Request(verb="create", method="POST", path=path, query=query or {}, body=body)
        )

    async def replace(self, path: str, body: bytes, query: Query | None = None) -> bytes:
        return await self._transport.call(
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
        return await self._transport.call(
            Request(verb="delete", method="DELETE", path=path, query={}, body=body)
        )

    def watch(
        self, path: str, query: Query, *, silence: float
    ) -> AbstractAsyncContextManager[aiohttp.StreamReader]:
        """The open body of a watch; `silence` seconds without a byte end it as unreachable."""
        request = Request(verb="watch", method="GET", path=path, query={**query, "watch": "true"})
        return self._transport.stream(request, silence=silence)

    def logs(
        self, namespace: str, pod: str, query: Query, *, silence: float = 600.0
    ) -> AbstractAsyncContextManager[aiohttp.StreamReader]:
        """The open body of a pod's log."""
        spot = f"/api/v1/namespaces/{quote(namespace, safe='')}/pods/{quote(pod, safe='')}/log"
        request = Request(verb="get", method="GET", path=spot, query=query, accept="*/*")
        return self._transport.stream(request, silence=silence)


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
    ) as session:
        yield KubeClient(Transport(session, connection, Throttle(Limit(ceiling)), observe))
