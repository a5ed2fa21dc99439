"""Signatures, waits and targets of webhooks, as values."""

from __future__ import annotations

import hashlib
import hmac
from datetime import UTC, datetime, timedelta

import pytest

from service.live.hooks.backoff import WAITS, next_try
from service.live.hooks.signing import SIGNATURE, signed
from service.live.hooks.target import is_inside, problem_of

NOW = datetime(2026, 11, 21, tzinfo=UTC)


def test_a_receiver_can_check_the_signature_with_the_secret() -> None:
    sent = signed("whsec_x", "d1", "drift.began", b'{"a":1}', 1700000000)
    time, _, given = sent.headers[SIGNATURE].partition(",v1=")
    text = time.removeprefix("t=").encode() + b"." + sent.body
    assert given == hmac.new(b"whsec_x", text, hashlib.sha256).hexdigest()


def test_tries_wait_longer_and_end() -> None:
    waits = [next_try(attempt, NOW) for attempt in range(1, len(WAITS) + 2)]
    assert waits[0] == NOW + timedelta(seconds=10)
    assert waits[:-1] == sorted(it for it in waits if it is not None)
    assert waits[-1] is None


INSIDE = (
    "127.0.0.1",
    "10.1.2.3",
    "169.254.169.254",
    "192.168.1.1",
    "100.64.0.1",
    "0.0.0.0",
    "224.0.0.1",
    "::1",
    "::",
    "fe80::1",
    "fd00::1",
    "::ffff:127.0.0.1",
    "::ffff:10.0.0.1",
    "64:ff9b::7f00:1",
    "2002:7f00:1::",
)


@pytest.mark.parametrize("address", INSIDE)
def test_an_inner_address_is_no_target(address: str) -> None:
    assert is_inside(address)
    host = f"[{address}]" if ":" in address else address
    assert problem_of(f"https://{host}/x", inside=False)


REFUSED = (
    "ftp://a.example/x",
    "https://",
    "https://user:password@a.example/",
    "https://localhost/x",
    "https://x.localhost",
    "file:///etc/passwd",
    "https://a.example:99999/",
    "no url",
    "https://[::1",
)


@pytest.mark.parametrize("url", REFUSED)
def test_what_is_no_public_target_is_refused(url: str) -> None:
    assert problem_of(url, inside=False)


@pytest.mark.parametrize("url", ["https://hooks.example/x?y=1", "https://93.184.215.14:8443/"])
def test_a_public_target_is_taken(url: str) -> None:
    assert problem_of(url, inside=False) == ""
