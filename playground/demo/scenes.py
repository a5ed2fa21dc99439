"""The scenes of the demo: what is played, in which world, and what a person can try afterwards."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from playground.demo.cluster_stages import CLUSTER, CLUSTER_STAGES
from playground.demo.repository import MISSING_TAG
from playground.demo.running_demo import DemoPlan, RemoteKind, RunningDemo
from playground.demo.scene_name import SceneName
from playground.demo.shell_files import FOLDER
from playground.demo.source_objects import VALUES, values
from playground.demo.source_stages import SOURCE_STAGES
from playground.demo.stage import DemoStage
from playground.demo.stages import STAGES


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoScene:
    stages: tuple[DemoStage, ...]
    plan: DemoPlan
    opening: str
    hint: tuple[str, str, str]
    """The line of where to look that is the scene's own: a word, a command, what it shows."""
    to_try: Callable[[RunningDemo], tuple[str, ...]]
    """Lines of `.demo/info` about what a person can do."""


def _repair_and_drift(demo: RunningDemo) -> tuple[str, ...]:
    return (
        "Repair what is broken: its image does not exist",
        "  gitops app get checkout",
        f"  git clone {demo.repository.url} {FOLDER}/apps",
        f"  sed -i s/:{MISSING_TAG}/:2.0/ {FOLDER}/apps/checkout/deployment.yaml",
        f"  git -C {FOLDER}/apps commit -am 'checkout: an image that exists'",
        f"  git -C {FOLDER}/apps push",
        "  gitops app wait checkout",
        "",
        "Edit by hand what Git says otherwise: it heals",
        "  kubectl -n demo scale deployment guestbook --replicas 7",
        "  gitops drift list",
    )


def _two_clusters(demo: RunningDemo) -> tuple[str, ...]:
    there = f"kubectl --kubeconfig {demo.remote.kubernetes.kubeconfig} -n demo"
    return (
        "Look at the clusters, the application of the remote one, and the Secret that leads there",
        "  gitops cluster list",
        "  gitops app get shop",
        f"  kubectl -n argocd get secret cluster-{CLUSTER}",
        "",
        "Edit by hand in the remote cluster: the agent of the laptop heals it",
        f"  {there} scale deployment shop --replicas 7",
        "  gitops drift list",
    )


def _signature_and_sources(demo: RunningDemo) -> tuple[str, ...]:
    hosts = demo.sources
    home = f"GNUPGHOME={hosts.gnupg.home}"
    key = f"user.signingKey={hosts.signing_key.id}"
    clone = f"{FOLDER}/payments"
    return (
        "Sign what is held back: its commit is proven then, and deployed",
        "  gitops app get payments",
        f"  git clone {hosts.payments.url} {clone}",
        f"  {home} git -C {clone} -c {key} commit --amend --no-edit -S",
        f"  git -C {clone} push --force",
        "  gitops app wait payments",
        "",
        "Look at the sources: a chart, a chart with its values, a repository by SSH",
        "  gitops app get catalogue",
        "  gitops app get orders",
        "  gitops repo list",
        "  gitops repo test ledger",
        "  kubectl -n argocd get secrets -l argocd.argoproj.io/secret-type",
        "",
        "Change the values of the application of two sources",
        f"  git clone {demo.repository.url} {FOLDER}/apps",
        f"  sed -i s/morning/evening/ {FOLDER}/apps/{VALUES}",
        f"  git -C {FOLDER}/apps commit -am 'orders: good evening'",
        f"  git -C {FOLDER}/apps push",
        "  kubectl -n demo get configmap orders -o jsonpath='{.data.greeting}'",
    )


SCENES = {
    SceneName.PUSH: DemoScene(
        stages=STAGES,
        plan=DemoPlan(),
        opening="two clusters, their agents, the service, Git",
        hint=("Repair", "gitops app get checkout", "is broken on purpose: see why"),
        to_try=_repair_and_drift,
    ),
    SceneName.CLUSTERS: DemoScene(
        stages=CLUSTER_STAGES,
        plan=DemoPlan(remote=RemoteKind.BARE),
        opening="two clusters, one agent for both, the service, Git",
        hint=("Remote", "gitops app get shop", "runs in the other cluster"),
        to_try=_two_clusters,
    ),
    SceneName.SOURCES: DemoScene(
        stages=SOURCE_STAGES,
        plan=DemoPlan(remote=RemoteKind.NONE, source_hosts=True, files=values("welcome")),
        opening="a cluster, its agent, the service, Git, SSH, a registry",
        hint=("Unsigned", "gitops app get payments", "is held back: see why"),
        to_try=_signature_and_sources,
    ),
}
