"""Whoever writes a long text must not hold up the agent: each is searched in one walk.

A pattern that is tried anew from each letter of a run needs hours for these; the deadline that
every test has ends it. No time is asserted here.
"""

from collections.abc import Callable

import pytest

from bus.redaction import HIDDEN, is_sensitive, masked, without_user_info
from handlers.report.known_secrets import KnownSecrets, pieces_of_value
from handlers.report.redaction import Redaction

LONG = 256 * 1024
"""Of one line of a log, at most."""
UNITS = (
    *("password:\n", "- name: token\n", "  value: x\n", "kind: Secret\n", "-p", " -p", " --token "),
    *("mysql -p", "redis-cli ", "docker login ", "-u a:", "[", "{", "token: [", "token: {", "a: "),
    *("-----END PRIVATE KEY-----", "+", "/", "A1b", "pass:", "=\\", ": '", ",", "a,", "token=a,"),
    *("x", "A", "eyJ", "eyJ.", "-eyJ", "a.", "-", "_", " ", "9."),
    *("token", "token ", "token=", "secret-", "api_", "password: ", "bearer ", "basic\t"),
    *("-----BEGIN ", "-----BEGIN PRIVATE KEY-----", "-----END ", "ghp_", "glpat-", "xoxb-"),
    *("://", "a://b", "://a:", "@", "a@", "=", ":", "\\", '"', "((", "é"),
)
# `Redaction.text` ends with `masked`, which therefore needs no walk of its own.
SEARCHES: dict[str, Callable[[str], object]] = {
    "redaction": Redaction(salt=b"s", known=KnownSecrets(b"s")).text,
    "url": without_user_info,
    "name": is_sensitive,
}


@pytest.mark.parametrize("search", SEARCHES)
@pytest.mark.parametrize("unit", UNITS)
def test_a_long_text_is_searched_in_one_walk(search: str, unit: str) -> None:
    run = unit * (LONG // len(unit))
    for text in (run, f"at 12:00:00 {run}", f"{run} = x", f"{run}@"):
        SEARCHES[search](text)


@pytest.mark.parametrize("unit", UNITS)
def test_a_long_secret_is_learned_in_one_walk(unit: str) -> None:
    list(pieces_of_value(unit * (LONG // len(unit))))


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a eyJhbGciOiJI.eyJzdWIiOiI.c2ln b", f"a {HIDDEN} b"),
        ("x-eyJhbGciOiJI.eyJzdWIiOiI.", f"x-{HIDDEN}"),
        ("v1.eyJhbGciOiJI.eyJzdWIiOiI.c2ln.rest", f"v1.{HIDDEN}.rest"),
        ("eyJhbGciOiJI.eyJzdWIiOiI has two parts", "eyJhbGciOiJI.eyJzdWIiOiI has two parts"),
        ("keyJump.in-the-name.of-a-host.example", "keyJump.in-the-name.of-a-host.example"),
        ("my.db_password=hunter2hunter2 x", f"my.db_password={HIDDEN} x"),
    ],
)
def test_what_is_masked_stays_the_same(text: str, shown: str) -> None:
    assert masked(text) == shown
