"""Certificates and keys as files in memory: `git` and OpenSSL take them as files only.

They live in the memory of this process and are handed on as open files, which other programs know
by `/dev/fd/N`; none of them is on a disk.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

_FOR_SSH = frozenset({"ssh_key", "known_hosts", "proxy"})
"""SSH closes the files that it inherits, and finds these by the number of this process."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CredentialFiles:
    """Paths as Git is to see them, empty where there is nothing; `files` it has to inherit."""

    authority: str = ""
    certificate: str = ""
    key: str = ""
    ssh_key: str = ""
    known_hosts: str = ""
    proxy: str = ""
    """What the way through a proxy is made of; where it fails, the word of the failure."""
    files: tuple[int, ...] = ()


@contextmanager
def credential_files(texts: Mapping[str, str]) -> Iterator[CredentialFiles]:
    """Open texts by the name of their field; an empty one gets no file."""
    with ExitStack() as stack:
        opened = {
            name: stack.enter_context(_in_memory(text)) for name, text in texts.items() if text
        }
        paths = {name: _path(name, file) for name, file in opened.items()}
        yield CredentialFiles(files=tuple(opened.values()), **paths)


def _path(name: str, file: int) -> str:
    return f"/proc/{os.getpid()}/fd/{file}" if name in _FOR_SSH else f"/dev/fd/{file}"


@contextmanager
def _in_memory(text: str) -> Iterator[int]:
    file = os.memfd_create("paper")
    try:
        os.fchmod(file, 0o600)
        with open(file, "wb", closefd=False) as stream:
            stream.write(text.encode())
        yield file
    finally:
        os.close(file)
