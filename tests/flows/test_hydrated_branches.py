"""Branches that the agent writes, on a real Git host: with which login, over what, and why not."""

from __future__ import annotations

import json
import uuid
from collections.abc import AsyncIterator, Mapping
from pathlib import Path

import pytest
from msgspec.structs import replace

from agent.git.credentials import SECRET_TYPE, Secret
from agent.git.hydrated_branches import HydratedBranches
from agent.git.repository_secrets import WRITING, SecretCredentials
from agent.git.server_trust import MachineTrust
from bus.identity import HydratedBranch, RepositoryKey
from bus.status import Reason
from handlers.ports import RepositoryError
from handlers.ports.branches import BranchChange, HydratedFolder
from playground.githost import GitHost, HostedRepository, HostLogin

LOGIN = HostLogin(user="hydrator", password="a password that may push")
DRY = RepositoryKey("https://git.example/dry")


@pytest.fixture
def repository(git_host: GitHost) -> HostedRepository:
    repository = git_host.create(f"wet-{uuid.uuid4().hex[:8]}")
    repository.login = LOGIN
    return repository


@pytest.fixture
def secrets() -> list[Secret]:
    """The Secrets of the control namespace; a test puts its own there."""
    return []


@pytest.fixture
async def branches(tmp_path: Path, secrets: list[Secret]) -> AsyncIterator[HydratedBranches]:
    credentials = SecretCredentials(lambda: secrets, WRITING)
    async with HydratedBranches(tmp_path / "written", credentials, MachineTrust()) as branches:
        yield branches


def secret(url: str, type_: str = "repository-write", **data: str) -> Secret:
    known = {"url": url, "username": LOGIN.user, "password": LOGIN.password}
    return Secret(namespace="argocd", name=type_, labels={SECRET_TYPE: type_}, data=known | data)


def branch_of(repository: HostedRepository, project: str = "default") -> HydratedBranch:
    return HydratedBranch(project, DRY, "main", RepositoryKey(repository.url), "env")


def change(manifest: bytes = b"a: 1\n", sha: str = "d1") -> BranchChange:
    folder = HydratedFolder(path="web", manifest=manifest, metadata=b"{}", readme=b"words")
    return BranchChange(
        base="env",
        folders=(folder,),
        metadata=sha.encode(),
        message=f"{sha}: change\n",
        author_name="Kim",
        author_email="kim@example.com",
        note=json.dumps({"drySha": sha}).encode(),
    )


def hook(repository: HostedRepository, name: str, script: str) -> None:
    path = repository.folder / "hooks" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


async def refused(branches: HydratedBranches, branch: HydratedBranch) -> RepositoryError:
    with pytest.raises(RepositoryError) as caught:
        await branches.change(branch, change())
    return caught.value


async def test_a_branch_is_written_once_and_noted_at_each_dry_commit(
    branches: HydratedBranches, repository: HostedRepository, secrets: list[Secret]
) -> None:
    secrets.append(secret(repository.url))
    first = await branches.change(branch_of(repository), change())
    assert (first.is_new, repository.head("env")) == (True, first.commit)
    before = repository.references()
    again = await branches.change(branch_of(repository), change())
    assert (again.commit, again.is_new) == (first.commit, False)
    assert repository.references() == before
    await branches.change(branch_of(repository), change(sha="d2"))
    after: Mapping[str, str] = repository.references()
    assert [name for name in after if after[name] != before.get(name)] == [
        "refs/notes/hydrator.metadata"
    ]


@pytest.mark.parametrize("types", [(), ("repository", "repo-creds")], ids=["none", "that read"])
async def test_without_a_secret_that_writes_nothing_is_pushed(
    branches: HydratedBranches,
    repository: HostedRepository,
    secrets: list[Secret],
    types: tuple[str, ...],
) -> None:
    secrets += [secret(repository.url, one) for one in types]
    error = await refused(branches, branch_of(repository))
    assert error.reason is Reason.CREDENTIALS_REFUSED
    assert "secret-type: repository-write" in error.message
    assert repository.references() == {}


async def test_a_secret_of_a_project_writes_for_that_project_only(
    branches: HydratedBranches, repository: HostedRepository, secrets: list[Secret]
) -> None:
    secrets.append(secret(repository.url, project="shop"))
    assert "no Secret may write there" in (await refused(branches, branch_of(repository))).message
    assert (await branches.change(branch_of(repository, "shop"), change())).is_new


async def test_a_prefix_lends_its_login(
    branches: HydratedBranches,
    repository: HostedRepository,
    git_host: GitHost,
    secrets: list[Secret],
) -> None:
    secrets.append(secret(git_host.url, "repo-write-creds"))
    assert (await branches.change(branch_of(repository), change())).is_new


async def test_a_wrong_password_is_told_by_its_secret(
    branches: HydratedBranches, repository: HostedRepository, secrets: list[Secret]
) -> None:
    secrets.append(secret(repository.url, password="wrong-and-hidden"))
    error = await refused(branches, branch_of(repository))
    assert error.reason is Reason.CREDENTIALS_REFUSED
    assert "cannot be written" in error.message
    assert "Secret argocd/repository-write" in error.message
    assert "wrong-and-hidden" not in error.message


async def test_a_login_that_may_not_push_is_told_with_the_host_s_word(
    branches: HydratedBranches, repository: HostedRepository, secrets: list[Secret]
) -> None:
    secrets.append(secret(repository.url))
    hook(repository, "pre-receive", "exit 1")
    error = await refused(branches, branch_of(repository))
    assert "rejects a push to refs/heads/env: pre-receive hook declined" in error.message
    assert repository.references() == {}


async def test_a_host_that_is_away_is_told_and_tried_again(
    branches: HydratedBranches, repository: HostedRepository, secrets: list[Secret]
) -> None:
    url = repository.url.replace("127.0.0.1", "127.0.0.2")
    secrets.append(secret(url))
    branch = replace(branch_of(repository), repository=RepositoryKey(url))
    assert (await refused(branches, branch)).reason is Reason.REPOSITORY_UNREACHABLE


async def test_a_commit_that_came_between_fetch_and_push_is_kept(
    branches: HydratedBranches, repository: HostedRepository, secrets: list[Secret]
) -> None:
    secrets.append(secret(repository.url))
    await branches.change(branch_of(repository), change())
    first = repository.head("env")
    between = repository.commit({"theirs.txt": "stays"}, branch="env")
    repository.commit({}, branch="env")  # what the hook moves back from
    move_once(repository, first, between)
    made = await branches.change(branch_of(repository), change(b"a: 2\n"))
    assert repository.head("env") == made.commit
    assert repository.read("theirs.txt", branch="env") == b"stays"
    assert repository.read("web/manifest.yaml", branch="env") == b"a: 2\n"


def move_once(repository: HostedRepository, start: str, target: str) -> None:
    """Put the branch at `start`; the first push finds it moved to `target` while it is received."""
    reference = repository.folder / "refs" / "heads" / "env"
    reference.write_text(f"{start}\n")
    hook(
        repository,
        "pre-receive",
        f"[ -e moved ] && exit 0; touch moved; echo {target} > refs/heads/env",
    )


async def test_a_branch_that_keeps_moving_is_given_up_for_now(
    branches: HydratedBranches, repository: HostedRepository, secrets: list[Secret]
) -> None:
    secrets.append(secret(repository.url))
    await branches.change(branch_of(repository), change())
    first = repository.head("env")
    other = repository.commit({"x": "y"}, branch="env")
    hook(
        repository,
        "pre-receive",
        f"grep -q {first} refs/heads/env && to={other} || to={first}; echo $to > refs/heads/env",
    )
    with pytest.raises(RepositoryError, match="moved during each of 5 attempts"):
        await branches.change(branch_of(repository), change(b"a: 2\n"))
