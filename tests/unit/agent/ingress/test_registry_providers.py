"""Registries and AWS: known by headers or address, proven, and read as pushes of tags."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest
from msgspec.structs import replace

from agent.ingress.webhooks.delivery import DeliveryOutcome, ReceivedDelivery, receive
from agent.ingress.webhooks.provider import addressed
from agent.ingress.webhooks.providers import PROVIDERS
from agent.ingress.webhooks.push import touched
from agent.ingress.webhooks.webhook_secrets import WebhookSecrets
from agent.store.repository_users import RepositoryUsers
from handlers.application.application import Application, Metadata
from handlers.application.spec import ApplicationSpec, Source
from tests.unit.agent.ingress.test_touched_repositories import IndexedUsers

HEX = "ab" * 32
DIGEST = f"sha256:{HEX}"
SECRETS = WebhookSecrets(
    values={key: f"{key}'s own".encode() for it in PROVIDERS for key in it.secret_keys}
)


def secret_of(name: str) -> str:
    return f"webhook.{name}.secret's own"


@dataclass(frozen=True, kw_only=True)
class Sender:
    """What one registry sends, as its documentation shows it."""

    name: str
    payload: Mapping[str, Any]
    headers: Mapping[str, str] = field(default_factory=dict)
    path: str = ""
    token: str = ""
    proof: Callable[[bytes], Mapping[str, str]] = lambda _: {}
    urls: tuple[str, ...]
    refs: tuple[str, ...] = ("refs/tags/1.2.0",)
    after: str = HEX
    ignored: Mapping[str, Any]
    """The payload of another event."""

    def send(
        self, payload: Mapping[str, Any] | None = None, secrets: WebhookSecrets = SECRETS
    ) -> ReceivedDelivery:
        body = json.dumps(self.payload if payload is None else payload).encode()
        headers = addressed({**self.headers, **self.proof(body)}, self.path, self.token)
        return receive(headers, body, secrets)


def authorization(value: str) -> Callable[[bytes], Mapping[str, str]]:
    return lambda _: {"authorization": value}


def signed(body: bytes) -> Mapping[str, str]:
    digest = hmac.new(secret_of("github").encode(), body, hashlib.sha256).hexdigest()
    return {"x-hub-signature-256": f"sha256={digest}"}


REGISTRY_EVENT = {
    "id": "e1",
    "action": "push",
    "target": {"repository": "charts/web", "tag": "1.2.0", "digest": DIGEST},
    "request": {"host": "registry.example:5000"},
}
ECR = {
    "version": "0",
    "id": "e1",
    "detail-type": "ECR Image Action",
    "source": "aws.ecr",
    "account": "123456789012",
    "region": "eu-central-1",
    "detail": {
        "action-type": "PUSH",
        "result": "SUCCESS",
        "repository-name": "charts/web",
        "image-tag": "1.2.0",
        "image-digest": DIGEST,
    },
}
CODE_COMMIT = {
    "id": "e1",
    "detail-type": "CodeCommit Repository State Change",
    "account": "123456789012",
    "region": "eu-central-1",
    "detail": {
        "event": "referenceUpdated",
        "repositoryName": "shop",
        "referenceType": "branch",
        "referenceName": "main",
        "commitId": "b" * 40,
        "oldCommitId": "a" * 40,
    },
}
TRIGGER = {
    "Records": [
        {
            "awsRegion": "eu-central-1",
            "eventSourceARN": "arn:aws:codecommit:eu-central-1:123456789012:shop",
            "codecommit": {"references": [{"commit": "b" * 40, "ref": "refs/heads/main"}]},
        }
    ]
}
HARBOR = {"resource_url": "harbor.example/shop/web:1.2.0", "tag": "1.2.0", "digest": DIGEST}
SHOP = ("https://git-codecommit.eu-central-1.amazonaws.com/v1/repos/shop",)
SENDERS = (
    Sender(
        name="ghcr",
        payload={
            "action": "published",
            "package": {
                "name": "charts/web",
                "package_type": "CONTAINER",
                "owner": {"login": "Octo"},
                "package_version": {
                    "container_metadata": {"tag": {"name": "1.2.0", "digest": DIGEST}}
                },
            },
        },
        headers={"x-github-event": "package", "x-github-delivery": "d1"},
        proof=signed,
        urls=("oci://ghcr.io/octo/charts/web",),
        ignored={
            "action": "published",
            "package": {"name": "web", "package_type": "npm", "owner": {"login": "octo"}},
        },
    ),
    Sender(
        name="harbor",
        payload={"type": "PUSH_ARTIFACT", "event_data": {"resources": [HARBOR]}},
        proof=authorization(secret_of("harbor")),
        urls=("oci://harbor.example/shop/web",),
        ignored={"type": "DELETE_ARTIFACT", "event_data": {"resources": [HARBOR]}},
    ),
    Sender(
        name="oci",
        payload={"events": [REGISTRY_EVENT, {**REGISTRY_EVENT, "action": "pull"}]},
        headers={"content-type": "application/vnd.docker.distribution.events.v2+json"},
        proof=authorization(f"Bearer {secret_of('oci')}"),
        urls=("oci://registry.example:5000/charts/web",),
        ignored={"events": [{**REGISTRY_EVENT, "action": "pull"}]},
    ),
    Sender(
        name="oci",
        payload=REGISTRY_EVENT,
        headers={"content-type": "application/json; charset=utf-8"},
        path="oci",
        proof=authorization(secret_of("oci")),
        urls=("oci://registry.example:5000/charts/web",),
        ignored={**REGISTRY_EVENT, "action": "ping"},
    ),
    Sender(
        name="cloudevents",
        payload={
            "specversion": "1.0",
            "id": "e1",
            "type": "harbor.artifact.pushed",
            "data": {"resources": [HARBOR]},
        },
        headers={"content-type": "application/cloudevents+json; charset=utf-8"},
        proof=authorization(f"Bearer {secret_of('cloudevents')}"),
        urls=("oci://harbor.example/shop/web",),
        ignored={"specversion": "1.0", "type": "harbor.scan.completed", "data": {"x": 1}},
    ),
    Sender(
        name="cloudevents",
        payload={
            "specversion": "1.0",
            "type": "Microsoft.ContainerRegistry.ImagePushed",
            "data": REGISTRY_EVENT,
        },
        headers={"content-type": "application/cloudevents+json"},
        proof=authorization(f"Bearer {secret_of('cloudevents')}"),
        urls=("oci://registry.example:5000/charts/web",),
        ignored={"specversion": "1.0", "type": "Microsoft.ContainerRegistry.ImageDeleted"},
    ),
    Sender(
        name="dockerhub",
        payload={"push_data": {"tag": "1.2.0"}, "repository": {"repo_name": "octo/web"}},
        path="dockerhub",
        token=secret_of("dockerhub"),
        urls=(
            "oci://docker.io/octo/web",
            "oci://registry-1.docker.io/octo/web",
            "oci://index.docker.io/octo/web",
            "oci://registry.hub.docker.com/octo/web",
        ),
        refs=("refs/tags/1.2.0",) * 4,
        after="",
        ignored={"push_data": {"tag": ""}, "repository": {"repo_name": "octo/web"}},
    ),
    Sender(
        name="quay",
        payload={"docker_url": "quay.io/octo/web", "updated_tags": ["1.2.0", "latest"]},
        path="quay",
        token=secret_of("quay"),
        urls=("oci://quay.io/octo/web",),
        refs=("refs/tags/1.2.0", "refs/tags/latest"),
        after="",
        ignored={"docker_url": "quay.io/octo/web", "build_id": "7"},
    ),
    Sender(
        name="eventbridge",
        payload=ECR,
        path="eventbridge",
        proof=authorization(secret_of("eventbridge")),
        urls=("oci://123456789012.dkr.ecr.eu-central-1.amazonaws.com/charts/web",),
        ignored={**ECR, "detail": {"action-type": "DELETE", "result": "SUCCESS"}},
    ),
    Sender(
        name="eventbridge",
        payload=CODE_COMMIT,
        path="eventbridge",
        proof=authorization(secret_of("eventbridge")),
        urls=SHOP,
        refs=("refs/heads/main",),
        after="b" * 40,
        ignored={"detail-type": "EC2 Instance State-change Notification"},
    ),
    Sender(
        name="sns",
        payload={"Type": "Notification", "MessageId": "m1", "Message": json.dumps(TRIGGER)},
        headers={"x-amz-sns-message-type": "Notification"},
        token=secret_of("sns"),
        urls=SHOP,
        refs=("refs/heads/main",),
        after="b" * 40,
        ignored={"Message": json.dumps({"detail-type": "Something else"})},
    ),
    Sender(
        name="sns",
        payload=TRIGGER,
        headers={"x-amz-sns-message-type": "Notification", "x-amz-sns-rawdelivery": "true"},
        token=secret_of("sns"),
        urls=SHOP,
        refs=("refs/heads/main",),
        after="b" * 40,
        ignored={"detail-type": "Something else"},
    ),
)
EACH = pytest.mark.parametrize(
    "sender", SENDERS, ids=[f"{number}-{it.name}" for number, it in enumerate(SENDERS)]
)


@EACH
def test_a_proven_push_names_its_repository_and_every_tag(sender: Sender) -> None:
    received = sender.send()
    assert received.outcome is DeliveryOutcome.ACCEPTED, received.message
    push = received.push
    assert push is not None
    assert (push.provider, push.repositories) == (sender.name, sender.urls)
    assert tuple(it.ref for it in push.updates) == sender.refs
    assert push.after == sender.after


@EACH
def test_only_its_own_secret_proves_a_sender(sender: Sender) -> None:
    own = next(it for it in PROVIDERS if it.name == sender.name).secret_keys
    swapped = {key: b"another" if key in own else value for key, value in SECRETS.values.items()}
    missing = {key: value for key, value in SECRETS.values.items() if key not in own}
    for values in (swapped, missing):
        received = sender.send(secrets=WebhookSecrets(values=values))
        assert (received.outcome, received.push) == (DeliveryOutcome.UNAUTHORIZED, None)
        assert not any(value.decode() in received.message for value in values.values())


@EACH
def test_another_event_is_ignored(sender: Sender) -> None:
    received = sender.send(sender.ignored)
    assert (received.outcome, received.provider) == (DeliveryOutcome.IGNORED, sender.name)


@EACH
@pytest.mark.parametrize("payload", [{}, {"type": 1, "action": 2, "detail-type": []}])
def test_what_is_no_event_is_malformed(sender: Sender, payload: Mapping[str, Any]) -> None:
    assert sender.send(payload).outcome is DeliveryOutcome.MALFORMED


@pytest.mark.parametrize(
    ("number", "changes"),
    [
        (2, {"events": [{**REGISTRY_EVENT, "request": {"host": ""}}]}),
        (2, {"events": [{**REGISTRY_EVENT, "request": {"host": "a b"}}]}),
        (2, {"events": [{**REGISTRY_EVENT, "target": {"repository": "x", "tag": "a\nb"}}]}),
        (2, {"events": [{**REGISTRY_EVENT, "target": {"repository": "../x", "tag": "1"}}]}),
        (2, {"events": [REGISTRY_EVENT] * 1001}),
        (7, {"updated_tags": ["x" * 129]}),
        (7, {"updated_tags": ["--upload-pack=x"]}),
        (8, {"region": "eu-central-1.evil.example/"}),
        (8, {"account": "evil.example/1"}),
        (9, {"region": "x@evil.example"}),
    ],
)
def test_what_no_registry_has_is_malformed(number: int, changes: Mapping[str, Any]) -> None:
    sender = SENDERS[number]
    received = sender.send({**sender.payload, **changes})
    assert received.outcome is DeliveryOutcome.MALFORMED, received


def test_a_delivery_that_names_no_provider_or_an_unknown_one_is_refused() -> None:
    for headers in ({}, addressed({}, "nope"), addressed({"x-github-event": "push"}, "gitlab")):
        received = receive(headers, b"{}", SECRETS)
        assert received.outcome is DeliveryOutcome.UNKNOWN_PROVIDER


@pytest.mark.parametrize(
    ("secret", "value", "outcome"),
    [
        ("s3", "s3", DeliveryOutcome.ACCEPTED),
        ("s3", "Bearer s3", DeliveryOutcome.ACCEPTED),
        ("Bearer s3", "Bearer s3", DeliveryOutcome.ACCEPTED),
        ("Basic a2lt", "Basic a2lt", DeliveryOutcome.ACCEPTED),
        ("s3", "Bearer Bearer s3", DeliveryOutcome.UNAUTHORIZED),
        ("Bearer s3", "s3", DeliveryOutcome.UNAUTHORIZED),
        ("s3", "bearer s3", DeliveryOutcome.UNAUTHORIZED),
    ],
)
def test_the_header_is_the_secret_as_argo_cd_has_it_or_as_a_bearers_token(
    secret: str, value: str, outcome: DeliveryOutcome
) -> None:
    secrets = WebhookSecrets(values={"webhook.harbor.secret": secret.encode()})
    body = json.dumps(SENDERS[1].payload).encode()
    assert receive({"authorization": value}, body, secrets).outcome is outcome


def test_a_token_is_asked_for_in_words_of_the_address() -> None:
    received = receive(addressed({}, "quay"), b"{}", SECRETS)
    assert received.outcome is DeliveryOutcome.UNAUTHORIZED
    assert "?token=" in received.message


@pytest.mark.parametrize("number", [0, 2, 3, 4, 8, 9, 10])
def test_a_delivery_that_is_sent_again_is_known_and_another_tag_is_not(number: int) -> None:
    first, again = SENDERS[number].send().push, SENDERS[number].send().push
    assert first is not None
    assert again is not None
    assert first.identity == again.identity != ""
    assert replace(first, ref="refs/tags/other").identity != first.identity


def test_a_subscription_is_not_confirmed_but_says_how() -> None:
    topic, token = "arn:aws:sns:eu-central-1:123456789012:pushes", "ab12"
    body = {"TopicArn": topic, "Token": token, "SubscribeURL": "https://evil.example/"}
    headers = {"x-amz-sns-message-type": "SubscriptionConfirmation"}
    proven = addressed(headers, "sns", secret_of("sns"))

    received = receive(proven, json.dumps(body).encode(), SECRETS)
    forged = receive(proven, json.dumps({**body, "Token": "a; rm -rf /"}).encode(), SECRETS)

    assert received.outcome is DeliveryOutcome.IGNORED
    assert f"--topic-arn {topic} --token {token}" in received.message
    assert "evil" not in received.message
    assert forged.outcome is DeliveryOutcome.MALFORMED


class IndexedCharts(IndexedUsers):
    """One Application with a chart of a registry."""

    def __init__(self, repo_url: str, chart: str) -> None:
        super().__init__("^1")
        self.users = RepositoryUsers()
        source = Source(repo_url=repo_url, chart=chart, target_revision="^1")
        metadata = Metadata(name="web", namespace="argocd")
        app = Application(metadata=metadata, spec=ApplicationSpec(source=source))
        self.users.change(None, app)
        self.apps[app.key] = app


@pytest.mark.parametrize(
    ("repo_url", "chart", "asks"),
    [
        ("registry.example:5000/charts", "web", 1),
        ("oci://registry.example:5000/charts/web", "", 1),
        ("https://registry.example:5000/charts", "web", 1),
        ("registry.example:5000/charts", "api", 0),
        ("other.example:5000/charts", "web", 0),
    ],
)
def test_a_push_asks_the_sources_of_its_repository(repo_url: str, chart: str, asks: int) -> None:
    push = SENDERS[2].send().push
    assert push is not None
    assert len(touched(push, IndexedCharts(repo_url, chart))) == asks
