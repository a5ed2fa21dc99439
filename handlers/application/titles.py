"""Titles of objects as conditions name them: some of them, and how many more. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from handlers.manifest.access import Manifest, kind, name

_NAMED = 5


def title(manifest: Manifest) -> str:
    return f"{kind(manifest)} {name(manifest)}".strip()


def listed_titles(titles: Iterable[str]) -> str:
    """List five of them in order of the alphabet, and count the others."""
    known = sorted(titles)
    more = f" and {len(known) - _NAMED} more" if len(known) > _NAMED else ""
    return ", ".join(known[:_NAMED]) + more
