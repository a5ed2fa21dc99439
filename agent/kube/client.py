"""KubeClient is a thin client of the Kubernetes API: paths and bytes in, bytes out.

No typed models and no discovery: callers build paths with `agent.kube.discovery` and decode what
they need. Errors are those of the ports (`agent.kube.errors`), deadlines and throttle the
transport's. What is nested too deeply is cut in answers, and refused where one object is read.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any
from urllib.parse import quote

import aiohttp
import msgspec
import orjson

from agent.kube.answer_bytes import AnswerBytes
from agent.kube.apply_query import ApplyQuery
from agent.kube.call_gate import CallGate
from agent.kube.connection_config import KubeConnection
from agent.kube.errors import (
    ClusterReplacedError,
    ForbiddenError,
    NestedTooDeeplyError,
    NotFoundError,
)
from agent.kube.kube_request import JSON, KubeRequest, Observer, Query
from agent.kube.nesting import CUT, bounded, is_nested_too_deeply
from agent.kube.sockets import Sockets
from agent.kube.socks import SocksConnector, is_socks
from agent.kube.throttle import Limit, Throttle
from agent.kube.transport import LARGEST_ANSWER, Transport
from agent.kube.write_fence import WriteFence
from handlers.application.application import read_metadata
from handlers.ports import ClusterUnreachableError

_APPLY_PATCH = "application/apply-patch+yaml"
_JSON_PATCH = "application/json-patch+json"
_MERGE_PATCH = "application/merge-patch+json"
_LEVELS_OF_A_LIST = 2
_KUBE_SYSTEM = "/api/v1/namespaces/kube-system"


class KubeClient:
    """The verbs of the API; get one from `kube_client`."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self._cluster_uid = ""

    def acting_as(self, user: str) -> KubeClient:
        """Return a client over the same connection whose requests are those of another user."""
        other = KubeClient(self._transport.acting_as(user))
        other._cluster_uid = self._cluster_uid
        return other

    def fenced(self, fence: WriteFence) -> KubeClient:
        """Return a client over the same connection that writes while the fence is open."""
        other = KubeClient(self._transport.fenced(fence))
        other._cluster_uid = self._cluster_uid
        return other

    @property
    def url(self) -> str:
        return self._transport.url

    @property
    def impersonated(self) -> str:
        """The user as whom it acts; empty for the one who is logged in."""
        return self._transport.impersonated

    @property
    def answer_bytes(self) -> AnswerBytes:
        """What is held of answers that have not ended."""
        return self._transport.answer_bytes

    @property
    def known_uid(self) -> str:
        """The UID that `cluster_uid` found last; empty where it is not known."""
        return self._cluster_uid

    async def probe(self, path: str, seconds: float) -> bytes:
        """Read a path, even where other calls fail at once; raises as any call does."""
        return await self._transport.probe(path, seconds)

    async def cluster_uid(self) -> str:
        """Return the UID of kube-system as the cluster's identity; empty without that right.

        Raises ClusterReplacedError where another cluster answered at this address before, and
        ApplyRefusedError and ClusterUnreachableError as any call does.
        """
        try:
            found = read_metadata(await self.get(_KUBE_SYSTEM)).uid
        except (ForbiddenError, NotFoundError):
            return ""
        except msgspec.MsgspecError as error:
            raise ClusterUnreachableError(
                f"no API server answers at {self.url}: what it says of the namespace kube-system "
                f"cannot be read ({error}). Check the address: it may be that of a proxy"
            ) from error
        if self._cluster_uid not in ("", found):
            raise ClusterReplacedError(
                f"another cluster answers at {self.url}: its kube-system has the UID {found}, "
                f"{self._cluster_uid} was expected; whatever is known of the old one is dropped"
            )
        self._cluster_uid = found
        return found

    async def get(self, path: str, query: Query | None = None, *, accept: str = JSON) -> bytes:
        """Raises NestedTooDeeplyError, because who reads one object may write it back."""
        raw = await self._transport.call(
            KubeRequest(verb="get", method="GET", path=path, query=query or {}, accept=accept)
        )
        if is_nested_too_deeply(raw):
            text = f"{path} is {CUT}. Make it flatter: the agent reads no deeper"
            raise NestedTooDeeplyError(text, code=422, permanent=True)
        return raw

    async def list_page(self, path: str, query: Query) -> bytes:
        """List one page; `agent.kube.list_watch` walks all of them."""
        raw = await self._transport.call(
            KubeRequest(verb="list", method="GET", path=path, query=query)
        )
        return bounded(raw, around=_LEVELS_OF_A_LIST)

    async def apply(self, path: str, body: bytes, how: ApplyQuery) -> bytes:
        """Apply JSON (which is YAML) by server-side apply."""
        return await self._patch(path, body, how.query(), _APPLY_PATCH)

    async def merge_patch(
        self, path: str, patch: Mapping[str, Any], query: Query | None = None
    ) -> bytes:
        return await self._patch(path, orjson.dumps(patch), query or {}, _MERGE_PATCH)

    async def json_patch(
        self, path: str, patch: Sequence[Mapping[str, Any]], query: Query | None = None
    ) -> bytes:
        return await self._patch(path, orjson.dumps(patch), query or {}, _JSON_PATCH)

    async def create(self, path: str, body: bytes, query: Query | None = None) -> bytes:
        return await self._written(
            KubeRequest(verb="create", method="POST", path=path, query=query or {}, body=body)
        )

    async def replace(self, path: str, body: bytes, query: Query | None = None) -> bytes:
        return await self._written(
            KubeRequest(verb="update", method="PUT", path=path, query=query or {}, body=body)
        )

    async def delete(
        self,
        path: str,
        *,
        uid: str = "",
        propagation: str = "Background",
        resource_version: str = "",
        at_once: bool = False,
    ) -> bytes:
        """Delete the object; with a UID (and version) only that very object.

        `at_once`: with a grace period of zero instead of that of the object.
        """
        identity = {"uid": uid, "resourceVersion": resource_version}
        preconditions = {name: value for name, value in identity.items() if value}
        options: dict[str, Any] = {
            "apiVersion": "v1",
            "kind": "DeleteOptions",
            "propagationPolicy": propagation,
        }
        if at_once:
            options["gracePeriodSeconds"] = 0
        body = orjson.dumps({**options, "preconditions": preconditions})
        return await self._written(
            KubeRequest(verb="delete", method="DELETE", path=path, query={}, body=body)
        )

    def watch(
        self, path: str, query: Query, *, idle_seconds: float
    ) -> AbstractAsyncContextManager[aiohttp.StreamReader]:
        """Open the body of a watch; `idle_seconds` seconds without a byte end it as unreachable."""
        request = KubeRequest(
            verb="watch", method="GET", path=path, query={**query, "watch": "true"}
        )
        return self._transport.stream(request, idle_seconds=idle_seconds)

    def logs(
        self, namespace: str, pod: str, query: Query, *, idle_seconds: float = 600.0
    ) -> AbstractAsyncContextManager[aiohttp.StreamReader]:
        """Open the body of a pod's log."""
        spot = f"/api/v1/namespaces/{quote(namespace, safe='')}/pods/{quote(pod, safe='')}/log"
        request = KubeRequest(verb="get", method="GET", path=spot, query=query, accept="*/*")
        return self._transport.stream(request, idle_seconds=idle_seconds)

    def websocket(
        self, path: str, query: Query, protocols: Sequence[str]
    ) -> AbstractAsyncContextManager[aiohttp.ClientWebSocketResponse]:
        """Open a WebSocket of a subresource, with the first protocol that the server knows."""
        return self._transport.websocket(path, query, protocols)

    async def _patch(self, path: str, body: bytes, query: Query, content_type: str) -> bytes:
        return await self._written(
            KubeRequest(
                verb="patch",
                method="PATCH",
                path=path,
                query=query,
                body=body,
                content_type=content_type,
            )
        )

    async def _written(self, request: KubeRequest) -> bytes:
        """Send a write; the answer is the object as it is stored now."""
        return bounded(await self._transport.call(request))


def _connector(connection: KubeConnection, sockets: Sockets) -> aiohttp.TCPConnector:
    if connection.proxy is not None and is_socks(connection.proxy):
        return SocksConnector(connection.proxy, sockets.create, limit=0, ssl=connection.tls)
    return aiohttp.TCPConnector(limit=0, ssl=connection.tls, socket_factory=sockets.create)


@asynccontextmanager
async def kube_client(
    connection: KubeConnection,
    *,
    ceiling: int = 64,
    answer_within: float = 30.0,
    observe: Observer | None = None,
    gate: CallGate | None = None,
    largest_answer: int = LARGEST_ANSWER,
) -> AsyncIterator[KubeClient]:
    """Open a client with at most `ceiling` concurrent requests besides watches."""
    sockets = Sockets()
    connector = _connector(connection, sockets)
    async with (
        sockets,
        aiohttp.ClientSession(
            connector=connector,
            timeout=aiohttp.ClientTimeout(total=answer_within, sock_connect=10),
            headers={"User-Agent": "plumbline"},
            auto_decompress=True,
        ) as session,
    ):
        throttle = Throttle(Limit(ceiling))
        yield KubeClient(Transport(session, connection, throttle, observe, gate, largest_answer))
