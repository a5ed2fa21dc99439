"""Real parts for tests: started when the first test asks, shared by the session, gone at its end.

Servers run on a loop of their own in a thread, because the loop of a test ends with the test. What
keeps tests apart is theirs: a stream prefix, a key prefix, a repository, a namespace.
"""

import uuid
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from rich.console import Console

from playground.background import BackgroundLoop
from playground.build import build_control_plane, build_sandbox, missing_builds, say_nothing
from playground.compiling import BuildError, run_builds
from playground.githost import GitHost
from playground.kubernetes import ControlPlane
from playground.kubernetes import control_plane as open_control_plane
from playground.nats import nats_server
from playground.postgres import postgres_server
from playground.redis import redis_server
from playground.screen import watching
from playground.server import Server
from tests.databases import drop_database, new_database


def pytest_collection_finish(session: pytest.Session) -> None:
    """Build before the first test, not inside it: a cold build takes longer than a test may."""
    if session.config.option.collectonly:
        return
    wanted = {name for item in session.items for name in getattr(item, "fixturenames", ())}
    missing = missing_builds(cluster="control_plane" in wanted, sandbox="sandbox_binary" in wanted)
    with suppress(BuildError), watching(Console(stderr=True)) as watch:  # the fixture says it again
        run_builds(missing, watch)


@pytest.fixture(scope="session")
def background() -> Iterator[BackgroundLoop]:
    with BackgroundLoop() as loop:
        yield loop


@pytest.fixture(scope="session")
def parts_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("parts")


@pytest.fixture(scope="session")
def nats_url(background: BackgroundLoop, parts_folder: Path) -> str:
    """One JetStream for all: use a prefix of your own, never stop it."""
    return background.enter(nats_server(parts_folder / "nats")).url


@pytest.fixture
async def own_nats(tmp_path: Path) -> AsyncIterator[Server]:
    """A NATS of this test alone, to stop, kill and start again."""
    async with nats_server(tmp_path / "nats") as server:
        yield server


@pytest.fixture(scope="session")
def redis_url(background: BackgroundLoop, parts_folder: Path) -> str:
    return background.enter(redis_server(parts_folder / "redis")).url


@pytest.fixture(scope="session")
def postgres_url(background: BackgroundLoop, parts_folder: Path) -> str:
    """One server for all: its first database is nobody's, take `database_url`."""
    return background.enter(postgres_server(parts_folder / "postgres")).url


@pytest.fixture(scope="session")
def migrated_template(background: BackgroundLoop, postgres_url: str) -> str:
    """A database with all tables; copying it costs less than migrating again."""
    return background.call(new_database(postgres_url, "migrated", migrated=True))


@pytest.fixture
async def database_url(postgres_url: str, migrated_template: str) -> AsyncIterator[str]:
    """A database of this test alone, migrated, with nothing in it; dropped at its end."""
    url = await new_database(postgres_url, f"test_{uuid.uuid4().hex}", template="migrated")
    yield url
    await drop_database(postgres_url, url)


@pytest.fixture(scope="session")
def git_host(background: BackgroundLoop, parts_folder: Path) -> GitHost:
    """Make a repository of your own with `create`. Who takes the host down opens one of its own."""
    return background.enter(GitHost(parts_folder / "git"))


@pytest.fixture
async def own_git_host(tmp_path: Path) -> AsyncIterator[GitHost]:
    """A Git host of this test alone, to take down and bring back."""
    async with GitHost(tmp_path / "git") as host:
        yield host


@pytest.fixture(scope="session")
def control_plane(background: BackgroundLoop, parts_folder: Path) -> ControlPlane:
    """One cluster with controllers. Who breaks its API server brings it back, or opens another."""
    binaries = build_control_plane(say_nothing)
    return background.enter(open_control_plane(parts_folder / "kubernetes", binaries))


@pytest.fixture
async def namespace(control_plane: ControlPlane) -> AsyncIterator[str]:
    """A namespace of this test alone, with its ServiceAccount; it goes by itself afterwards."""
    name = f"test-{uuid.uuid4().hex[:10]}"
    async with control_plane.api() as api:
        await api.create_namespace(name)
        yield name
        await api.delete(f"/api/v1/namespaces/{name}")


@pytest.fixture(scope="session")
def sandbox_binary() -> Path:
    return build_sandbox(say_nothing)
