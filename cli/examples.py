"""Examples of commands, shown below their help: the way in which each is mostly used."""

from __future__ import annotations

from collections.abc import Mapping

EXAMPLES: Mapping[str, tuple[str, ...]] = {
    "gitops login": (
        "gitops login https://gitops.example.com --name admin",
        "gitops login https://gitops.example.com --token < token",
    ),
    "gitops events": (
        "gitops events --follow --app shop",
        "gitops events --since 1h --json | jq 'select(.type == \"fact.operation.finished.v1\")'",
    ),
    "gitops app list": (
        "gitops app list --where health=Degraded",
        "gitops app list --where environment=prod --where sync=OutOfSync --json",
    ),
    "gitops app get": ("gitops app get shop", "gitops app get prod/argocd/shop --json"),
    "gitops app sync": (
        "gitops app sync shop --preview",
        "gitops app sync --selector team=web --prune --wait",
    ),
    "gitops app rollback": (
        "gitops app rollback shop 3 --preview",
        "gitops app rollback shop 3 --auto-sync-off --wait",
    ),
    "gitops app wait": ("gitops app wait shop --revision 5425ff4 --timeout 10m",),
    "gitops app create": ("gitops app create --file shop.yaml --agent prod --wait",),
    "gitops app apply": ("gitops app apply --file shop.yaml --agent prod --wait",),
    "gitops app delete": ("gitops app delete shop", "gitops app delete shop --keep-objects --yes"),
    "gitops app diff": ("gitops app diff shop",),
    "gitops app tree": ("gitops app tree shop",),
    "gitops app history": ("gitops app history shop",),
    "gitops agent create": ("gitops agent create prod --environment prod --token-file token",),
    "gitops agent manifest": ("gitops agent manifest prod | kubectl apply --server-side -f -",),
    "gitops task list": ("gitops task list --phase failed,running",),
    "gitops audit list": ("gitops audit list --since 24h --action application.sync",),
    "gitops drift list": ("gitops drift list --open",),
    "gitops render": ("gitops render --file app.yaml --repo .",),
    "gitops plan": ("gitops plan --file app.yaml --repo .",),
    "gitops diff": ("gitops diff --desired rendered.yaml --live live.yaml",),
    "gitops health": ("kubectl get deployment web -o yaml | gitops health -",),
}


def examples_of(name: str) -> str:
    """The paragraph below the help of `name`; empty where it has none."""
    found = EXAMPLES.get(name, ())
    return "\nExamples:\n" + "".join(f"  {it}\n" for it in found) if found else ""
