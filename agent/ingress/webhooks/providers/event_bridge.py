"""AWS EventBridge tells of pushes to ECR and to CodeCommit, by an API destination.

Source: https://docs.aws.amazon.com/AmazonECR/latest/userguide/ecr-eventbridge.html and
https://docs.aws.amazon.com/codecommit/latest/userguide/monitoring-events.html. The connection of
the destination sends the header Authorization, which is the proof: an API key with this name.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import msgspec

from agent.ingress.webhooks.provider import WebhookProvider, bearer_token
from agent.ingress.webhooks.push import (
    MalformedPayloadError,
    Push,
    RefUpdate,
    decoded,
    revision,
    spellings,
)
from agent.ingress.webhooks.registry_push import PushedTag, registry_push

NAME = "eventbridge"
TITLE = "AWS EventBridge"
_IMAGE, _REPOSITORY = "ECR Image Action", "CodeCommit Repository State Change"
_REFS = {"branch": "refs/heads/", "tag": "refs/tags/"}
_REGION = re.compile(r"[a-z]{2,4}(-[a-z]+)+-[0-9]{1,2}")
_ACCOUNT = re.compile(r"[0-9]{12}")


class AwsEvent(msgspec.Struct, frozen=True, kw_only=True):
    """An event as EventBridge sends it on; `detail` is the source's own."""

    detail_type: str = msgspec.field(name="detail-type")
    id: str = ""
    account: str = ""
    region: str = ""
    detail: msgspec.Raw = msgspec.Raw(b"{}")


class _Image(msgspec.Struct, frozen=True, kw_only=True, rename="kebab"):
    action_type: str = ""
    result: str = ""
    repository_name: str = ""
    image_tag: str = ""
    image_digest: str = ""


class _State(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    repository_name: str = ""
    reference_type: str = ""
    reference_name: str = ""
    commit_id: str = ""
    old_commit_id: str = ""


def parse(_headers: Mapping[str, str], body: bytes) -> Push | None:
    """Read the push in `body`; None for another event."""
    return push_of_event(decoded(body, AwsEvent, TITLE), NAME)


def push_of_event(event: AwsEvent, provider: str) -> Push | None:
    """Make the push of an event; None where nothing was pushed. MalformedPayloadError."""
    if event.detail_type == _IMAGE:
        return _of_image(event, provider)
    if event.detail_type == _REPOSITORY:
        return _of_repository(event, provider)
    return None


def code_commit_url(region: str, name: str) -> str:
    """Return where Git reads a CodeCommit repository; raises MalformedPayloadError."""
    return f"https://git-codecommit.{_checked(region)}.{_domain(region)}/v1/repos/{name}"


def _of_image(event: AwsEvent, provider: str) -> Push | None:
    image = decoded(bytes(event.detail), _Image, TITLE)
    if (image.action_type, image.result) != ("PUSH", "SUCCESS"):
        return None
    if not _ACCOUNT.fullmatch(event.account):
        raise MalformedPayloadError("expected an `account` of twelve digits")
    host = f"{event.account}.dkr.ecr.{_checked(event.region)}.{_domain(event.region)}"
    pushed = PushedTag(
        repository=f"{host}/{image.repository_name}", tag=image.image_tag, digest=image.image_digest
    )
    return registry_push([pushed], provider=provider, event=_IMAGE, delivery=event.id)


def _of_repository(event: AwsEvent, provider: str) -> Push | None:
    state = decoded(bytes(event.detail), _State, TITLE)
    prefix = _REFS.get(state.reference_type)
    if prefix is None:
        return None
    update = RefUpdate(
        ref=prefix + state.reference_name,
        before=revision(state.old_commit_id),
        after=revision(state.commit_id),
    )
    urls = spellings(code_commit_url(event.region, state.repository_name))
    if not urls:
        raise MalformedPayloadError("expected `repositoryName` of a repository")
    return Push.of_updates(
        [update], provider=provider, event=_REPOSITORY, repositories=urls, delivery=event.id
    )


def _checked(region: str) -> str:
    if not _REGION.fullmatch(region):
        raise MalformedPayloadError("expected a `region` of AWS, as eu-central-1")
    return region


def _domain(region: str) -> str:
    return "amazonaws.com.cn" if region.startswith("cn-") else "amazonaws.com"


PROVIDER = WebhookProvider(
    name=NAME,
    title=TITLE,
    names_event=False,
    proof_header="authorization",
    secret_keys=("webhook.eventbridge.secret",),
    verify=bearer_token,
    parse=parse,
)
