from typing import Literal

import pytest
from argon2 import PasswordHasher

from service.auth.credentials import API_TOKEN, hash_of, new_secret, same
from service.auth.login_attempts import locks_of, locks_of_device
from service.auth.passwords import Passwords
from service.auth.rate_limits import RateLimits
from service.http.login_check import is_own


class Hand:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_the_first_failures_are_free_and_then_the_delay_grows() -> None:
    (lock,) = locks_of_device("hash")
    delays = [lock.delay(count) for count in range(1, 30)]
    assert delays[:4] == [0, 0, 0, 0]
    assert delays[4:8] == [1, 2, 4, 8]
    assert delays == sorted(delays)
    assert delays[-1] == 900


def test_only_failures_of_one_name_at_one_address_lead_to_long_waits() -> None:
    """Who shares the name, or the address, waits for seconds; nobody's key shows the name."""
    pair, name, address = locks_of("default", "Mira", "192.0.2.7")
    assert [lock.delay(10_000) for lock in (pair, name, address)] == [900, 60, 2]
    assert locks_of("default", "mira", "192.0.2.7")[0] == pair
    assert locks_of("default", "mira", "192.0.2.8")[0] != pair
    assert "mira" not in (pair.key + name.key + address.key).lower()


def test_a_bucket_lets_a_burst_through_and_then_the_rate() -> None:
    clock = Hand()
    buckets = RateLimits(rate=2, burst=3, monotonic=clock)
    assert [buckets.wait("mira") for _ in range(4)] == [0, 0, 0, 0.5]
    clock.now = 0.5
    assert buckets.wait("mira") == 0


def test_one_actor_does_not_empty_the_bucket_of_another() -> None:
    buckets = RateLimits(rate=1, burst=1, monotonic=Hand())
    assert buckets.wait("mira") == 0
    assert buckets.wait("tom") == 0
    assert buckets.wait("mira") > 0


def test_full_buckets_are_forgotten() -> None:
    clock = Hand()
    buckets = RateLimits(rate=1, burst=1, monotonic=clock)
    for number in range(4096):
        buckets.wait(str(number))
    clock.now = 10
    buckets.wait("another")
    assert len(buckets._buckets) == 1


@pytest.mark.parametrize(
    ("origin", "public", "own"),
    [
        ("https://gitops.example", "https://gitops.example", True),
        ("https://gitops.example", "https://gitops.example/", True),
        ("https://GitOps.example", "https://gitops.example", True),
        ("http://gitops.example", "https://gitops.example", False),
        ("https://gitops.example.evil.test", "https://gitops.example", False),
        ("https://evil.test", "", False),
        ("http://localhost:8090", "", True),
        ("http://localhost:8091", "", False),
        ("https://localhost:8090", "", False),
        ("https://gitops.example:443", "https://gitops.example", True),
        ("https://gitops.example:444", "https://gitops.example", False),
        ("null", "", False),
        ("", "", False),
        (None, "", False),
    ],
)
def test_only_the_services_own_origin_may_change_things(
    origin: str | None, public: str, *, own: bool
) -> None:
    assert is_own(origin, "localhost:8090", public) is own


@pytest.mark.parametrize(
    ("host", "own"),
    [
        ("localhost:8090", True),
        ("127.0.0.1:8090", True),
        ("[::1]:8090", True),
        ("rebound.example:8090", False),
        ("192.168.1.7:8090", False),
        ("localhost.evil.example", False),
    ],
)
def test_a_host_is_believed_on_loopback_only(host: str, *, own: bool) -> None:
    """Another name may have been pointed here by whoever wrote the page."""
    assert is_own(f"http://{host}", host, "") is own


def test_a_new_token_is_found_by_its_hash_and_by_scanners() -> None:
    token = new_secret(API_TOKEN)
    assert token.startswith("gt_")
    assert len(token) >= 3 + 43
    assert token not in hash_of(token)
    assert same(token, token)
    assert not same(token, new_secret(API_TOKEN))


class CountedHasher(PasswordHasher):
    """The real one, with a count of its work."""

    runs = 0

    def verify(self, hash: str | bytes, password: str | bytes) -> Literal[True]:  # noqa: A002
        self.runs += 1
        return super().verify(hash, password)


async def test_a_name_that_does_not_exist_costs_the_same_work() -> None:
    hasher = CountedHasher(time_cost=1, memory_cost=64, parallelism=1)
    passwords = Passwords(hasher=hasher)
    known = await passwords.hash("the right one")
    assert await passwords.fits("the right one", known)
    assert not await passwords.fits("a wrong one", known)
    assert not await passwords.fits("nobody", "")
    assert hasher.runs == 3


async def test_the_password_of_nobody_opens_nothing() -> None:
    passwords = Passwords(hasher=PasswordHasher(time_cost=1, memory_cost=64, parallelism=1))
    assert not await passwords.fits("nobody", "")
    assert not await passwords.fits("x", "not a hash")
