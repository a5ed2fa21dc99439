"""Fields of Git that another manager has taken from us, as far as the index knows him. Pure.

The index keeps the fields of the manager that wrote last (`LiveObject.written`). A field that Git
sets, that he owns, that we do not own any more and that has another value now is his doing and not
the server's: nobody needs to ask the server whether it differs, and an apply without force would be
refused. Where more differs, or another manager is concerned, this says nothing, and the server is
asked as ever.
"""

from __future__ import annotations

from collections.abc import Iterable

from handlers.comparison.managed_paths import taken_paths
from handlers.comparison.object_difference import ChangeKind, FieldDifference, written
from handlers.comparison.owned_fields import field_set
from handlers.manifest import access
from handlers.manifest.access import Manifest
from handlers.ports import LiveObject


def taken_fields(desired: Manifest, live: LiveObject) -> tuple[str, ...]:
    """List the paths; none where the object was never ours or is read in another version."""
    if not (live.body and live.owned and live.written) or live.version != access.version(desired):
        return ()
    paths = taken_paths(field_set(live.written), field_set(live.owned), desired, live.manifest)
    return tuple(map(written, paths))


def all_taken(differences: Iterable[FieldDifference], desired: Manifest, live: LiveObject) -> bool:
    """Whether every difference is a field that was taken from us, or is within one."""
    found = tuple(differences)
    if not found or any(one.kind is not ChangeKind.CHANGED for one in found):
        return False
    taken = taken_fields(desired, live)
    within = tuple(f"{path}{end}" for path in taken for end in ".[")
    return all(one.path in taken or one.path.startswith(within) for one in found)
