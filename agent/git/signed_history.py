"""What of a mirror is signed: annotated tags, and commits back to the roots or to seals. Blocking.

Sizes have limits, because anybody who may push can make an object of any size.
"""

from __future__ import annotations

import pygit2

from bus.identity import Revision
from bus.status import Reason
from handlers.ports import RepositoryError
from handlers.trust.signed_object import SignedObject, signed_commit, signed_tag

LARGEST = 1024 * 1024
MOST_COMMITS = 20_000
_TAG = pygit2.enums.ObjectType.TAG
_COMMIT = pygit2.enums.ObjectType.COMMIT


def tag_object(repository: pygit2.Repository, name: str) -> tuple[str, Revision] | None:
    """The annotated tag of this name and the commit that it leads to; None for any other name."""
    if not name:
        return None
    try:
        reference = repository.references.get(name)
        target = repository.get(reference.target) if reference is not None else None
        if not isinstance(target, pygit2.Tag):
            return None
        return str(target.id), Revision(str(target.peel(pygit2.Commit).id))
    except (pygit2.GitError, ValueError, TypeError):
        return None  # not a name of a ref, or not an object that it could name


def read_signed(repository: pygit2.Repository, oid: str) -> SignedObject:
    """Read a commit or a tag; raises RepositoryError where it is too large, or not there."""
    try:
        kind, size = repository.odb.read_header(oid)
        if size > LARGEST:
            text = f"the object {oid} has {size} bytes; signatures of up to {LARGEST} are checked"
            raise RepositoryError(Reason.SOURCE_UNPROVEN, text)
        kind, raw = repository.odb.read(oid)
    except (KeyError, ValueError) as error:
        text = f"the mirror has no object {oid}, whose signature is to be checked; it is shallow"
        raise RepositoryError(Reason.SOURCE_UNPROVEN, text) from error
    if kind == _TAG:
        return signed_tag(raw)
    if kind == _COMMIT:
        return signed_commit(raw)
    raise RepositoryError(Reason.SOURCE_UNPROVEN, f"the object {oid} is neither commit nor tag")


def commits_to_seals(repository: pygit2.Repository, revision: Revision) -> tuple[str, ...]:
    """List the commits back to the roots, the newest first; behind a seal nobody looks."""
    found: dict[str, None] = {revision: None}
    waiting = [str(revision)]
    while waiting:
        commit = read_signed(repository, waiting.pop())
        if commit.is_seal:
            continue
        for parent in commit.parents:
            if parent not in found:
                found[parent] = None
                waiting.append(parent)
        if len(found) > MOST_COMMITS:
            text = (
                f"the commit {revision} has more than {MOST_COMMITS} ancestors to be checked; "
                "seal the history: a signed commit with the trailer `Argocd-gpg-seal: REASON`"
            )
            raise RepositoryError(Reason.SOURCE_UNPROVEN, text)
    return tuple(found)
