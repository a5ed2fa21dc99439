"""buildah: the program that makes images, with a store of its own in the user's cache.

It runs without an engine, its steps in a chroot. Needs root. Where the kernel mounts overlays, a
layer is what it changed, and the steps of a build are kept for the next one; elsewhere (`vfs`, as
inside most containers) each layer is a copy of all files, so only whole images are kept.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from playground.compiling import BuildError
from playground.toolchain import ToolMissingError, cache_folder

PACKAGES = ("buildah", "mmdebstrap", "bubblewrap")
"""Debian's packages for building and starting; `make image-tools` installs them."""

_AUTHORITIES = Path("/etc/ssl/certs/ca-certificates.crt")
_QUICK = 120.0


class StorageDriver(StrEnum):
    OVERLAY = "overlay"
    VFS = "vfs"


_FOLDERS = {StorageDriver.OVERLAY: ("overlay", "overlay-run"), StorageDriver.VFS: ("store", "run")}
_MOST_STEPS = 600
"""Kept steps of builds: past these all are made anew, or the disk would fill in the end."""


@dataclass(frozen=True, slots=True)
class Buildah:
    folder: Path
    """Images, working containers, and what builds keep for the next one."""
    driver: StorageDriver = StorageDriver.VFS

    def command(self, *words: str) -> tuple[str, ...]:
        store, run = (str(self.folder / name) for name in _FOLDERS[self.driver])
        return (
            "buildah",
            "--storage-driver",
            self.driver,
            "--root",
            store,
            "--runroot",
            run,
            *words,
        )

    @property
    def keeps_steps(self) -> bool:
        return self.driver is StorageDriver.OVERLAY

    @property
    def environment(self) -> Mapping[str, str]:
        """Ours, with the cache of `RUN --mount=type=cache` beside the images."""
        temporary = self.folder / "tmp"
        temporary.mkdir(parents=True, exist_ok=True)
        return {**os.environ, "TMPDIR": str(temporary), "BUILDAH_ISOLATION": "chroot"}

    def read(self, *words: str) -> str:
        """What a quick command prints. Raises BuildError with what it says where it fails."""
        done = subprocess.run(
            self.command(*words),
            capture_output=True,
            text=True,
            timeout=_QUICK,
            check=False,
            env=dict(self.environment),
        )
        if done.returncode != 0:
            raise BuildError(f"buildah {words[0]} failed: {done.stderr.strip()[-2000:]}")
        return done.stdout.strip()

    def images(self) -> tuple[Mapping[str, Any], ...]:
        return tuple(json.loads(self.read("images", "--all", "--json") or "null") or ())

    def has(self, image: str) -> bool:
        return any(image in (one.get("names") or ()) for one in self.images())

    def forget_steps(self) -> None:
        """Remove the steps of earlier builds where they have become many."""
        if sum(not image.get("names") for image in self.images()) > _MOST_STEPS:
            self.read("rmi", "--prune", "--force")

    @contextmanager
    def working_container(self, image: str) -> Iterator[str]:
        """A container to fill or to look into; it is removed at the end, also of a failure."""
        name = self.read("from", "--pull-never", image)
        try:
            yield name
        finally:
            self.read("rm", name)

    @contextmanager
    def mounted(self, image: str) -> Iterator[Path]:
        """The image's files, for reading."""
        with self.working_container(image) as container:
            yield Path(self.read("mount", container))


def find_buildah() -> Buildah:
    """Raises ToolMissingError, with the remedy, where a program is missing or may not be used."""
    missing = [name for name in ("buildah", "mmdebstrap", "bwrap") if not shutil.which(name)]
    if missing:
        raise ToolMissingError(
            f"{', '.join(missing)} not found: images are built with Debian's packages"
            f" {', '.join(PACKAGES)}. Install them as root: make image-tools"
        )
    if os.geteuid() != 0:
        raise ToolMissingError(
            "images are built in a chroot, which needs root: run it as root, or build the"
            " Dockerfile with an engine of your own (docker build .)"
        )
    folder = cache_folder() / "images"
    return Buildah(folder, _storage_driver(folder))


def _storage_driver(folder: Path) -> StorageDriver:
    """Ask buildah itself: its overlay driver mounts one before it says yes."""
    overlay = Buildah(folder, StorageDriver.OVERLAY)
    try:
        overlay.read("info")
    except BuildError:
        return StorageDriver.VFS
    return StorageDriver.OVERLAY


def trusted_here() -> Sequence[str]:
    """Options that let the steps of a build trust the authorities of this machine, as a proxy's."""
    return ("--volume", f"{_AUTHORITIES}:{_AUTHORITIES}:ro") if _AUTHORITIES.is_file() else ()
