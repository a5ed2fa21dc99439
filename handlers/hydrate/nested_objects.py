"""Objects inside of lists. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

_LIST = "List"


def nested_objects(documents: Iterable[object]) -> Iterator[Mapping[str, Any]]:
    """Yield every object, those inside of lists too; an item without a kind has that of its list.

    Lists may hold lists, so they are walked without recursion.
    """
    waiting: list[tuple[object, str]] = [(one, "") for one in documents]
    while waiting:
        document, supposed = waiting.pop()
        if not isinstance(document, Mapping):
            continue
        kind = str(document.get("kind") or supposed)
        yield {**document, "kind": kind}
        items = document.get("items")
        if isinstance(items, list) and kind.endswith(_LIST):
            waiting += [(one, kind.removesuffix(_LIST)) for one in items]
