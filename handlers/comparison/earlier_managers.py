"""Earlier managers: fields that other tools applied before us, and how they become ours. Pure.

A field that kubectl, Helm or Argo CD applied on the client's side is owned by that tool in
`metadata.managedFields`. Our own apply can only remove what our manager owns, so such a field would
stay for ever when Git drops it. Taking over does what client-go's upgrade from client-side apply
does: the tool's set joins ours, and the next apply removes what Git does not have.

    manager                                    its fields after a take-over
    applier: kubectl apply, Helm, Argo CD's    all become ours: the tool declared the whole object
      client-side apply                        from a file, and Git is that file now
    editor: kubectl create, edit, patch        those that Git has too are ours alone; the others
                                               stay the editor's, somebody wrote them on purpose
    anybody else: controllers, autoscalers,    left alone, whatever they own
      entries of a subresource

Fields are sets as the API server writes them (FieldsV1): a tree of tokens, `f:name`, `k:{...}`
(entry of a list), `v:...` (member of a set) and `.` (the thing itself). `{}` below a token means
the same as `{".": {}}`; a token without `.` holds only what is below it. The root has no `.`:
there an empty tree is the empty set.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from handlers.comparison.owned_fields import MANAGER
from handlers.manifest.access import LAST_APPLIED, Manifest, api_version, items, mapping, text

Fields = Mapping[str, Any]

ITSELF: Final = "."
_ALONE: Final[Fields] = {ITSELF: {}}


def union(one: Fields, other: Fields) -> dict[str, Any]:
    """The fields that are in either set."""
    joined = dict(one)
    for token, below in other.items():
        if token not in joined:
            joined[token] = below
        elif token != ITSELF:
            joined[token] = _short(union(_long(joined[token]), _long(below)))
    return joined


def difference(one: Fields, other: Fields) -> dict[str, Any]:
    """The fields of `one` that are not in `other`."""
    left: dict[str, Any] = {}
    for token, below in one.items():
        if token not in other:
            left[token] = below
        elif token != ITSELF and (rest := difference(_long(below), _long(other[token]))):
            left[token] = _short(rest)
    return left


def intersection(one: Fields, other: Fields) -> dict[str, Any]:
    """The fields that are in both sets."""
    return difference(one, difference(one, other))


def _long(below: Fields) -> Fields:
    return below or _ALONE


def _short(below: dict[str, Any]) -> dict[str, Any]:
    return {} if below == _ALONE else below


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
"""What Helm writes about a release: no chart has these fields, so Git did not drop them."""

_LAST_APPLIED: Final[Fields] = {"f:metadata": {"f:annotations": {"f:" + LAST_APPLIED: {}}}}


def inherited_fields(live: Manifest) -> Fields:
    """The fields that appliers before us wrote; empty where there is none.

    Sets of another version of the kind are left out: their paths may mean something else.
    """
    inherited: Fields = {}
    for entry in _main_entries(live):
        if _is_applier(entry):
            # kubectl's annotation is owned by it too; no Git repository has that one.
            inherited = union(inherited, difference(_taken(entry), _LAST_APPLIED))
    return inherited


def taken_over(live: Manifest, also: str = "") -> Sequence[Mapping[str, Any]] | None:
    """Rewrite the managedFields of `live`, which we have just applied; None for nothing to do.

    `also` names one more manager that counts as an applier.

    Right after our apply our own entry is exactly what Git has (`desired`). Our set grows by what
    appliers lose (`owned`), so the next apply, which has only what Git has, removes the rest.
    """
    mine = next(filter(_is_ours, _main_entries(live)), None)
    if mine is None:
        return None
    desired = owned = mapping(mine, "fieldsV1")
    others: list[Mapping[str, Any]] = []
    for entry in items(live, "metadata", "managedFields"):
        if entry == mine:
            continue
        lost = _lost(entry, desired, also) if _concerns(entry, live) else {}
        # What an editor loses is in Git, so it is ours already: only appliers add to our set.
        owned = union(owned, lost) if lost and _is_applier(entry, also) else owned
        rest = difference(mapping(entry, "fieldsV1"), lost)
        # An entry that owns nothing any more goes: the server would drop it in any case.
        others += [{**entry, "fieldsV1": rest}] if rest else []
    after = [{**mine, "fieldsV1": owned}, *others]
    return after if _changed(items(live, "metadata", "managedFields"), after) else None


def _lost(entry: Mapping[str, Any], desired: Fields, also: str) -> Fields:
    """The fields that the manager of an entry loses in a take-over."""
    if _is_applier(entry, also):
        return _taken(entry)
    if _is_editor(entry):
        return intersection(mapping(entry, "fieldsV1"), desired)
    return {}


def _taken(entry: Mapping[str, Any]) -> Fields:
    """All fields of an applier but Helm's own labels and annotations, which stay Helm's."""
    fields = mapping(entry, "fieldsV1")
    return difference(fields, HELM_RELEASE) if entry.get("manager") == "helm" else fields


def _main_entries(live: Manifest) -> Iterable[Mapping[str, Any]]:
    return (one for one in items(live, "metadata", "managedFields") if _concerns(one, live))


def _concerns(entry: Mapping[str, Any], live: Manifest) -> bool:
    """Of the object itself, in the version in which it was read."""
    return not entry.get("subresource") and text(entry, "apiVersion") == api_version(live)


def _is_ours(entry: Mapping[str, Any]) -> bool:
    return (entry.get("manager"), entry.get("operation")) == (MANAGER, "Apply")


def _is_applier(entry: Mapping[str, Any], also: str = "") -> bool:
    found = (entry.get("manager"), entry.get("operation"))
    return found in _APPLIERS or (bool(also) and found == (also, "Update"))


def _is_editor(entry: Mapping[str, Any]) -> bool:
    manager = text(entry, "manager")
    by_hand = manager in _EDITORS or manager.startswith(_EDITORS_BEGIN)
    return by_hand and entry.get("operation") == "Update"


def _changed(before: Iterable[Mapping[str, Any]], after: Iterable[Mapping[str, Any]]) -> bool:
    """Whether any manager owns something else now; order and times of entries do not count."""

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
