"""Decryption keys: which Secrets hold the keys that decrypt SOPS files of a project. Pure.

Argo CD has no field for it, so it stands in an annotation of the AppProject:

    plumbline.dev/decryption-keys: team-a-sops, team-a-sops-next

The Secrets are of the agent's namespace and carry the label `plumbline.dev/secret-type:
decryption-key`, so that a project opens no other Secret. Their entries are named as Flux names
them: `*.agekey` for keys of age, `*.asc` for armoured private keys of PGP.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

import msgspec

from handlers.application.application import AppProject

DECRYPTION_KEYS = "plumbline.dev/decryption-keys"
SECRET_TYPE_LABEL = "plumbline.dev/secret-type"  # noqa: S105  the name of a label
DECRYPTION_KEY = "decryption-key"
_AGE, _PGP = ".agekey", ".asc"
_MOST = 10
_NAME = re.compile(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?")


class DecryptionKeys(msgspec.Struct, frozen=True, kw_only=True):
    """Private keys as their programs write them; no text of this value may be shown."""

    age: tuple[str, ...] = ()
    pgp: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"DecryptionKeys({len(self.age)} of age, {len(self.pgp)} of PGP)"

    def __bool__(self) -> bool:
        return bool(self.age or self.pgp)


def key_secrets(project: AppProject) -> tuple[str, ...]:
    """Name the Secrets of a project; empty where none are named, or the names have a problem."""
    return () if key_secrets_problem(project) else tuple(dict.fromkeys(_written(project)))


def key_secrets_problem(project: AppProject) -> str:
    """Say why the annotation cannot be understood; empty where it can."""
    names = tuple(_written(project))
    if len(names) > _MOST:
        return f"it names {len(names)} Secrets; at most {_MOST} are read"
    wrong = next((one for one in names if not _NAME.fullmatch(one)), None)
    if wrong is not None:
        return f"{wrong[:100]!r} is not the name of a Secret; expected names with commas"
    return ""


def keys_in(secrets: Mapping[str, Mapping[str, str]]) -> DecryptionKeys:
    """Read the keys of Secrets: by name of the Secret, then by name of the entry."""
    entries = [
        entry for name in sorted(secrets) for entry in sorted(secrets[name].items()) if entry[1]
    ]
    return DecryptionKeys(
        age=tuple(text for name, text in entries if name.endswith(_AGE)),
        pgp=tuple(text for name, text in entries if name.endswith(_PGP)),
    )


def _written(project: AppProject) -> Iterator[str]:
    text = project.metadata.annotations.get(DECRYPTION_KEYS, "")
    return (part.strip() for part in text.split(",") if part.strip())
