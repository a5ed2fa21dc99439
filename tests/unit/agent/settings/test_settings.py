"""Settings: from environment and file, with everything that is wrong told at once."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from agent.buses import bus_settings
from agent.configuration import (
    MASK,
    InvalidSettingsError,
    effective,
    load,
    unknown_variables,
    variables,
)
from agent.settings import FILE_VARIABLE, PREFIX


@pytest.fixture(autouse=True)
def _no_settings_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith(PREFIX)]:
        monkeypatch.delenv(name)


def problems_with(monkeypatch: pytest.MonkeyPatch, **variables: str) -> tuple[str, ...]:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(InvalidSettingsError) as raised:
        load()
    return raised.value.problems


def test_nothing_has_to_be_set() -> None:
    settings = load()

    assert (settings.namespace, settings.poll.interval, settings.nats.url) == (
        "argocd",
        180.0,
        None,
    )


def test_the_environment_reaches_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITOPS_NATS_TLS_CA", "/ca.pem")
    monkeypatch.setenv("GITOPS_WEBHOOK_BODY_LIMIT", "25MB")
    monkeypatch.setenv("GITOPS_DESTINATION_NAMESPACES", "shop, web")
    settings = load()

    assert settings.nats.tls_ca == Path("/ca.pem")
    assert settings.webhook.body_limit == 25_000_000
    assert settings.destination_namespaces == ("shop", "web")


def test_sizes_of_streams_reach_the_bus(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITOPS_STREAMS_FACTS", "1GiB")
    monkeypatch.setenv("GITOPS_STREAMS_DEAD_LETTERS", "8MiB")
    monkeypatch.setenv("GITOPS_STREAMS_REPLICAS", "3")

    bus = bus_settings(load(), "nats://nats:4222")

    assert (bus.sizes.facts, bus.sizes.dead_letters) == (1024**3, 8 * 1024**2)
    assert (bus.sizes.asks, bus.replicas) == (64 * 1024**2, 3)


def test_a_stream_too_small_for_a_message_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    (problem,) = problems_with(monkeypatch, GITOPS_STREAMS_ASKS="1KiB")
    assert "GITOPS_STREAMS_ASKS" in problem


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90", 90.0), ("90s", 90.0), ("3m", 180.0), ("1h30m", 5400.0), ("500ms", 0.5)],
)
def test_durations_are_read_as_people_write_them(
    monkeypatch: pytest.MonkeyPatch, text: str, seconds: float
) -> None:
    monkeypatch.setenv("GITOPS_POLL_INTERVAL", text)

    assert load().poll.interval == seconds


def test_the_environment_wins_over_the_file(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / "settings.toml"
    file.write_text('account = "acme"\n[http]\nhost = "0.0.0.0"\nport = 1\n')
    monkeypatch.setenv(FILE_VARIABLE, str(file))
    monkeypatch.setenv("GITOPS_HTTP_PORT", "2")
    settings = load()

    assert (settings.account, settings.http.host, settings.http.port) == ("acme", "0.0.0.0", 2)


def test_all_that_is_wrong_is_told_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    problems = problems_with(
        monkeypatch,
        GITOPS_HTTP_PORT="99999",
        GITOPS_POLL_INTERVAL="soon",
        GITOPS_LOG_LEVEL="loud",
        GITOPS_ACCOUNT="Not A Name",
        GITOPS_NATS_TLS_CERT="/cert.pem",
    )

    assert [problem.partition(":")[0] for problem in problems] == [
        "GITOPS_ACCOUNT",
        "GITOPS_NATS",
        "GITOPS_HTTP_PORT",
        "GITOPS_POLL_INTERVAL",
        "GITOPS_LOG_LEVEL",
    ]
    assert "expected a duration such as 90, 90s, 3m or 1h30m, given 'soon'" in problems[3]


def test_replicas_that_divide_the_work_need_one_nats_a_lease_and_no_link(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    problems = problems_with(
        monkeypatch,
        GITOPS_REPLICAS_DIVIDE="true",
        GITOPS_LEASE_ENABLED="false",
        GITOPS_LINK_URL="https://gitops.example",
    )

    assert [one.partition(": expected ")[2].split()[0] for one in problems] == [
        "GITOPS_NATS_URL",
        "GITOPS_LEASE_ENABLED=true",
        "no",
    ]


def test_a_key_that_nothing_reads_is_refused_in_the_file(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / "settings.toml"
    file.write_text('[nats]\nulr = "nats://here"\n')

    (problem,) = problems_with(monkeypatch, GITOPS_SETTINGS_FILE=str(file))

    assert problem == f"nats.ulr in {file} is no setting; did you mean nats.url?"


def test_variables_that_kubernetes_adds_do_no_harm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITOPS_NATS_PORT", "tcp://10.0.0.1:4222")

    assert load().nats.url is None


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        pytest.param("a = = 1", "is not TOML", id="broken"),
        pytest.param(None, "cannot read", id="absent"),
    ],
)
def test_an_unusable_file_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, content: str | None, expected: str
) -> None:
    file = tmp_path / "settings.toml"
    if content is not None:
        file.write_text(content)

    (problem,) = problems_with(monkeypatch, GITOPS_SETTINGS_FILE=str(file))

    assert problem.startswith(FILE_VARIABLE)
    assert str(file) in problem
    assert expected in problem


def test_a_variable_that_nothing_reads_is_told() -> None:
    (line,) = unknown_variables(
        {"GITOPS_NATS_ULR": "x", "GITOPS_NATS_URL": "x", "GITOPS_CONTEXTS": "x", "HOME": "/"}
    )

    assert line == "GITOPS_NATS_ULR is not read by anything; did you mean GITOPS_NATS_URL?"


def test_secrets_are_masked_wherever_settings_are_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITOPS_NATS_URL", "nats://me:hush@nats:4222")
    monkeypatch.setenv("GITOPS_REDIS_URL", "redis://:hush@redis")
    settings = load()
    shown = {variable.name: text for variable, text in effective(settings)}

    assert shown["GITOPS_NATS_URL"] == MASK
    assert "hush" not in repr(settings) + str(shown) + settings.model_dump_json()


def test_a_problem_never_repeats_a_secret(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    file = tmp_path / "settings.toml"
    file.write_text("[redis]\nurl = ['hush']\n")

    (problem,) = problems_with(monkeypatch, GITOPS_SETTINGS_FILE=str(file))

    assert problem.startswith("GITOPS_REDIS_URL")
    assert "hush" not in problem


def test_a_group_given_as_one_value_is_refused_with_a_remedy(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (problem,) = problems_with(monkeypatch, GITOPS_NATS="nats://here")

    assert "set the single variables" in problem


def test_every_setting_says_what_it_is_for() -> None:
    assert [v.name for v in variables() if not v.field.description] == []
