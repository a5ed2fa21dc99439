"""Signers sign commits and tags with the program gpg, as developers do, in a home of their own.

The keys are made once for all tests: one that is good, and one for each way in which it is not.
"""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pygit2

from playground import gitstore
from playground.githost import HostedRepository
from playground.gitstore import Changes
from playground.gnupg import GnupgSigner, SigningKey

_NOW = ""
LONG_AGO = "20200101T000000!"
_SECONDS = 60


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


@dataclass(frozen=True, slots=True)
class SignedRepository:
    """Pushes to a repository of the Git host with commits and tags that are signed."""

    repository: HostedRepository
    signers: Signers

    def commit(
        self,
        changes: Changes,
        key: SigningKey | None,
        *,
        message: str = "change",
        until: str = "",
    ) -> str:
        """Push a commit; without a key it is not signed."""
        sign = partial(self.signers.sign, key=key, until=until) if key is not None else None
        return self.repository.commit(changes, message=message, sign=sign)

    def commit_by_ssh(self, changes: Mapping[str, str | None], key: Path) -> str:
        """Push a commit that is signed with a key of SSH."""
        command = ("ssh-keygen", "-q", "-Y", "sign", "-f", key, "-n", "git")

        def sign(content: bytes) -> bytes:
            run = subprocess.run(
                command, input=content, capture_output=True, check=True, timeout=_SECONDS
            )
            return run.stdout

        return self.repository.commit(changes, sign=sign)

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

    def _signed(self, commit: str, key: SigningKey) -> str:
        sign = partial(self.signers.sign, key=key)
        return gitstore.sign_commit(self._opened(), commit, sign)

    def _opened(self) -> pygit2.Repository:
        return pygit2.Repository(str(self.repository.folder))
