"""Where the files of an Application come from.

A folder as it stands, one revision of a local repository, or the repository it names itself.
"""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec

from agent.git.credentials import SecretCredentials
from agent.git.local import local_commit
from agent.git.mirrors import Mirrors, MirrorSettings
from bus.identity import Revision
from cli.directory import DirectoryTree
from cli.inputs import InputError
from handlers.application.application import Application
from handlers.ports import Tree

UNCOMMITTED = Revision("0" * 40)
"""Stands for the revision where files are taken as they are."""


class Files(msgspec.Struct, frozen=True):
    tree: Tree
    revision: Revision


@asynccontextmanager
async def files_of(app: Application, folder: str, revision: str) -> AsyncIterator[Files]:
    """`folder` empty: fetch from `spec.source.repoURL`, without credentials.

    Raises InputError or RepositoryError.
    """
    if not folder:
        async with _fetched(app, revision) as found:
            yield found
    else:
        yield _local(Path(folder), revision)


def _local(folder: Path, revision: str) -> Files:
    if not folder.is_dir():
        raise InputError(f"--repo {folder}: is not a directory")
    if revision:
        commit, tree = local_commit(folder, revision)
        return Files(tree, commit)
    return Files(DirectoryTree(folder), UNCOMMITTED)


@asynccontextmanager
async def _fetched(app: Application, revision: str) -> AsyncIterator[Files]:
    if app.source is None:
        raise InputError(f"{app.key}: spec.source is missing; say --repo DIR")
    url = app.source.repo_url
    if url.startswith(("file:", "/", ".")):
        raise InputError(
            f"{app.key}: {url} is a folder of this machine, which the agent cannot reach; "
            "say --repo DIR to take the files from there"
        )
    with tempfile.TemporaryDirectory(prefix="gitops-render-") as folder:
        settings = MirrorSettings(folder=Path(folder))
        async with Mirrors(settings, SecretCredentials(lambda: ())) as mirrors:
            repository = mirrors.access(url, app.spec.project)
            await mirrors.fetch(repository)
            found = await mirrors.resolve(repository, revision or app.source.target_revision)
            yield Files(await mirrors.tree(repository, found), found)
