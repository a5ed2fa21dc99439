"""A container of a built image, started as a cluster would: nobody, no rights, nothing to write.

bubblewrap makes the walls (read-only root, own process ids, no capability) and setpriv takes the
user; the network is the machine's, so that the container reaches the playground on loopback.
"""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp

from agent.child_process import ChildProcess, ChildProgram, Fact
from playground.images.build import MountedImage
from playground.server import Server

USER = 10001
_CAPABILITIES = ("CAP_SETUID", "CAP_SETGID", "CAP_SETPCAP")
"""Until setpriv has taken the user, which drops them all."""
_AS_NOBODY = (
    "setpriv",
    f"--reuid={USER}",
    f"--regid={USER}",
    "--clear-groups",
    "--no-new-privs",
    "--bounding-set=-all",
    "--inh-caps=-all",
    "--",
)


@asynccontextmanager
async def container(
    mounted: MountedImage,
    folder: Path,
    port: int,
    environment: Mapping[str, str],
    *,
    volumes: Mapping[Path, str] | None = None,
) -> AsyncIterator[Server]:
    """Run the image's own command until the block ends; ready when `/readyz` answers at `port`.

    `volumes` are folders of this machine, by the place in the container where they are writable.
    """
    image = mounted.image
    inspected = json.loads(image.buildah.read("inspect", "--type", "image", image.name))
    config = inspected["Docker"]["config"]
    variables = dict(pair.split("=", 1) for pair in config["Env"]) | {"HOME": "/tmp"}  # noqa: S108
    program = ChildProgram(
        name=image.target,
        command=(
            *_walls(mounted.files, variables | dict(environment), volumes or {}),
            *_AS_NOBODY,
            *config["Entrypoint"],
            *config["Cmd"],
        ),
        folder=folder,
        stop_grace=30.0,
        ready_within=120,
    )
    async with ChildProcess(program, _answers(f"http://127.0.0.1:{port}/readyz")) as child:
        yield Server(f"http://127.0.0.1:{port}", child)


def volume(folder: Path) -> Path:
    """A new folder that the container's user may write to."""
    folder.mkdir(parents=True)
    os.chown(folder, USER, USER)
    return folder


def _walls(
    files: Path, environment: Mapping[str, str], volumes: Mapping[Path, str]
) -> tuple[str, ...]:
    binds = [word for here, there in volumes.items() for word in ("--bind", str(here), there)]
    variables = [word for name, value in environment.items() for word in ("--setenv", name, value)]
    capabilities = [word for name in _CAPABILITIES for word in ("--cap-add", name)]
    return (
        *("bwrap", "--ro-bind", str(files), "/", "--proc", "/proc", "--dev", "/dev"),
        *("--perms", "1777", "--tmpfs", "/tmp", *binds, "--chdir", "/", "--clearenv", *variables),  # noqa: S108
        *("--unshare-pid", "--unshare-ipc", "--unshare-uts", "--die-with-parent"),
        *("--cap-drop", "ALL", *capabilities, "--"),
    )


def _answers(url: str) -> Fact:
    async def ready() -> bool:
        timeout = aiohttp.ClientTimeout(total=5)
        try:
            async with (
                aiohttp.ClientSession(timeout=timeout) as session,
                session.get(url) as response,
            ):
                return response.status == 200
        except (aiohttp.ClientError, TimeoutError, OSError):
            return False

    return ready
