"""The base images, made from Debian's packages, Go's folder and Node's wheel.

They stand in for the public `python`, `golang` and `node`: the same Dockerfile builds on
both. Each is kept by its recipe and by the month, so that Debian's security updates get in.
"""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path

from playground.compiling import Gauge, run_watched
from playground.images.buildah import Buildah, trusted_here
from playground.toolchain import find_go

ROOT = Path(__file__).parents[2]
SUITE = "bookworm"
PACKAGES = ("ca-certificates", "python-is-python3", "python3", "python3-venv")
_LEFT_OUT = (
    "path-exclude=/usr/share/man/*",
    "path-exclude=/usr/share/locale/*",
    "path-exclude=/usr/share/doc/*",
    "path-include=/usr/share/doc/*/copyright",
)
"""What nobody reads in a container; the licences stay."""
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_NODE_LOCK = "requirements.node.lock"
_INSTALL_NODE = (
    f"python -m venv /opt/node && /opt/node/bin/pip install --no-cache-dir --require-hashes"
    f" -r /{_NODE_LOCK}"
)


@dataclass(frozen=True, slots=True)
class BaseImage:
    """A base image: the argument of the Dockerfile that takes it, and what it is made of."""

    argument: str
    name: str
    seconds: float
    recipe: str

    @property
    def image(self) -> str:
        month = datetime.now(UTC).strftime("%Y-%m")
        key = sha256(self.recipe.encode()).hexdigest()[:12]
        return f"localhost/plumbline-base/{self.name}:{key}-{month}"


def base_images() -> tuple[BaseImage, BaseImage, BaseImage]:
    """Python's, Go's and Node's; the last two are made on the first."""
    debian = " ".join((SUITE, *PACKAGES, *_LEFT_OUT))
    lock = (ROOT / _NODE_LOCK).read_text()
    return (
        BaseImage("PYTHON_IMAGE", "python", 120, debian),
        BaseImage("GO_IMAGE", "go", 15, f"{debian} {_go_version()}"),
        BaseImage("NODE_IMAGE", "node", 20, f"{debian} {lock}"),
    )


def make_bases(buildah: Buildah, gauge: Gauge) -> dict[str, str]:
    """Make what is missing; the build arguments that name them."""
    python, go, node = base_images()
    for base, make in ((python, _make_python), (go, _make_go), (node, _make_node)):
        if not buildah.has(base.image):
            make(buildah, gauge)
        gauge.next()
    return {base.argument: base.image for base in (python, go, node)}


def _make_python(buildah: Buildah, gauge: Gauge) -> None:
    archive = buildah.folder / "debian.tar"
    archive.parent.mkdir(parents=True, exist_ok=True)
    left_out = (f"--dpkgopt={option}" for option in _LEFT_OUT)
    words = ("--variant=minbase", f"--include={','.join(PACKAGES)}", *left_out, SUITE, str(archive))
    run_watched(
        ("mmdebstrap", *words), buildah.folder, gauge, "making the base image of Debian's packages"
    )
    try:
        with buildah.working_container("scratch") as container:
            buildah.read("add", "--quiet", container, str(archive), "/")
            _commit(buildah, container, base_images()[0], {"PATH": _PATH})
    finally:
        archive.unlink(missing_ok=True)


def _make_go(buildah: Buildah, gauge: Gauge) -> None:
    python, go, _ = base_images()
    gauge.report("adding Go to it")
    with buildah.working_container(python.image) as container:
        buildah.read("copy", "--quiet", container, _go("env", "GOROOT"), "/usr/local/go")
        _commit(buildah, container, go, {"PATH": f"/usr/local/go/bin:{_PATH}"})


def _make_node(buildah: Buildah, gauge: Gauge) -> None:
    python, _, node = base_images()
    with buildah.working_container(python.image) as container:
        buildah.read("copy", "--quiet", container, str(ROOT / _NODE_LOCK), f"/{_NODE_LOCK}")
        words = ("run", *trusted_here(), container, "--", "sh", "-c", _INSTALL_NODE)
        run_watched(buildah.command(*words), ROOT, gauge, "adding Node to it", buildah.environment)
        trusted = {"NODE_EXTRA_CA_CERTS": "/etc/ssl/certs/ca-certificates.crt"}
        _commit(buildah, container, node, {"PATH": f"/opt/node/bin:{_PATH}", **trusted})


def _commit(buildah: Buildah, container: str, base: BaseImage, environment: dict[str, str]) -> None:
    pairs = [word for pair in environment.items() for word in ("--env", "=".join(pair))]
    buildah.read("config", *pairs, container)
    buildah.read("commit", "--quiet", container, base.image)


def _go_version() -> str:
    return _go("env", "GOVERSION")


def _go(*words: str) -> str:
    done = subprocess.run(
        [find_go(), *words], capture_output=True, text=True, timeout=60, check=True
    )
    return done.stdout.strip()
