"""What a cluster trusts, as its ConfigMaps come and go; and what is said where they are unread."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from agent.bridge.sources import trust_source
from agent.bridge.states import States
from agent.bridge.trust import CERTIFICATES, HOSTS, KEYS, Trust, TrustBook, trust_of
from agent.clock import SystemClock
from agent.kube.watch import State
from handlers.report.known import KnownSecrets
from handlers.report.redaction import Redaction
from handlers.trust.trusted import CERTIFICATE, KEY, MOST
from tests.trust.samples import ED25519, ED25519_ID, SSH_KEY


def config_map(name: str, data: dict[str, str]) -> bytes:
    return orjson.dumps({"metadata": {"name": name, "namespace": "argocd"}, "data": data})


class Cluster:
    def __init__(self) -> None:
        self.changed: list[tuple[str, str]] = []
        self.trust: Trust = trust_of("argocd", lambda kind, one: self.changed.append((kind, one)))
        self.states = States(
            sources=tuple(trust_source(kind, self.trust, "argocd") for kind in (CERTIFICATE, KEY)),
            redaction=Redaction(salt=b"s" * 16, known=KnownSecrets(b"s" * 16)),
            clock=SystemClock(),
        )

    def book(self, name: str) -> TrustBook:
        return next(book for book in self.trust.books if book.config_map == name)

    def listed(self, name: str, data: dict[str, str] | None = None) -> None:
        """A complete list: with the ConfigMap, or without it."""
        book = self.book(name)
        book.begin_list()
        if data is not None:
            book.put(config_map(name, data))
        book.end_list("1")

    def told(self) -> list[tuple[str, str]]:
        changed, self.changed = self.changed, []
        return changed


@pytest.fixture
def cluster() -> Cluster:
    return Cluster()


def test_what_changes_is_told_and_what_does_not_is_not(cluster: Cluster) -> None:
    cluster.listed(KEYS, {ED25519_ID: ED25519})
    assert cluster.told() == [(KEY, f"argocd/{ED25519_ID}")]
    cluster.listed(KEYS, {ED25519_ID: ED25519})
    assert cluster.told() == []
    cluster.book(KEYS).put(config_map(KEYS, {ED25519_ID: ED25519, "AAAA": "nonsense"}))
    assert cluster.told() == [(KEY, "argocd/AAAA")]


@pytest.mark.parametrize("how", ["deleted", "not in the next list", "emptied"])
def test_what_is_gone_leaves_a_tombstone(cluster: Cluster, how: str) -> None:
    cluster.listed(HOSTS, {"ssh_known_hosts": f"git.example {SSH_KEY}"})
    (one,) = cluster.told()
    assert not cluster.states.item(*one).deleted
    if how == "deleted":
        cluster.book(HOSTS).remove(config_map(HOSTS, {}))
    elif how == "emptied":
        cluster.book(HOSTS).put(config_map(HOSTS, {}))
    else:
        cluster.listed(HOSTS)
    assert cluster.told() == [one]
    assert cluster.states.item(*one).deleted


async def test_a_kind_is_compared_once_all_of_its_maps_are_known(cluster: Cluster) -> None:
    cluster.listed(CERTIFICATES)
    assert CERTIFICATE not in cluster.states.kinds
    cluster.listed(HOSTS, {"ssh_known_hosts": f"git.example {SSH_KEY}"})
    assert CERTIFICATE in cluster.states.kinds
    assert KEY not in cluster.states.kinds
    assert len(await cluster.states.members(CERTIFICATE)) == 1


def test_without_the_right_to_read_nothing_is_said_to_be_gone(cluster: Cluster) -> None:
    cluster.listed(KEYS, {ED25519_ID: ED25519})
    cluster.told()
    cluster.book(KEYS).on_state(State.FORBIDDEN, "forbidden")
    assert KEY not in cluster.states.kinds
    assert cluster.told() == []


def test_of_very_many_entries_the_first_are_told(cluster: Cluster) -> None:
    entries: dict[str, Any] = {f"{number:016X}": "nonsense" for number in range(MOST + 5)}
    cluster.listed(KEYS, entries)
    assert len(cluster.told()) == MOST


def test_another_config_map_is_passed_over(cluster: Cluster) -> None:
    cluster.book(KEYS).put(config_map("other", {ED25519_ID: ED25519}))
    assert cluster.told() == []
