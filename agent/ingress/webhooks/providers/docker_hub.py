"""Docker Hub sends each pushed tag; it signs nothing, so the token of the address is its proof.

Source: https://docs.docker.com/docker-hub/repos/manage/webhooks. The registry has several names.
Its `callback_url` is never called: an address in a body is a stranger's.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from agent.ingress.webhooks.provider import TOKEN_HEADER, WebhookProvider, header_token
from agent.ingress.webhooks.push import Push, decoded
from agent.ingress.webhooks.registry_push import PushedTag, registry_push

NAME = "dockerhub"
TITLE = "Docker Hub"
_HOSTS = ("docker.io", "registry-1.docker.io", "index.docker.io", "registry.hub.docker.com")


class _Pushed(msgspec.Struct, frozen=True, kw_only=True):
    tag: str = ""


class _Repository(msgspec.Struct, frozen=True, kw_only=True):
    repo_name: str


class _Payload(msgspec.Struct, frozen=True, kw_only=True):
    push_data: _Pushed
    repository: _Repository


def parse(_headers: Mapping[str, str], body: bytes) -> Push | None:
    """Read the push in `body`; None where it has no tag."""
    payload = decoded(body, _Payload, TITLE)
    name, tag = payload.repository.repo_name, payload.push_data.tag
    pushed = [PushedTag(repository=f"{host}/{name}", tag=tag) for host in _HOSTS]
    return registry_push(pushed, provider=NAME, event="push")


PROVIDER = WebhookProvider(
    name=NAME,
    title=TITLE,
    names_event=False,
    proof_header=TOKEN_HEADER,
    secret_keys=("webhook.dockerhub.secret",),
    verify=header_token,
    parse=parse,
)
