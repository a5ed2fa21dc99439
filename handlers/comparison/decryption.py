"""Decryption of an artifact: opened when it is used, and why it cannot be, in words.

An artifact holds ciphertext, as it came from Git, so that nothing that is kept holds a decrypted
value: no disk, no Redis, no digest. What is opened stays in the memory of those who compare and
apply.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from bus.status import Reason
from handlers.application.application import Application
from handlers.application.titles import title
from handlers.manifest.access import Manifest
from handlers.manifest.encryption import is_encrypted, may_hold_encrypted
from handlers.manifest.manifest_assembly import objects_of
from handlers.ports.decryption import Decryption, DecryptionError, DecryptionProblem
from handlers.ports.render_record import RenderRecord
from handlers.ports.rendering import RenderError

_REGEX = "sops --encrypt --encrypted-regex '^(data|stringData)$'"
_LONGEST = 200


class EncryptedObject(msgspec.Struct, frozen=True, kw_only=True):
    """An object as a person knows it: what it is, and where it was written."""

    title: str
    file: str = ""
    document: int = 0


async def decrypted_artifact(
    decryption: Decryption, app: Application, record: RenderRecord, content: bytes
) -> bytes:
    """Open an artifact for the memory; raises RenderError where it cannot be opened."""
    if not may_hold_encrypted(content):
        return content
    encrypted = [one for one in objects_of(content) if is_encrypted(one)]
    if not encrypted:
        return content
    if not record.is_verified:
        text = "it was rendered by an earlier version, which checked no encrypted file: refresh it"
        raise RenderError(Reason.DECRYPTION_FAILED, text)
    try:
        return await decryption.opened(app, content)
    except DecryptionError as error:
        raise refusal(error, app, [known(one) for one in encrypted]) from error


def known(manifest: Manifest, file: str = "", document: int = 0) -> EncryptedObject:
    return EncryptedObject(title=title(manifest), file=file, document=document)


def refusal(
    error: DecryptionError, app: Application, objects: Sequence[EncryptedObject]
) -> RenderError:
    """Say which object is not decrypted, why, and what to do about it."""
    named = 0 <= error.place < len(objects)
    one = objects[error.place] if named else None
    file = error.file or (one.file if one else "")
    what = one.title if one else "the encrypted objects"
    where = f" of {file}" if file else ""
    message = f"{what}{where} cannot be decrypted: {_why(error, app)}"
    document = one.document if one and file == one.file else 0
    reason = Reason.DECRYPTION_FAILED
    return RenderError(reason, message, file=file, document=document)


def _why(error: DecryptionError, app: Application) -> str:
    if error.problem is DecryptionProblem.KEY_MISSING:
        return (
            f"none of the keys of the AppProject {app.spec.project or 'default'!r} opens it; it is "
            f"encrypted for {', '.join(error.recipients)}{_also(error)}: put one of their private "
            "keys into a Secret that the project names, or encrypt the file for its key as well"
        )
    if error.problem is DecryptionProblem.KEY_UNSUPPORTED:
        return (
            f"it is encrypted for {', '.join(error.recipients) or 'no key'}, and only keys of age "
            "and PGP are used: add one to the file (sops rotate --add-age)"
        )
    if error.problem is DecryptionProblem.UNVERIFIED:
        return (
            "no file that was read of the repository has its block `sops` and is a file of SOPS"
            f"{_also(error)}, so its integrity cannot be checked: keep it in a file of YAML or "
            "JSON of this source, without templates"
        )
    if error.problem is DecryptionProblem.MALFORMED:
        return f"it is no sound file of SOPS{_also(error)}: encrypt it anew"
    return _WHY.get(error.problem) or error.message


def _also(error: DecryptionError) -> str:
    return f" ({error.message[:_LONGEST]})" if error.message else ""


_WHY = {
    DecryptionProblem.BROKEN_MAC: (
        "its message authentication code (MAC) is not that of its content, so it was changed after "
        "it was encrypted; nothing is applied: restore the file, or edit it with sops"
    ),
    DecryptionProblem.MOVED: (
        "its encrypted values stand in another place or kind of object than in the file: change "
        "the file with sops, and only names, labels and namespaces by other tools"
    ),
    DecryptionProblem.PARTIAL_MAC: (
        "its message authentication code (MAC) is of the encrypted values only, so its kind may "
        "have been changed, which is permitted of Secrets only: encrypt it without "
        "mac_only_encrypted"
    ),
}
UNENCRYPTED_NAMES = (
    f"everything in it is encrypted, also what names it: encrypt its values only ({_REGEX})"
)
ENCRYPTED_LIST = "a List is encrypted as a whole: write and encrypt its objects one by one"
LOOSE_CIPHERTEXT = (
    "it has values that SOPS has encrypted, but no block `sops` that names their keys: encrypt the "
    "manifest itself, not a file of which it is made"
)
