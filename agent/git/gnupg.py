"""Gnupg checks OpenPGP signatures with the program `gpg`, in a home of its own for each keyring.

The home holds the trusted public keys and nothing else. `gpg` gets no agent, no key server, no
options file and no other home, so that nothing of this machine decides. What it answers is read by
`handlers.trust.gnupg_status`.
"""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from agent.git.limited_process import LimitedRun, run_limited
from bus.status import Reason
from handlers.ports.rendering import RenderError
from handlers.trust.gnupg import detached_signature
from handlers.trust.gnupg_status import UNREADABLE, GnupgVerdict, expiry_times, verdict
from handlers.trust.signing_trust import SigningTrust

PROGRAM = "gpg"
_SECONDS = 20.0
_LONGEST_SIGNATURE = 32 * 1024
_OPTIONS = (
    "--batch",
    "--no-tty",
    "--no-options",
    "--no-autostart",
    "--disable-dirmngr",
    "--no-auto-key-retrieve",
    "--no-auto-key-locate",
    "--trust-model=always",
    "--lock-never",
    "--no-default-keyring",
)


class Keyring(msgspec.Struct, frozen=True):
    home: Path
    expiry: dict[str, float]
    """When keys expire, by fingerprint; those that never do are left out."""


class Gnupg:
    def __init__(self, folder: Path) -> None:
        """`folder` is emptied when the first keyring is made."""
        self._folder = folder
        self._keyrings: dict[str, Keyring] = {}
        self._making = asyncio.Lock()
        self._at_once = asyncio.Semaphore(2)

    async def check(self, payload: bytes, signature: bytes, trust: SigningTrust) -> GnupgVerdict:
        """Check a detached signature; raises RenderError where `gpg` cannot be run."""
        if len(signature) > _LONGEST_SIGNATURE:
            return UNREADABLE
        try:
            raw = detached_signature(signature.decode("ascii"))
        except ValueError:
            return UNREADABLE
        keyring = await self._keyring(trust)
        with _open(raw) as file:
            run = await self._run(
                keyring.home, "--verify", f"/dev/fd/{file}", "-", content=payload, files=(file,)
            )
        found = verdict(run.output, run.code)
        times = [one for one in (found.expires, keyring.expiry.get(found.key, 0.0)) if one]
        return GnupgVerdict(found.state, found.key, found.primary, min(times, default=0.0))

    async def _keyring(self, trust: SigningTrust) -> Keyring:
        async with self._making:
            known = self._keyrings.get(trust.fingerprint)
            if known is None:
                home = await asyncio.to_thread(self._make, trust)
                listed = await self._run(home, "--with-colons", "--fixed-list-mode", "--list-keys")
                known = Keyring(home, expiry_times(listed.output))
                self._keyrings = {trust.fingerprint: known}
            return known

    def _make(self, trust: SigningTrust) -> Path:
        """Blocking. One home at a time: what a former process or keyring left is removed."""
        shutil.rmtree(self._folder, ignore_errors=True)
        home = self._folder / trust.fingerprint.replace(":", "-")
        try:
            home.mkdir(parents=True, mode=0o700)
            (home / "keys.gpg").write_bytes(trust.keyring)
        except OSError as error:
            raise _not_checked(f"the folder {home} cannot be written: {error.strerror}") from error
        return home

    async def _run(
        self, home: Path, *arguments: str, content: bytes = b"", files: tuple[int, ...] = ()
    ) -> LimitedRun:
        command = (
            PROGRAM,
            *_OPTIONS,
            f"--homedir={home}",
            f"--keyring={home / 'keys.gpg'}",
            "--status-fd=1",
            *arguments,
        )
        environment = {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C"}
        try:
            async with self._at_once:
                return await run_limited(
                    command,
                    environment=environment,
                    content=content,
                    deadline=_SECONDS,
                    files=files,
                )
        except TimeoutError as error:
            raise _not_checked(f"{PROGRAM} came to no end within {_SECONDS:g} s") from error
        except OSError as error:
            raise _not_checked(f"the program {PROGRAM} cannot be run: {error.strerror}") from error


@contextmanager
def _open(content: bytes) -> Iterator[int]:
    """Open a file in memory that a child can read by its number."""
    file = os.memfd_create("signature", 0)
    try:
        os.write(file, content)
        os.lseek(file, 0, os.SEEK_SET)
        yield file
    finally:
        os.close(file)


def _not_checked(why: str) -> RenderError:
    text = f"signatures cannot be checked: {why}; install GnuPG (Debian's package gpg) on the agent"
    return RenderError(Reason.SOURCE_UNPROVEN, text)
