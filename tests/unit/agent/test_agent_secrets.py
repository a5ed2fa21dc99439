"""Which Secrets of the control namespace are the agent's own, by its settings."""

from __future__ import annotations

from agent.agent_secrets import own_secrets
from agent.settings import Settings


def test_the_agents_own_secrets_are_those_that_it_makes() -> None:
    assert own_secrets(Settings()) == {"gitops-agent-keys"}
    settings = Settings.model_validate(
        {
            "nats": {"logins_secret": "bus"},
            "redis": {"password_secret": "cache", "url": "redis://127.0.0.1"},
        }
    )
    assert own_secrets(settings) == {"gitops-agent-keys", "bus", "bus-subscriber", "cache"}
