"""DecryptionCheck looks at what SOPS has encrypted in a render, before anything is made of it.

The sandbox renders ciphertext. The code that says that nobody has changed a file (MAC) is of the
whole file as it was committed, while rendering may give an object another name or namespace. So the
committed files are checked, and of each object that it is of one of them. Nothing that is decrypted
here is kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import msgspec

from bus.redaction import without_user_info
from bus.status import Reason
from handlers.comparison.decryption import (
    ENCRYPTED_LIST,
    LOOSE_CIPHERTEXT,
    UNENCRYPTED_NAMES,
    EncryptedObject,
    known,
    refusal,
)
from handlers.manifest import access
from handlers.manifest.access import Manifest
from handlers.manifest.encryption import (
    BLOCK,
    CIPHERTEXT,
    encrypted_fields,
    has_loose_ciphertext,
    is_encrypted,
    may_hold_encrypted,
)
from handlers.manifest.manifest_assembly import items_of
from handlers.ports import CommitTree, EntryKind
from handlers.ports.decryption import Decryption, DecryptionError, EncryptedObjects, NoDecryption
from handlers.ports.remote_base import RemoteBase
from handlers.ports.rendering import RecordedOrigin, RenderError, RenderResult
from handlers.render.source_resolver import ResolvedSource

_SUFFIXES = (".yaml", ".yml", ".json")
_LARGEST = 5 << 20
_LARGEST_TOTAL = 24 << 20
_IDENTITY = ("apiVersion", "kind", "metadata")


Bases = Mapping[RemoteBase, CommitTree]
NO_BASES: Bases = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class DecryptionCheck:
    decryption: Decryption = field(default_factory=NoDecryption)

    async def check(
        self, source: ResolvedSource, result: RenderResult, bases: Bases = NO_BASES
    ) -> None:
        """Raise RenderError where an encrypted object must not be used, or cannot be opened."""
        found = list(_encrypted(result))
        if not found:
            return
        files = _files(_read(source.tree, result, bases), [manifest for _, manifest in found])
        objects = tuple(msgspec.json.encode(manifest) for _, manifest in found)
        try:
            await self.decryption.verify(source.app, EncryptedObjects(objects=objects, files=files))
        except DecryptionError as error:
            raise refusal(error, source.app, [_known(*one) for one in found]) from error


def _encrypted(result: RenderResult) -> Iterator[tuple[RecordedOrigin, Manifest]]:
    for origin, content in zip(result.origins, result.objects, strict=True):
        if not may_hold_encrypted(content):
            continue
        document = msgspec.json.decode(content)
        if not isinstance(document, Mapping):
            continue
        for manifest in _each(document):
            if problem := _problem(manifest):
                one = _known(origin, manifest)
                message = f"{one.title} of {one.file} cannot be decrypted: {problem}"
                raise RenderError(
                    Reason.DECRYPTION_FAILED, message, file=one.file, document=one.document
                )
            if is_encrypted(manifest):
                yield origin, manifest


def _each(document: Manifest) -> Iterator[Manifest]:
    """The objects of a document as they are applied; also a list that has a block of its own."""
    found = items_of(document)
    if BLOCK in document and found != (document,):
        yield document
    yield from (one for one in found if isinstance(one, Mapping))


def _problem(manifest: Manifest) -> str:
    if has_loose_ciphertext(manifest):
        return LOOSE_CIPHERTEXT
    if not is_encrypted(manifest):
        return ""
    if access.kind(manifest).endswith("List") and isinstance(manifest.get("items"), list):
        return ENCRYPTED_LIST
    if any(path[0] in _IDENTITY for path in encrypted_fields(manifest)):
        return UNENCRYPTED_NAMES
    return ""


def _known(origin: RecordedOrigin, manifest: Manifest) -> EncryptedObject:
    if access.kind(manifest).startswith(CIPHERTEXT):
        return EncryptedObject(title="an object", file=origin.file, document=origin.document)
    return known(manifest, origin.file, origin.document)


def _files(
    read: Iterable[tuple[str, CommitTree, str]], manifests: Sequence[Manifest]
) -> dict[str, bytes]:
    """Read the files that have the code of one of the objects."""
    codes = {access.text(one, BLOCK, "mac").encode() for one in manifests} - {b""}
    found: dict[str, bytes] = {}
    total = 0
    for name, tree, path in read:
        entry = tree.entry(path)
        if entry is None or entry.kind is not EntryKind.BLOB or entry.size > _LARGEST:
            continue
        content = tree.read(entry.oid)
        if not any(code in content for code in codes):
            continue
        total += len(content)
        if total > _LARGEST_TOTAL:
            break
        found[name] = content
    return found


def _read(
    tree: CommitTree, result: RenderResult, bases: Bases
) -> Iterator[tuple[str, CommitTree, str]]:
    """Yield the files that objects may come of, each with its name for people, and its tree."""
    origins = (one.file for one in result.origins)
    for path in dict.fromkeys((*origins, *result.read_set)):
        if path.endswith(_SUFFIXES):
            yield path, tree, path
    for base, files in bases.items():
        for path in result.bases.get(base, {}):
            if path.endswith(_SUFFIXES):
                yield f"{without_user_info(base.repository)}: {path}", files, path
