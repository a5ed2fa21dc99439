"""GnupgSigner signs with the program gpg, as developers do, in a home of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import mkdtemp

_NOW = ""
_SECONDS = 60


@dataclass(frozen=True, slots=True)
class SigningKey:
    fingerprint: str
    armoured: str

    @property
    def id(self) -> str:
        return self.fingerprint[-16:]


@dataclass(slots=True)
class GnupgSigner:
    """Its home is short, because the socket of the agent of gpg is in it."""

    home: Path = field(default_factory=lambda: Path(mkdtemp(prefix="gpg-")))

    def close(self) -> None:
        subprocess.run(
            ("gpgconf", "--homedir", self.home, "--kill", "all"), check=False, timeout=_SECONDS
        )
        shutil.rmtree(self.home, ignore_errors=True)

    def key(self, name: str, *, expires: str = "0", since: str = _NOW, usage: str = "sign") -> str:
        """Make a key without a passphrase; returns its fingerprint."""
        user = f"{name} <{name.lower()}@example.org>"
        made = self._gpg(
            "--status-fd=1", "--quick-gen-key", user, "ed25519", usage, expires, since=since
        )
        created = (line.split() for line in made.decode().splitlines())
        return next(words[3] for words in created if words[1:2] == ["KEY_CREATED"])

    def subkey(self, fingerprint: str) -> None:
        self._gpg("--quick-add-key", fingerprint, "ed25519", "sign", "0")

    def subkeys(self, fingerprint: str) -> list[str]:
        listed = self._gpg("--with-colons", "--list-keys", fingerprint).decode().splitlines()
        found = [line.split(":")[9] for line in listed if line.startswith("fpr:")]
        return found[1:]

    def revoked(self, fingerprint: str) -> SigningKey:
        """The key as others have it after its revocation, of which this home does not know."""
        certificate = (self.home / "openpgp-revocs.d" / f"{fingerprint}.rev").read_text()
        other = GnupgSigner()
        try:
            other._gpg("--import", content=self.public(fingerprint).armoured.encode())
            other._gpg(
                "--import", content=certificate.replace(":-----BEGIN", "-----BEGIN").encode()
            )
            return other.public(fingerprint)
        finally:
            other.close()

    def public(self, fingerprint: str) -> SigningKey:
        return SigningKey(fingerprint, self._gpg("--armor", "--export", fingerprint).decode())

    def sign(
        self, content: bytes, key: str, *, since: str = _NOW, options: tuple[str, ...] = ()
    ) -> bytes:
        return self._gpg(
            *options, "--armor", "--detach-sign", "-u", f"{key}!", content=content, since=since
        )

    def clear_sign(self, content: bytes, key: str) -> bytes:
        return self._gpg("--clearsign", "-u", f"{key}!", content=content)

    def _gpg(self, *arguments: str, content: bytes = b"", since: str = _NOW) -> bytes:
        faked = (f"--faked-system-time={since}",) if since else ()
        command = ("gpg", f"--homedir={self.home}", "--batch", "--no-tty", "--quiet")
        run = subprocess.run(
            (*command, *faked, "--passphrase=", "--pinentry-mode=loopback", *arguments),
            input=content,
            capture_output=True,
            check=False,
            timeout=_SECONDS,
            env={"PATH": os.environ["PATH"], "LC_ALL": "C"},
        )
        assert run.returncode == 0, run.stderr.decode()
        return run.stdout
