"""Hydrated commits in a bare repository: what is written, what stays, and what is in the way."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pygit2
import pytest
from msgspec.structs import replace

from agent.git.hydrated_commits import NOTES, PreparedCommit, prepare
from handlers.ports import RepositoryError
from handlers.ports.branches import BranchChange, HydratedFolder
from playground import gitstore
from playground.gitstore import Content, Symlink


def change(manifest: bytes = b"a: 1\n", *, sha: str = "d1", path: str = "apps/web") -> BranchChange:
    folder = HydratedFolder(
        path=path, manifest=manifest, metadata=sha.encode(), readme=b"read " + sha.encode()
    )
    return BranchChange(
        base="env",
        folders=(folder,),
        metadata=sha.encode(),
        message=f"{sha}: change\n",
        author_name="Kim",
        author_email="kim@example.com",
        note=json.dumps({"drySha": sha}).encode(),
    )


@pytest.fixture
def repository(tmp_path: Path) -> pygit2.Repository:
    gitstore.create_repository(tmp_path, "main")
    return pygit2.Repository(str(tmp_path))


def take(repository: pygit2.Repository, made: PreparedCommit) -> PreparedCommit:
    """Move the refs, as the server does after the push."""
    for refspec in made.branches:
        commit, _, ref = refspec.partition(":")
        repository.references.create(ref, commit, force=True)
    return made


def files(repository: pygit2.Repository, commit: str) -> Mapping[str, bytes]:
    index = pygit2.Index()
    index.read_tree(repository[commit].peel(pygit2.Tree))
    return {entry.path: repository[entry.id].data for entry in index}  # type: ignore[attr-defined]


def test_the_first_commit_has_the_files_and_the_note(repository: pygit2.Repository) -> None:
    made = take(repository, prepare(repository, "env", change()))
    assert made.is_new
    assert {
        name: text for name, text in files(repository, made.commit).items() if name[0] != "."
    } == {
        "apps/web/README.md": b"read d1",
        "apps/web/hydrator.metadata": b"d1",
        "apps/web/manifest.yaml": b"a: 1\n",
        "hydrator.metadata": b"d1",
    }
    assert repository.lookup_note(made.commit, NOTES).message == '{"drySha": "d1"}'
    assert made.note.endswith(f":{NOTES}")
    commit = repository[made.commit].peel(pygit2.Commit)
    assert (commit.author.name, list(commit.parent_ids)) == ("Kim", [])


def test_the_same_content_is_no_commit_and_the_same_note_no_push(
    repository: pygit2.Repository,
) -> None:
    first = take(repository, prepare(repository, "env", change()))
    again = prepare(repository, "env", change())
    assert (again.commit, again.is_new, again.branches, again.note) == (first.commit, False, (), "")
    noted = prepare(repository, "env", change(sha="d2"))
    assert (noted.commit, noted.is_new, noted.branches) == (first.commit, False, ())
    assert repository.lookup_note(first.commit, NOTES).message == '{"drySha": "d2"}'


def test_only_what_differs_is_written(repository: pygit2.Repository) -> None:
    gitstore.commit(
        Path(repository.path), {"other.txt": "stays", ".gitattributes": "own"}, "env", "x"
    )
    first = take(repository, prepare(repository, "env", change()))
    two = replace(change(sha="d2"), folders=(*change(sha="d2").folders, *change(path="b").folders))
    found = files(repository, take(repository, prepare(repository, "env", two)).commit)
    assert found["other.txt"] == b"stays"
    assert found[".gitattributes"] == b"own"
    assert found["apps/web/hydrator.metadata"] == b"d1"
    assert found["hydrator.metadata"] == b"d2"
    assert found["b/manifest.yaml"] == b"a: 1\n"
    assert repository[two_parent(repository)].id == first.commit


def two_parent(repository: pygit2.Repository) -> str:
    head = repository.references["refs/heads/env"].peel(pygit2.Commit)
    return str(head.parent_ids[0])


def test_a_branch_for_review_begins_where_the_deployed_one_stands(
    repository: pygit2.Repository,
) -> None:
    base = gitstore.commit(Path(repository.path), {"x": "y"}, "env", "base")
    made = prepare(repository, "env-next", change())
    assert [one.partition(":")[2] for one in made.branches] == ["refs/heads/env-next"]
    assert [str(one) for one in repository[made.commit].peel(pygit2.Commit).parent_ids] == [base]


def test_a_missing_base_begins_with_an_empty_commit(repository: pygit2.Repository) -> None:
    made = prepare(repository, "env-next", change())
    assert [one.partition(":")[2] for one in made.branches] == [
        "refs/heads/env",
        "refs/heads/env-next",
    ]
    assert not files(repository, made.branches[0].partition(":")[0])


IN_THE_WAY: dict[str, dict[str, Content]] = {
    "a symlink for the folder": {"apps/web": Symlink("../secrets")},
    "a symlink above it": {"apps": Symlink("elsewhere")},
    "a file for a folder": {"apps": "text"},
    "a folder for a file": {"apps/web/manifest.yaml/x": "text"},
    "a file of a person": {"apps/web/README.md": "how we work"},
    "manifests of a person": {"apps/web/manifest.yaml": "a: 0\n"},
    "a folder for the root's file": {"hydrator.metadata/x": "text"},
}


@pytest.mark.parametrize("there", IN_THE_WAY.values(), ids=IN_THE_WAY)
def test_nothing_is_written_past_what_is_in_the_way(
    repository: pygit2.Repository, there: dict[str, Content]
) -> None:
    gitstore.commit(Path(repository.path), there, "env", "x")
    with pytest.raises(RepositoryError, match="remove it from the branch"):
        prepare(repository, "env", change())


def test_a_symlink_in_place_of_the_manifest_is_replaced_and_not_followed(
    repository: pygit2.Repository,
) -> None:
    there: dict[str, Content] = {
        "target": "a: 1\n",
        "apps/web/manifest.yaml": Symlink("../../target"),
    }
    gitstore.commit(Path(repository.path), there, "env", "x")
    found = files(repository, prepare(repository, "env", change(b"a: 2\n")).commit)
    assert (found["apps/web/manifest.yaml"], found["target"]) == (b"a: 2\n", b"a: 1\n")


def test_a_note_of_somebody_else_is_no_text_that_has_to_be_read(
    repository: pygit2.Repository,
) -> None:
    made = take(repository, prepare(repository, "env", change()))
    blob = repository.create_blob(b"\xff\xfe")
    builder = repository.TreeBuilder()
    builder.insert(made.commit, blob, pygit2.enums.FileMode.BLOB)
    author = pygit2.Signature("Kim", "kim@example.com")
    noted = repository.create_commit(None, author, author, "", builder.write(), [])
    repository.references.create(NOTES, noted, force=True)
    assert prepare(repository, "env", change()).note
    assert repository.lookup_note(made.commit, NOTES).message == '{"drySha": "d1"}'
