"""Azure DevOps sends `git.push` with all changed refs; a user name and password are its proof.

Source: https://learn.microsoft.com/azure/devops/service-hooks/events#git.push. The event is named
in the body alone. A payload names no files. The address over SSH has another path than the one over
HTTPS (`v3/ORG/PROJECT/REPO` instead of `ORG/PROJECT/_git/REPO`), so both are made of the latter.
"""

from __future__ import annotations

import hmac
import re
from base64 import b64encode
from collections.abc import Mapping, Sequence

import msgspec

from agent.ingress.webhooks.provider import BodyCheck, NoBodyCheck, WebhookProvider
from agent.ingress.webhooks.push import (
    MalformedPayloadError,
    Push,
    RefUpdate,
    decoded,
    revision,
    spellings,
)

NAME = "azure-devops"
TITLE = "Azure DevOps"
EVENT_HEADER = "x-vss-activityid"
_HEADS = "refs/heads/"
_SERVICE = re.compile(
    r"https://(?:[^/@]+@)?dev\.azure\.com/(?P<org>[^/]+)/(?P<project>[^/]+)/_git/(?P<repo>[^/]+)"
)


class _Update(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    name: str
    old_object_id: str = ""
    new_object_id: str = ""


class _Repository(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    remote_url: str
    default_branch: str = ""


class _Resource(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    repository: _Repository
    ref_updates: tuple[_Update, ...]


class _Event(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    event_type: str


class _Payload(_Event, frozen=True, kw_only=True, rename="camel"):
    resource: _Resource
    id: str = ""


def parse(_headers: Mapping[str, str], body: bytes) -> Push | None:
    """The push in `body`; None for an event without commits."""
    event = decoded(body, _Event, TITLE).event_type
    if event != "git.push":
        return None
    payload = decoded(body, _Payload, TITLE)
    resource = payload.resource
    urls = spellings(*_addresses(resource.repository.remote_url))
    if not urls or not resource.ref_updates:
        raise MalformedPayloadError("expected resource.repository.remoteUrl and refUpdates")
    return Push.of_updates(
        (
            RefUpdate(
                ref=one.name, before=revision(one.old_object_id), after=revision(one.new_object_id)
            )
            for one in resource.ref_updates
        ),
        provider=NAME,
        event=event,
        repositories=urls,
        delivery=payload.id,
        default_branch=resource.repository.default_branch.removeprefix(_HEADS),
    )


def _addresses(remote_url: str) -> tuple[str, ...]:
    found = _SERVICE.fullmatch(remote_url)
    if found is None:
        return (remote_url,)
    path = f"{found['org']}/{found['project']}/{found['repo']}"
    return (remote_url, f"ssh://git@ssh.dev.azure.com/v3/{path}")


def basic_login(value: str, secrets: Sequence[bytes]) -> BodyCheck | None:
    """Verify by the user name and password of HTTP's basic authentication."""
    expected = b"Basic " + b64encode(b":".join(secrets))
    same = hmac.compare_digest(value.encode("utf-8", "surrogateescape"), expected)
    return NoBodyCheck() if same else None


PROVIDER = WebhookProvider(
    name=NAME,
    title=TITLE,
    event_header=EVENT_HEADER,
    names_event=False,
    proof_header="authorization",
    secret_keys=("webhook.azuredevops.username", "webhook.azuredevops.password"),
    verify=basic_login,
    parse=parse,
)
