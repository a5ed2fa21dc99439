"""SSH for a fetch: what its command line says, which keys are taken, and its words for people."""

import json
import shlex
from pathlib import Path

import pytest

from agent.git.credentials import GitCredential, Secret
from agent.git.repository_secrets import credential_for, problem_of
from agent.git.ssh import ssh_command
from agent.git.ssh_connections import SshConnections
from agent.git.ssh_failures import ssh_failure
from agent.git.ssh_key import key_problem, normalised_key
from agent.git.ssh_proxy import proxy_document
from agent.git.transport import Remote, fetch_environment
from bus.repository_url import RepositoryUrl, RepositoryUrlError

URL = RepositoryUrl.parse("git@git.example:team/app.git")
PEM = "-----BEGIN RSA PRIVATE KEY-----\nAAAA\n-----END RSA PRIVATE KEY-----\n"


def secret(kind: str = "repository", **data: str) -> Secret:
    labels = {"argocd.argoproj.io/secret-type": kind}
    return Secret(namespace="argocd", name=kind, labels=labels, data=data)


def options(command: str) -> dict[str, str]:
    words = shlex.split(command)
    return dict(word.split("=", 1) for word in words if "=" in word)


def test_nothing_of_a_user_or_the_machine_is_asked() -> None:
    command = ssh_command(key="/k", known_hosts="/h", insecure=False)
    assert shlex.split(command)[:3] == ["ssh", "-F", "/dev/null"]
    chosen = options(command)
    assert chosen["IdentityFile"] == "/k"
    assert chosen["UserKnownHostsFile"] == "/h"
    assert chosen["StrictHostKeyChecking"] == "yes"
    assert (chosen["BatchMode"], chosen["IdentityAgent"]) == ("yes", "none")
    assert chosen["GlobalKnownHostsFile"] == "/dev/null"
    assert chosen["ControlMaster"] == "no"


def test_without_known_hosts_nobody_is_believed_unless_the_secret_says_so() -> None:
    strict = options(ssh_command(key="/k", known_hosts="", insecure=False))
    assert (strict["UserKnownHostsFile"], strict["StrictHostKeyChecking"]) == ("/dev/null", "yes")
    loose = options(ssh_command(key="/k", known_hosts="/h", insecure=True))
    assert (loose["UserKnownHostsFile"], loose["StrictHostKeyChecking"]) == ("/dev/null", "no")


def test_git_may_speak_ssh_to_an_address_of_ssh_only() -> None:
    environment = fetch_environment(Remote(url=URL), {}, 1.0)
    assert environment["GIT_ALLOW_PROTOCOL"] == "ssh"
    assert environment["GIT_SSH_COMMAND"].startswith("ssh ")
    https = RepositoryUrl.parse("https://git.example/team/app.git")
    environment = fetch_environment(Remote(url=https), {}, 1.0)
    assert environment["GIT_ALLOW_PROTOCOL"] == "http:https"
    assert "GIT_SSH_COMMAND" not in environment


def test_the_scheme_of_the_secret_decides_which_login_counts() -> None:
    both = {"sshPrivateKey": PEM, "username": "kim", "password": "pw"}
    over_ssh = credential_for([secret(url="ssh://git@git.example/team/app", **both)], URL, "")
    assert over_ssh is not None
    assert (over_ssh.ssh_key, over_ssh.password) == (PEM, "")
    https = RepositoryUrl.parse("https://git.example/team/app")
    over_https = credential_for([secret(url=str(https), **both)], https, "")
    assert over_https is not None
    assert (over_https.ssh_key, over_https.password) == ("", "pw")
    assert "BEGIN" not in repr(over_ssh)


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ({"url": "https://git.example/a", "sshPrivateKey": PEM}, "opens no https URL"),
        ({"url": "ssh://git@git.example/a", "password": "pw"}, "no password counts"),
        ({"url": "ssh://git@git.example/a", "sshPrivateKey": PEM, "proxy": "http://p"}, "lacks"),
        ({"url": "ssh://git@git.example/a", "proxy": "https://p:1"}, "scheme"),
        ({"url": "ssh://git@git.example/a", "proxy": "socks5://k:AAAA@p:1/x"}, "more than"),
        ({"url": "ssh://git@git.example/a", "proxy": "socks5://p:99999"}, "no URL"),
        ({"url": "ssh://git@git.example/a", "proxy": "socks5://p;x:1"}, "lacks"),
        ({"url": "ssh://git@git.example/a", "proxy": "socks5://" + "AAAA" * 64 + "@p:1"}, "login"),
        ({"url": "ssh://git@git.example/a", "proxy": "p.example:1080"}, ""),
        (
            {"url": "ssh://git@git.example/a", "insecureIgnoreHostKey": "perhaps"},
            "insecureIgnoreHostKey is neither true nor false",
        ),
        ({"url": "ssh://git@git.example/a", "sshPrivateKey": PEM}, ""),
        ({"url": "ssh://git@git.example/a"}, ""),
    ],
)
def test_a_secret_that_cannot_be_meant_so_says_why(data: dict[str, str], expected: str) -> None:
    problem = problem_of(secret(**data))
    assert expected in problem
    assert bool(expected) == bool(problem)
    assert "AAAA" not in problem


def test_the_way_through_a_proxy_stands_in_no_argument() -> None:
    proxy = "socks5://kim:c4n%3Ary@proxy.example:1080"
    credential = GitCredential(ssh_key=PEM, proxy=proxy, no_proxy="inside.example")
    document = proxy_document(URL, credential)
    assert json.loads(document) == {
        "proxy": ["socks5", "proxy.example", 1080],
        "login": ["kim", "c4n:ry"],
        "host": "git.example",
        "port": 22,
    }
    command = ssh_command(key="/k", known_hosts="/h", insecure=False, proxy="/proc/1/fd/100%")
    chosen = options(command)
    assert chosen["ProxyCommand"].endswith("proxy_connection.py /proc/1/fd/100%%")
    assert chosen["ProxyUseFdpass"] == "yes"
    assert (
        options(ssh_command(key="/k", known_hosts="/h", insecure=False))["ProxyCommand"] == "none"
    )
    inside = RepositoryUrl.parse("ssh://git@git.inside.example/a")
    assert proxy_document(inside, credential) == ""


def test_a_prefix_lends_its_proxy_where_the_repository_names_none() -> None:
    lent = secret("repo-creds", url="ssh://git@git.example/team", sshPrivateKey=PEM, proxy="p:1")
    for own, expected in (({}, "p:1"), ({"proxy": "q:2"}, "q:2")):
        mine = secret(url="ssh://git@git.example/team/app", **own)
        found = credential_for([lent, mine], URL, "")
        assert found is not None
        assert (found.proxy, found.ssh_key) == (expected, PEM)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ssh-ed25519 AAAA kim@laptop", "is a public key"),
        ("PuTTY-User-Key-File-3: ssh-ed25519", "puttygen"),
        ("AAAA", "no private key in PEM"),
        ("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----", "no private key in PEM"),
        ("-----BEGIN RSA PRIVATE KEY-----\nAAAA", "no private key in PEM"),
        (PEM.replace("\nAAAA", "\nProc-Type: 4,ENCRYPTED\n\nAAAA"), "passphrase"),
        ("x" * 40_000, "more than 32768 characters"),
        (PEM, ""),
        (PEM.replace("\n", "\r\n"), ""),
    ],
)
def test_what_is_no_usable_key_is_said_without_quoting_it(text: str, expected: str) -> None:
    problem = key_problem(text)
    assert expected in problem
    assert bool(expected) == bool(problem)
    assert "AAAA" not in problem


def test_a_key_gets_the_lines_that_ssh_reads() -> None:
    assert normalised_key(PEM.strip().replace("\n", "\r\n")) == PEM
    assert normalised_key(" \n") == ""


@pytest.mark.parametrize(
    ("shown", "named"),
    [
        ("git.evil", "git.evil"),
        ("[git.evil]:2222", "[git.evil]:2222"),
        ("github.com", "git.evil"),
        ("[git.evil]:22,github.com", "git.evil"),
    ],
)
def test_a_host_that_writes_the_words_of_ssh_names_no_other_host(shown: str, named: str) -> None:
    words = f"No ED25519 host key is known for {shown} and you have requested strict checking."
    found = ssh_failure("git.evil", words)
    assert found is not None
    assert found.cause == f"no ED25519 host key is known for {named}"


def test_words_that_say_nothing_of_ssh_are_left_to_git() -> None:
    assert ssh_failure("git.example", "fatal: the remote end hung up unexpectedly") is None


@pytest.mark.parametrize("text", ["ext::sh -c id", "fd::3", "git@host::x", "ssh://-oX@host/a"])
def test_an_address_that_is_a_helper_or_an_option_is_none(text: str) -> None:
    with pytest.raises(RepositoryUrlError):
        RepositoryUrl.parse(text)


async def test_a_connection_is_shared_only_by_those_who_would_open_the_same(tmp_path: Path) -> None:
    connections, mine = SshConnections(tmp_path / "ssh"), GitCredential(ssh_key=PEM)
    assert connections.socket(URL, mine, "h") == ""  # not opened yet
    connections.open()
    first = connections.socket(URL, mine, "h")
    assert connections.socket(URL, mine, "h") == first
    elsewhere, another_user = (
        RepositoryUrl.parse(one) for one in ("git@other.example:a", "kim@git.example:a")
    )
    others = [
        connections.socket(URL, GitCredential(ssh_key="other"), "h"),
        connections.socket(URL, mine, "k"),
        connections.socket(URL, GitCredential(ssh_key=PEM, insecure=True), "h"),
        connections.socket(elsewhere, mine, "h"),
        connections.socket(another_user, mine, "h"),
    ]
    assert len({first, *others}) == 1 + len(others)
    assert connections.socket(URL, None, "h") == ""
    assert all(len(one) < 108 - 17 for one in (first, *others))
    await connections.close()
    assert connections.socket(URL, mine, "h") == ""
