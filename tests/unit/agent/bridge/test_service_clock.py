"""The service's moments are judged by the service's clock, however far ours is from it."""

import pytest

from agent.bridge.connection.dialer import seconds_left
from agent.bridge.transport.link import ServiceClock
from bus.link import AgentSession


class Times:
    """Of this machine: since when it runs, and what its wall clock says."""

    elapsed, wall = 50.0, 1_000_000.0


def clock(times: Times) -> ServiceClock:
    return ServiceClock(elapsed=lambda: times.elapsed, own=lambda: times.wall)


def test_until_anything_was_heard_our_own_clock_serves() -> None:
    assert clock(Times()).now() == Times.wall


def test_it_goes_on_from_what_was_said_last() -> None:
    times = Times()
    service = clock(times)
    service.synchronise(2_000_000.0)
    times.elapsed += 30
    assert service.now() == 2_000_030.0
    service.synchronise(2_000_029.0)
    assert service.now() == 2_000_029.0


def test_a_clock_that_is_set_here_moves_nothing() -> None:
    times = Times()
    service = clock(times)
    service.synchronise(2_000_000.0)
    times.wall -= 3600
    assert service.now() == 2_000_000.0


@pytest.mark.parametrize("off", [-3600, 0, 3600])
def test_a_session_lasts_as_long_as_was_said_whatever_our_clock_says(off: float) -> None:
    session = AgentSession(token="t", expires_at=1900.0, seconds=900.0, key_id="k")
    assert seconds_left(session, 1000.0 + off) == 900.0


def test_a_service_that_does_not_say_how_long_is_taken_by_its_moment() -> None:
    assert seconds_left(AgentSession(token="t", expires_at=1900.0, key_id="k"), 1000.0) == 900.0
