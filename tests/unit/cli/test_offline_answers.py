"""health, diff and webhook parse: one answer per input, and exit codes that scripts can use."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agent.ingress.webhooks.providers.github import sign
from tests.unit.cli.conftest import Gitops

SERVICE: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Service",
    "metadata": {"name": "web", "namespace": "shop"},
}
PENDING = {**SERVICE, "spec": {"type": "LoadBalancer"}}
INTERNAL = {**SERVICE, "spec": {"type": "ClusterIP"}}
CONFIG = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": {"a": "1"}}


def written(path: Path, content: Any) -> Path:
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def test_health_answers_one_line_for_each_object(gitops: Gitops, tmp_path: Path) -> None:
    one = written(tmp_path / "one.json", PENDING)
    listed = {"apiVersion": "v1", "kind": "List", "items": [INTERNAL, CONFIG]}
    two = written(tmp_path / "two.json", listed)

    ran = gitops("health", one, two, "--json")

    assert ran.code == 0
    assert [list(answer) for answer in ran.answers] == [
        ["file", "kind", "name", "status", "message"]
    ] * 3
    assert [(a["file"], a["kind"], a["status"]) for a in ran.answers] == [
        (str(one), "Service", "Progressing"),
        (str(two), "Service", "Healthy"),
        (str(two), "ConfigMap", None),
    ]


def test_health_can_say_no_by_its_exit_code(gitops: Gitops, tmp_path: Path) -> None:
    healthy = written(tmp_path / "healthy.json", INTERNAL)
    pending = written(tmp_path / "pending.json", PENDING)

    assert gitops("health", healthy, "--exit-code").code == 0
    assert gitops("health", healthy, pending, "--exit-code").code == 1


def test_health_reads_standard_input(gitops: Gitops) -> None:
    ran = gitops("health", "-", "--json", stdin=json.dumps(INTERNAL).encode())

    assert [(answer["file"], answer["status"]) for answer in ran.answers] == [("-", "Healthy")]


def test_yaml_is_read_as_kubernetes_reads_it(with_sandbox: Gitops, tmp_path: Path) -> None:
    file = written(
        tmp_path / "both.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n---\n# nothing\n---\n"
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}\n",
    )

    ran = with_sandbox("health", file, "--json")

    assert [answer["name"] for answer in ran.answers] == ["a", "b"]


@pytest.mark.parametrize(
    ("script", "status", "message"),
    [
        ('return {status="Degraded", message=obj.kind}', "Degraded", "Service"),
        ('return {status="Fine"}', "Unknown", "Lua returned an invalid health status"),
        ("return nil", None, ""),
        ("return {}", None, ""),
        ("x = 1", None, ""),
    ],
)
def test_a_script_may_assess_instead(
    with_sandbox: Gitops, tmp_path: Path, script: str, status: str | None, message: str
) -> None:
    file = written(tmp_path / "one.json", PENDING)
    lua = written(tmp_path / "health.lua", script)

    (answer,) = with_sandbox("health", file, "--lua", lua, "--json").answers

    assert (answer["status"], answer["message"]) == (status, message)


@pytest.mark.parametrize("script", ['return "x"', "return 1", "return true"])
def test_a_script_that_returns_no_table_is_refused(
    with_sandbox: Gitops, tmp_path: Path, script: str
) -> None:
    file = written(tmp_path / "one.json", PENDING)
    lua = written(tmp_path / "health.lua", script)

    ran = with_sandbox("health", file, "--lua", lua, "--json")

    assert (ran.code, [answer["file"] for answer in ran.answers]) == (2, [str(file)])
    assert "expected a table with status and message" in ran.answers[0]["error"]


def test_the_scripts_of_argocd_cm_judge_the_kinds_that_they_name(
    with_sandbox: Gitops, tmp_path: Path
) -> None:
    objects = written(tmp_path / "all.json", {"kind": "List", "items": [PENDING, CONFIG]})
    data = {"resource.customizations.health.ConfigMap": 'return {status="Suspended"}'}
    settings = {**CONFIG, "metadata": {"name": "argocd-cm"}, "data": data}
    config_map = written(tmp_path / "argocd-cm.json", settings)

    ran = with_sandbox("health", objects, "--argocd-cm", config_map, "--json")

    assert [answer["status"] for answer in ran.answers] == ["Progressing", "Suspended"]


def test_a_file_without_a_config_map_is_refused(with_sandbox: Gitops, tmp_path: Path) -> None:
    file = written(tmp_path / "one.json", PENDING)

    ran = with_sandbox("health", file, "--argocd-cm", file, "--json")

    assert ran.code == 2
    assert "has no ConfigMap; expected argocd-cm" in ran.err


def test_a_script_has_more_libraries_where_they_are_asked_for(
    with_sandbox: Gitops, tmp_path: Path
) -> None:
    file = written(tmp_path / "one.json", PENDING)
    script = 'return {status="Healthy", message=string.upper(obj.kind) .. math.floor(1.5)}'
    lua = written(tmp_path / "health.lua", script)

    closed = with_sandbox("health", file, "--lua", lua)
    opened = with_sandbox("health", file, "--lua", lua, "--use-open-libs", "--json")

    assert closed.code == 2
    assert opened.answers[0]["message"] == "SERVICE1"


def test_a_script_that_fails_is_told_with_its_object(with_sandbox: Gitops, tmp_path: Path) -> None:
    file = written(tmp_path / "one.json", PENDING)
    lua = written(tmp_path / "health.lua", "return obj.spec.nothing.more")

    ran = with_sandbox("health", file, "--lua", lua)

    assert ran.code == 2
    assert f"{file}, document 1" in ran.err


def test_an_object_that_a_script_fails_on_does_not_stop_the_others_of_its_file(
    with_sandbox: Gitops, tmp_path: Path
) -> None:
    listed = {"apiVersion": "v1", "kind": "List", "items": [CONFIG, PENDING]}
    file = written(tmp_path / "list.json", listed)
    script = 'return {status="Healthy", message=obj.spec.type}'

    ran = with_sandbox("health", file, "--json", "--lua", written(tmp_path / "x.lua", script))

    assert (ran.code, [answer["name"] for answer in ran.good]) == (2, ["web"])
    assert f"{file}, document 1" in ran.err


def test_diff_tells_what_differs(gitops: Gitops, tmp_path: Path) -> None:
    desired = written(tmp_path / "desired.json", PENDING)
    live = written(tmp_path / "live.json", {**INTERNAL, "status": {"loadBalancer": {}}})

    ran = gitops("diff", "--desired", desired, "--live", live, "--json")

    (answer,) = ran.answers
    assert ran.code == 1
    assert list(answer) == ["file", "modified", "changes"]
    assert (answer["file"], answer["modified"]) == (str(desired), True)
    assert [change["path"] for change in answer["changes"]] == ["spec.type"]


def test_diff_of_the_same_is_zero(gitops: Gitops, tmp_path: Path) -> None:
    desired = written(tmp_path / "desired.json", INTERNAL)
    live = written(
        tmp_path / "live.json", {**INTERNAL, "metadata": {**SERVICE["metadata"], "uid": "u"}}
    )

    ran = gitops("diff", "--desired", desired, "--live", live, "--json")

    assert (ran.code, ran.answers[0]["modified"], ran.answers[0]["changes"]) == (0, False, [])


def test_a_file_does_not_differ_from_itself(gitops: Gitops, tmp_path: Path) -> None:
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "labels": {"a": 1}}}
    file = written(tmp_path / "secret.json", {**secret, "stringData": {"password": "x"}})

    ran = gitops("diff", "--desired", file, "--live", file, "--json")

    assert (ran.code, ran.answers[0]["changes"]) == (0, [])


def test_diff_takes_files_in_pairs(gitops: Gitops, tmp_path: Path) -> None:
    arguments: list[object] = []
    for number, live in enumerate([INTERNAL, PENDING]):
        arguments += ["--desired", written(tmp_path / f"d{number}.json", PENDING)]
        arguments += ["--live", written(tmp_path / f"l{number}.json", live)]

    ran = gitops("diff", *arguments, "--json")

    assert [answer["modified"] for answer in ran.answers] == [True, False]


def test_diff_does_not_hold_our_own_tracking_against_git(gitops: Gitops, tmp_path: Path) -> None:
    note = {"argocd.argoproj.io/tracking-id": "shop:/Service:shop/web"}
    owned = {
        "manager": "argocd-controller",
        "operation": "Apply",
        "apiVersion": "v1",
        "fieldsType": "FieldsV1",
        "fieldsV1": {
            "f:metadata": {"f:annotations": {"f:argocd.argoproj.io/tracking-id": {}}},
            "f:spec": {"f:type": {}},
        },
    }
    metadata = {**SERVICE["metadata"], "annotations": note, "managedFields": [owned]}
    desired = written(tmp_path / "desired.json", INTERNAL)
    live = written(tmp_path / "live.json", {**INTERNAL, "metadata": metadata})

    assert gitops("diff", "--desired", desired, "--live", live).code == 0


def test_diff_never_shows_a_secret(gitops: Gitops, tmp_path: Path) -> None:
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}}
    desired = written(tmp_path / "d.json", {**secret, "stringData": {"a": "hush"}})
    live = written(tmp_path / "l.json", {**secret, "data": {"a": "b3RoZXI="}})

    for form in ((), ("--json",)):
        ran = gitops("diff", "--desired", desired, "--live", live, *form)
        assert ran.code == 1
        assert "hush" not in ran.out
        assert "b3RoZXI" not in ran.out


PUSH = {
    "ref": "refs/heads/main",
    "before": "a" * 40,
    "after": "b" * 40,
    "repository": {"clone_url": "https://github.com/Octo/Shop.git"},
    "commits": [{"added": ["x.yaml"], "modified": [], "removed": []}],
}


def test_webhook_parse_answers_what_a_push_says(gitops: Gitops, tmp_path: Path) -> None:
    headers = written(tmp_path / "headers", "POST /api/webhook HTTP/1.1\nX-GitHub-Event: push\n")
    body = written(tmp_path / "body.json", PUSH)

    ran = gitops("webhook", "parse", "--headers", headers, "--body", body, "--json")

    assert ran.code == 0
    assert ran.answers == [
        {
            "file": str(body),
            "provider": "github",
            "event": "push",
            "repositories": ["https://github.com/Octo/Shop.git"],
            "ref": "refs/heads/main",
            "before": "a" * 40,
            "after": "b" * 40,
            "paths": ["x.yaml"],
        }
    ]


def test_the_line_of_the_request_names_the_provider_and_its_token(
    gitops: Gitops, tmp_path: Path
) -> None:
    line = "POST /api/webhook/quay?token=hush HTTP/1.1\n"
    headers = written(tmp_path / "headers", line + "Content-Type: application/json\n")
    pushed = {"docker_url": "quay.io/octo/web", "updated_tags": ["1.2.0"]}
    body = written(tmp_path / "body.json", pushed)
    right, wrong = written(tmp_path / "right", "hush\n"), written(tmp_path / "wrong", "other\n")
    files = ("webhook", "parse", "--headers", headers, "--body", body, "--json")

    ran = gitops(*files, "--secret", right)

    assert ran.code == 0
    assert ran.answers[0]["repositories"] == ["oci://quay.io/octo/web"]
    assert ran.answers[0]["ref"] == "refs/tags/1.2.0"
    assert gitops(*files, "--secret", wrong).code == 1


def test_one_file_of_headers_serves_all_bodies(gitops: Gitops, tmp_path: Path) -> None:
    headers = written(tmp_path / "headers", "X-GitHub-Event: push\n")
    bodies = [written(tmp_path / f"{n}.json", {**PUSH, "ref": f"refs/heads/{n}"}) for n in "ab"]
    proof = [argument for body in bodies for argument in ("--body", body)]

    ran = gitops("webhook", "parse", "--headers", headers, *proof, "--json")

    assert [answer["ref"] for answer in ran.answers] == ["refs/heads/a", "refs/heads/b"]


def test_an_event_without_commits_has_empty_fields(gitops: Gitops, tmp_path: Path) -> None:
    headers = written(tmp_path / "headers", "X-GitHub-Event: ping\n")

    ran = gitops("webhook", "parse", "--headers", headers, "--body", "-", "--json", stdin=b"{}")

    assert (ran.code, ran.answers[0]["event"], ran.answers[0]["paths"]) == (0, "ping", None)


def test_webhook_parse_checks_the_signature_where_a_secret_is_given(
    gitops: Gitops, tmp_path: Path
) -> None:
    body = written(tmp_path / "body.json", PUSH)
    secret = written(tmp_path / "secret", "hush\n")
    signature = sign(b"hush", body.read_bytes())
    codes = []
    for proof in (signature, "sha256=0"):
        headers = {"X-GitHub-Event": "push", "X-Hub-Signature-256": proof}
        file = written(tmp_path / "headers.json", headers)
        ran = gitops("webhook", "parse", "--headers", file, "--body", body, "--secret", secret)
        codes.append(ran.code)

    assert codes == [0, 1]


@pytest.mark.parametrize(
    ("headers", "body", "message"),
    [
        ("X-GitHub-Event: push", "{", "not a GitHub push"),
        ("X-Other: push", "{}", "x-github-event or x-gitlab-event"),
        ("no colon here\nat all", "{}", "line 1: expected `Name: value`"),
        ("{", "{}", "not JSON"),
        ("[]", "{}", "expected `Name: value`"),
    ],
)
def test_a_delivery_that_cannot_be_read_is_refused(
    gitops: Gitops, tmp_path: Path, headers: str, body: str, message: str
) -> None:
    ran = gitops(
        "webhook",
        "parse",
        "--headers",
        written(tmp_path / "h", headers),
        "--body",
        written(tmp_path / "b", body),
        "--json",
    )

    assert ran.code == 2
    assert message in ran.err
    (answer,) = ran.answers
    assert (answer["file"], message in answer["error"]) == (str(tmp_path / "b"), True)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        pytest.param("", "is empty", id="empty"),
        pytest.param("[1]", "document 1: expected a Kubernetes object, found list", id="no object"),
        pytest.param('{"a": 1}', "document 1: apiVersion or kind is missing", id="no kind"),
        pytest.param(None, "No such file", id="absent"),
    ],
)
def test_bad_input_is_named_and_does_not_stop_the_others(
    gitops: Gitops, tmp_path: Path, content: str | None, message: str
) -> None:
    bad = tmp_path / "bad.json"
    if content is not None:
        bad.write_text(content)
    good = written(tmp_path / "good.json", INTERNAL)

    ran = gitops("health", bad, good, "--json")

    assert ran.code == 2
    assert str(bad) in ran.err
    assert message in ran.err
    assert [answer["status"] for answer in ran.good] == ["Healthy"]


def test_broken_yaml_says_where(with_sandbox: Gitops, tmp_path: Path) -> None:
    bad = written(tmp_path / "bad.yaml", "apiVersion: v1\nkind: [\n")

    ran = with_sandbox("health", bad)

    assert ran.code == 2
    assert f"{bad}" in ran.err
    assert "line" in ran.err


def test_a_directory_is_refused(gitops: Gitops, tmp_path: Path) -> None:
    ran = gitops("health", tmp_path)

    assert (ran.code, "is a directory" in ran.err) == (2, True)


def test_a_file_without_end_is_refused(gitops: Gitops, tmp_path: Path) -> None:
    huge = tmp_path / "huge.yaml"
    with huge.open("wb") as out:
        out.truncate(100 * 1024 * 1024)

    ran = gitops("health", huge)

    assert (ran.code, "larger than the limit of 32 MiB" in ran.err) == (2, True)


DEPLOYMENT: dict[str, Any] = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web"},
    "spec": {"replicas": 1, "paused": True},
}


def test_the_actions_of_each_object_are_listed(gitops: Gitops, tmp_path: Path) -> None:
    file = written(tmp_path / "all.json", {"kind": "List", "items": [DEPLOYMENT, CONFIG]})

    deployment, config = gitops("actions", "list", file, "--json").answers

    assert list(deployment) == ["file", "kind", "name", "actions"]
    assert [one["name"] for one in deployment["actions"]] == ["pause", "restart", "resume", "scale"]
    assert [one["name"] for one in deployment["actions"] if one["disabled"]] == ["pause"]
    assert config["actions"] == []


def test_an_action_shows_what_it_would_change(gitops: Gitops, tmp_path: Path) -> None:
    file = written(tmp_path / "web.json", DEPLOYMENT)

    ran = gitops("actions", "run", "scale", file, "--param", "replicas=3", "--json")

    assert ran.code == 0
    assert ran.answers[0]["changes"] == [{"kind": "patch", "content": {"spec": {"replicas": 3}}}]


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("fly",), "Deployment has no action fly; it has pause, restart, resume, scale"),
        (("scale",), "action scale needs the parameter replicas"),
        (("pause", "--param", "a=b"), "action pause has no parameter a; it has none"),
    ],
)
def test_an_action_that_cannot_be_done_is_refused(
    gitops: Gitops, tmp_path: Path, words: tuple[str, ...], why: str
) -> None:
    name, *params = words
    file = written(tmp_path / "web.json", DEPLOYMENT)

    ran = gitops("actions", "run", name, file, *params, "--json")

    assert ran.code == 2
    assert why in ran.answers[0]["error"]


def test_scripts_of_argocd_cm_list_and_make_changes(with_sandbox: Gitops, tmp_path: Path) -> None:
    file = written(tmp_path / "web.json", DEPLOYMENT)
    discovery = written(tmp_path / "discovery.lua", "return {grow={}, shrink={disabled=true}}")
    grow = "obj.spec.replicas = tonumber(actionParams.by) + obj.spec.replicas return obj"
    action = written(tmp_path / "action.lua", grow)

    listed = with_sandbox("actions", "list", file, "--lua", discovery, "--json")
    ran = with_sandbox("actions", "run", "grow", file, "--lua", action, "--param", "by=4", "--json")

    assert [(one["name"], one["disabled"]) for one in listed.answers[0]["actions"]] == [
        ("grow", False),
        ("shrink", True),
    ]
    assert ran.answers[0]["changes"] == [{"kind": "patch", "content": {"spec": {"replicas": 5}}}]
