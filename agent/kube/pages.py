"""A list in pages, so that neither side ever holds a big cluster's objects at once.

Items stay the bytes that they arrived as: the page is scanned, not decoded.
"""

from __future__ import annotations

from collections.abc import AsyncIterator

import msgspec

from agent.kube.client import KubeClient
from agent.kube.errors import read_status
from agent.kube.transport import Query
from handlers.ports import ClusterUnreachableError

PAGE = 500


class ListMeta(msgspec.Struct, frozen=True, kw_only=True):
    resource_version: str = msgspec.field(name="resourceVersion", default="")
    rest: str = msgspec.field(name="continue", default="")


class Page(msgspec.Struct, frozen=True, kw_only=True):
    metadata: ListMeta = ListMeta()
    items: tuple[msgspec.Raw, ...] | None = None
    """Items have no `apiVersion` and `kind` of their own where the kind is built in."""


async def pages(
    client: KubeClient, path: str, query: Query | None = None, *, size: int = PAGE
) -> AsyncIterator[Page]:
    """Raises GoneError where the pages took longer than the server remembers: start again."""
    asked = {**(query or {}), "limit": str(size)}
    while True:
        page = _decode(await client.list_page(path, asked))
        yield page
        if not page.metadata.rest:
            return
        asked = {**asked, "continue": page.metadata.rest}


def _decode(body: bytes) -> Page:
    try:
        return msgspec.json.decode(body, type=Page)
    except msgspec.MsgspecError as error:
        said = read_status(body).message
        raise ClusterUnreachableError(f"no list but {said!r}") from error
