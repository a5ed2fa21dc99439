"""Annotations of Argo CD's domain that this version does not know, or cannot act on. Pure.

An annotation asks for something. One that is misspelled, or that came with a later Argo CD, would
otherwise be ignored without a word.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from difflib import get_close_matches

from handlers.application.application import HYDRATE_ANNOTATION, Application
from handlers.application.deep_links import url_problem
from handlers.application.titles import listed_titles, title
from handlers.application.unsupported import Unsupported
from handlers.manifest.access import Manifest, mapping

DOMAIN = "argocd.argoproj.io/"
_MANAGED_BY = "managed-by-url"
MANAGED_BY = f"{DOMAIN}{_MANAGED_BY}"
"""Of an Application: the address of the Argo CD, or control plane, that people manage it with."""

_KNOWN = frozenset(
    {
        "application-set-refresh",
        "client-side-apply-migration-manager",
        "compare-options",
        "deletion-approved",
        "hook",
        "hook-delete-policy",
        "hook-finalizer",
        "hydrate-timestamp",
        "ignore-default-links",
        "ignore-healthcheck",
        "ignore-resource-updates",
        "ignore-restart-policy",
        "installation-id",
        "manifest-generate-paths",
        "refresh",
        "refresh-timestamp",
        "secret-type",
        "skip-reconcile",
        "sync-options",
        "sync-wave",
        "tracking-id",
    }
)
"""Acted on, or without a meaning here: read sets say what `manifest-generate-paths` is for."""

_WITHOUT_EFFECT = {
    "hydrate": "nothing is hydrated without spec.sourceHydrator",
    _MANAGED_BY: "it belongs to an Application",
}


def unknown_annotations(
    app: Application, manifests: Iterable[Manifest] = ()
) -> Iterator[Unsupported]:
    """List those of the Application, then those of its objects, each with who has it."""
    managed_by = app.metadata.annotations.get(MANAGED_BY, "")
    if managed_by and (problem := url_problem(managed_by)):
        yield Unsupported(field=f"annotation {MANAGED_BY}", consequence=problem)
    for key in app.metadata.annotations:
        if key == HYDRATE_ANNOTATION and app.spec.source_hydrator is not None:
            continue
        if _is_unknown(key) and key != MANAGED_BY:
            yield Unsupported(field=f"annotation {key}", consequence=_consequence(key))
    bearers: dict[str, list[str]] = {}
    for one in manifests:
        for key in mapping(one, "metadata", "annotations"):
            if _is_unknown(key):
                bearers.setdefault(key, []).append(title(one))
    for key, titles in bearers.items():
        field = f"annotation {key} of {listed_titles(titles)}"
        yield Unsupported(field=field, consequence=_consequence(key))


def _is_unknown(key: str) -> bool:
    return key.startswith(DOMAIN) and key.removeprefix(DOMAIN) not in _KNOWN


def _consequence(key: str) -> str:
    word = key.removeprefix(DOMAIN)
    known = _WITHOUT_EFFECT.get(word)
    if known:
        return known
    close = get_close_matches(word, _KNOWN, 1)
    return "it knows no such annotation" + (f"; did you mean {DOMAIN}{close[0]}?" if close else "")
