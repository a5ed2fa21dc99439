"""What a fetch is given, and what is told about its failure."""

import pytest

from agent.git.credentials import Credential
from agent.git.transport import ALL_REFS, Remote, failure, fetch_arguments, fetch_environment
from bus.status import Reason

REMOTE = Remote(
    url="https://git.example/x.git",
    credential=Credential(secret="argocd/x", username="kim", password="hide-me"),
)
HEADER = "a2ltOmhpZGUtbWU="


def test_no_argument_holds_the_credential() -> None:
    arguments = " ".join(fetch_arguments("/mirror", REMOTE, ALL_REFS))
    assert "hide-me" not in arguments
    assert HEADER not in arguments


def test_the_credential_travels_as_a_header_in_the_environment() -> None:
    environment = fetch_environment(REMOTE, {}, 30)
    values = [value for name, value in environment.items() if "VALUE" in name]
    assert f"Authorization: Basic {HEADER}" in values


def test_the_user_s_configuration_and_prompts_are_switched_off() -> None:
    environment = fetch_environment(REMOTE, {"HOME": "/home/kim", "GIT_ASKPASS": "x"}, 30)
    assert environment["GIT_TERMINAL_PROMPT"] == "0"
    assert environment["GIT_CONFIG_GLOBAL"] == "/dev/null"
    assert environment["GIT_CONFIG_NOSYSTEM"] == "1"
    assert environment["GIT_ALLOW_PROTOCOL"] == "http:https"
    assert "GIT_ASKPASS" not in environment
    assert environment["HOME"] != "/home/kim"


@pytest.mark.parametrize(
    ("complaint", "reason"),
    [
        ("fatal: Authentication failed for 'x'", Reason.CREDENTIALS_REFUSED),
        ("fatal: could not read Username for 'x': disabled", Reason.CREDENTIALS_REFUSED),
        ("fatal: The requested URL returned error: 403", Reason.CREDENTIALS_REFUSED),
        ("fatal: repository 'x' not found", Reason.REPOSITORY_UNREACHABLE),
        ("fatal: Failed to connect to x port 1: refused", Reason.REPOSITORY_UNREACHABLE),
        ("fatal: SSL certificate problem: expired", Reason.REPOSITORY_UNREACHABLE),
        ("", Reason.REPOSITORY_UNREACHABLE),
    ],
)
def test_reasons(complaint: str, reason: Reason) -> None:
    error = failure(REMOTE, complaint)
    assert error.reason is reason
    assert REMOTE.url in error.message
    assert "argocd/x" in error.message


def test_another_protocol_is_refused_with_a_remedy() -> None:
    error = failure(REMOTE, "fatal: transport 'ssh' not allowed")
    assert "over https" in error.message


def test_a_server_that_repeats_the_credential_is_not_quoted() -> None:
    said = f"remote: you sent {HEADER}\nfatal: 'https://kim:hide-me@git.example' hide-me {HEADER}"
    message = failure(REMOTE, said).message
    assert "hide-me" not in message
    assert HEADER not in message


def test_the_same_cause_reads_the_same() -> None:
    first = failure(REMOTE, "fatal: Failed to connect to x port 1 after 3 ms: refused")
    second = failure(REMOTE, "fatal: Failed to connect to x port 1 after 87 ms: refused")
    assert first.message == second.message


@pytest.mark.parametrize(
    ("credential", "said"),
    [
        (REMOTE.credential, "the server refused this login (credentials of Secret argocd/x)"),
        (None, "the server asks for a login (no Secret fits this URL)"),
    ],
    ids=["with a Secret", "without"],
)
def test_a_login_that_git_would_prompt_for_is_said_in_our_words(
    credential: Credential | None, said: str
) -> None:
    complaint = "fatal: could not read Username for 'https://x': terminal prompts disabled"
    assert said in failure(Remote(url=REMOTE.url, credential=credential), complaint).message
