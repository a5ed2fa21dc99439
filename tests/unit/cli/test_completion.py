"""Completion: what Tab offers in each place of a command line, and what shells make of it."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from cli.completion import FILES, candidates
from cli.completion_scripts import SCRIPTS, Shell
from cli.verbs import GITOPS
from tests.service.fake_agent import application
from tests.unit.cli.conftest import ROOT, Gitops
from tests.unit.cli.service_fixture import ServiceFixture, answering


def words(line: str) -> list[str]:
    """The candidates for the last word of `line`."""
    return [word for word, _ in candidates(GITOPS, line.split(" "))]


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("ev", ["events"]),
        ("app re", ["resources", "refresh"]),
        ("agent epochs ", ["accept", "reject"]),
        ("app sync shop --pr", ["--prune", "--preview"]),
        ("app list --sort ", ["worst", "name", "changed"]),
        ("app list --sort n", ["name"]),
        ("completion ", ["bash", "zsh", "fish"]),
        ("health ", [FILES]),
        ("health one.yaml ", [FILES]),
        ("render --file ", [FILES]),
        ("app create -f ", [FILES]),
        ("version ", []),
        ("nothing ", []),
        ("app nothing ", []),
    ],
)
def test_the_words_that_may_come_next_are_offered(line: str, found: list[str]) -> None:
    assert words(line) == found


def test_every_verb_is_offered_with_what_it_does() -> None:
    assert dict(candidates(GITOPS, [""])) == {
        name: verb.summary for name, verb in GITOPS.verbs.items()
    }


def test_options_are_offered_where_no_argument_is_left() -> None:
    assert "--follow" in words("events ")
    assert words("events --fo") == ["--follow"]


def test_who_is_not_logged_in_gets_no_names_and_no_error(gitops: Gitops) -> None:
    ran = gitops("__complete", "app", "get", "")
    assert (ran.code, ran.out, ran.err) == (0, "", "")


async def test_names_come_from_the_service(service: ServiceFixture) -> None:
    await service.log_in("viewer")
    bodies = (application("shop"), application("shop-admin"), application("other"))
    async with (
        answering(service.running_service, *bodies),
        answering(service.running_service, application("shop"), name="test"),
    ):
        apps = await service.run("__complete", "app", "get", "sh")
        in_full = await service.run("__complete", "app", "sync", "argocd/o")
        agents = await service.run("__complete", "agent", "get", "p")
        contexts = await service.run("__complete", "app", "list", "--context", "")
    assert first_words(apps.out) == ["shop", "shop-admin"]
    assert "shop\tseveral have this name\n" in apps.out
    assert first_words(in_full.out) == ["argocd/other"]
    assert first_words(agents.out) == ["prod"]
    assert contexts.out == f"test\t{service.url}\n"


def first_words(out: str) -> list[str]:
    return [line.partition("\t")[0] for line in out.splitlines()]


@pytest.fixture
def on_path(tmp_path: Path) -> Path:
    """A folder with the program `gitops`, for a shell."""
    program = tmp_path / "bin" / "gitops"
    program.parent.mkdir()
    command = shlex.join([sys.executable, "-c", "from cli.main import main; main()"])
    program.write_text(f'#!/bin/sh\nPYTHONPATH={ROOT} exec {command} "$@"\n')
    program.chmod(0o755)
    return program.parent


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("gitops app hi", ["history"]),
        ("gitops context ", ["list", "use"]),
        ("gitops app list --sort ", ["worst", "name", "changed"]),
    ],
)
def test_bash_completes_with_the_script(on_path: Path, line: str, found: list[str]) -> None:
    program = (
        f"PATH={on_path}:$PATH; source <(gitops completion bash)\n"
        f"COMP_LINE={shlex.quote(line)}; COMP_POINT=${{#COMP_LINE}}\n"
        'complete -p gitops >&2; _gitops; printf "%s\\n" "${COMPREPLY[@]}"'
    )
    ran = subprocess.run(
        ["bash", "-c", program], capture_output=True, text=True, timeout=180, check=True
    )
    assert ran.stdout.split() == found, ran.stderr


@pytest.mark.parametrize("shell", list(Shell))
def test_each_shell_has_a_script_that_asks_the_program(gitops: Gitops, shell: Shell) -> None:
    ran = gitops("completion", shell)
    assert (ran.code, ran.out) == (0, SCRIPTS[shell].strip() + "\n")
    assert "gitops __complete" in ran.out
