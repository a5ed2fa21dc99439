"""The list and watch protocol of the API server: pages of a list, and lines of a watch.

Pages split a list, so that neither side holds all objects of a big cluster at once. Items stay the
bytes that they arrived as: the page is scanned, not decoded. Each line of a watch is one event: the
change, and the version of its object.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from enum import StrEnum

import msgspec

from agent.kube.client import KubeClient
from agent.kube.errors import read_status
from agent.kube.kube_request import Query
from agent.kube.nesting import bounded
from handlers.ports import ClusterUnreachableError

PAGE = 500
_LEVELS_OF_AN_EVENT = 1
_MOST_PAGES = 20_000
_MOST_ITEMS = 2_000_000


class ListMeta(msgspec.Struct, frozen=True, kw_only=True):
    resource_version: str = msgspec.field(name="resourceVersion", default="")
    rest: str = msgspec.field(name="continue", default="")


class ListPage(msgspec.Struct, frozen=True, kw_only=True):
    metadata: ListMeta = ListMeta()
    items: tuple[msgspec.Raw, ...] | None = None
    """Items have no `apiVersion` and `kind` of their own where the kind is built in."""


async def pages(
    client: KubeClient, path: str, query: Query | None = None, *, size: int = PAGE
) -> AsyncIterator[ListPage]:
    """Walk the pages; raises GoneError where the server has forgotten the list: start again.

    Raises ClusterUnreachableError where the list does not end.
    """
    asked = {**(query or {}), "limit": str(size)}
    walked = 0
    for _page in range(_MOST_PAGES):
        page = _decode(await client.list_page(path, asked))
        walked += len(page.items or ())
        if walked > _MOST_ITEMS:
            break
        yield page
        if not page.metadata.rest:
            return
        asked = {**asked, "continue": page.metadata.rest}
    raise ClusterUnreachableError(
        f"the list {path} does not end: it has more than {_MOST_PAGES} pages or {_MOST_ITEMS} items"
    )


def _decode(body: bytes) -> ListPage:
    try:
        return msgspec.json.decode(body, type=ListPage)
    except msgspec.MsgspecError as error:
        message = read_status(body).message
        raise ClusterUnreachableError(f"no list but {message!r}") from error


class EventType(StrEnum):
    ADDED = "ADDED"
    MODIFIED = "MODIFIED"
    DELETED = "DELETED"
    BOOKMARK = "BOOKMARK"
    """No object, only the version up to which all events were sent."""
    ERROR = "ERROR"
    """The object is a Status; the watch is over."""


class WatchEvent(msgspec.Struct, frozen=True, kw_only=True):
    type: EventType
    raw: bytes
    """The object as it was sent."""
    resource_version: str = ""
    code: int = 0
    """HTTP status of an ERROR."""


class _Metadata(msgspec.Struct, frozen=True, rename="camel"):
    resource_version: str = ""


class _Object(msgspec.Struct, frozen=True):
    metadata: _Metadata = _Metadata()
    code: int = 0


class _Line(msgspec.Struct, frozen=True):
    type: EventType
    object: msgspec.Raw


def read_event(line: bytes) -> WatchEvent:
    """Read a line; raises msgspec.MsgspecError where it is no event of a watch."""
    decoded = msgspec.json.decode(bounded(line, around=_LEVELS_OF_AN_EVENT), type=_Line)
    seen = msgspec.json.decode(decoded.object, type=_Object)
    return WatchEvent(
        type=decoded.type,
        raw=bytes(decoded.object),
        resource_version=seen.metadata.resource_version,
        code=seen.code,
    )
