"""Bare Git repositories written without a work tree: what a push leaves behind, in a millisecond.

Knows nothing of HTTP and of webhooks. Every call opens the repository anew, so any thread may call.
"""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import msgspec
import pygit2
from pygit2.enums import DeltaStatus, FileMode, SortMode

NOTHING = "0" * 40

# As the large hosts do: a client may ask for any commit it knows of and leave out blobs.
_CONFIG = {
    "receive.autogc": "false",  # it would go on in the background after the push
    "http.receivepack": "true",
    "uploadpack.allowAnySHA1InWant": "true",
    "uploadpack.allowFilter": "true",
}
_PERSON = ("Playground", "playground@localhost")
_COMMITS_OF_A_PUSH = 20


class Symlink(msgspec.Struct, frozen=True):
    target: str


class Gitlink(msgspec.Struct, frozen=True):
    """The commit of a submodule."""

    commit: str


Content = str | bytes | Symlink | Gitlink
Changes = Mapping[str, Content | None]
Sign = Callable[[bytes], bytes]
"""Signs the content of a commit; returns the signature in ASCII armour."""


class CommitSummary(msgspec.Struct, frozen=True, kw_only=True):
    """One commit as webhooks tell it: paths by what happened to them."""

    id: str
    message: str
    time: int
    added: tuple[str, ...]
    modified: tuple[str, ...]
    removed: tuple[str, ...]


def create_repository(folder: Path, branch: str) -> None:
    repository = pygit2.init_repository(str(folder), bare=True, initial_head=branch)
    for name, value in _CONFIG.items():
        repository.config[name] = value


def commit(
    folder: Path, changes: Changes, branch: str, message: str, sign: Sign | None = None
) -> str:
    """Write the changes on top of the branch (None removes a path) and return the commit's id."""
    repository = pygit2.Repository(str(folder))
    reference = f"refs/heads/{branch}"
    tip = repository.references.get(reference)
    index = pygit2.Index()
    if tip is not None:
        index.read_tree(tip.peel(pygit2.Tree))
    for path, content in changes.items():
        _put(repository, index, path, content)
    person = pygit2.Signature(*_PERSON)
    parents = [] if tip is None else [tip.target]
    tree = index.write_tree(repository)
    if sign is None:
        return str(repository.create_commit(reference, person, person, message, tree, parents))
    plain = str(repository.create_commit(None, person, person, message, tree, parents))
    signed = sign_commit(repository, plain, sign)
    repository.references.create(reference, signed, force=True)
    return signed


def sign_commit(repository: pygit2.Repository, commit: str, sign: Sign) -> str:
    """Write the commit again with a signature of its content; returns its id."""
    content = repository.odb.read(commit)[1]
    head, blank, message = content.partition(b"\n\n")
    header = b"\ngpgsig " + sign(content).strip().replace(b"\n", b"\n ")
    return str(
        repository.odb.write(pygit2.enums.ObjectType.COMMIT, head + header + blank + message)
    )


def read(folder: Path, path: str, reference: str) -> bytes | None:
    repository = pygit2.Repository(str(folder))
    tree = repository.references[reference].peel(pygit2.Tree)
    if path not in tree:
        return None
    found = tree[path]
    return found.data if isinstance(found, pygit2.Blob) else None


def references(folder: Path) -> dict[str, str]:
    repository = pygit2.Repository(str(folder))
    return {name: str(repository.references[name].target) for name in repository.references}


def commits_between(folder: Path, before: str, after: str) -> tuple[CommitSummary, ...]:
    """Oldest first, as a push event lists them; a new branch tells its last commits."""
    if after == NOTHING:
        return ()
    repository = pygit2.Repository(str(folder))
    walker = repository.walk(repository[after].peel(pygit2.Commit).id, SortMode.TOPOLOGICAL)
    if before != NOTHING:
        walker.hide(repository[before].peel(pygit2.Commit).id)
    newest = [found for found, _ in zip(walker, range(_COMMITS_OF_A_PUSH), strict=False)]
    return tuple(_summary(found) for found in reversed(newest))


def is_forced(folder: Path, before: str, after: str) -> bool:
    """Whether the reference lost commits that it had."""
    if NOTHING in (before, after):
        return False
    repository = pygit2.Repository(str(folder))
    old = repository[before].peel(pygit2.Commit).id
    new = repository[after].peel(pygit2.Commit).id
    return not repository.descendant_of(new, old)


def _put(
    repository: pygit2.Repository, index: pygit2.Index, path: str, content: Content | None
) -> None:
    match content:
        case None:
            index.remove(path)
        case Symlink(target):
            blob = repository.create_blob(target.encode())
            index.add(pygit2.IndexEntry(path, blob, FileMode.LINK))
        case Gitlink(linked):
            index.add(pygit2.IndexEntry(path, pygit2.Oid(hex=linked), FileMode.COMMIT))
        case str() | bytes():
            body = content.encode() if isinstance(content, str) else content
            index.add(pygit2.IndexEntry(path, repository.create_blob(body), FileMode.BLOB))


def _summary(found: pygit2.Commit) -> CommitSummary:
    deltas = tuple(_deltas(found))
    return CommitSummary(
        id=str(found.id),
        message=found.message,
        time=found.commit_time,
        added=tuple(path for status, path in deltas if status == DeltaStatus.ADDED),
        removed=tuple(path for status, path in deltas if status == DeltaStatus.DELETED),
        modified=tuple(
            path
            for status, path in deltas
            if status not in (DeltaStatus.ADDED, DeltaStatus.DELETED)
        ),
    )


def _deltas(found: pygit2.Commit) -> Iterator[tuple[DeltaStatus, str]]:
    if found.parents:
        diff = found.parents[0].tree.diff_to_tree(found.tree)
    else:
        diff = found.tree.diff_to_tree(swap=True)
    for delta in diff.deltas:
        yield delta.status, delta.new_file.path or delta.old_file.path
