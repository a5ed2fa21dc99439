"""Deliveries of GitHub and GitLab, from raw bytes to what they are."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.ingress.webhooks.delivery import DeliveryOutcome, ReceivedDelivery, receive
from agent.ingress.webhooks.providers import github
from agent.ingress.webhooks.providers.github import sign
from agent.ingress.webhooks.push import Push
from agent.ingress.webhooks.webhook_secrets import WebhookSecrets, read_secrets
from bus.identity import Revision

ZERO = "0" * 40
OLD, NEW = Revision("a" * 40), Revision("b" * 40)
ONLY_GITHUB = {"webhook.github.secret": b"hush"}
SECRETS = WebhookSecrets(values={**ONLY_GITHUB, "webhook.gitlab.secret": b"token"})


def github_push(**changes: Any) -> dict[str, Any]:
    return {
        "ref": "refs/heads/main",
        "before": OLD,
        "after": NEW,
        "repository": {
            "clone_url": "https://github.com/Octo/Shop.git",
            "ssh_url": "git@github.com:Octo/Shop.git",
            "html_url": "https://github.com/Octo/Shop",
            "default_branch": "main",
        },
        "commits": [
            {"added": ["b.yaml"], "modified": ["a.yaml"], "removed": []},
            {"added": [], "modified": ["a.yaml"], "removed": ["old.yaml"]},
        ],
        **changes,
    }


def gitlab_push(**changes: Any) -> dict[str, Any]:
    return {
        "object_kind": "push",
        "event_name": "push",
        "ref": "refs/heads/main",
        "before": OLD,
        "after": NEW,
        "project": {
            "git_http_url": "https://gitlab.example/team/shop.git",
            "git_ssh_url": "git@gitlab.example:team/shop.git",
            "web_url": "https://gitlab.example/team/shop",
            "default_branch": "main",
        },
        "commits": [{"added": [], "modified": ["a.yaml"], "removed": []}],
        "total_commits_count": 1,
        **changes,
    }


def from_github(
    payload: Mapping[str, Any] | bytes, secrets: WebhookSecrets = SECRETS, **headers: str
) -> ReceivedDelivery:
    body = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
    received = {
        "x-github-event": "push",
        "x-github-delivery": "d1",
        "content-type": "application/json",
        "x-hub-signature-256": sign(b"hush", body),
    }
    received |= {name.replace("_", "-"): value for name, value in headers.items()}
    return receive(received, body, secrets)


def from_gitlab(
    payload: Mapping[str, Any] | bytes, secrets: WebhookSecrets = SECRETS, **headers: str
) -> ReceivedDelivery:
    body = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
    received = {"x-gitlab-event": "Push Hook", "x-gitlab-token": "token", "idempotency-key": "k1"}
    received |= {name.replace("_", "-"): value for name, value in headers.items()}
    return receive(received, body, secrets)


def pushed(received: ReceivedDelivery) -> Push:
    assert received.outcome is DeliveryOutcome.ACCEPTED, received.message
    assert received.push is not None
    return received.push


def test_a_github_push_names_every_spelling_once() -> None:
    push = pushed(from_github(github_push()))

    assert push == Push(
        provider="github",
        event="push",
        repositories=(
            "https://github.com/Octo/Shop.git",
            "ssh://git@github.com/Octo/Shop.git",
            "https://github.com/Octo/Shop",
        ),
        ref="refs/heads/main",
        before=OLD,
        after=NEW,
        paths=("a.yaml", "b.yaml", "old.yaml"),
        delivery="d1",
        default_branch="main",
    )


def test_a_gitlab_push_reads_the_same() -> None:
    push = pushed(from_gitlab(gitlab_push()))

    assert push.provider == "gitlab"
    assert push.repositories == (
        "https://gitlab.example/team/shop.git",
        "ssh://git@gitlab.example/team/shop.git",
        "https://gitlab.example/team/shop",
    )
    assert (push.before, push.after, push.paths, push.delivery) == (OLD, NEW, ("a.yaml",), "k1")


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"forced": True}, id="forced"),
        pytest.param({"before": ZERO}, id="new ref"),
        pytest.param({"after": ZERO}, id="deleted ref"),
        pytest.param({"commits": []}, id="no commits named"),
        pytest.param({"commits": [{}] * 2048}, id="shortened list"),
    ],
)
def test_paths_of_github_are_unknown_where_the_payload_cannot_say(changes: Any) -> None:
    assert pushed(from_github(github_push(**changes))).paths is None


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"total_commits_count": 21}, id="shortened list"),
        pytest.param({"before": ZERO}, id="new ref"),
    ],
)
def test_paths_of_gitlab_are_unknown_where_the_payload_cannot_say(changes: Any) -> None:
    assert pushed(from_gitlab(gitlab_push(**changes))).paths is None


def test_the_zero_commit_is_no_revision() -> None:
    assert pushed(from_github(github_push(before=ZERO))).before == ""


def test_a_gitlab_tag_is_a_push() -> None:
    push = pushed(from_gitlab(gitlab_push(object_kind="tag_push", ref="refs/tags/v1")))

    assert (push.event, push.is_tag) == ("tag_push", True)


def test_a_gitlab_system_hook_is_known_by_its_event_name() -> None:
    payload = gitlab_push()
    del payload["object_kind"]

    assert pushed(from_gitlab(payload, x_gitlab_event="System Hook")).event == "push"


def test_ping_is_ignored() -> None:
    assert from_github({"zen": "x"}, x_github_event="ping").outcome is DeliveryOutcome.IGNORED


def test_a_gitlab_issue_is_ignored() -> None:
    received = from_gitlab({"object_kind": "issue"}, x_gitlab_event="Issue Hook")

    assert received.outcome is DeliveryOutcome.IGNORED


@pytest.mark.parametrize("payload", [{}, {"object_kind": "issue"}, github_push()])
def test_a_push_of_gitlab_that_is_none_is_malformed(payload: dict[str, Any]) -> None:
    assert from_gitlab(payload).outcome is DeliveryOutcome.MALFORMED


@pytest.mark.parametrize(
    "signature",
    ["", "sha256=", "sha256=" + "0" * 64, "sha1=abc", "\udcff", sign(b"other", b"{}")],
)
def test_a_wrong_signature_is_refused_before_the_body_is_read(signature: str) -> None:
    received = from_github(b"not json at all", x_hub_signature_256=signature)

    assert received.outcome is DeliveryOutcome.UNAUTHORIZED
    assert received.outcome.status == 401
    assert "webhook.github.secret" in received.message


def test_a_missing_signature_says_which_header() -> None:
    received = receive({"x-github-event": "push"}, b"{}", SECRETS)

    assert received.outcome is DeliveryOutcome.UNAUTHORIZED
    assert "x-hub-signature-256" in received.message


def test_a_changed_body_does_not_match_its_signature() -> None:
    signature = sign(b"hush", b"{}")

    assert (
        from_github(b"{ }", x_hub_signature_256=signature).outcome is DeliveryOutcome.UNAUTHORIZED
    )


def test_a_wrong_gitlab_token_is_refused() -> None:
    received = from_gitlab(gitlab_push(), x_gitlab_token="tokens")

    assert received.outcome is DeliveryOutcome.UNAUTHORIZED


def test_without_a_secret_a_host_is_believed() -> None:
    received = from_github(github_push(), secrets=WebhookSecrets(), x_hub_signature_256="")

    assert received.outcome is DeliveryOutcome.ACCEPTED


def test_an_empty_secret_is_no_secret() -> None:
    set_keys = {"webhook.github.secret": "", "webhook.gitlab.secret": "t"}
    secrets = read_secrets(lambda key: set_keys.get(key, ""))

    assert secrets.of(github.PROVIDER) is None


@pytest.mark.parametrize("headers", [{}, {"x_gitlab_token": "token"}, {"x_gitlab_token": "hush"}])
def test_a_host_without_a_secret_is_refused_where_another_has_one(headers: dict[str, str]) -> None:
    """Or anybody would choose the host that needs no proof."""
    received = from_gitlab(gitlab_push(), WebhookSecrets(values=ONLY_GITHUB), **headers)

    assert received.outcome is DeliveryOutcome.UNAUTHORIZED
    assert "webhook.gitlab.secret" in received.message


def test_the_secret_of_one_host_proves_nothing_for_another() -> None:
    assert from_gitlab(gitlab_push(), x_gitlab_token="hush").outcome is DeliveryOutcome.UNAUTHORIZED
    signed = sign(b"token", json.dumps(github_push()).encode())
    forged = from_github(github_push(), x_hub_signature_256=signed)
    assert forged.outcome is DeliveryOutcome.UNAUTHORIZED


def test_the_switch_lets_an_unproven_host_in() -> None:
    secrets = WebhookSecrets(values=ONLY_GITHUB, unproven=True)

    assert from_gitlab(gitlab_push(), secrets).outcome is DeliveryOutcome.ACCEPTED


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"ref": "refs/tags/" + "v" * 500_000}, id="endless ref"),
        pytest.param({"ref": "refs/tags/v1\r\nNats-Rollup: all"}, id="header in a ref"),
        pytest.param({"ref": ""}, id="no ref"),
        pytest.param({"after": "f" * 5000}, id="endless commit"),
        pytest.param({"before": "not a commit"}, id="no commit"),
    ],
)
def test_a_push_that_git_could_not_have_made_is_malformed(changes: Any) -> None:
    for received in (from_github(github_push(**changes)), from_gitlab(gitlab_push(**changes))):
        assert received.outcome is DeliveryOutcome.MALFORMED
        assert len(received.message) < 300


def test_secrets_do_not_show_in_their_text() -> None:
    assert "hush" not in repr(SECRETS)


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b"{", id="cut off"),
        pytest.param(b"[]", id="a list"),
        pytest.param(b'{"ref": 1}', id="wrong type"),
        pytest.param(b'{"ref": "refs/heads/main"}', id="no repository"),
        pytest.param(b'{"ref": "x", "repository": {}}', id="no url"),
        pytest.param(b"\xff\xfe", id="not text"),
        pytest.param(b'{"ref":"\xff","repository":{}}', id="not utf-8"),
        pytest.param(b'{"a":' * 100_000, id="nested without end"),
    ],
)
def test_a_malformed_body_is_told_apart(body: bytes) -> None:
    received = from_github(body)

    assert (received.outcome, received.outcome.status) == (DeliveryOutcome.MALFORMED, 400)


def test_a_form_body_says_which_content_type_is_expected() -> None:
    received = from_github(b"payload=%7B%7D", content_type="application/x-www-form-urlencoded")

    assert received.outcome is DeliveryOutcome.MALFORMED
    assert "application/json" in received.message


def test_an_unknown_host_is_told_apart() -> None:
    received = receive({"x-gitee-event": "Push Hook"}, b"{}", SECRETS)

    assert (received.outcome, received.outcome.status) == (DeliveryOutcome.UNKNOWN_PROVIDER, 400)


@given(body=st.binary(max_size=200), event=st.text(max_size=10), token=st.text(max_size=10))
def test_no_bytes_make_it_raise(body: bytes, event: str, token: str) -> None:
    secrets = WebhookSecrets(
        values={"webhook.gitlab.secret": token.encode("utf-8", "surrogatepass")}
    )

    for header in ("x-github-event", "x-gitlab-event"):
        receive({header: event or "push", "x-gitlab-token": token}, body, secrets)
