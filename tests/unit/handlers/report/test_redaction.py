"""Planted canaries: whatever goes in, wherever it stands, none of them comes out."""

import base64
import string
from dataclasses import replace
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bus.events import Commit, RenderFailed, RevisionResolved
from bus.identity import AppKey, RepositoryKey, Revision
from bus.redaction import masked
from bus.status import Cause, HealthStatus, Reason
from handlers.application.application import read_application
from handlers.report.items import ItemStamp, ReportedApplication, application_item, fact_item
from handlers.report.known_secrets import KnownSecrets, pieces_of_secret
from handlers.report.redaction import Redaction
from handlers.report.restored_objects import UnknownMaskError, restored

STAMP = ItemStamp(id="1", time="2026-01-01T00:00:00+00:00")
CANARY = st.text(string.ascii_letters + string.digits, min_size=12, max_size=40).map(
    lambda text: f"c4n{text}"
)


def redaction(*known: str, config_maps: tuple[str, ...] = ()) -> Redaction:
    secrets = KnownSecrets(b"a salt")
    for value in known:
        encoded = base64.b64encode(value.encode()).decode()
        secrets.learn(pieces_of_secret({"key": encoded}))
    return Redaction(salt=b"another", known=secrets, config_maps=config_maps)


def deployment(canary: str) -> dict[str, Any]:
    container = {
        "name": "web",
        "image": "web:1",
        "env": [{"name": "PASS", "value": canary}, {"name": "DB_TOKENS", "value": "x" + canary}],
    }
    applied = f'{{"spec": "{canary}"}}'
    notes = {"kubectl.kubernetes.io/last-applied-configuration": applied, "team/note": canary}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "annotations": notes},
        "spec": {"template": {"spec": {"containers": [container], "initContainers": [container]}}},
    }


def planted(canary: str) -> list[dict[str, Any]]:
    encoded = base64.b64encode(canary.encode()).decode()
    return [
        {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "data": {"a": encoded}},
        {"apiVersion": "v1", "kind": "Secret", "metadata": {}, "stringData": {"a": canary}},
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": {"a": canary}},
        deployment(canary),
        {"kind": "List", "apiVersion": "v1", "items": [deployment(canary)]},
        {"kind": "Thing", "apiVersion": "x/v1", "spec": {"password": canary, "apiKey": canary}},
        {"kind": "Thing", "apiVersion": "x/v1", "spec": {"at": f"https://me:{canary}@host/x"}},
        {"kind": "Thing", "apiVersion": "x/v1", "spec": {"args": [f"--token={canary}"]}},
    ]


@given(CANARY)
def test_no_canary_leaves_in_a_manifest(canary: str) -> None:
    gate = redaction()
    for manifest in planted(canary):
        shown = msgspec.json.encode([gate.manifest(manifest), gate.value({"objects": [manifest]})])
        assert canary.encode() not in shown
        assert base64.b64encode(canary.encode()) not in shown


@given(CANARY, st.text(max_size=30), st.text(max_size=30))
def test_a_known_secret_is_masked_in_any_text(canary: str, before: str, after: str) -> None:
    gate = redaction(canary)
    encoded = base64.b64encode(canary.encode()).decode()
    for value in (canary, encoded):
        assert value not in gate.text(f"{before} {value}{after}")


def test_an_annotation_that_is_to_be_masked_is() -> None:
    """The value is none that would be hidden otherwise, and the name is that of a known project."""
    name = "argocd.argoproj.io/sync-options"
    masking = replace(redaction(), masked_annotations=lambda: {name})
    manifest = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "a", "annotations": {name: "Prune=false"}},
    }
    assert redaction().manifest(manifest)["metadata"]["annotations"] == {name: "Prune=false"}
    assert "Prune" not in str(masking.manifest(manifest))
    assert "Prune" not in str(masking.annotations({name: "Prune=false"}))


def test_lines_of_a_key_and_texts_in_json_are_known_too() -> None:
    line = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASC"
    gate = redaction(
        f"-----BEGIN X-----\n{line}\n", '{"auths": {"host": {"auth": "dXNlcjpwYXNz"}}}'
    )
    assert gate.text(f"read {line} and dXNlcjpwYXNz") == "read (hidden) and (hidden)"


@pytest.mark.parametrize(
    "word", ["production", "git.example.com", "https://git.example/x", "short"]
)
def test_plain_words_of_secrets_do_not_mask_everything(word: str) -> None:
    assert redaction(word).text(f"about {word} here") == f"about {word} here"


def test_known_secrets_keep_no_value() -> None:
    known = KnownSecrets(b"salt")
    known.learn(pieces_of_secret({"p": base64.b64encode(b"correct-horse-9").decode()}))
    kept = [repr(getattr(known, name)) for name in vars(known)]
    assert not any("correct-horse" in one for one in kept)


@pytest.mark.parametrize(
    "line",
    [
        "login password=hunter2hunter2",
        'body {"api_key": "hunter2hunter2"}',
        "Authorization: Bearer hunter2hunter2",
        "GET https://bob:hunter2hunter2@git.example/x",
        "token ghp_hunter2hunter2hunter2hunter2",
        "-----BEGIN RSA PRIVATE KEY-----\nhunter2hunter2\n-----END RSA PRIVATE KEY-----",
    ],
)
def test_what_looks_like_a_credential_is_masked_in_log_lines(line: str) -> None:
    assert "hunter2" not in masked(line)


def test_ordinary_messages_stay_as_they_are() -> None:
    text = 'secrets "web" not found; deployments.apps "web" is forbidden: quota exceeded'
    assert redaction().text(text) == text


LONG = "a value of more than 24 characters"


def test_a_mask_of_a_long_value_differs_where_the_value_does_and_stays_the_same_otherwise() -> None:
    gate = redaction()
    one, same, other = gate.hidden(LONG), gate.hidden(LONG), gate.hidden(f"{LONG}s")
    assert one == same != other
    assert gate.hidden(one) == one


def test_a_short_value_has_no_fingerprint() -> None:
    assert redaction().hidden("hunter2") == "(hidden)"


def test_the_same_value_has_another_mask_in_another_field_object_or_agent() -> None:
    def manifest(name: str, field: str) -> Any:
        return {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": name},
            "data": {field: LONG},
        }

    def mask(shown: Any) -> str:
        return str(next(iter(shown["data"].values())))

    gate = redaction()
    application = {"helm": {"parameters": [{"name": "password", "value": LONG}]}}
    elsewhere = gate.within("application").value(application)
    masks = {
        mask(gate.manifest(manifest("a", "x"))),
        mask(gate.manifest(manifest("a", "y"))),
        mask(gate.manifest(manifest("b", "x"))),
        mask(replace(gate, salt=b"of another agent").manifest(manifest("a", "x"))),
        elsewhere["helm"]["parameters"][0]["value"],
    }
    assert len(masks) == 5


def test_states_that_are_compared_differ_where_short_values_or_parts_of_texts_do() -> None:
    gate = redaction().together()
    one = gate.value({"password": "a", "args": ["--token=b"], "pin_token": 1, "same_token": "x"})
    other = gate.value({"password": "b", "args": ["--token=c"], "pin_token": 2, "same_token": "x"})
    assert [name for name in one if one[name] != other[name]] == ["password", "args", "pin_token"]
    assert gate.value({"password": "a"}) == {"password": one["password"]}


def test_nothing_is_forgotten_in_silence_when_too_many_secrets_are_known() -> None:
    known = KnownSecrets(b"salt", limit=3)
    known.learn(f"correct-horse-{number}" for number in range(5))
    assert (known.size, known.refused) == (3, 2)
    assert "2 are masked by their names and looks only" in known.alarm
    assert not KnownSecrets(b"salt").alarm


def test_a_text_of_lines_that_was_edited_gets_its_hidden_lines_back() -> None:
    gate = redaction()
    live = {"values": "image: web:1\ndb:\n  password: hunter2\nother:\n  token: swordfish\n"}
    edited = {"values": gate.value(live)["values"].replace("web:1", "web:2")}
    assert restored(edited, live, gate) == {"values": live["values"].replace("web:1", "web:2")}


def test_of_hidden_entries_that_look_alike_none_is_guessed() -> None:
    gate, live = redaction(), {"passwords": ["a", "b"]}
    assert restored({"passwords": ["(hidden)", "(hidden)"]}, live, gate) == live
    with pytest.raises(UnknownMaskError, match=r"passwords\[0\]"):
        restored({"passwords": ["(hidden)"]}, live, gate)


def test_a_config_map_is_shown_where_its_owner_allows_it() -> None:
    shown = {"kind": "ConfigMap", "apiVersion": "v1", "data": {"colour": "blue"}}
    shown["metadata"] = {"namespace": "shop", "name": "web"}
    assert redaction(config_maps=("shop/*",)).manifest(shown)["data"] == {"colour": "blue"}
    assert redaction(config_maps=("blog/*",)).manifest(shown)["data"] != {"colour": "blue"}


def application(canary: str) -> bytes:
    helm = {
        "values": f"password: {canary}",
        "valuesObject": {"db": {"password": canary, "port": 5}},
        "parameters": [{"name": "db.password", "value": canary}],
    }
    source = {"repoURL": f"https://me:{canary}@git.example/x", "path": ".", "helm": helm}
    return msgspec.json.encode(
        {
            "metadata": {
                "name": "web",
                "namespace": "argocd",
                "annotations": {"x/y": canary},
            },
            "spec": {
                "project": "default",
                "source": source,
                "destination": {"namespace": "shop"},
            },
            "status": {
                "sync": {"status": "OutOfSync", "comparedTo": {"source": source}},
                "history": [{"id": 1, "source": source}],
                "operationState": {"message": f"token={canary}"},
            },
        }
    )


@given(CANARY)
def test_no_canary_leaves_in_the_state_of_an_application(canary: str) -> None:
    cause = Cause(object="/Pod/shop/p", health=HealthStatus.DEGRADED, message=f"token={canary}")
    commits = {"a" * 40: Commit(author="Ann", message=f"use token={canary}")}
    app = read_application(application(canary))
    reported = ReportedApplication(app=app, cause=cause, commits=commits)
    item = application_item(reported, STAMP, redaction())
    assert canary.encode() not in msgspec.json.encode(item)
    assert b'"db.password"' in bytes(item.body)
    assert b"git.example/x" in bytes(item.body)


@given(CANARY)
def test_no_canary_leaves_in_a_fact(canary: str) -> None:
    fact = RenderFailed(
        app=AppKey("argocd", "web"),
        reason=Reason.EVALUATION_FAILED,
        message=f"cannot read https://x:{canary}@host with password: {canary}",
    )
    assert canary.encode() not in msgspec.json.encode(fact_item(fact, STAMP, redaction()))


def test_what_was_shown_masked_and_comes_back_keeps_its_values() -> None:
    live = deployment("S3cret-value")
    gate = redaction()
    edited = msgspec.json.decode(msgspec.json.encode(gate.value(live)))
    edited["spec"]["template"]["spec"]["containers"][0]["image"] = "web:2"
    containers = restored(edited, live, gate)["spec"]["template"]["spec"]["containers"]
    assert containers[0]["env"][0]["value"] == "S3cret-value"
    assert containers[0]["image"] == "web:2"


def test_a_mask_that_stands_for_nothing_is_refused() -> None:
    with pytest.raises(UnknownMaskError, match=r"spec\.a"):
        restored({"spec": {"a": "(hidden:00000000)"}}, {"spec": {"a": "x"}}, redaction())


def test_a_known_secret_in_a_commit_is_masked_before_it_leaves() -> None:
    commit = Commit(author="Jane", message="rotate c4nary-of-the-database", time=STAMP.time)
    fact = RevisionResolved(
        repository=RepositoryKey("https://git.example/shop"),
        target_revision="main",
        revision=Revision("a" * 40),
        commit=commit,
    )
    body = bytes(fact_item(fact, STAMP, redaction("c4nary-of-the-database")).body)
    assert b"c4nary" not in body
    assert msgspec.json.decode(body)["commit"]["author"] == "Jane"
