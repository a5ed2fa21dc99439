"""What is built once from Go sources: the control plane, its kubelet's exec, the sandbox worker.

Each goes to a cache folder named after its sources, so a change builds anew and nothing else
does. `python -m playground.build` builds all that is missing, with a bar on a terminal and plain
lines elsewhere.
"""

import re
import sys
from pathlib import Path

from rich.console import Console

from playground.compiling import Build, BuildError, BuildStep, Progress, Watcher, run_builds
from playground.go_program import GoProgram
from playground.screen import watching
from playground.toolchain import (
    MODULES,
    REGISTRY_MODULE,
    ToolMissingError,
    control_plane_cache,
    find_control_plane,
)

_ROOT = Path(__file__).parent.parent
SANDBOX = GoProgram(
    name="gitops-sandbox",
    folder="sandbox",
    module=_ROOT / "sandbox" / "worker",
    seconds=75,
    variable="GITOPS_SANDBOX_BINARY",
)
PLUGIN_CLIENT = GoProgram(
    name="gitops-plugins",
    folder="plugins",
    module=_ROOT / "sandbox" / "plugins",
    seconds=25,
    variable="GITOPS_PLUGINS_BINARY",
)
SOPS = GoProgram(
    name="gitops-sops",
    folder="sops",
    module=_ROOT / "sandbox" / "sops",
    seconds=150,
    variable="GITOPS_SOPS_BINARY",
)
KUBELET = GoProgram(
    name="kubelet", folder="kubelet", module=_ROOT / "playground" / "kubelet", seconds=15
)
PLUGIN_SERVER = GoProgram(
    name="argocd-cmp-server",
    folder="pluginserver",
    module=_ROOT / "playground" / "pluginserver",
    seconds=130,
)
REGISTRY = GoProgram(
    name="registry",
    folder="registry",
    module=REGISTRY_MODULE,
    seconds=110,
    package="github.com/distribution/distribution/v3/cmd/registry",
)


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
    return SANDBOX.built(watch)


def build_kubelet(watch: Watcher) -> Path:
    """The program that serves `exec` for the nodes which kwok plays."""
    return KUBELET.built(watch)


def build_registry(watch: Watcher) -> Path:
    """The OCI registry of the committed version, for tests and the scene `sources` of the demo."""
    return REGISTRY.built(watch)


def build_plugin_client(watch: Watcher) -> Path:
    """The program that speaks to plugins for the agent; GITOPS_PLUGINS_BINARY overrides."""
    return PLUGIN_CLIENT.built(watch)


def build_sops(watch: Watcher) -> Path:
    """The program that decrypts files of SOPS for the agent; GITOPS_SOPS_BINARY overrides."""
    return SOPS.built(watch)


def build_plugin_server(watch: Watcher) -> Path:
    """Argo CD's server before a plugin: tests build it, the demo does without."""
    return PLUGIN_SERVER.built(watch)


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
    programs = (
        (cluster, KUBELET),
        (sandbox, SANDBOX),
        (registry, REGISTRY),
        (plugins, PLUGIN_CLIENT),
        (plugins, PLUGIN_SERVER),
        (sops, SOPS),
    )
    for wanted, program in programs:
        missing += program.needed() if wanted else ()
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


if __name__ == "__main__":
    sys.exit(main())
