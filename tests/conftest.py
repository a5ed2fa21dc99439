"""Real parts for tests: started when the first test asks, shared by the session, gone at its end.

Where pytest-xdist runs several processes, each is a session. They share what is dear to start and
to keep, PostgreSQL and the Kubernetes control plane (shared_servers.py), and have the rest each.

Servers run on a loop of their own in a thread, because the loop of a test ends with the test. What
keeps tests apart is theirs: a stream prefix, a key prefix, a repository, a namespace.
"""

import uuid
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import hypothesis
import pytest
import structlog
from rich.console import Console

from playground.background import BackgroundLoop
from playground.build import (
    build_control_plane,
    build_plugin_client,
    build_plugin_server,
    build_registry,
    build_sandbox,
    build_sops,
    ignore_progress,
    missing_builds,
)
from playground.compiling import BuildError, run_builds
from playground.githost import GitHost
from playground.kubernetes import ControlPlane
from playground.kubernetes import control_plane as open_control_plane
from playground.nats import nats_server
from playground.redis import redis_server
from playground.screen import watching
from playground.server import Server
from tests.databases import (
    MIGRATED,
    DatabasePool,
    database_server,
    drop_database,
    new_database,
)
from tests.needs import MARKERS, group_of, longest_first, needs_of, seconds_of
from tests.shared_servers import SharedServers
from tests.signers import Signers, open_signers

_SHARED = pytest.StashKey[SharedServers]()

hypothesis.settings.register_profile("tests", deadline=None)
hypothesis.settings.load_profile("tests")  # an example may be slow on a machine that is busy


def pytest_configure(config: pytest.Config) -> None:
    for marker in MARKERS:
        config.addinivalue_line("markers", marker)
    _log_plainly()


def _log_plainly() -> None:
    """Write tracebacks without the values of variables: one of a large object takes minutes."""
    plain = structlog.dev.ConsoleRenderer(
        colors=False, exception_formatter=structlog.dev.plain_traceback
    )
    *before, _ = structlog.get_config()["processors"]
    structlog.configure(processors=[*before, plain])


@pytest.hookimpl(tryfirst=True)  # before `-m` chooses
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark each test with its needs and its group; several processes begin with the longest."""
    tests: list[tuple[str, float]] = []
    for item in items:
        needs = needs_of(getattr(item, "fixturenames", ()))
        group = group_of(item.nodeid, needs, _scopes_of(item))
        for marker in sorted(needs) or ["needs_nothing"]:
            item.add_marker(marker)
        tests.append((group, seconds_of(needs, _own_timeout(item))))
    if hasattr(config, "workerinput"):  # pytest-xdist: this is one process of several
        for item, (group, _) in zip(items, tests, strict=True):
            if group != item.nodeid:
                item.add_marker(pytest.mark.xdist_group(group))
        items[:] = [items[position] for position in longest_first(tests)]


def _own_timeout(item: pytest.Item) -> float:
    mark = item.get_closest_marker("timeout")
    return float(mark.args[0]) if mark is not None else 0.0


def _scopes_of(item: pytest.Item) -> set[str]:
    """The scopes of all fixtures that a test takes, its fixtures' fixtures included."""
    if not isinstance(item, pytest.Function):
        return set()
    known = item._fixtureinfo.name2fixturedefs  # pytest tells it nowhere else
    return {str(last.scope) for *_, last in known.values()}


@pytest.hookimpl(tryfirst=True)  # before pytest-xdist tells what it has
def pytest_collection_finish(session: pytest.Session) -> None:
    """Build before the first test, not inside it: a cold build takes longer than a test may."""
    _name_groups(session.items)
    if session.config.option.collectonly:
        return
    fixtures = {name for item in session.items for name in getattr(item, "fixturenames", ())}
    missing = missing_builds(
        cluster="control_plane_binaries" in fixtures,
        sandbox="sandbox_binary" in fixtures,
        registry="registry_binary" in fixtures,
        plugins="plugin_server_binary" in fixtures,
        sops="sops_binary" in fixtures,
    )
    with suppress(BuildError), watching(Console(stderr=True)) as watch:  # the fixture says it again
        run_builds(missing, watch)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Wait for the other processes here: the end of a fixture counts as time of the last test."""
    if (servers := session.config.stash.get(_SHARED, None)) is not None:
        servers.close()


def _name_groups(items: list[pytest.Item]) -> None:
    """Write the group behind a test's name, where pytest-xdist looks for it.

    It does that itself, but up to 3.8 into an attribute that pytest 9 no longer reads. Without
    groups each process would build the images and open the scene of the browser tests.
    """
    for item in items:
        mark = item.get_closest_marker("xdist_group")
        if mark is not None and not item.nodeid.endswith(f"@{mark.args[0]}"):
            item._id = item.id.parse(f"{item.nodeid}@{mark.args[0]}")


@pytest.fixture(scope="session")
def background() -> Iterator[BackgroundLoop]:
    with BackgroundLoop() as loop:
        yield loop


@pytest.fixture(scope="session")
def parts_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("parts")


@pytest.fixture(scope="session")
def shared_servers(
    pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory
) -> SharedServers:
    """Let go at the end of the session, see `pytest_sessionfinish`."""
    folder = tmp_path_factory.getbasetemp()
    of_the_run = folder.parent if hasattr(pytestconfig, "workerinput") else folder
    servers = pytestconfig.stash[_SHARED] = SharedServers(folder=of_the_run / "shared")
    return servers


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
def postgres_url(shared_servers: SharedServers) -> str:
    """One server for all: its first database is nobody's, take `database_url`."""
    return shared_servers.use("postgres", str, database_server)


@pytest.fixture(scope="session")
def databases(postgres_url: str) -> DatabasePool:
    return DatabasePool(postgres_url)


@pytest.fixture
async def database_url(databases: DatabasePool) -> AsyncIterator[str]:
    """A database of this test alone, migrated, with nothing in it."""
    async with databases.database() as url:
        yield url


@pytest.fixture
async def new_database_url(postgres_url: str) -> AsyncIterator[str]:
    """A database that no service has used: it has no partition of any month."""
    url = await new_database(postgres_url, f"new_{uuid.uuid4().hex}", template=MIGRATED)
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
def signers() -> Iterator[Signers]:
    """Keys of GnuPG, and signatures by them."""
    opened = open_signers()
    yield opened
    opened.gnupg.close()


@pytest.fixture(scope="session")
def control_plane_binaries() -> Path:
    return build_control_plane(ignore_progress)


@pytest.fixture(scope="session")
def control_plane(shared_servers: SharedServers, control_plane_binaries: Path) -> ControlPlane:
    """One cluster with controllers for all: who breaks an API server opens another."""

    @asynccontextmanager
    async def opened(folder: Path) -> AsyncIterator[ControlPlane]:
        async with open_control_plane(folder, control_plane_binaries) as cluster:
            yield cluster.address

    return shared_servers.use("control-plane", ControlPlane, opened)


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
    return build_sandbox(ignore_progress)


@pytest.fixture(scope="session")
def registry_binary() -> Path:
    """The OCI registry; building it takes two minutes, once."""
    return build_registry(ignore_progress)


@pytest.fixture(scope="session")
def plugin_client_binary() -> Path:
    return build_plugin_client(ignore_progress)


@pytest.fixture(scope="session")
def sops_binary() -> Path:
    """The program that decrypts; building it takes two minutes, once."""
    return build_sops(ignore_progress)


@pytest.fixture(scope="session")
def plugin_server_binary() -> Path:
    """Argo CD's server before a plugin; building it takes two minutes, once."""
    return build_plugin_server(ignore_progress)


@pytest.fixture(scope="session")
def whole_cluster(control_plane: ControlPlane) -> ControlPlane:
    """For a test that makes something with one name in the whole cluster, such as a ClusterRole."""
    return control_plane


@pytest.fixture(scope="session")
def own_servers() -> None:
    """For a test that starts servers by itself: says so, and does nothing."""
