"""Examples of commands, shown below their help: the most usual use of each."""

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
    "gitops app actions list": ("gitops app actions list shop --kind Deployment.apps --name web",),
    "gitops app actions run": (
        "gitops app actions run shop --kind Deployment.apps --name web --action restart --wait",
        "gitops app actions run shop --kind CronJob.batch --name nightly --action create-job",
    ),
    "gitops app object edit": (
        "gitops app object edit shop --kind Deployment.apps --name web --file patch.yaml --preview",
    ),
    "gitops app object delete": (
        "gitops app object delete shop --kind Pod --name web-5d9c --wait",
    ),
    "gitops app wait": ("gitops app wait shop --revision 5425ff4 --timeout 10m",),
    "gitops app create": ("gitops app create --file shop.yaml --agent prod --wait",),
    "gitops app apply": ("gitops app apply --file shop.yaml --agent prod --wait",),
    "gitops app delete": ("gitops app delete shop", "gitops app delete shop --keep-objects --yes"),
    "gitops app diff": ("gitops app diff shop",),
    "gitops app tree": ("gitops app tree shop",),
    "gitops app links": (
        "gitops app links shop",
        "gitops app links shop --kind Deployment.apps --name web",
    ),
    "gitops app history": ("gitops app history shop",),
    "gitops agent create": ("gitops agent create prod --environment prod --token-file token",),
    "gitops agent manifest": ("gitops agent manifest prod | kubectl apply --server-side -f -",),
    "gitops cluster list": ("gitops cluster list", "gitops cluster list --json | jq .status"),
    "gitops cluster add": (
        "gitops cluster add staging --server https://staging.example:6443 --token-file token",
    ),
    "gitops cluster get": ("gitops cluster get staging",),
    "gitops cluster rm": ("gitops cluster rm prod-eu/staging --wait",),
    "gitops repo list": ("gitops repo list",),
    "gitops repo get": ("gitops repo get https://git.example/team/apps",),
    "gitops repo rm": ("gitops repo rm https://git.example/team/apps --wait",),
    "gitops repo add": (
        "gitops repo add https://git.example/team/apps --username bot --password-file - --wait",
    ),
    "gitops repo test": ("gitops repo test https://git.example/team/apps",),
    "gitops task list": ("gitops task list --phase failed,running",),
    "gitops audit list": ("gitops audit list --since 24h --action application.sync",),
    "gitops drift list": ("gitops drift list --open",),
    "gitops render": ("gitops render --file app.yaml --repo .",),
    "gitops plan": ("gitops plan --file app.yaml --repo .",),
    "gitops diff": ("gitops diff --desired rendered.yaml --live live.yaml",),
    "gitops health": ("kubectl get deployment web -o yaml | gitops health -",),
    "gitops actions list": ("kubectl get deployment web -o yaml | gitops actions list -",),
    "gitops actions run": (
        "kubectl get deployment web -o yaml | gitops actions run scale - --param replicas=3",
    ),
    "gitops demo": (
        "gitops demo",
        "gitops demo --scene clusters",
        "gitops demo --scene sources",
        "gitops demo --once --json report.json",
    ),
    "gitops agent run": ("GITOPS_KUBE_KUBECONFIG=~/.kube/config gitops agent run",),
    "gitops agent check": ("gitops agent check",),
    "gitops agent settings": ("GITOPS_AGENT=prod gitops agent settings",),
    "gitops agent list": ("gitops agent list",),
    "gitops agent get": ("gitops agent get prod",),
    "gitops agent revoke": ("gitops agent revoke prod --yes",),
    "gitops agent rebuild": ("gitops agent rebuild prod",),
    "gitops agent epochs accept": ("gitops agent epochs accept prod",),
    "gitops agent epochs reject": ("gitops agent epochs reject prod --yes",),
    "gitops agent deletions accept": ("gitops agent deletions accept prod",),
    "gitops service run": ("GITOPS_SERVICE_PORT=8080 gitops service run",),
    "gitops service migrate": ("gitops service migrate",),
    "gitops service new-key": ("gitops service new-key /etc/gitops/service.keys",),
    "gitops service rotate-key": (
        "gitops service rotate-key",
        "gitops service rotate-key --encrypt-only --retire",
    ),
    "gitops service sign-audit": ("gitops service sign-audit",),
    "gitops service bind-agents": (
        "gitops service bind-agents",
        "gitops service bind-agents prod staging",
    ),
    "gitops service grant-role": ("gitops service grant-role gitops_service",),
    "gitops service grant-admin": ("gitops service grant-admin uma",),
    "gitops service reset-password": ("gitops service reset-password uma --stdin < password",),
    "gitops logout": ("gitops logout",),
    "gitops context list": ("gitops context list",),
    "gitops context use": ("gitops context use gitops.example.com",),
    "gitops app resources": ("gitops app resources shop", "gitops app resources shop --json"),
    "gitops app manifests": (
        "gitops app manifests shop",
        "gitops app manifests shop --revision feature/new-cart",
    ),
    "gitops app logs": (
        "gitops app logs shop --follow",
        "gitops app logs shop --pod web-6d4cf56db6-x2x9p --container web --tail 50",
    ),
    "gitops app exec": (
        "gitops app exec shop",
        "gitops app exec shop --pod web-6d4cf56db6-x2x9p --container web",
    ),
    "gitops app refresh": ("gitops app refresh shop --hard --wait",),
    "gitops app terminate": ("gitops app terminate shop",),
    "gitops app confirm-deletion": ("gitops app confirm-deletion shop --wait",),
    "gitops project list": ("gitops project list",),
    "gitops project get": ("gitops project get team-web",),
    "gitops project create": ("gitops project create --file team-web.yaml --agent prod --wait",),
    "gitops project apply": ("gitops project apply --file team-web.yaml --agent prod --wait",),
    "gitops project delete": ("gitops project delete team-web",),
    "gitops task get": ("gitops task get 01a200ec-59eb-77c0-aa40-4822a99b9adb",),
    "gitops task cancel": ("gitops task cancel 01a200ec-59eb-77c0-aa40-4822a99b9adb",),
    "gitops audit export": ("gitops audit export --after 1200 > audit.jsonl",),
    "gitops audit verify": ("gitops audit verify",),
    "gitops webhook parse": (
        "gitops webhook parse --headers headers.txt --body body.json --secret secret.txt",
    ),
    "gitops completion": (
        "source <(gitops completion bash)   # in ~/.bashrc",
        "source <(gitops completion zsh)   # in ~/.zshrc, after compinit",
        "gitops completion fish > ~/.config/fish/completions/gitops.fish",
    ),
    "gitops version": ("gitops version",),
}


def examples_of(name: str) -> str:
    """Get the paragraph of examples of `name`; empty where the command has none."""
    found = EXAMPLES.get(name, ())
    return "Examples:\n" + "".join(f"  {it}\n" for it in found) if found else ""
