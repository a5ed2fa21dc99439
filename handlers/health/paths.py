"""Paths of fields in an object, as the rules of health write them. Pure.

A path is dotted text (`status.phase`), or a tuple of steps where a step has dots of its own.
"""

from __future__ import annotations

from functools import cache

Path = str | tuple[str, ...]


@cache
def steps(path: Path) -> tuple[str, ...]:
    """The steps of a path; only paths that the rules name come here, so the cache is bounded."""
    return tuple(path.split(".")) if isinstance(path, str) else path


def annotation_path(name: str) -> Path:
    return ("metadata", "annotations", name)


def label_path(name: str) -> Path:
    return ("metadata", "labels", name)
