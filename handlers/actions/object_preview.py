"""ChangePreview says what a change would do to a live object, field by field. Pure.

It also says what follows: fields that would differ from Git afterwards, and who would set them
back. All values are redacted, before and after together, so that a masked change is visible.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from handlers.actions.object_change import LiveObjectChange
from handlers.application.policy import auto_sync
from handlers.application.spec import ApplicationSpec
from handlers.comparison.comparison import ComparedPair
from handlers.comparison.normalised_objects import sent
from handlers.comparison.object_diff import diff
from handlers.comparison.object_difference import written
from handlers.comparison.owned_fields import parse_fields
from handlers.manifest import access
from handlers.manifest.access import Manifest
from handlers.report.hidden_values import hidden_texts, unrevealed
from handlers.report.redaction import Redaction

_MOST = 500
_OF_ORPHAN = "It belongs to no application, so nothing that this agent knows creates it again."
_UNSEEN = frozenset({"managedFields"})


class PreviewedField(msgspec.Struct, frozen=True, kw_only=True):
    """A field that changes; None stands for an absent one."""

    path: str
    before: Any = None
    after: Any = None


class ChangePreview(msgspec.Struct, frozen=True, kw_only=True):
    changes: tuple[PreviewedField, ...] = ()
    creates: tuple[Manifest, ...] = ()
    deletes: tuple[str, ...] = ()
    """The keys of the objects that would be deleted, the named one first."""
    drift: tuple[str, ...] = ()
    """Fields that would differ from Git and do not differ now."""
    notes: tuple[str, ...] = ()
    """What follows, in sentences."""


def previewed(
    live: Manifest,
    change: LiveObjectChange,
    *,
    spec: ApplicationSpec,
    pair: ComparedPair | None,
    redaction: Redaction,
) -> ChangePreview:
    """Describe a change; `pair` is the object beside Git, None where Git has no such object."""
    together = redaction.together()
    before, after = together.manifest(live), together.manifest(change.after or live)
    found = tuple(field_changes(before, after))
    hidden = hidden_texts(live, redaction) if change.creates else frozenset()
    drift = () if pair is None else _drift(pair, live, change.after or live)
    notes = [*(() if change else ("Nothing would change.",)), *_of_drift(drift, spec)]
    if len(found) > _MOST:
        notes.append(f"{len(found)} fields change; the first {_MOST} are shown.")
    return ChangePreview(
        changes=found[:_MOST],
        creates=tuple(unrevealed(redaction.manifest(one), hidden) for one in change.creates),
        drift=drift[:_MOST],
        notes=tuple(notes),
    )


def previewed_deletion(
    keys: Iterable[str],
    *,
    spec: ApplicationSpec,
    pair: ComparedPair | None,
    orphaned: bool = False,
) -> ChangePreview:
    """Describe the deletion of an object, whose key comes first, with all that it owns."""
    notes: tuple[str, ...] = (_OF_ORPHAN,) if orphaned else ()
    if pair is not None and pair.desired is not None:
        policy = auto_sync(spec)
        what = (
            "Self-heal creates it again, because Git has it."
            if policy is not None and policy.self_heal
            else "Git has it: the application becomes OutOfSync, and its next sync creates it."
        )
        notes = (what,)
    return ChangePreview(deletes=tuple(keys), notes=notes)


def field_changes(
    before: Any, after: Any, path: tuple[str | int, ...] = ()
) -> Iterator[PreviewedField]:
    """List the leaves that differ; lists of another length are shown whole."""
    if before == after:
        return
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for name in sorted({*before, *after} - (_UNSEEN if path == ("metadata",) else set())):
            yield from field_changes(before.get(name), after.get(name), (*path, name))
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for index, (one, other) in enumerate(zip(before, after, strict=True)):
            yield from field_changes(one, other, (*path, index))
    else:
        yield PreviewedField(path=written(path), before=before, after=after)


def _drift(pair: ComparedPair, live: Manifest, after: Manifest) -> tuple[str, ...]:
    """The fields that Git has otherwise after the change, and not before."""
    return tuple(one for one in _differing(pair, after) if one not in set(_differing(pair, live)))


def _differing(pair: ComparedPair, live: Manifest) -> tuple[str, ...]:
    if pair.desired is None or access.api_version(pair.desired) != access.api_version(live):
        return ()
    desired: Manifest = sent(pair.desired)
    if pair.ignored is not None:
        desired, live = pair.ignored.without(desired, live)
    owned = parse_fields(pair.live.owned) if pair.live is not None else None
    return tuple(one.path for one in diff(desired, live, owned).differences)


def _of_drift(drift: tuple[str, ...], spec: ApplicationSpec) -> Iterator[str]:
    if not drift:
        return
    named = ", ".join(drift[:3]) + (f" and {len(drift) - 3} more" if len(drift) > 3 else "")
    policy = auto_sync(spec)
    if policy is not None and policy.self_heal:
        yield f"Git has {named} otherwise, and self-heal sets it back: change it in Git instead."
    elif policy is not None:
        yield (
            f"Git has {named} otherwise: the application becomes OutOfSync, and the sync of the "
            "next commit sets it back."
        )
    else:
        yield (
            f"Git has {named} otherwise: the application becomes OutOfSync, and its next sync "
            "sets it back."
        )
