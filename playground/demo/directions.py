"""What the demo tells the person who looks at it: four lines where to look, and the whole list.

Every line of it is tried by a test, word for word.
"""

from __future__ import annotations

import sys

from rich.text import Text

from playground.demo.control_plane import ACCOUNT, ADMINISTRATOR
from playground.demo.running_demo import RunningDemo
from playground.demo.scenes import DemoScene
from playground.demo.shell_files import FOLDER, ShellFiles, running_info

_CLUSTERS = "kubectl get applications -n argocd"


def where_to_look(scene: DemoScene, link: str) -> Text:
    """The four lines; each is shorter than a narrow terminal."""
    word, command, shows = scene.hint
    return Text.assemble(
        ("\nThe demo stays up; Ctrl-C ends it. Where to look:\n\n", "bold"),
        ("  Dashboard  ", "bold"),
        (link, "cyan"),
        ("  signs you in\n", "dim"),
        ("  Terminal   ", "bold"),
        (f"source {FOLDER}/env", "cyan"),
        (f"  gitops, logged in (fish: {FOLDER}/env.fish)\n", "dim"),
        (f"  {word:<11}", "bold"),
        (command, "cyan"),
        (f"  {shows}\n", "dim"),
        ("  The rest   ", "bold"),
        ("make demo-info", "cyan"),
        ("  addresses, logins, clusters, files, what to try\n", "dim"),
    )


def information(demo: RunningDemo, scene: DemoScene, link: str, files: ShellFiles) -> str:
    """Everything else, as it stands in `.demo/info`."""
    return "\n".join(
        (*_what_to_try(demo, scene), *_addresses(demo, link), *_files(demo, files), "")
    )


def _what_to_try(demo: RunningDemo, scene: DemoScene) -> tuple[str, ...]:
    return (
        "In another terminal, in this folder; fish: source .demo/env.fish",
        f"  source {FOLDER}/env",
        "  gitops app list",
        "  gitops events --follow",
        "",
        *scene.to_try(demo),
        "",
        "Look at the cluster itself",
        f"  {_CLUSTERS}",
        "  kubectl get all -n demo",
        "",
    )


def _addresses(demo: RunningDemo, link: str) -> tuple[str, ...]:
    agent = demo.laptop.agent
    return (
        "Addresses",
        f"  dashboard   {link}  (signs you in)",
        f"  login       {demo.service.url} name {ADMINISTRATOR} password {demo.service.password}",
        f"  Git         {demo.repository.url}  (no login)",
        *_hosts(demo),
        f"  metrics     {agent.metrics_url}/metrics",
        f"  ready       {agent.metrics_url}/readyz",
        "",
        "Facts straight from NATS, as any subscriber reads them",
        f"  {_bus_login(demo)} gitops events --follow",
        "",
    )


def _hosts(demo: RunningDemo) -> tuple[str, ...]:
    if demo.hosts is None:
        return ()
    return (
        f"  signed      {demo.hosts.payments.url}  (no login)",
        f"  SSH         {demo.hosts.ledger_url}  (with the key of the Secret ledger)",
        f"  registry    {demo.hosts.registry.address}  (no login)",
    )


def _bus_login(demo: RunningDemo) -> str:
    url, seed = demo.playground.nats.url, demo.subscriber_seed_file
    whose = f"GITOPS_ACCOUNT={ACCOUNT} GITOPS_AGENT={demo.laptop.plan.name}"
    return f"{whose} GITOPS_NATS_URL={url} GITOPS_NATS_NKEY_FILE={seed}"


def _files(demo: RunningDemo, files: ShellFiles) -> tuple[str, ...]:
    remote = demo.remote_cluster
    place = (f"  remote      {remote.cluster.kubernetes.kubeconfig}",) if remote else ()
    return (
        "Files",
        f"  laptop      {demo.laptop.kubernetes.kubeconfig}",
        *place,
        f"  agent       {demo.laptop.agent.child.program.log}",
        f"  service     {demo.service.server.child.program.log}",
        f"  this list   {files.info}",
    )


def main() -> int:
    """Print the list; the exit code is 1 where no demo runs."""
    found = running_info()
    if found is None:
        sys.stderr.write("no demo runs in this folder. Start one: make demo\n")
        return 1
    sys.stdout.write(found)
    return 0


if __name__ == "__main__":
    sys.exit(main())
