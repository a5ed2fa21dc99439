"""Encryption of an object by SOPS: what of it is encrypted, and the note of that. Pure.

SOPS leaves the shape of an object, puts ciphertext in the place of its values, and adds the member
`sops` with the keys. Whoever applies the object notes on it which fields were encrypted, so that
they are hidden wherever the object is shown, by every agent, for as long as it is there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from handlers.manifest import access
from handlers.manifest.access import Manifest

ENCRYPTED_FIELDS = "plumbline.dev/encrypted-fields"
"""Annotation of an applied object: JSON pointers of the fields that were encrypted, or `*`."""
BLOCK = "sops"
CIPHERTEXT = "ENC[AES256_GCM,"
_ALL = "*"
_LARGEST = 8 * 1024
_OPERATED = frozenset({"SopsSecret"})
"""Kinds of operators that decrypt by themselves: their objects are applied as they are."""
_IDENTITY = frozenset({"apiVersion", "kind", "metadata"})

FieldPath = tuple[str, ...]


def is_encrypted(manifest: Manifest) -> bool:
    """Whether the object is one that SOPS has encrypted, and that we have to decrypt."""
    block = manifest.get(BLOCK)
    if not isinstance(block, Mapping) or access.kind(manifest) in _OPERATED:
        return False
    return "mac" in block or next(_ciphertexts(manifest, ()), None) is not None


def may_hold_encrypted(content: bytes) -> bool:
    """Whether objects in this JSON may be encrypted; False is certain."""
    return CIPHERTEXT.encode() in content or b'"sops"' in content


def has_loose_ciphertext(manifest: Manifest) -> bool:
    """Whether values are encrypted by keys that the object does not name."""
    if is_encrypted(manifest) or access.kind(manifest) in _OPERATED:
        return False
    return next(_ciphertexts(manifest, ()), None) is not None


def encrypted_fields(manifest: Manifest) -> tuple[FieldPath, ...]:
    """List the encrypted fields; one in a list counts as the list, whose order may change."""
    rest = {name: value for name, value in manifest.items() if name != BLOCK}
    return tuple(dict.fromkeys(_ciphertexts(rest, ())))


def with_note(manifest: Manifest) -> Manifest:
    """Note on an encrypted object which fields are encrypted."""
    if not is_encrypted(manifest):
        return manifest
    metadata = access.mapping(manifest, "metadata")
    notes = {**access.mapping(metadata, "annotations")}
    notes[ENCRYPTED_FIELDS] = _note(encrypted_fields(manifest))
    return {**manifest, "metadata": {**metadata, "annotations": notes}}


def noted_fields(manifest: Manifest) -> frozenset[FieldPath]:
    """Read the note of an object; what cannot be read hides all fields but those of its name."""
    note = access.text(manifest, "metadata", "annotations", ENCRYPTED_FIELDS)
    if not note:
        return frozenset()
    pointers = _pointers(note) if len(note) <= _LARGEST else None
    if pointers is None:
        return frozenset((name,) for name in manifest if name not in _IDENTITY)
    return frozenset(map(_path, pointers))


def without_noted(manifest: Manifest) -> Manifest:
    """Leave out the noted fields, for what is shown of an object by its content."""
    for path in noted_fields(manifest):
        manifest = _without(manifest, path)
    return manifest


def noted_values(manifest: Manifest) -> Iterator[Any]:
    """Yield the values of the noted fields, of a Secret also those of its other field for data."""
    for path in noted_fields(manifest):
        places = (path, ("data", *path[1:])) if path[0] == "stringData" else (path,)
        found = (access.get(manifest, *place) for place in places)
        yield from (value for value in found if value is not None)


def _without(value: Any, path: FieldPath) -> Any:
    if not isinstance(value, Mapping) or path[0] not in value:
        return value
    if len(path) == 1:
        return {name: item for name, item in value.items() if name != path[0]}
    return {**value, path[0]: _without(value[path[0]], path[1:])}


def _ciphertexts(value: Any, path: FieldPath) -> Iterator[FieldPath]:
    if isinstance(value, Mapping):
        for name, item in value.items():
            yield from _ciphertexts(item, (*path, str(name)))
    elif isinstance(value, list | tuple):
        for item in value:
            yield from (path for _ in _ciphertexts(item, path))
    elif isinstance(value, str) and value.startswith(CIPHERTEXT) and value.endswith("]"):
        yield path


def _note(paths: tuple[FieldPath, ...]) -> str:
    for found in (paths, dict.fromkeys(path[:1] for path in paths)):
        note = msgspec.json.encode([_pointer(path) for path in found]).decode()
        if len(note) <= _LARGEST:
            return note
    return _ALL


def _pointers(note: str) -> list[str] | None:
    try:
        return msgspec.json.decode(note, type=list[str])
    except msgspec.DecodeError:
        return None


def _pointer(path: FieldPath) -> str:
    return "".join(f"/{step.replace('~', '~0').replace('/', '~1')}" for step in path)


def _path(pointer: str) -> FieldPath:
    steps = pointer.removeprefix("/").split("/")
    return tuple(step.replace("~1", "/").replace("~0", "~") for step in steps)
