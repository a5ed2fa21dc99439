"""A resource selection says which objects of an application one operation is about. Pure.

Argo CD's command line knows `*` for a whole part and `!` for an exclusion, and resolves both itself
before it writes `.operation`, so an object that the deployed revision adds is not among them. Here
the entries stay as they were written, and the exclamation mark stands before the kind: a reader
that does not know it, such as an older agent or Argo CD, finds no such kind and syncs less, never
more. No kind has one of these characters.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from bus.identity import ResourceKey
from handlers.application.spec import SyncResource

ANY = "*"
EXCLUDED = "!"
_SHOWN = 5
_EXCLUSION = re.compile(r"!([A-Za-z][A-Za-z0-9]*|\*)")


def is_selected(key: ResourceKey, written: Iterable[SyncResource]) -> bool:
    """Whether the entries select the object.

    Without entries every object is selected, and with exclusions alone every other one. An
    exclusion beats the entries that name the object. One that names no kind excludes every object:
    what it was meant to spare is not known.
    """
    included: list[SyncResource] = []
    for one in written:
        if not one.kind.startswith(EXCLUDED):
            included.append(one)
        elif _names(one, key) or not _EXCLUSION.fullmatch(one.kind):
            return False
    return not included or any(_names(one, key) for one in included)


def selects_nothing(keys: Iterable[ResourceKey], written: Sequence[SyncResource]) -> bool:
    """Whether there are entries, and none of the objects is selected by them."""
    return bool(written) and not any(is_selected(key, written) for key in keys)


def in_words(written: Sequence[SyncResource]) -> str:
    """Name the entries for people, as the command line takes them; of many the first ones."""
    names = [
        f"{one.group}:{one.kind}:{f'{one.namespace}/' if one.namespace else ''}{one.name}"
        for one in written[:_SHOWN]
    ]
    more = len(written) - _SHOWN
    return ", ".join(names) + (f" and {more} more" if more > 0 else "")


def _names(written: SyncResource, key: ResourceKey) -> bool:
    """Whether an entry is about the object; one without a namespace is about all of them."""
    return (
        written.group in (ANY, key.group)
        and written.kind.removeprefix(EXCLUDED) in (ANY, key.kind)
        and written.namespace in (ANY, "", key.namespace)
        and written.name in (ANY, key.name)
    )
