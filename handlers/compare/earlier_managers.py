"""The fields that other tools wrote for Git before us: which they are, and how they become ours.

A field that kubectl, Helm or Argo CD applied on the client's side is owned by that tool in
`metadata.managedFields`. Our own apply can only remove what our manager owns, so such a field would
stay for ever when Git drops it. Taking over does what client-go's upgrade from client-side apply
does: the tool's set joins ours, and the next apply removes what Git does not have.

- *Appliers* declared the whole object from a file: all that they own becomes ours.
- *Editors* (`kubectl create`, `edit`, `patch`) wrote single fields by hand: they lose what Git says
  too, and keep the rest.
- Everybody else (controllers, autoscalers, entries of a subresource) is left alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from handlers.compare.field_sets import Fields, difference, intersection, union
from handlers.compare.fields import MANAGER
from handlers.manifest.access import Manifest, api_version, items, mapping, text
from handlers.manifest.redact import LAST_APPLIED

_APPLIERS: Final = frozenset(
    {
        ("kubectl-client-side-apply", "Update"),
        (MANAGER, "Update"),  # Argo CD's client-side apply, and our own replace
        ("helm", "Update"),
        ("helm", "Apply"),
    }
)
_EDITORS: Final = frozenset({"kubectl", "before-first-apply"})
_EDITORS_BEGIN: Final = "kubectl-"

HELM_RELEASE: Final[Fields] = {
    "f:metadata": {
        "f:annotations": {
            "f:meta.helm.sh/release-name": {},
            "f:meta.helm.sh/release-namespace": {},
        },
        "f:labels": {"f:app.kubernetes.io/managed-by": {}},
    }
}
"""Helm's own notes about a release: no chart writes them, so they are no field that Git dropped."""

_LAST_APPLIED: Final[Fields] = {"f:metadata": {"f:annotations": {"f:" + LAST_APPLIED: {}}}}


def inherited_fields(live: Manifest) -> Fields:
    """The fields that appliers before us wrote; empty where there is none.

    Sets of another version of the kind are left out: their paths may mean something else.
    """
    found: Fields = {}
    for entry in _main_entries(live):
        if _is_applier(entry):
            found = union(found, difference(_taken(entry), _LAST_APPLIED))
    return found


def taken_over(live: Manifest) -> Sequence[Mapping[str, Any]] | None:
    """The managedFields of `live`, just applied by us, with the earlier tools' fields ours.

    None where there is nothing to take over.
    """
    mine = next(filter(_is_ours, _main_entries(live)), None)
    if mine is None:
        return None
    desired = owned = mapping(mine, "fieldsV1")
    others: list[Mapping[str, Any]] = []
    for entry in items(live, "metadata", "managedFields"):
        if entry == mine:
            continue
        lost = _lost(entry, desired) if _concerns(entry, live) else {}
        owned = union(owned, lost) if lost and _is_applier(entry) else owned
        rest = difference(mapping(entry, "fieldsV1"), lost)
        others += [{**entry, "fieldsV1": rest}] if rest else []
    after = [{**mine, "fieldsV1": owned}, *others]
    return after if _changed(items(live, "metadata", "managedFields"), after) else None


def _lost(entry: Mapping[str, Any], desired: Fields) -> Fields:
    """The part of an entry that its manager does not own any more."""
    if _is_applier(entry):
        return _taken(entry)
    if _is_editor(entry):
        return intersection(mapping(entry, "fieldsV1"), desired)
    return {}


def _taken(entry: Mapping[str, Any]) -> Fields:
    fields = mapping(entry, "fieldsV1")
    return difference(fields, HELM_RELEASE) if entry.get("manager") == "helm" else fields


def _main_entries(live: Manifest) -> Iterable[Mapping[str, Any]]:
    return (one for one in items(live, "metadata", "managedFields") if _concerns(one, live))


def _concerns(entry: Mapping[str, Any], live: Manifest) -> bool:
    """Of the object itself, in the version in which it was read."""
    return not entry.get("subresource") and text(entry, "apiVersion") == api_version(live)


def _is_ours(entry: Mapping[str, Any]) -> bool:
    return (entry.get("manager"), entry.get("operation")) == (MANAGER, "Apply")


def _is_applier(entry: Mapping[str, Any]) -> bool:
    return (entry.get("manager"), entry.get("operation")) in _APPLIERS


def _is_editor(entry: Mapping[str, Any]) -> bool:
    manager = text(entry, "manager")
    by_hand = manager in _EDITORS or manager.startswith(_EDITORS_BEGIN)
    return by_hand and entry.get("operation") == "Update"


def _changed(before: Iterable[Mapping[str, Any]], after: Iterable[Mapping[str, Any]]) -> bool:
    def sets(entries: Iterable[Mapping[str, Any]]) -> list[tuple[str, str, str, Any]]:
        return [
            (
                text(one, "manager"),
                text(one, "operation"),
                text(one, "subresource"),
                one["fieldsV1"],
            )
            for one in entries
        ]

    return sorted(sets(before), key=str) != sorted(sets(after), key=str)
