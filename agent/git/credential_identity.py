"""CredentialIdentities names logins, so that what one login fetched is served to that login only.

The name is a digest with a key of this agent's own: whoever sees it (as the name of a folder, or in
a file) cannot try passwords against it. The same login has the same name after a restart, and in
another Secret, because it opens the same things.
"""

from __future__ import annotations

import dataclasses
import hashlib
import os
import secrets
from base64 import b32encode
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from agent.git.credentials import GitCredential

_KEY_BYTES = 32
_KEY_FILE = "identity.key"


@dataclass(frozen=True, slots=True, kw_only=True)
class CredentialIdentities:
    """Make it with `open_identities`."""

    key: bytes = field(repr=False)

    def of(self, credential: GitCredential | None) -> str:
        """Name the login; empty where there is none."""
        if credential is None:
            return ""
        issuer = credential.issuer
        parts = (
            credential.username,
            credential.password,
            credential.bearer_token,
            credential.ssh_key,
            credential.certificate,
            credential.key,
            # What came over a connection that proved nothing is not what one with proof fetched.
            str(credential.insecure),
            str(credential.plain_http),
            repr((type(issuer).__qualname__, _values(issuer))) if issuer else "",
        )
        if parts == _OF_NONE:
            return ""
        return self.digest("".join(f"{len(part)}:{part}" for part in parts))

    def digest(self, text: str) -> str:
        """Make a word of 32 letters that says nothing of the text."""
        raw = hashlib.blake2b(text.encode(errors="surrogatepass"), digest_size=20, key=self.key)
        return b32encode(raw.digest()).decode().lower()


_OF_NONE = ("",) * 6 + (str(False), str(False), "")


def open_identities(folder: Path) -> CredentialIdentities:
    """Read the key of this folder, made where there is none. Blocking. Raises OSError."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / _KEY_FILE
    with suppress(FileNotFoundError):
        key = file.read_bytes()
        if len(key) == _KEY_BYTES:
            return CredentialIdentities(key=key)
    key = secrets.token_bytes(_KEY_BYTES)
    fresh = file.with_name(f"{_KEY_FILE}.{os.getpid()}")
    fresh.unlink(missing_ok=True)
    written = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(written, "wb") as opened:
        opened.write(key)
    fresh.rename(file)
    return CredentialIdentities(key=key)


def _values(issuer: object) -> object:
    """Take the fields of an issuer, which is a frozen value."""
    if dataclasses.is_dataclass(issuer) and not isinstance(issuer, type):
        return dataclasses.astuple(issuer)
    return issuer
