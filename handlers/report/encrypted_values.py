"""Encrypted values: what was encrypted in Git is hidden wherever the object is shown. Pure.

The object itself says which of its fields were (see `handlers.manifest.encryption`), so they are
hidden whatever their names and looks are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from handlers.manifest.access import Manifest
from handlers.manifest.encryption import FieldPath, noted_fields


@dataclass(frozen=True, slots=True)
class EncryptedValue:
    """Stands in an object for a value that is to be hidden as a whole."""

    value: Any


def concealed(manifest: Manifest) -> Manifest:
    """Return the object with its encrypted values marked."""
    for path in noted_fields(manifest):
        manifest = _marked(manifest, path)
    return manifest


def _marked(value: Any, path: FieldPath) -> Any:
    if isinstance(value, EncryptedValue):
        return value
    if not path:
        return EncryptedValue(value)
    if not isinstance(value, dict) or path[0] not in value:
        return value
    return {**value, path[0]: _marked(value[path[0]], path[1:])}
