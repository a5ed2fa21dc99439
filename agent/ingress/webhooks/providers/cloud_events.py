"""CloudEvents in the structured form tell of pushes to Harbor and to Azure's registries.

Source: https://github.com/cloudevents/spec. The `type` decides how `data` is read; an event of
another type is ignored.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from agent.ingress.webhooks.provider import WebhookProvider, bearer_token
from agent.ingress.webhooks.providers.harbor import HarborEvent, harbor_push
from agent.ingress.webhooks.providers.oci_registry import RegistryEvent, registry_events
from agent.ingress.webhooks.push import MalformedPayloadError, Push, decoded

NAME = "cloudevents"
TITLE = "CloudEvents"
_HARBOR = "harbor.artifact.pushed"
_AZURE = "Microsoft.ContainerRegistry.ImagePushed"


class _Event(msgspec.Struct, frozen=True, kw_only=True):
    specversion: str
    type: str
    id: str = ""
    data: msgspec.Raw = msgspec.Raw(b"{}")


def parse(_headers: Mapping[str, str], body: bytes) -> Push | None:
    """Read the push in `body`; None for an event of another type."""
    event = decoded(body, _Event, TITLE)
    if not event.specversion.startswith("1."):
        raise MalformedPayloadError("expected `specversion` 1.0")
    if event.type == _HARBOR:
        found = decoded(bytes(event.data), HarborEvent, TITLE)
        return harbor_push(found, provider=NAME, event=event.type, delivery=event.id)
    if event.type == _AZURE:
        pushed = decoded(bytes(event.data), RegistryEvent, TITLE)
        return registry_events([pushed], provider=NAME, delivery=event.id)
    return None


PROVIDER = WebhookProvider(
    name=NAME,
    title=TITLE,
    event_header="content-type",
    events=frozenset({"application/cloudevents+json"}),
    names_event=False,
    proof_header="authorization",
    secret_keys=("webhook.cloudevents.secret",),
    verify=bearer_token,
    parse=parse,
)
