"""Gnupg checks OpenPGP signatures with the program `gpg`, in a home of its own for each keyring.

The home holds the trusted public keys and nothing else. `gpg` gets no agent, no key server, no
options file and no other home, so that nothing of this machine decides. What it answers is read by
`handlers.trust.gnupg_status`.
"""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec
import structlog

from agent.limited_process import LimitedRun, ProcessLimits, run_limited
from bus.status import Reason
from handlers.ports import RendererBusyError
from handlers.ports.rendering import RenderError
from handlers.trust.gnupg import detached_signature, key_id
from handlers.trust.gnupg_status import (
    UNREADABLE,
    GnupgVerdict,
    SignatureClass,
    expiry_times,
    verdict,
)
from handlers.trust.signing_trust import KEYS, SigningTrust

log = structlog.get_logger()

PROGRAM = "gpg"
_INSTALL = "install GnuPG (Debian's package gpg) on the agent"
_LATER = "it is tried again"
_SECONDS = 20.0
_OF_VERDICTS = ProcessLimits(seconds=_SECONDS)
_OF_LISTS = ProcessLimits(seconds=_SECONDS, output_bytes=8 * 1024 * 1024)
_AGAIN = 0.5
_KEYRING = "keys.gpg"
_MOST_LISTINGS = 200
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

    async def check(
        self,
        payload: bytes,
        signature: bytes,
        trust: SigningTrust,
        signed: SignatureClass = SignatureClass.BINARY,
    ) -> GnupgVerdict:
        """Check a detached signature; raises RenderError where `gpg` cannot be run.

        RendererBusyError where other keys became the trusted ones meanwhile.
        """
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
        if self._keyrings.get(trust.fingerprint) is not keyring:
            raise RendererBusyError("the keys that are trusted have changed", after=_AGAIN)
        found = verdict(run.text, run.code, signed)
        times = [one for one in (found.expires, keyring.expiry.get(found.key, 0.0)) if one]
        return GnupgVerdict(found.state, found.key, found.primary, min(times, default=0.0))

    async def _keyring(self, trust: SigningTrust) -> Keyring:
        async with self._making:
            known = self._keyrings.get(trust.fingerprint)
            if known is None:
                kept = [one.home for one in self._keyrings.values()]
                home = await asyncio.to_thread(self._make, trust, kept)
                known = Keyring(home, await self._expiry(home, trust.keys))
                self._keyrings = {trust.fingerprint: known}
            return known

    async def _expiry(self, home: Path, keys: Sequence[bytes]) -> dict[str, float]:
        """Leave out of the keyring what GnuPG cannot read: it would read no key at all.

        They are looked for by halves.
        """
        readable, waiting, listings = list[bytes](), [tuple(keys)] if keys else [], 0
        while waiting:
            part = waiting.pop()
            listings += 1
            if listings > _MOST_LISTINGS:
                raise _not_checked(f"{PROGRAM} reads too few keys of {KEYS}", "remove the others")
            if (await self._listed(home, part)).code == 0:
                readable += part
            elif len(part) == 1:
                log.warning(
                    "GnuPG cannot read a trusted key: it proves nothing", key=key_id(part[0])
                )
            else:
                middle = len(part) // 2
                waiting += [part[middle:], part[:middle]]
        return expiry_times((await self._listed(home, readable)).text)

    async def _listed(self, home: Path, keys: Sequence[bytes]) -> LimitedRun:
        """List keys, which become the keyring."""
        try:
            await asyncio.to_thread((home / _KEYRING).write_bytes, b"".join(keys))
        except OSError as error:
            raise _not_written(home, error) from error
        listing = ("--with-colons", "--fixed-list-mode", "--list-keys")
        return await self._run(home, *listing, limits=_OF_LISTS)

    def _make(self, trust: SigningTrust, kept: Sequence[Path]) -> Path:
        """Blocking. Of former keyrings the last one stays, which a check may still be using."""
        for former in self._folder.glob("*"):
            if former not in kept:
                shutil.rmtree(former, ignore_errors=True)
        home = self._folder / trust.fingerprint.replace(":", "-")
        try:
            home.mkdir(parents=True, mode=0o700)
        except OSError as error:
            raise _not_written(home, error) from error
        return home

    async def _run(
        self,
        home: Path,
        *arguments: str,
        content: bytes = b"",
        files: tuple[int, ...] = (),
        limits: ProcessLimits = _OF_VERDICTS,
    ) -> LimitedRun:
        command = (
            PROGRAM,
            *_OPTIONS,
            f"--homedir={home}",
            f"--keyring={home / _KEYRING}",
            "--status-fd=1",
            *arguments,
        )
        environment = {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C"}
        try:
            async with self._at_once:
                run = await run_limited(
                    command,
                    environment=environment,
                    limits=limits,
                    content=content,
                    files=files,
                )
        except TimeoutError as error:
            why = f"{PROGRAM} came to no end within {_SECONDS:g} s"
            raise _not_checked(why, _LATER, Reason.DEADLINE_EXCEEDED) from error
        except OSError as error:
            why = f"the program {PROGRAM} cannot be run: {error.strerror}"
            raise _not_checked(why, _INSTALL) from error
        if run.code < 0:  # it says nothing about the signature
            why = f"{PROGRAM} was ended by the signal {-run.code}"
            raise _not_checked(why, _LATER, Reason.WORKER_DIED)
        return run


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


def _not_written(home: Path, error: OSError) -> RenderError:
    why = f"the folder {home} cannot be written: {error.strerror}"
    return _not_checked(why, "give the agent's state folder room and rights")


def _not_checked(why: str, remedy: str, reason: Reason = Reason.SOURCE_UNPROVEN) -> RenderError:
    return RenderError(reason, f"signatures cannot be checked: {why}; {remedy}")
