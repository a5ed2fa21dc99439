"""docs/settings.md from the types: `python -m agent.settings_document > docs/settings.md`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

from agent.configuration import Variable, default_text, variables
from agent.ingress.webhooks.provider import WebhookProvider
from agent.ingress.webhooks.providers import PROVIDERS
from bus.spans.settings import traces

_HEAD = """\
# Settings

<!-- Made by `make docs` from agent/settings/. Do not edit. -->

Each setting is an environment variable. The same settings may stand in a TOML file that
`GITOPS_SETTINGS_FILE` names: the group is a table, the rest of the name is the key. The environment
wins. What is wrong is told all at once when the agent starts, with exit code 2;
`gitops agent settings` shows what is in force, secrets masked, and `gitops agent check` tries it.

Durations are seconds or Go's spelling (`90`, `3m`, `1h30m`), sizes are bytes or have a unit
(`5MiB`). Settings of the product itself are read from the cluster as Argo CD has them:
`argocd-secret` and the repository Secrets of the control namespace.
"""

_PROVIDERS_HEAD = """\
## Webhook providers

A delivery is known by its event header, or by its address where that names the provider, as
`/api/webhook/harbor`, and verified with the secret of its own provider. A `?token=` stands in the
logs of proxies: it is for senders that can set no header. As long as no provider has a secret, all
deliveries are believed; from the first secret on, a provider without one is refused
(`GITOPS_WEBHOOK_UNPROVEN` believes it).

| Provider | Event header, or address | Signature or token | Secret, in `argocd-secret` |
|---|---|---|---|
"""


def document() -> str:
    groups = groupby(
        variables(), key=lambda variable: variable.path[0] if len(variable.path) > 1 else ""
    )
    return "\n".join(
        [
            _HEAD,
            *(_group(name, tuple(found)) for name, found in groups),
            traces(),
            _webhook_providers(),
        ]
    )


def _group(name: str, found: tuple[Variable, ...]) -> str:
    title = f"## `[{name}]`" if name else "## The agent"
    rows = "\n".join(_row(variable) for variable in found)
    head = "| Variable | In the file | Default | Meaning |\n|---|---|---|---|"
    return f"{title}\n\n{head}\n{rows}\n"


def _row(variable: Variable) -> str:
    default = default_text(variable.field).replace(str(Path.home()), "~")
    shown = f"`{default}`" if default else ""
    meaning = variable.field.description + (" Secret." if variable.secret else "")
    return f"| `{variable.name}` | `{variable.path[-1]}` | {shown} | {meaning} |"


def _webhook_providers() -> str:
    rows = "\n".join(
        f"| {it.title} | {_known_by(it)} | `{it.proof}` | {_codes(it.secret_keys)} |"
        for it in PROVIDERS
    )
    return f"{_PROVIDERS_HEAD}{rows}\n"


def _known_by(provider: WebhookProvider) -> str:
    """Name the header of a provider's deliveries and the values that decide, or its address."""
    if not provider.event_header:
        return f"`{provider.path}`"
    values = "".join(f"<br>`{value}`" for value in sorted(provider.events))
    return f"`{provider.event_header}`{values}"


def _codes(names: Sequence[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


if __name__ == "__main__":
    sys.stdout.write(document())
