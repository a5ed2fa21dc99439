"""The webhook providers that the agent understands, one module each.

A delivery belongs to the first provider of `PROVIDERS` whose event header it has. Some hosts send
the headers of another one beside their own: such a host stands before the one that it imitates.
Those without an event header are known by their address, and Harbor, known by a header that any
sender may have, comes last.
"""

from __future__ import annotations

from agent.ingress.webhooks.provider import WebhookProvider
from agent.ingress.webhooks.providers import (
    azure_devops,
    bitbucket,
    bitbucket_server,
    cloud_events,
    docker_hub,
    event_bridge,
    ghcr,
    gitea,
    github,
    gitlab,
    harbor,
    oci_registry,
    quay,
    sns,
)

PROVIDERS: tuple[WebhookProvider, ...] = (
    gitea.PROVIDER,
    ghcr.PROVIDER,
    github.PROVIDER,
    gitlab.PROVIDER,
    bitbucket.PROVIDER,
    bitbucket_server.PROVIDER,
    azure_devops.PROVIDER,
    sns.PROVIDER,
    event_bridge.PROVIDER,
    oci_registry.PROVIDER,
    cloud_events.PROVIDER,
    docker_hub.PROVIDER,
    quay.PROVIDER,
    harbor.PROVIDER,
)


def provider_titles() -> str:
    """List the providers for people: `GitHub or GitLab`."""
    *first, last = (provider.title for provider in PROVIDERS)
    return f"{', '.join(first)} or {last}" if first else last
