"""Gitea, Bitbucket and Azure DevOps: known by their headers, proven by their secrets, parsed."""

from __future__ import annotations

import hashlib
import hmac
import json
from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from agent.ingress.webhooks.delivery import DeliveryOutcome, ReceivedDelivery, receive
from agent.ingress.webhooks.push import RefUpdate, touched
from agent.ingress.webhooks.webhook_secrets import WebhookSecrets
from bus.identity import Revision
from tests.unit.agent.ingress.test_touched_repositories import IndexedUsers

ZERO, OLD, NEW = "0" * 40, Revision("a" * 40), Revision("b" * 40)
SECRETS = WebhookSecrets(
    values={
        "webhook.gogs.secret": b"gitea's",
        "webhook.github.secret": b"github's",
        "webhook.bitbucket.uuid": b"5e3f2c1a",
        "webhook.bitbucketserver.secret": b"server's",
        "webhook.azuredevops.username": b"kim",
        "webhook.azuredevops.password": b"pw",
    }
)


def hmac_of(secret: bytes, body: bytes) -> str:
    return hmac.new(secret, body, hashlib.sha256).hexdigest()


@dataclass(frozen=True)
class Host:
    """What one host sends, as its documentation shows it."""

    name: str
    payload: Mapping[str, Any]
    headers: Mapping[str, str]
    proof: tuple[str, Callable[[bytes], str]]
    """A header and its value for a body."""
    repositories: tuple[str, ...]
    updates: Sequence[RefUpdate]
    ignored: tuple[Mapping[str, str], Mapping[str, Any]]
    """Headers and payload of an event without commits."""
    delivery: str = "d1"

    def send(
        self,
        payload: Mapping[str, Any] | None = None,
        secrets: WebhookSecrets = SECRETS,
        **changes: str,
    ) -> ReceivedDelivery:
        body = json.dumps(self.payload if payload is None else payload).encode()
        name, value = self.proof
        headers = {**self.headers, name: value(body)}
        headers |= {key.replace("_", "-"): text for key, text in changes.items()}
        return receive(headers, body, secrets)


MAIN = RefUpdate(ref="refs/heads/main", before=OLD, after=NEW)
TAG = RefUpdate(ref="refs/tags/v1", after=NEW)
GONE = RefUpdate(ref="refs/heads/old", before=OLD)

GITEA = Host(
    name="gitea",
    payload={
        "ref": "refs/heads/main",
        "before": OLD,
        "after": NEW,
        "repository": {
            "clone_url": "https://git.example/team/shop.git",
            "ssh_url": "git@git.example:team/shop.git",
            "html_url": "https://git.example/team/shop",
            "default_branch": "main",
        },
    },
    headers={
        "x-gogs-event": "push",
        "x-gogs-delivery": "d1",
        "x-gitea-event": "push",
        "x-github-event": "push",
    },
    proof=("x-gogs-signature", lambda body: hmac_of(b"gitea's", body)),
    repositories=(
        "https://git.example/team/shop.git",
        "ssh://git@git.example/team/shop.git",
        "https://git.example/team/shop",
    ),
    updates=[MAIN],
    ignored=({"x-gogs-event": "issues"}, {}),
)
BITBUCKET = Host(
    name="bitbucket",
    payload={
        "repository": {"links": {"html": {"href": "https://bitbucket.org/team/shop"}}},
        "push": {
            "changes": [
                {
                    "new": {"name": "main", "type": "branch", "target": {"hash": NEW}},
                    "old": {"name": "main", "type": "branch", "target": {"hash": OLD}},
                },
                {"new": {"name": "v1", "type": "tag", "target": {"hash": NEW}}, "old": None},
                {"new": None, "old": {"name": "old", "type": "branch", "target": {"hash": OLD}}},
            ]
        },
    },
    headers={"x-event-key": "repo:push", "x-request-uuid": "d1"},
    proof=("x-hook-uuid", lambda _: "{5e3f2c1a}"),
    repositories=("https://bitbucket.org/team/shop",),
    updates=[MAIN, TAG, GONE],
    ignored=({"x-event-key": "issue:created"}, {}),
)
BITBUCKET_SERVER = Host(
    name="bitbucket-server",
    payload={
        "repository": {
            "links": {
                "clone": [
                    {"href": "https://bitbucket.example/scm/team/shop.git", "name": "http"},
                    {"href": "ssh://git@bitbucket.example:7999/team/shop.git", "name": "ssh"},
                ]
            }
        },
        "changes": [
            {"ref": {"id": "refs/heads/main"}, "fromHash": OLD, "toHash": NEW},
            {"ref": {"id": "refs/tags/v1"}, "fromHash": ZERO, "toHash": NEW},
            {"ref": {"id": "refs/heads/old"}, "fromHash": OLD, "toHash": ZERO},
        ],
    },
    headers={"x-event-key": "repo:refs_changed", "x-request-id": "d1"},
    proof=("x-hub-signature", lambda body: "sha256=" + hmac_of(b"server's", body)),
    repositories=(
        "https://bitbucket.example/scm/team/shop.git",
        "ssh://git@bitbucket.example:7999/team/shop.git",
    ),
    updates=[MAIN, TAG, GONE],
    ignored=({"x-event-key": "diagnostics:ping"}, {"test": True}),
)
AZURE = Host(
    name="azure-devops",
    payload={
        "id": "d1",
        "eventType": "git.push",
        "resource": {
            "repository": {
                "remoteUrl": "https://kim@dev.azure.com/org/team/_git/shop",
                "defaultBranch": "refs/heads/main",
            },
            "refUpdates": [
                {"name": "refs/heads/main", "oldObjectId": OLD, "newObjectId": NEW},
                {"name": "refs/tags/v1", "oldObjectId": ZERO, "newObjectId": NEW},
                {"name": "refs/heads/old", "oldObjectId": OLD, "newObjectId": ZERO},
            ],
        },
    },
    headers={"x-vss-activityid": "5f9c"},
    proof=("authorization", lambda _: "Basic " + b64encode(b"kim:pw").decode()),
    repositories=(
        "https://dev.azure.com/org/team/_git/shop",
        "ssh://git@ssh.dev.azure.com/v3/org/team/shop",
    ),
    updates=[MAIN, TAG, GONE],
    ignored=({}, {"eventType": "workitem.created"}),
)
HOSTS = pytest.mark.parametrize(
    "host", [GITEA, BITBUCKET, BITBUCKET_SERVER, AZURE], ids=lambda host: host.name
)


@HOSTS
def test_a_proven_push_names_its_repository_and_every_ref(host: Host) -> None:
    received = host.send()
    assert received.outcome is DeliveryOutcome.ACCEPTED, received.message
    push = received.push
    assert push is not None
    assert (push.provider, push.delivery) == (host.name, host.delivery)
    assert push.repositories == host.repositories
    seen = [RefUpdate(ref=it.ref, before=it.before, after=it.after) for it in push.updates]
    assert seen == list(host.updates)
    assert push.paths is None


@HOSTS
def test_no_other_proof_counts(host: Host) -> None:
    header, _ = host.proof
    for wrong in ("", "{0000}", hmac_of(b"github's", b"{}"), "Basic eA==", "sha256="):
        received = host.send(None, SECRETS, **{header.replace("-", "_"): wrong})
        assert received.outcome in (
            DeliveryOutcome.UNAUTHORIZED,
            DeliveryOutcome.UNKNOWN_PROVIDER,
        ), wrong
    only_github = WebhookSecrets(values={"webhook.github.secret": b"github's"})
    assert host.send(None, only_github).outcome is DeliveryOutcome.UNAUTHORIZED


@HOSTS
def test_events_without_commits_are_ignored(host: Host) -> None:
    headers, payload = host.ignored
    changes = {name.replace("-", "_"): value for name, value in headers.items()}
    received = host.send(payload, SECRETS, **changes)
    assert (received.outcome, received.provider) == (DeliveryOutcome.IGNORED, host.name)


@HOSTS
def test_a_push_that_is_none_is_malformed(host: Host) -> None:
    for payload in ({"eventType": "git.push"}, {"eventType": "git.push", "resource": 1}):
        assert host.send(payload).outcome is DeliveryOutcome.MALFORMED


@pytest.mark.parametrize(("target", "expected"), [("old", 1), ("elsewhere", 1), ("main", 1)])
def test_each_ref_of_a_push_counts(target: str, expected: int) -> None:
    """A tag counts for every target: it may satisfy a range of versions."""
    push = BITBUCKET.send().push
    assert push is not None
    url = "git@bitbucket.org:team/shop.git"
    asks = touched(push, IndexedUsers(target, url))
    assert len(asks) == expected


@pytest.mark.parametrize(("target", "expected"), [("old", 1), ("main", 1), ("elsewhere", 0)])
def test_a_ref_that_is_not_the_first_is_looked_at(target: str, expected: int) -> None:
    changes = [one for one in BITBUCKET.payload["push"]["changes"] if not is_tag(one)]
    push = BITBUCKET.send({**BITBUCKET.payload, "push": {"changes": changes}}).push
    assert push is not None
    url = "https://bitbucket.org/team/shop.git"
    assert len(touched(push, IndexedUsers(target, url))) == expected


def is_tag(change: Mapping[str, Any]) -> bool:
    return any(part and part["type"] == "tag" for part in change.values())


def test_the_refs_of_one_push_have_a_bound() -> None:
    update = {"name": "refs/heads/main", "oldObjectId": OLD, "newObjectId": NEW}
    resource = {**AZURE.payload["resource"], "refUpdates": [update] * 2001}
    received = AZURE.send({**AZURE.payload, "resource": resource})
    assert received.outcome is DeliveryOutcome.MALFORMED


def test_the_urls_of_one_repository_have_a_bound() -> None:
    links = {"clone": [{"href": f"https://git.example/{number}.git"} for number in range(21)]}
    repository = {**BITBUCKET_SERVER.payload["repository"], "links": links}
    received = BITBUCKET_SERVER.send({**BITBUCKET_SERVER.payload, "repository": repository})
    assert received.outcome is DeliveryOutcome.MALFORMED
