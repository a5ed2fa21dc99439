"""What the program that decrypts may take of the agent's container."""

from pathlib import Path

import yaml

from agent.decryption.sops_client import AT_ONCE, LARGEST_MEMORY

CHART = Path(__file__).parents[4] / "deploy" / "chart" / "values.yaml"


def test_calls_at_once_leave_half_of_the_memory_to_the_agent() -> None:
    limit = yaml.safe_load(CHART.read_text())["agent"]["resources"]["limits"]["memory"]
    container = int(limit.removesuffix("Gi")) << 30
    assert container // 2 >= AT_ONCE * LARGEST_MEMORY
