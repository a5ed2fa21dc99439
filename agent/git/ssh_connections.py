"""SshConnections lets the fetches of one key from one host share an encrypted connection.

A handshake of SSH costs several times what a small fetch costs, so OpenSSH keeps the connection of
a fetch open for the next ones, and ends it by itself when none has come for a while. The place of
its socket is named by all that a connection is trusted for: host, user, key, known hosts and
proxy. So nobody fetches by the key of another, and a known host that is taken back is asked for
anew; also, no connection is used for longer than `_RENEWED_AFTER`. A host that refuses to share is
connected to for each fetch.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import secrets
import shutil
import tempfile
import time
from asyncio.subprocess import DEVNULL
from contextlib import suppress
from pathlib import Path

from agent.git.credentials import GitCredential
from bus.repository_url import RepositoryUrl

_MOST = 32
"""Connections that are kept at once, each a small process; further ones are not kept."""
_RENEWED_AFTER = 600.0
_LONGEST_PATH = 80
"""Characters of a socket's path: the system allows 107, and OpenSSH appends 17 for a moment."""
_CLOSED_WITHIN = 5.0


class SshConnections:
    def __init__(self, folder: Path) -> None:
        """`folder` is for the sockets; where its path is too long a temporary one is used."""
        self._wanted = folder
        self._folder: Path | None = None
        self._salt = secrets.token_bytes(16)

    def open(self) -> None:
        """Make the folder, and discard sockets of an earlier process. Blocking."""
        shutil.rmtree(self._wanted, ignore_errors=True)
        if len(str(self._wanted)) > _LONGEST_PATH - len(self._name(b"")):
            self._folder = Path(tempfile.mkdtemp(prefix="gitops-ssh-"))
        else:
            self._wanted.mkdir(mode=0o700, parents=True)
            self._folder = self._wanted

    def socket(self, url: RepositoryUrl, credential: GitCredential | None, known: str) -> str:
        """Name the socket of the connection for a fetch; empty where none is to be kept."""
        if self._folder is None or credential is None or not credential.ssh_key:
            return ""
        way = (credential.proxy, credential.no_proxy)
        login = (credential.ssh_key, str(credential.insecure), known)
        trusted = (str(url.origin), url.user, *login, *way)
        age = str(int(time.monotonic() / _RENEWED_AFTER))
        path = self._folder / self._name("\0".join((*trusted, age)).encode())
        is_kept = path.exists() or len(self._sockets()) < _MOST
        return str(path) if is_kept else ""

    async def close(self) -> None:
        """End the connections, and remove the folder."""
        folder, sockets = self._folder, self._sockets()
        self._folder = None
        async with asyncio.TaskGroup() as ending:
            for socket in sockets:
                ending.create_task(_end(socket))
        if folder is not None:
            await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)

    def _sockets(self) -> list[Path]:
        return list(self._folder.glob("c-*")) if self._folder is not None else []

    def _name(self, trusted: bytes) -> str:
        return f"c-{hmac.digest(self._salt, trusted, hashlib.sha256).hex()[:20]}"


async def _end(socket: Path) -> None:
    command = ("ssh", "-F", "/dev/null", "-O", "exit", "-o", f"ControlPath={socket}", "host")
    with suppress(TimeoutError, OSError):
        async with asyncio.timeout(_CLOSED_WITHIN):
            run = await asyncio.create_subprocess_exec(
                *command, stdin=DEVNULL, stdout=DEVNULL, stderr=DEVNULL
            )
            await run.wait()
