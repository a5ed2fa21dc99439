"""Whether there is something newer for an agent: our own version, where the agent's is older."""

from importlib.metadata import version

import pytest

from service.api.agents.agent_summaries import upgrade_for

OWN = version("plumbline")


@pytest.mark.parametrize("agent", ["0.0.1", "v0.0.9", "0.0.1-rc1", "0"])
def test_an_older_agent_is_offered_our_version(agent: str) -> None:
    assert upgrade_for(agent) == OWN


@pytest.mark.parametrize("agent", [OWN, "99.0.0", "", "9" * 60])
def test_an_agent_that_is_not_older_is_offered_no_upgrade(agent: str) -> None:
    assert upgrade_for(agent) is None
