"""What is built once from Go sources: the control plane, its kubelet's exec, the sandbox worker.

Each goes to a cache folder named after its sources, so a change builds anew and nothing else
does. `python -m playground.build` builds all that is missing, with a bar on a terminal and plain
lines elsewhere.
"""

import os
import re
import sys
from pathlib import Path

from rich.console import Console

from playground.compiling import Build, BuildError, BuildStep, Progress, Watcher, run_builds
from playground.screen import watching
from playground.toolchain import (
    MODULES,
    REGISTRY_MODULE,
    ToolMissingError,
    cache_folder,
    control_plane_cache,
    find_control_plane,
    fingerprint,
)

SANDBOX_SOURCES = Path(__file__).parent.parent / "sandbox" / "worker"
KUBELET_SOURCES = Path(__file__).parent / "kubelet"
SANDBOX_VARIABLE = "GITOPS_SANDBOX_BINARY"
SANDBOX_PROGRAM = "gitops-sandbox"
REGISTRY_PROGRAM = "registry"
PLUGIN_CLIENT_SOURCES = Path(__file__).parent.parent / "sandbox" / "plugins"
PLUGIN_CLIENT_PROGRAM = "gitops-plugins"
PLUGIN_CLIENT_VARIABLE = "GITOPS_PLUGINS_BINARY"
SOPS_SOURCES = Path(__file__).parent.parent / "sandbox" / "sops"
SOPS_PROGRAM = "gitops-sops"
SOPS_VARIABLE = "GITOPS_SOPS_BINARY"
PLUGIN_SERVER_SOURCES = Path(__file__).parent / "pluginserver"
PLUGIN_SERVER_PROGRAM = "argocd-cmp-server"


def build_control_plane(watch: Watcher) -> Path:
    """The folder of the five programs, built if they are nowhere to be found: then minutes."""
    found = find_control_plane()
    if found is not None:
        return found
    build = control_plane_build()
    run_builds((build,), watch)
    return build.folder


def build_sandbox(watch: Watcher) -> Path:
    """The sandbox worker of exactly these sources; the variable GITOPS_SANDBOX_BINARY overrides."""
    configured = os.environ.get(SANDBOX_VARIABLE)
    if configured:
        return Path(configured)
    build = sandbox_build()
    if not build.folder.is_dir():
        run_builds((build,), watch)
    return build.folder / SANDBOX_PROGRAM


def build_kubelet(watch: Watcher) -> Path:
    """The program that serves `exec` for the nodes which kwok plays."""
    build = kubelet_build()
    if not build.folder.is_dir():
        run_builds((build,), watch)
    return build.folder / "kubelet"


def build_registry(watch: Watcher) -> Path:
    """The OCI registry of the committed version, for tests and the scene `sources` of the demo."""
    build = registry_build()
    if not build.folder.is_dir():
        run_builds((build,), watch)
    return build.folder / REGISTRY_PROGRAM


def build_plugin_client(watch: Watcher) -> Path:
    """The program that speaks to plugins for the agent; GITOPS_PLUGINS_BINARY overrides."""
    configured = os.environ.get(PLUGIN_CLIENT_VARIABLE)
    if configured:
        return Path(configured)
    build = plugin_client_build()
    if not build.folder.is_dir():
        run_builds((build,), watch)
    return build.folder / PLUGIN_CLIENT_PROGRAM


def build_sops(watch: Watcher) -> Path:
    """The program that decrypts files of SOPS for the agent; GITOPS_SOPS_BINARY overrides."""
    configured = os.environ.get(SOPS_VARIABLE)
    if configured:
        return Path(configured)
    build = sops_build()
    if not build.folder.is_dir():
        run_builds((build,), watch)
    return build.folder / SOPS_PROGRAM


def build_plugin_server(watch: Watcher) -> Path:
    """Argo CD's server before a plugin: tests build it, the demo does without."""
    build = plugin_server_build()
    if not build.folder.is_dir():
        run_builds((build,), watch)
    return build.folder / PLUGIN_SERVER_PROGRAM


def missing_builds(
    *,
    cluster: bool = True,
    sandbox: bool = True,
    registry: bool = False,
    plugins: bool = False,
    sops: bool = False,
) -> tuple[Build, ...]:
    """What of the wanted would have to be built now."""
    missing = []
    if cluster and find_control_plane() is None:
        missing.append(control_plane_build())
    if cluster:
        missing.append(kubelet_build())
    if sandbox and not os.environ.get(SANDBOX_VARIABLE):
        missing.append(sandbox_build())
    if registry:
        missing.append(registry_build())
    if plugins:
        missing += [plugin_client_build(), plugin_server_build()]
    if sops and not os.environ.get(SOPS_VARIABLE):
        missing.append(sops_build())
    return tuple(build for build in missing if not build.folder.is_dir())


def control_plane_build() -> Build:
    """Seconds as seen on two cores with an empty cache; the first pays for the shared packages."""
    kubernetes = _kubernetes_flags()
    return Build(
        folder=control_plane_cache(),
        steps=(
            _kubernetes("kube-apiserver", 180, kubernetes),
            _kubernetes("kube-controller-manager", 60, kubernetes),
            _kubernetes("kube-scheduler", 10, kubernetes),
            BuildStep(
                program="etcd",
                seconds=10,
                module=MODULES / "cluster",
                package="go.etcd.io/etcd/server/v3",
            ),
            BuildStep(
                program="kwok",
                seconds=60,
                module=MODULES / "kwok",
                package="sigs.k8s.io/kwok/cmd/kwok",
            ),
        ),
    )


def sandbox_build() -> Build:
    step = BuildStep(program=SANDBOX_PROGRAM, seconds=75, module=SANDBOX_SOURCES, package=".")
    return Build(folder=_own_folder("sandbox", SANDBOX_SOURCES), steps=(step,))


def kubelet_build() -> Build:
    step = BuildStep(program="kubelet", seconds=15, module=KUBELET_SOURCES, package=".")
    return Build(folder=_own_folder("kubelet", KUBELET_SOURCES), steps=(step,))


def plugin_client_build() -> Build:
    step = BuildStep(
        program=PLUGIN_CLIENT_PROGRAM, seconds=25, module=PLUGIN_CLIENT_SOURCES, package="."
    )
    return Build(folder=_own_folder("plugins", PLUGIN_CLIENT_SOURCES), steps=(step,))


def sops_build() -> Build:
    step = BuildStep(program=SOPS_PROGRAM, seconds=150, module=SOPS_SOURCES, package=".")
    return Build(folder=_own_folder("sops", SOPS_SOURCES), steps=(step,))


def plugin_server_build() -> Build:
    step = BuildStep(
        program=PLUGIN_SERVER_PROGRAM, seconds=130, module=PLUGIN_SERVER_SOURCES, package="."
    )
    return Build(folder=_own_folder("pluginserver", PLUGIN_SERVER_SOURCES), steps=(step,))


def _own_folder(name: str, module: Path) -> Path:
    """The folder in the cache for a module of ours, named after its sources."""
    files = (file for file in module.rglob("*") if file.is_file())
    sources = sorted(file for file in files if _is_source(file.relative_to(module)))
    return cache_folder() / name / fingerprint(sources, module)


def registry_build() -> Build:
    sources = sorted(REGISTRY_MODULE.glob("go.*"))
    folder = cache_folder() / "registry" / fingerprint(sources, REGISTRY_MODULE)
    step = BuildStep(
        program=REGISTRY_PROGRAM,
        seconds=110,
        module=REGISTRY_MODULE,
        package="github.com/distribution/distribution/v3/cmd/registry",
    )
    return Build(folder=folder, steps=(step,))


def ignore_progress(_: Progress) -> None:
    """For callers without a screen."""


def main() -> int:
    console = Console(stderr=True)
    builds = missing_builds()
    try:
        if builds:
            with watching(console) as watch:
                run_builds(builds, watch)
    except (BuildError, ToolMissingError) as error:
        console.print(str(error), markup=False, style="red")
        return 1
    sandbox = build_sandbox(ignore_progress)
    console.print(f"built: the control plane, and {sandbox}", soft_wrap=True, highlight=False)
    return 0


def _kubernetes(program: str, seconds: float, flags: str) -> BuildStep:
    return BuildStep(
        program=program,
        seconds=seconds,
        module=MODULES / "cluster",
        package=f"k8s.io/kubernetes/cmd/{program}",
        link_flags=flags,
    )


def _kubernetes_flags() -> str:
    """Without them the API server says it is v0.0.0, and clients that ask it stumble."""
    found = re.search(
        r"k8s\.io/kubernetes v((\d+)\.(\d+)\.\d+)", (MODULES / "cluster/go.mod").read_text()
    )
    if found is None:
        raise BuildError(
            "playground/controlplane/cluster/go.mod names no version of k8s.io/kubernetes"
        )
    values = {"gitVersion": f"v{found[1]}", "gitMajor": found[2], "gitMinor": found[3]}
    stamps = (f"-X k8s.io/component-base/version.{name}={value}" for name, value in values.items())
    return " ".join(("-s -w", *stamps))


def _is_source(file: Path) -> bool:
    return not file.name.endswith("_test.go") and "testdata" not in file.parts


if __name__ == "__main__":
    sys.exit(main())
