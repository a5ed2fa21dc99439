"""The scene `sources` is a promise: every stage holds, and what it prints proves a commit."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from playground.demo.source_stages import SOURCE_STAGES
from tests.flows.test_demo import folder, processes_of
from tests.flows.test_demo_goes_on import StayingDemo, staying
from tests.support import eventually

pytestmark = [pytest.mark.timeout(600), pytest.mark.usefixtures("own_servers")]

__all__ = ["folder"]
_NARROW = 80


async def test_every_kind_of_source_is_deployed_and_a_signature_frees_what_was_held_back(
    folder: Path, control_plane: object, registry_binary: Path
) -> None:
    report = folder / "report.json"
    async with staying(folder, "--scene", "sources", "--json", str(report)) as demo:
        stages = json.loads(report.read_text())["stages"]
        assert [(one["name"], one["held"]) for one in stages] == [
            (one.name, True) for one in SOURCE_STAGES
        ], stages
        assert [len(line) <= _NARROW for line in demo.directions] == [True] * 4
        await the_sources_are_shown(demo)
        await what_is_held_back_is_signed(demo)
        await values_are_changed(demo)
    assert not processes_of(folder)


async def the_sources_are_shown(demo: StayingDemo) -> None:
    assert "1.x" in await demo.run(demo.info("gitops app get catalogue"))
    orders = await demo.run(demo.info("gitops app get orders"))
    assert "Source 1" in orders
    assert "ref values" in orders
    assert "/demo/ledger.git" in await demo.run(demo.info("gitops repo list"))
    assert "1 branches" in await demo.run(demo.info("gitops repo test ledger"))


async def what_is_held_back_is_signed(demo: StayingDemo) -> None:
    """As the printed lines have it; the commit that a person signs is then deployed."""
    assert "gitops app get payments" in demo.directions[2]
    assert "is not proven: not signed" in await demo.run("gitops app get payments")
    for words in ("demo/payments.git .demo/payments", "--amend", "payments push --force"):
        await demo.run(demo.info(words))
    assert "Healthy" in await demo.run(demo.info("gitops app wait payments"))
    head = (await demo.run("git -C .demo/payments rev-parse --short HEAD")).strip()

    async def is_deployed() -> bool:
        shown = await demo.run("gitops app get payments")
        return "is not proven" not in shown and f"Running      {head}" in shown

    await eventually(is_deployed, what="the signed commit is deployed")


async def values_are_changed(demo: StayingDemo) -> None:
    for words in ("demo/apps.git .demo/apps", "sed -i", "commit -am", "apps push"):
        await demo.run(demo.info(words))

    async def is_changed() -> bool:
        return "good evening" in await demo.run(demo.info("get configmap orders"))

    await eventually(is_changed, what="the values are deployed")
