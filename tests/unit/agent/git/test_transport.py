"""What a fetch is given."""

from pathlib import Path

from agent.git.credentials import GitCredential
from agent.git.transport import (
    ALL_REFS,
    Remote,
    credential_files_of,
    fetch_arguments,
    fetch_environment,
)
from bus.repository_url import RepositoryUrl

REMOTE = Remote(
    url=RepositoryUrl.parse("https://git.example/x.git"),
    credential=GitCredential(secret="argocd/x", username="kim", password="hide-me"),
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


def test_credential_proxy_and_certificates_are_for_the_address_of_the_repository() -> None:
    credential = GitCredential(username="kim", password="p", insecure=True, proxy="http://p")
    environment = fetch_environment(Remote(url=REMOTE.url, credential=credential), {}, 30)
    names = {value for name, value in environment.items() if "GIT_CONFIG_KEY" in name}
    scoped = {f"http.{REMOTE.url}.{name}" for name in ("extraHeader", "sslVerify", "proxy")}
    assert scoped <= names
    assert not names & {"http.extraHeader", "http.sslVerify", "http.proxy"}


def test_no_redirect_is_followed_and_no_submodule_fetched() -> None:
    environment = fetch_environment(REMOTE, {}, 30)
    keys = [value for name, value in environment.items() if "GIT_CONFIG_KEY" in name]
    values = [value for name, value in environment.items() if "GIT_CONFIG_VALUE" in name]
    settings = dict(zip(keys, values, strict=True))
    assert settings["http.followRedirects"] == "false"
    assert settings["fetch.recurseSubmodules"] == "false"


def test_papers_are_named_to_git_and_travel_as_open_files() -> None:
    credential = GitCredential(certificate="ours", key="hide-me", no_proxy="inside.example")
    remote = Remote(url=REMOTE.url, credential=credential, authority="theirs")
    with credential_files_of(remote) as shown:
        environment = fetch_environment(remote, {"GIT_SSL_CAINFO": "/etc/ambient"}, 30, shown)
        kept = [Path(path).read_text() for path in (shown.authority, shown.certificate, shown.key)]
        assert kept == ["theirs", "ours", "hide-me"]
        assert environment["GIT_SSL_CAINFO"] == shown.authority
        assert {shown.certificate, shown.key} <= set(environment.values())
    assert environment["no_proxy"] == environment["NO_PROXY"] == "inside.example"
    assert "hide-me" not in str(environment)


def test_without_papers_the_authorities_of_this_machine_count() -> None:
    with credential_files_of(REMOTE) as shown:
        assert shown.files == ()
        environment = fetch_environment(REMOTE, {"GIT_SSL_CAINFO": "/etc/ambient"}, 30, shown)
    assert environment["GIT_SSL_CAINFO"] == "/etc/ambient"


def test_the_user_s_configuration_and_prompts_are_switched_off() -> None:
    environment = fetch_environment(REMOTE, {"HOME": "/home/kim", "GIT_ASKPASS": "x"}, 30)
    assert environment["GIT_TERMINAL_PROMPT"] == "0"
    assert environment["GIT_CONFIG_GLOBAL"] == "/dev/null"
    assert environment["GIT_CONFIG_NOSYSTEM"] == "1"
    assert environment["GIT_ALLOW_PROTOCOL"] == "http:https"
    assert "GIT_ASKPASS" not in environment
    assert environment["HOME"] != "/home/kim"
