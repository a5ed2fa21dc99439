"""What a cluster trusts, as its ConfigMaps come and go; and what is said where they are unread."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from agent.bridge.reporting.object_states import ObjectStates
from agent.bridge.reporting.state_sources import trust_source
from agent.bridge.reporting.trust_watch import KEYS, TrustWatch, trust_of
from agent.clock import SystemClock
from agent.git.failures import CERTIFICATES
from agent.git.ssh_failures import KNOWN_HOSTS
from agent.kube.watch import WatchState
from agent.store.named_config_map import NamedConfigMap
from bus.link.kinds import CERTIFICATE, KEY
from handlers.report.known_secrets import KnownSecrets
from handlers.report.redaction import Redaction
from handlers.trust.trusted import MOST
from tests.unit.handlers.trust.samples import ED25519, ED25519_ID, SSH_KEY


def config_map(name: str, data: dict[str, str]) -> bytes:
    return orjson.dumps({"metadata": {"name": name, "namespace": "argocd"}, "data": data})


class Cluster:
    def __init__(self) -> None:
        self.changed: list[tuple[str, str]] = []
        self.trust: TrustWatch = trust_of(
            "argocd", lambda kind, one: self.changed.append((kind, one))
        )
        self.states = ObjectStates(
            sources=tuple(
                trust_source(kind, self.trust, "argocd") for kind in (CERTIFICATE.name, KEY.name)
            ),
            redaction=Redaction(salt=b"s" * 16, known=KnownSecrets(b"s" * 16)),
            clock=SystemClock(),
        )

    def sink(self, name: str) -> NamedConfigMap:
        return next(it.followed for it in self.trust.config_maps if it.config_map == name)

    def listed(self, name: str, data: dict[str, str] | None = None) -> None:
        """A complete list: with the ConfigMap, or without it."""
        sink = self.sink(name)
        sink.begin_list()
        if data is not None:
            sink.put(config_map(name, data))
        sink.end_list("1")

    def reported(self) -> list[tuple[str, str]]:
        changed, self.changed = self.changed, []
        return changed


@pytest.fixture
def cluster() -> Cluster:
    return Cluster()


def test_what_changes_is_told_and_what_does_not_is_not(cluster: Cluster) -> None:
    cluster.listed(KEYS, {ED25519_ID: ED25519})
    assert cluster.reported() == [(KEY.name, f"argocd/{ED25519_ID}")]
    cluster.listed(KEYS, {ED25519_ID: ED25519})
    assert cluster.reported() == []
    cluster.sink(KEYS).put(config_map(KEYS, {ED25519_ID: ED25519, "AAAA": "nonsense"}))
    assert cluster.reported() == [(KEY.name, "argocd/AAAA")]


@pytest.mark.parametrize("how", ["deleted", "not in the next list", "emptied"])
def test_what_is_gone_leaves_a_tombstone(cluster: Cluster, how: str) -> None:
    cluster.listed(KNOWN_HOSTS, {"ssh_known_hosts": f"git.example {SSH_KEY}"})
    (one,) = cluster.reported()
    assert not cluster.states.item(*one).deleted
    if how == "deleted":
        cluster.sink(KNOWN_HOSTS).remove(config_map(KNOWN_HOSTS, {}))
    elif how == "emptied":
        cluster.sink(KNOWN_HOSTS).put(config_map(KNOWN_HOSTS, {}))
    else:
        cluster.listed(KNOWN_HOSTS)
    assert cluster.reported() == [one]
    assert cluster.states.item(*one).deleted


async def test_a_kind_is_compared_once_all_of_its_maps_are_known(cluster: Cluster) -> None:
    cluster.listed(CERTIFICATES)
    assert CERTIFICATE.name not in cluster.states.kinds
    cluster.listed(KNOWN_HOSTS, {"ssh_known_hosts": f"git.example {SSH_KEY}"})
    assert CERTIFICATE.name in cluster.states.kinds
    assert KEY.name not in cluster.states.kinds
    assert len(await cluster.states.members(CERTIFICATE.name)) == 1


def test_without_the_right_to_read_nothing_is_said_to_be_gone(cluster: Cluster) -> None:
    cluster.listed(KEYS, {ED25519_ID: ED25519})
    cluster.reported()
    cluster.sink(KEYS).on_state(WatchState.FORBIDDEN, "forbidden")
    assert KEY.name not in cluster.states.kinds
    assert cluster.reported() == []


def test_of_very_many_entries_the_first_are_told(cluster: Cluster) -> None:
    entries: dict[str, Any] = {f"{number:016X}": "nonsense" for number in range(MOST + 5)}
    cluster.listed(KEYS, entries)
    assert len(cluster.reported()) == MOST


def test_another_config_map_is_passed_over(cluster: Cluster) -> None:
    cluster.sink(KEYS).put(config_map("other", {ED25519_ID: ED25519}))
    assert cluster.reported() == []
