"""Papers: certificates and keys that Git's program wants as files and that no disk shall hold.

They live in the memory of this process and are handed to Git as open files, which it and its
helpers know by `/dev/fd/N`. With the run they are gone, however it ended.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Papers:
    """Paths as Git is to see them, empty where there is nothing; `files` it has to inherit."""

    authority: str = ""
    certificate: str = ""
    key: str = ""
    files: tuple[int, ...] = ()


@contextmanager
def papers(*, authority: str = "", certificate: str = "", key: str = "") -> Iterator[Papers]:
    """Of texts in PEM."""
    with ExitStack() as stack:
        texts = {"authority": authority, "certificate": certificate, "key": key}
        opened = {
            name: stack.enter_context(_in_memory(text)) for name, text in texts.items() if text
        }
        paths = {name: f"/dev/fd/{file}" for name, file in opened.items()}
        yield Papers(files=tuple(opened.values()), **paths)


@contextmanager
def _in_memory(text: str) -> Iterator[int]:
    file = os.memfd_create("paper")
    try:
        with open(file, "wb", closefd=False) as stream:
            stream.write(text.encode())
        yield file
    finally:
        os.close(file)
