"""Entries: an item of the link as the outbox keeps it: its branch, its name, its bytes. Pure.

Of equal names only the newest is kept, so the name says what may be merged: states of one object,
progress of one task. All else is named by its own id and stays.
"""

from __future__ import annotations

import msgspec

from bus.identity import token_of
from bus.jetstream.outbox import Entry
from bus.link import Item, ItemKind


def entry_of(item: Item) -> Entry:
    data = msgspec.json.encode(item)
    match item.kind:
        case ItemKind.STATE | ItemKind.TASK:
            name = token_of(f"{item.type}:{item.subject}")
            return Entry(branch=item.kind.value, name=name, data=data)
        case ItemKind.FACT:
            return Entry(branch="fact", name=item.id, data=data, message_id=f"up:{item.id}")
