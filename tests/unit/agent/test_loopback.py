"""Ports of loopback: two servers that are started together are given two of them."""

from random import SystemRandom

import pytest

from agent.loopback import free_port


def test_a_port_is_not_given_twice_while_its_server_may_not_listen_yet(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(SystemRandom, "sample", lambda _self, ports, count: list(ports)[:count])
    assert free_port() != free_port()
