"""Signers sign commits and tags with the program gpg, as developers do, in a home of their own.

The keys are made once for all tests: one that is good, and one for each way in which it is not.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import mkdtemp

import pygit2

from playground import gitstore
from playground.githost import HostedRepository

_NOW = ""
LONG_AGO = "20200101T000000!"
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


@dataclass(frozen=True, slots=True)
class Signers:
    """The keys of the tests, and signatures by them."""

    gnupg: GnupgSigner
    good: SigningKey
    expired: SigningKey
    revoked: SigningKey
    unlisted: SigningKey

    @property
    def listed(self) -> Mapping[str, str]:
        """The data of `argocd-gpg-keys-cm`; one key is not in it."""
        return {one.id: one.armoured for one in (self.good, self.expired, self.revoked)}

    def sign(self, content: bytes, key: SigningKey, *, until: str = "") -> bytes:
        since = LONG_AGO if key is self.expired else _NOW
        options = (f"--default-sig-expire={until}",) if until else ()
        return self.gnupg.sign(content, key.fingerprint, since=since, options=options)


def open_signers() -> Signers:
    gnupg = GnupgSigner()
    good = gnupg.key("Ada", since=LONG_AGO)
    gnupg.subkey(good)
    return Signers(
        gnupg,
        good=gnupg.public(good),
        expired=gnupg.public(gnupg.key("Gone", expires="1d", since=LONG_AGO)),
        revoked=gnupg.revoked(gnupg.key("Mallory")),
        unlisted=gnupg.public(gnupg.key("Eve")),
    )


def sign_commit(repository: pygit2.Repository, commit: str, signature: bytes) -> str:
    """Write the commit again with a signature of its content; returns its id."""
    head, blank, message = repository.odb.read(commit)[1].partition(b"\n\n")
    header = b"\ngpgsig " + signature.strip().replace(b"\n", b"\n ")
    return str(
        repository.odb.write(pygit2.enums.ObjectType.COMMIT, head + header + blank + message)
    )


@dataclass(frozen=True, slots=True)
class SignedRepository:
    """Pushes to a repository of the Git host with commits and tags that are signed."""

    repository: HostedRepository
    signers: Signers

    def commit(
        self,
        changes: Mapping[str, str | None],
        key: SigningKey | None,
        *,
        message: str = "change",
        until: str = "",
    ) -> str:
        """Push a commit; without a key it is not signed."""
        before = self.repository.references()
        branch = self.repository.branch
        made = gitstore.commit(self.repository.folder, changes, branch, message)
        if key is not None:
            made = self._signed(made, key, until)
            self._opened().references.create(f"refs/heads/{branch}", made, force=True)
        self.repository.announce(before)
        return made

    def commit_by_ssh(self, changes: Mapping[str, str | None], key: Path) -> str:
        """Push a commit that is signed with a key of SSH."""
        git, branch = self._opened(), self.repository.branch
        before = self.repository.references()
        made = gitstore.commit(self.repository.folder, changes, branch, "change")
        signature = subprocess.run(
            ("ssh-keygen", "-q", "-Y", "sign", "-f", key, "-n", "git"),
            input=git.odb.read(made)[1],
            capture_output=True,
            check=True,
            timeout=_SECONDS,
        ).stdout
        made = sign_commit(git, made, signature)
        git.references.create(f"refs/heads/{branch}", made, force=True)
        self.repository.announce(before)
        return made

    def merge(self, other: str, key: SigningKey | None) -> str:
        """Push a merge of another commit that has the other's files."""
        git, before = self._opened(), self.repository.references()
        branch = f"refs/heads/{self.repository.branch}"
        person = pygit2.Signature("Merger", "merger@example.org")
        parents = [git.references[branch].target, other]
        tree = git[other].tree_id
        made = str(git.create_commit(None, person, person, "merge", tree, parents))
        made = self._signed(made, key) if key is not None else made
        git.references.create(branch, made, force=True)
        self.repository.announce(before)
        return made

    def side(self, changes: Mapping[str, str | None], key: SigningKey | None) -> str:
        """Make a commit on top of the branch, which stays where it is."""
        branch = self.repository.branch
        before = self._opened().references[f"refs/heads/{branch}"].target
        made = gitstore.commit(self.repository.folder, changes, branch, "aside")
        self._opened().references.create(f"refs/heads/{branch}", before, force=True)
        return self._signed(made, key) if key is not None else made

    def tag(self, name: str, commit: str, key: SigningKey | None, *, ref: str = "") -> str:
        """Push an annotated tag, under another name than its own where `ref` says so."""
        git, before = self._opened(), self.repository.references()
        content = (
            f"object {commit}\ntype commit\ntag {name}\n"
            "tagger Tess <tess@example.org> 1700000000 +0000\n\nrelease\n"
        ).encode()
        signature = self.signers.sign(content, key) if key is not None else b""
        made = str(git.odb.write(pygit2.enums.ObjectType.TAG, content + signature))
        git.references.create(f"refs/tags/{ref or name}", made, force=True)
        self.repository.announce(before)
        return made

    def forge(self, commit: str, old: bytes, new: bytes) -> str:
        """Push the commit once more, with another content under its signature."""
        git, before = self._opened(), self.repository.references()
        content = git.odb.read(commit)[1].replace(old, new)
        made = str(git.odb.write(pygit2.enums.ObjectType.COMMIT, content))
        git.references.create(f"refs/heads/{self.repository.branch}", made, force=True)
        self.repository.announce(before)
        return made

    def _signed(self, commit: str, key: SigningKey, until: str = "") -> str:
        git = self._opened()
        signature = self.signers.sign(git.odb.read(commit)[1], key, until=until)
        return sign_commit(git, commit, signature)

    def _opened(self) -> pygit2.Repository:
        return pygit2.Repository(str(self.repository.folder))
