"""RemoteBase is a Git repository of which a kustomization uses a folder, named by a URL."""

from __future__ import annotations

import re

import msgspec

from handlers.application.spec import Source

_COMMIT = re.compile(r"[0-9a-f]{40}")


class RemoteBase(msgspec.Struct, frozen=True, omit_defaults=True):
    repository: str
    """The URL without the folder and the query, as kustomize reads it."""
    ref: str = ""
    """Branch, tag, range of tags or commit; empty for the repository's HEAD."""

    @property
    def is_exact(self) -> bool:
        """Whether it is one commit, however many come after it."""
        return _COMMIT.fullmatch(self.ref) is not None

    @property
    def source(self) -> Source:
        """The base as a source, to which the rules of projects apply."""
        return Source(repo_url=self.repository, target_revision=self.ref)
