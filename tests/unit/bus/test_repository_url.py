"""One repository has one address, two repositories never have the same one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bus.address import Origin
from bus.repository_url import RepositoryUrl, RepositoryUrlError, UrlLogin, login_of

SEGMENT = st.text("abcXYZ019-_.~+@ü", min_size=1, max_size=6).filter(
    lambda text: text not in (".", "..")
)
HOSTS = ("git.example", "GIT.example", "git.example.", "Git.Example.")


@st.composite
def addresses(draw: st.DrawFn) -> tuple[str, str, tuple[str, ...]]:
    """Scheme, host and path of a repository, as a server would tell them apart."""
    scheme = draw(st.sampled_from(["https", "http", "ssh"]))
    host = draw(st.sampled_from(["git.example", "git2.example", "10.0.0.1"]))
    return scheme, host, tuple(draw(st.lists(SEGMENT, min_size=1, max_size=3)))


def plain(address: tuple[str, str, tuple[str, ...]]) -> str:
    scheme, host, path = address
    return f"{scheme}://{host}/{'/'.join(path)}"


@st.composite
def spellings(draw: st.DrawFn, address: tuple[str, str, tuple[str, ...]]) -> str:
    """Another way to write the same address."""
    scheme, host, path = address
    port = {"https": ":443", "http": ":80", "ssh": ":22"}[scheme]
    dot = "" if host[0].isdigit() else draw(st.sampled_from(["", "."]))
    written = draw(st.sampled_from([host, host.upper(), host.title()]))
    shown = draw(st.sampled_from([scheme, scheme.upper()]))
    escaped = "/".join(draw(escapes(segment)) for segment in path)
    end = draw(st.sampled_from(["", "/"]))
    return f"{shown}://{written}{dot}{draw(st.sampled_from(['', port]))}/{escaped}{end}"


@st.composite
def escapes(draw: st.DrawFn, segment: str) -> str:
    def one(char: str) -> str:
        hexadecimal = "".join(f"%{byte:02x}" for byte in char.encode())
        return draw(st.sampled_from([char, hexadecimal, hexadecimal.upper()]))

    return "".join(map(one, segment))


@given(addresses().flatmap(lambda it: st.tuples(st.just(it), spellings(it))))
def test_every_spelling_of_an_address_is_one_value(
    found: tuple[tuple[str, str, tuple[str, ...]], str],
) -> None:
    address, spelling = found
    assert RepositoryUrl.parse(spelling) == RepositoryUrl.parse(plain(address))


@given(addresses(), addresses())
def test_two_repositories_never_have_one_address(
    one: tuple[str, str, tuple[str, ...]], other: tuple[str, str, tuple[str, ...]]
) -> None:
    same = RepositoryUrl.parse(plain(one)) == RepositoryUrl.parse(plain(other))
    assert same is (one == other)


@given(
    st.text(max_size=60) | st.text("htps:/@.%[]gitA0;?#\\", max_size=40).map("https://{}".format)
)
def test_what_was_parsed_parses_to_itself(text: str) -> None:
    try:
        url = RepositoryUrl.parse(text)
    except RepositoryUrlError:
        return
    assert RepositoryUrl.parse(str(url)) == url


@pytest.mark.parametrize(
    ("written", "canonical"),
    [
        ("git@Git.Example:Team/App.git", "ssh://git@git.example/Team/App.git"),
        ("ssh://git@git.example:22/Team/App.git/", "ssh://git@git.example/Team/App.git"),
        ("git@git.example:/Team/App.git", "ssh://git@git.example/Team/App.git"),
        ("https://kim:secret@git.example/x", "https://git.example/x"),
        ("https://127。0。0。1/x", "https://127.0.0.1/x"),
        ("https://[::FFFF:10.0.0.1]/x", "https://10.0.0.1/x"),
        ("https://[2001:DB8::0:1]:443/x", "https://[2001:db8::1]/x"),
        ("https://BÜCHER.example/x", "https://xn--bcher-kva.example/x"),
        ("https://git.example:0443/x", "https://git.example/x"),
        ("https://git.example/%65vil", "https://git.example/evil"),
        ("https://git.example/a%20b%c3%a4", "https://git.example/a%20b%C3%A4"),
    ],
)
def test_the_canonical_form(written: str, canonical: str) -> None:
    assert str(RepositoryUrl.parse(written)) == canonical


@pytest.mark.parametrize(
    "url",
    [
        "https://git.example/acme/../evil",
        "https://git.example/acme/%2e%2E/evil",
        "https://git.example/./evil",
        "https://git.example//evil",
        "https://git.example/evil//",
        "https://git.example/acme%2Fevil",
        "https://git.example/acme%5cevil",
        "https://git.example\\@evil.example/x",
        "https://git.example/evil;a/x",
        "https://git.example/evil%3Ba/x",
        "https://git.example/x?y",
        "https://git.example/x#y",
        "https://git.example/%",
        "https://git.example/%00",
        "https://a@b@git.example/x",
        "https://2130706433/x",
        "https://0x7f.1/x",
        "https://127.1/x",
        "https://git.example:70000/x",
        "https://git.example:٤٤٣/x",
        "https://git..example/x",
        "https://git%2eexample/x",
        "https:///x",
        "ftp://git.example/x",
        "/srv/git/x",
        "git.example/x",
        "https://git.example/a b",
        "",
    ],
)
def test_what_may_be_read_in_two_ways_is_refused(url: str) -> None:
    with pytest.raises(RepositoryUrlError):
        RepositoryUrl.parse(url)


@pytest.mark.parametrize("url", ["https://kim:hush@git.example//x", "kim:hush@git.example"])
def test_no_refusal_quotes_a_login(url: str) -> None:
    with pytest.raises(RepositoryUrlError) as caught:
        RepositoryUrl.parse(url)
    assert "hush" not in str(caught.value)


def test_the_case_of_a_path_and_its_suffix_make_another_repository() -> None:
    urls = [
        "https://h/team/app",
        "https://h/Team/App",
        "https://h/team/app.git",
        "http://h/team/app",
    ]
    assert len({RepositoryUrl.parse(url) for url in urls}) == 4


def test_a_login_is_told_apart_from_the_address() -> None:
    assert login_of("https://kim:p%40ss@git.example/x") == UrlLogin("kim", "p@ss")
    assert login_of("https://git.example/x") is None
    assert login_of("git@git.example:x") is None
    assert "p@ss" not in repr(login_of("https://kim:p%40ss@git.example/x"))


@pytest.mark.parametrize(
    ("prefix", "url", "covered"),
    [
        ("https://github.com/", "https://github.com/acme/x", True),
        ("https://github.com/", "https://github.com.evil.example/x", False),
        ("https://github.com/acme/", "https://github.com/acme/x", True),
        ("https://github.com/acme", "https://github.com/acme-evil/x", False),
        ("https://github.com/acme", "https://github.com/acme", True),
        ("https://github.com/acme", "https://github.com/Acme/x", False),
        ("https://git.corp", "https://git.corp:8443/x", False),
        ("https://git.corp:8443", "https://git.corp:8443/x", True),
        ("https://git.corp", "http://git.corp/x", False),
        ("http://127.0.0.1:265/", "http://127.0.0.1:26500/x/y", False),
        ("ssh://git.corp/", "git@git.corp:x", True),
        ("git@git.corp:acme", "mallory@git.corp:acme/x", False),
    ],
)
def test_a_prefix_covers_its_own_server_up_to_a_slash(
    prefix: str, url: str, *, covered: bool
) -> None:
    assert RepositoryUrl.parse(prefix).covers(RepositoryUrl.parse(url)) is covered


def test_deliveries_are_matched_by_host_and_path_in_any_spelling() -> None:
    urls = [
        "https://git.example/Team/App.git",
        "git@git.example:team/app",
        "http://git.example:8080/team/app",
    ]
    assert {RepositoryUrl.parse(url).delivery_key for url in urls} == {"git.example/team/app"}


def test_an_origin_shows_its_port_where_it_is_not_the_usual_one() -> None:
    assert str(Origin.parse("HTTPS", "Git.Example:443")) == "https://git.example"
    assert str(Origin.parse("http", "[::1]:443")) == "http://[::1]:443"


def test_an_address_of_ssh_has_a_form_without_its_user() -> None:
    shown = RepositoryUrl.parse("ssh://git.example:22/team/app.git")
    assert RepositoryUrl.parse("git@git.example:team/app.git").without_user == shown
