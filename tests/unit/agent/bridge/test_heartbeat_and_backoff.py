"""Pulse, pause, streams' chunks, sealed boxes, keys: the small pure parts of the bridge."""

import base64
import json
from collections.abc import Mapping
from functools import partial
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nacl.public import PrivateKey, SealedBox

from agent.bridge.connection.dialer import ReconnectBackoff
from agent.bridge.connection.link_terms import Heartbeat
from agent.bridge.identity.key_store import from_secret, new_keys, to_secret
from agent.bridge.identity.sealed_box import SealedBoxError
from agent.bridge.identity.sealed_box import opened as opened_for
from agent.bridge.tasks.executors.connection_secret import canonical_address
from agent.bridge.tasks.running_task import CHUNK_BYTES, chunked
from bus.link import Beat


def test_a_link_that_is_silent_is_lost_within_45_seconds() -> None:
    heartbeat = Heartbeat(every=15, last_received=100.0)
    assert not heartbeat.is_lost(135.0)
    assert heartbeat.is_lost(144.9)


def test_a_beat_echoes_what_was_heard_last() -> None:
    heartbeat = Heartbeat(every=15, last_received=0.0)
    heartbeat.received(1.0, Beat(sent_at=7.0))
    assert heartbeat.beat(2.0, 50.0) == Beat(sent_at=50.0, echo=7.0)
    assert heartbeat.beat(3.0, 51.0) is None


@given(st.integers(), st.lists(st.just(0.0), min_size=1, max_size=50))
def test_pauses_stay_between_a_second_and_a_minute(seed: int, tries: list[float]) -> None:
    backoff = ReconnectBackoff(random=Random(seed))  # noqa: S311  a test repeats itself
    assert all(1.0 <= backoff.next(asked) <= 60.0 for asked in tries)


def test_what_the_service_asks_for_is_the_least() -> None:
    backoff = ReconnectBackoff(random=Random(1))  # noqa: S311  likewise
    assert backoff.next(retry_after=300) >= 300


@given(st.text(min_size=1, max_size=3000).map(lambda text: text * 20))
def test_chunks_are_small_and_lose_nothing(text: str) -> None:
    text = text.encode(errors="replace").decode()
    parts = chunked(text)
    assert "".join(parts) == text
    assert all(len(part.encode()) <= CHUNK_BYTES for part in parts)


def sealed(key: PrivateKey, **fields: str) -> str:
    box = SealedBox(key.public_key).encrypt(json.dumps(fields).encode())
    return base64.b64encode(box).decode()


def opened(box: str, key: PrivateKey, address: str, kind: str = "Repository") -> Mapping[str, str]:
    return opened_for(box, key, address, partial(canonical_address, kind))


def test_a_box_that_was_sealed_to_our_key_is_opened() -> None:
    key = PrivateKey.generate()
    box = sealed(key, url="https://GIT.example:443/a/", username="bob", password="hunter2")
    assert opened(box, key, "https://git.example/a") == {"username": "bob", "password": "hunter2"}


@pytest.mark.parametrize(
    "fields",
    [
        {"url": "https://evil.example/a", "password": "hunter2"},
        {"password": "hunter2"},
        {"url": "https://git.example/a", "hunter2": "x"},
        {"url": "https://git.example/A", "password": "hunter2"},
        {"url": "http://git.example/a", "password": "hunter2"},
        {"url": "https://git.example/a", "proxy": "http://hunter2"},
        {"url": "https://git.example/a", "insecure": "true"},
    ],
    ids=["another address", "no address", "unknown field", "case", "scheme", "proxy", "insecure"],
)
def test_a_box_for_something_else_is_refused_and_not_quoted(fields: dict[str, str]) -> None:
    key = PrivateKey.generate()
    with pytest.raises(SealedBoxError) as refused:
        opened(sealed(key, **fields), key, "https://git.example/a")
    assert "hunter2" not in str(refused.value)


@pytest.mark.parametrize(
    "config",
    [
        {"tlsClientConfig": {"insecure": True}},
        {"execProviderConfig": {"command": "sh"}},
        {"awsAuthConfig": {"clusterName": "x"}},
        {"proxyUrl": "http://evil.example"},
    ],
    ids=lambda config: next(iter(config)),
)
def test_a_box_for_a_cluster_brings_a_login_and_no_settings(config: dict[str, object]) -> None:
    key, server = PrivateKey.generate(), "https://k.example:6443"
    box = sealed(key, server=server, config=json.dumps({"bearerToken": "hunter2", **config}))
    with pytest.raises(SealedBoxError) as refused:
        opened(box, key, server, "Cluster")
    assert "hunter2" not in str(refused.value)


def test_a_box_for_another_key_is_refused() -> None:
    box = sealed(PrivateKey.generate(), url="https://git.example/a", password="x")
    with pytest.raises(SealedBoxError, match="cannot be opened"):
        opened(box, PrivateKey.generate(), "https://git.example/a")


def test_keys_come_back_from_their_secret_and_show_nothing_of_themselves() -> None:
    keys = new_keys("2026-01-01T00:00:00+00:00")
    data = {k: base64.b64encode(v.encode()).decode() for k, v in to_secret(keys).items()}
    assert from_secret(data) == keys
    assert keys.signing_seed not in repr(keys)
    assert keys.sealing_seed not in f"{keys}"
