"""AWS SNS carries what CodeCommit's triggers and EventBridge tell; the token is its proof.

Source: https://docs.aws.amazon.com/sns/latest/dg/sns-http-https-endpoint-as-subscriber.html. A
message is signed with a certificate whose address it names itself: to check the signature would
mean to fetch what a stranger names, so the token of the address proves the sender instead. For the
same reason a subscription is not confirmed by a request: a person does, with the command that the
agent's log has then.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import msgspec

from agent.ingress.webhooks.provider import (
    TOKEN_HEADER,
    NoPush,
    WebhookProvider,
    header_token,
)
from agent.ingress.webhooks.providers.event_bridge import (
    AwsEvent,
    code_commit_url,
    push_of_event,
)
from agent.ingress.webhooks.push import (
    MalformedPayloadError,
    Push,
    RefUpdate,
    decoded,
    revision,
    spellings,
)

NAME = "sns"
TITLE = "AWS SNS"
EVENT_HEADER = "x-amz-sns-message-type"
_RAW_HEADER = "x-amz-sns-rawdelivery"
_NOTIFICATION, _CONFIRMATION = "Notification", "SubscriptionConfirmation"
_TOPIC = re.compile(r"arn:aws[a-z-]*:sns:[a-z0-9-]+:[0-9]{12}:[A-Za-z0-9_.-]{1,256}")
_TOKEN = re.compile(r"[0-9a-fA-F]{1,1024}")
_REPOSITORY = re.compile(
    r"arn:aws[a-z-]*:codecommit:(?P<region>[a-z0-9-]+):[0-9]{12}:(?P<name>[\w.-]{1,100})", re.ASCII
)


class _Message(msgspec.Struct, frozen=True, kw_only=True, rename="pascal"):
    message: str = ""
    message_id: str = ""
    topic_arn: str = ""
    token: str = ""


class _Reference(msgspec.Struct, frozen=True, kw_only=True):
    ref: str
    commit: str = ""
    deleted: bool = False


class _References(msgspec.Struct, frozen=True, kw_only=True):
    references: tuple[_Reference, ...] = ()


class _Record(msgspec.Struct, frozen=True, kw_only=True):
    codecommit: _References
    arn: str = msgspec.field(name="eventSourceARN")


class _Notified(msgspec.Struct, frozen=True, kw_only=True):
    """What CodeCommit's triggers send, or an event of EventBridge."""

    records: tuple[_Record, ...] | None = msgspec.field(name="Records", default=None)
    detail_type: str = msgspec.field(name="detail-type", default="")


def parse(headers: Mapping[str, str], body: bytes) -> Push | NoPush | None:
    """Read the push in `body`; NoPush for a subscription that waits for its confirmation."""
    event = headers[EVENT_HEADER]
    if event == _NOTIFICATION and headers.get(_RAW_HEADER, "").lower() == "true":
        return _notified(body, headers.get("x-amz-sns-message-id", ""))
    message = decoded(body, _Message, TITLE)
    if event == _CONFIRMATION:
        return _confirmation(message)
    return (
        _notified(message.message.encode(), message.message_id) if event == _NOTIFICATION else None
    )


def _confirmation(message: _Message) -> NoPush:
    if not (_TOPIC.fullmatch(message.topic_arn) and _TOKEN.fullmatch(message.token)):
        raise MalformedPayloadError("expected the TopicArn and the Token of a subscription")
    return NoPush(
        "nothing is fetched that a message names; if this topic is yours, confirm the subscription:"
        f" aws sns confirm-subscription --topic-arn {message.topic_arn} --token {message.token}"
    )


def _notified(body: bytes, delivery: str) -> Push | None:
    found = decoded(body, _Notified, TITLE)
    if found.detail_type:
        return push_of_event(decoded(body, AwsEvent, TITLE), NAME)
    if found.records is None:
        raise MalformedPayloadError("expected `Records` of CodeCommit, or an event of EventBridge")
    places = [_REPOSITORY.fullmatch(it.arn) for it in found.records]
    urls = spellings(*(code_commit_url(it["region"], it["name"]) for it in places if it))
    updates = [_update(one) for it in found.records for one in it.codecommit.references]
    if not urls or not updates:
        raise MalformedPayloadError("expected eventSourceARN and codecommit.references of a push")
    return Push.of_updates(
        updates, provider=NAME, event="codecommit", repositories=urls, delivery=delivery
    )


def _update(one: _Reference) -> RefUpdate:
    commit = revision(one.commit)
    return (
        RefUpdate(ref=one.ref, before=commit)
        if one.deleted
        else RefUpdate(ref=one.ref, after=commit)
    )


PROVIDER = WebhookProvider(
    name=NAME,
    title=TITLE,
    event_header=EVENT_HEADER,
    proof_header=TOKEN_HEADER,
    secret_keys=("webhook.sns.secret",),
    verify=header_token,
    parse=parse,
)
