"""Which live object belongs to which desired one; pure.

By key; where the desired object names no namespace, by the rest of the key; and where both sides
hold exactly one object, those two, whatever they are called.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import msgspec

from bus.identity import ResourceKey
from cli.inputs import Document
from handlers.manifest import access
from handlers.manifest.access import Manifest


class Pair(msgspec.Struct, frozen=True, kw_only=True):
    desired: Document
    live: Manifest | None


def pair_up(desired: Sequence[Document], live: Sequence[Document], *, lone: bool) -> list[Pair]:
    """One pair for every desired object, in their order.

    `lone`: these are all there are, so that two alone belong together.
    """
    if lone and len(desired) == 1 and len(live) == 1:
        return [Pair(desired=desired[0], live=live[0].manifest)]
    exact = _by(_key, live)
    anywhere = _by(_without_namespace, live)
    return [Pair(desired=each, live=_find(each, exact, anywhere)) for each in desired]


def _find(
    wanted: Document,
    exact: Mapping[ResourceKey, Manifest],
    anywhere: Mapping[ResourceKey, Manifest],
) -> Manifest | None:
    found = exact.get(_key(wanted))
    if found is None and not access.namespace(wanted.manifest):
        return anywhere.get(_without_namespace(wanted))
    return found


def _by(
    key: Callable[[Document], ResourceKey], documents: Sequence[Document]
) -> Mapping[ResourceKey, Manifest]:
    return {key(document): document.manifest for document in documents}


def _key(document: Document) -> ResourceKey:
    return access.key(document.manifest)


def _without_namespace(document: Document) -> ResourceKey:
    return msgspec.structs.replace(_key(document), namespace="")
