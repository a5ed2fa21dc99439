"""Which Secret belongs to which URL, and that nothing of it is ever shown."""

from collections.abc import Iterable

import pytest

from agent.git.credentials import SECRET_TYPE, GitCredential, Secret
from agent.git.repository_secrets import READING, WRITING
from agent.git.repository_secrets import credential_for as credential_of
from bus.repository_url import RepositoryUrl

URL = "https://git.example/team/shop.git"


def repository(name: str = "own", **data: str) -> Secret:
    labels = {SECRET_TYPE: "repository"}
    return Secret(namespace="argocd", name=name, labels=labels, data={"url": URL} | data)


def lent(name: str, url: str, **data: str) -> Secret:
    labels = {SECRET_TYPE: "repo-creds"}
    return Secret(namespace="argocd", name=name, labels=labels, data={"url": url} | data)


def credential_for(secrets: Iterable[Secret], url: str, project: str = "") -> GitCredential | None:
    return credential_of(secrets, RepositoryUrl.parse(url), project)


@pytest.mark.parametrize(
    "spelling",
    ["https://git.example/team/shop", "HTTPS://Git.Example:443/team/shop.git/", URL],
    ids=["without .git", "host, port and slash", "as written"],
)
def test_every_spelling_of_the_url_finds_the_secret(spelling: str) -> None:
    found = credential_for([repository(username="kim", password="p")], spelling)
    assert found is not None
    assert (found.secret, found.username) == ("argocd/own", "kim")


def test_no_secret_fits_another_url() -> None:
    assert credential_for([repository(username="kim")], "https://git.example/team/other") is None


def test_the_longest_prefix_lends_its_user() -> None:
    secrets = [
        lent("host", "https://git.example", username="host"),
        lent("team", "https://git.example/team", username="team"),
    ]
    found = credential_for(secrets, URL)
    assert found is not None
    assert found.username == "team"


def test_a_repository_with_a_user_borrows_none() -> None:
    secrets = [repository(username="own"), lent("host", "https://git.example", username="host")]
    found = credential_for(secrets, URL)
    assert found is not None
    assert found.username == "own"


def test_a_repository_without_a_user_borrows_it_and_keeps_its_settings() -> None:
    secrets = [repository(insecure="true"), lent("host", "https://git.example", username="host")]
    found = credential_for(secrets, URL)
    assert found is not None
    assert (found.username, found.insecure, found.secret) == ("host", True, "argocd/host")


def test_the_repository_s_own_spelling_goes_before_the_one_without_suffix() -> None:
    bare = repository("a", url="https://git.example/team/shop", username="bare")
    found = credential_for([bare, repository("b", username="own")], URL)
    assert found is not None
    assert found.username == "own"


@pytest.mark.parametrize(
    "url",
    [
        "https://git.example/Team/shop.git",
        "http://git.example/team/shop.git",
        "https://git.example:8443/team/shop.git",
        "https://git.example.evil.example/team/shop.git",
    ],
)
def test_another_case_scheme_port_or_host_is_another_repository(url: str) -> None:
    assert credential_for([repository(username="kim")], url) is None


LENT = {
    "another host": ("https://github.com/", "https://github.com.evil.example/x"),
    "another owner": ("https://github.com/acme/", "https://github.com/acme-evil/x"),
    "another port": ("https://git.corp", "https://git.corp:8443/x"),
    "longer port": ("http://127.0.0.1:265/", "http://127.0.0.1:26500/x/y"),
    "another scheme": ("https://git.corp/", "http://git.corp/x"),
    "no address": ("", "https://git.corp/x"),
}


@pytest.mark.parametrize(("prefix", "url"), LENT.values(), ids=LENT)
def test_a_prefix_lends_to_its_own_server_and_folder_only(prefix: str, url: str) -> None:
    assert credential_for([lent("org", prefix, username="org")], url) is None


@pytest.mark.parametrize(
    ("project", "username"), [("shop", "a"), ("", "b"), ("other", "b")], ids=str
)
def test_a_secret_with_a_project_serves_that_project_only(project: str, username: str) -> None:
    secrets = [repository("b", username="b"), repository("a", username="a", project="shop")]
    found = credential_for(secrets, URL, project)
    assert found is not None
    assert found.username == username


@pytest.mark.parametrize("project", ["", "other"])
def test_a_secret_of_another_project_is_no_secret(project: str) -> None:
    secrets = [
        repository(username="a", project="shop"),
        lent("host", "https://git.example/", username="h", project="shop"),
    ]
    assert credential_for(secrets, URL, project) is None
    assert credential_for(secrets, URL, "shop") is not None


@pytest.mark.parametrize(
    ("data", "header"),
    [
        ({"username": "kim", "password": "p"}, "Basic a2ltOnA="),
        ({"password": "token"}, "Basic eC1hY2Nlc3MtdG9rZW46dG9rZW4="),
        ({"bearerToken": "t"}, "Bearer t"),
        ({}, ""),
    ],
    ids=["user and password", "a token alone", "bearer", "nothing"],
)
def test_the_header(data: dict[str, str], header: str) -> None:
    found = credential_for([repository(**data)], URL)
    assert found is not None
    assert found.authorization == header


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"sshPrivateKey": "-----BEGIN"}, "SSH"),
        ({"insecure": "perhaps"}, "insecure"),
        ({"username": "kim", "password": "p\nHost: evil"}, "line break"),
        ({"tlsClientCertData": "-----BEGIN"}, "needs both"),
        ({"tlsClientCertKey": "-----BEGIN"}, "needs both"),
    ],
    ids=["ssh key", "boolean", "line break", "certificate alone", "key alone"],
)
def test_a_secret_that_cannot_be_used_says_why(data: dict[str, str], message: str) -> None:
    found = credential_for([repository(**data)], URL)
    assert found is not None
    assert message in found.problem


def test_what_is_not_acted_on_is_listed() -> None:
    found = credential_for([repository(enableLfs="true", depth="1")], URL)
    assert found is not None
    assert found.ignored == ("depth",)
    assert found.lfs


def test_a_borrowed_user_goes_with_the_repository_s_own_certificate() -> None:
    theirs = {"tlsClientCertData": "theirs", "tlsClientCertKey": "theirs-too"}
    bot = lent("host", "https://git.example", username="bot", **theirs)
    own = repository(tlsClientCertData="mine", tlsClientCertKey="mine-too", noProxy="example")
    found = credential_for([bot, own], URL)
    assert found is not None
    assert (found.username, found.certificate, found.key) == ("bot", "mine", "mine-too")
    assert found.no_proxy == "example"
    found = credential_for([bot, repository()], URL)
    assert found is not None
    assert (found.certificate, found.key) == ("theirs", "theirs-too")


def test_nothing_shows_a_password() -> None:
    secret = repository(username="kim", password="hide-me", bearerToken="me-too")
    assert "hide-me" not in repr(secret) + repr(credential_for([secret], URL))
    assert "me-too" not in repr(secret) + repr(credential_for([secret], URL))


def test_a_secret_that_reads_never_writes_nor_the_other_way_round() -> None:
    url = RepositoryUrl.parse(URL)
    of_type = {
        kind: Secret(
            namespace="argocd",
            name=kind,
            labels={SECRET_TYPE: kind},
            data={"url": URL, "password": "p"},
        )
        for kind in (*READING, *WRITING)
    }
    for types in (READING, WRITING):
        found = credential_of(of_type.values(), url, "", types)
        assert found is not None
        assert found.secret == f"argocd/{types.repository}"
        theirs = [secret for kind, secret in of_type.items() if kind not in types]
        assert credential_of(theirs, url, "", types) is None
