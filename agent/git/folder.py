"""A Git tree object, decoded: names to modes and object ids.

Decoded here and not by the library, because one pass over the raw bytes is quicker than an object
per entry, and needs no look at what the entries point to.
"""

from __future__ import annotations

from typing import NamedTuple

from handlers.ports import EntryKind

_KINDS = {"40000": EntryKind.TREE, "120000": EntryKind.SYMLINK, "160000": EntryKind.SUBMODULE}
_ID_BYTES = 20


class Item(NamedTuple):
    mode: str
    oid: str

    @property
    def kind(self) -> EntryKind:
        return _KINDS.get(self.mode, EntryKind.BLOB)

    @property
    def is_folder(self) -> bool:
        return self.mode == "40000"


def decode_folder(raw: bytes) -> dict[str, Item]:
    """`<mode> <name>`, a zero byte, 20 bytes of id, and again. Odd bytes become U+FFFD."""
    items: dict[str, Item] = {}
    at = 0
    while at < len(raw):
        space = raw.index(b" ", at)
        zero = raw.index(b"\0", space)
        name = raw[space + 1 : zero].decode(errors="replace")
        end = zero + 1 + _ID_BYTES
        items[name] = Item(raw[at:space].decode(), raw[zero + 1 : end].hex())
        at = end
    return items
