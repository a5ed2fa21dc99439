"""What the watches of our own namespace feed, and which Secrets are kept."""

import base64
from typing import Any

import msgspec
import structlog

from agent.store.argo_secrets import ArgoSecrets
from agent.store.feeds import secret_feed

CANARY = "canary-7f3a"


def secret(name: str, *, kind: str = "", **data: str) -> bytes:
    labels = {"argocd.argoproj.io/secret-type": kind} if kind else {}
    metadata: dict[str, Any] = {"name": name, "namespace": "argocd", "labels": labels}
    encoded = {key: base64.b64encode(value.encode()).decode() for key, value in data.items()}
    return msgspec.json.encode({"metadata": metadata, "data": encoded})


def test_only_secrets_with_a_meaning_are_kept() -> None:
    secrets = ArgoSecrets()
    secrets.put(secret("repo", kind="repository", url="https://x", password=CANARY))
    secrets.put(secret("argocd-secret", **{"webhook.github.secret": "s"}))
    secrets.put(secret("somebody-elses", password=CANARY))
    assert {one.name for one in secrets.all()} == {"repo", "argocd-secret"}
    assert secrets.setting("webhook.github.secret") == "s"
    assert secrets.setting("webhook.gitlab.secret") == ""


def test_a_secret_that_loses_its_label_is_forgotten() -> None:
    secrets = ArgoSecrets()
    secrets.put(secret("repo", kind="repository", url="https://x"))
    secrets.put(secret("repo", url="https://x"))
    assert not secrets.all()


def test_no_repr_shows_a_value() -> None:
    secrets = ArgoSecrets()
    secrets.put(secret("repo", kind="repository", password=CANARY))
    assert CANARY not in repr(secrets.all())


def test_a_value_that_is_no_text_is_left_out_and_said_without_it() -> None:
    secrets = ArgoSecrets()
    broken = msgspec.json.decode(secret("repo", kind="repository"))
    broken["data"] = {"password": base64.b64encode(b"\xff\xfe").decode(), "url": "aHR0cHM6Ly94"}
    with structlog.testing.capture_logs() as logs:
        secrets.put(msgspec.json.encode(broken))
    assert dict(secrets.all()[0].data) == {"url": "https://x"}
    assert logs[0]["key"] == "password"


def test_what_a_complete_list_does_not_name_is_gone_and_the_list_is_told() -> None:
    secrets, changes = ArgoSecrets(), []
    feed = secret_feed(secrets, lambda: changes.append(True))
    feed.put(secret("old", kind="repository"))
    feed.begin_list()
    feed.put(secret("new", kind="repository"))
    feed.end_list("7")
    assert [one.name for one in secrets.all()] == ["new"]
    assert changes == [True]
