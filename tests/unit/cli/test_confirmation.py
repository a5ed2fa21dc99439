"""Destructive commands ask a person in a terminal, and a script must say `--yes`."""

from __future__ import annotations

import asyncio
import os
import sys

import pytest

from tests.unit.cli.conftest import ROOT
from tests.unit.cli.service_fixture import ServiceFixture, answering
from tests.unit.cli.test_remote_rollback import automated

DESTRUCTIVE = (
    ("app", "delete", "shop"),
    ("app", "rollback", "shop", "3", "--auto-sync-off"),
    ("agent", "revoke", "prod"),
    ("agent", "rebuild", "prod"),
    ("agent", "deletions", "accept", "prod"),
    ("agent", "epochs", "accept", "prod", "other"),
    ("agent", "epochs", "reject", "prod", "other"),
)


@pytest.mark.parametrize("words", DESTRUCTIVE, ids=" ".join)
async def test_a_destructive_command_of_a_script_is_refused_without_yes(
    service: ServiceFixture, words: tuple[str, ...]
) -> None:
    await service.log_in()
    async with answering(service.running_service, automated()) as agent:
        ran = await service.run(*words)
    assert (ran.code, ran.out, agent.offered) == (2, "", [])
    assert "say --yes" in ran.err


async def answered(service: ServiceFixture, answer: bytes, *words: str) -> tuple[int, str]:
    """The exit code and what a terminal shows when a person types `answer`."""
    ours, theirs = os.openpty()
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-c", "from cli.main import main; main()", *words),
        env={**os.environ, "PYTHONPATH": str(ROOT), "XDG_CONFIG_HOME": str(service.config)},
        stdin=theirs,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    os.close(theirs)
    os.write(ours, answer)
    shown, _ = await process.communicate()
    os.close(ours)
    assert process.returncode is not None
    return process.returncode, shown.decode()


async def test_a_person_who_says_no_changes_nothing(service: ServiceFixture) -> None:
    await service.log_in()
    async with answering(service.running_service) as agent:
        code, shown = await answered(service, b"\n", "app", "delete", "shop")
    assert (code, agent.offered) == (1, [])
    assert "application prod/argocd/shop will be deleted" in shown
    assert "nothing was changed" in shown


async def test_a_person_who_says_yes_is_obeyed(service: ServiceFixture) -> None:
    await service.log_in()
    async with answering(service.running_service) as agent:
        code, shown = await answered(service, b"y\n", "app", "delete", "shop", "--wait")
    assert (code, [offer.task.kind for offer in agent.offered]) == (0, ["delete"]), shown
    assert shown.endswith("application argocd/shop deleted\n")


async def test_a_rollback_that_automated_sync_would_undo_is_refused_at_once(
    service: ServiceFixture,
) -> None:
    await service.log_in()
    async with answering(service.running_service, automated()) as agent:
        ran = await service.run("app", "rollback", "shop", 3)
    assert (ran.code, ran.out, agent.offered) == (2, "", [])
    assert "automated sync is on and would undo the rollback" in ran.err
    assert "--auto-sync-off" in ran.err
