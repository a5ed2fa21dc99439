"""The scene `clusters` is a promise: one agent serves two clusters, and every stage holds."""

import json
from pathlib import Path

import pytest

from playground.demo.cluster_stages import CLUSTER_STAGES
from tests.flows.test_demo import folder
from tests.flows.test_demo_goes_on import staying

pytestmark = pytest.mark.timeout(300)

__all__ = ["folder"]


async def test_one_agent_serves_both_clusters_of_the_scene(
    folder: Path, control_plane: object
) -> None:
    report = folder / "report.json"
    async with staying(folder, "--scene", "clusters", "--json", str(report)) as demo:
        stages = json.loads(report.read_text())["stages"]
        assert [(one["name"], one["held"]) for one in stages] == [
            (one.name, True) for one in CLUSTER_STAGES
        ], stages
        assert "gitops app get shop" in demo.directions[2]
        shown = await demo.run(demo.info("gitops app get shop"))
        assert "remote" in shown
        assert "Healthy" in shown
        assert "Successful" in await demo.run(demo.info("gitops cluster list"))
        assert Path(demo.info("remote  ").split()[-1]).is_file()
