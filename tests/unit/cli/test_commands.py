"""The table of commands: quick to list, clear about what it does not know."""

from __future__ import annotations

import ast
import importlib.util
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from cli.command import command_of
from cli.document import verbs as named_verbs
from cli.examples import EXAMPLES
from cli.lazy import LazyGroup, LazyVerb
from cli.verbs import GITOPS
from tests.paths import REPOSITORY
from tests.unit.cli.conftest import Gitops

ROOT = REPOSITORY
HEAVY = ("typer", "rich", "aiohttp", "nats", "pygit2", "kubernetes_asyncio", "msgspec", "agent")


def verbs(group: LazyGroup = GITOPS) -> Iterator[LazyVerb]:
    for verb in group.verbs.values():
        if isinstance(verb, LazyGroup):
            yield from verbs(verb)
        else:
            yield verb


def test_help_imports_nothing_heavy() -> None:
    program = (
        "import sys; from cli.verbs import GITOPS; GITOPS.run(['--help'])\n"
        "print([name for name in sys.argv[1:] if name in sys.modules])"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program, *HEAVY],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=180,
        check=True,
    )

    assert ran.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize(
    "module",
    ["local.health", "local.diff", "local.webhook", "local.plan", "local.render", "events"],
)
def test_offline_commands_do_not_import_the_cluster_client(module: str) -> None:
    """It costs two seconds."""
    program = f"import sys, cli.{module}; print('kubernetes_asyncio' in sys.modules)"
    ran = subprocess.run(
        [sys.executable, "-c", program],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=180,
        check=True,
    )

    assert ran.stdout.strip() == "False"


def test_every_command_has_its_module() -> None:
    for verb in verbs():
        found = importlib.util.find_spec(verb.module)
        assert found is not None, verb.module
        assert found.origin is not None
        defined = ast.parse(Path(found.origin).read_text())
        names = {node.name for node in defined.body if isinstance(node, ast.FunctionDef)}
        names |= {
            target.id
            for node in defined.body
            if isinstance(node, ast.Assign)
            for target in node.targets
            if isinstance(target, ast.Name)
        }
        assert (verb.function or "app") in names, verb.module


def test_help_lists_every_command(gitops: Gitops) -> None:
    ran = gitops("--help")

    assert ran.code == 0
    assert all(name in ran.out for name in GITOPS.verbs)
    assert gitops().out == ran.out


@pytest.mark.parametrize(
    "name", ["health", "diff", "render", "plan", "events", "demo", "login", "logout"]
)
def test_the_help_of_a_command_says_its_exit_codes(gitops: Gitops, name: str) -> None:
    assert "Exit codes:" in gitops(name, "--help").out


@pytest.mark.parametrize("words", ["app wait", "app sync", "agent create", "audit verify"])
def test_a_verb_of_a_group_is_explained_under_its_full_name(gitops: Gitops, words: str) -> None:
    ran = gitops(*words.split(), "--help")

    assert ran.code == 0
    assert f"Usage: gitops {words} [OPTIONS]" in ran.out
    assert "Exit codes:" in ran.out


@pytest.mark.parametrize("words", ["app list", "task list", "audit verify", "drift list"])
def test_who_is_not_logged_in_is_told_how_to(gitops: Gitops, words: str) -> None:
    ran = gitops(*words.split())

    assert (ran.code, ran.out) == (4, "")
    assert "gitops login URL" in ran.err


def test_a_misspelt_command_is_met_with_the_right_one(gitops: Gitops) -> None:
    ran = gitops("helth")

    assert ran.code == 2
    assert "did you mean health?" in ran.err


def test_settings_are_shown_without_secrets(gitops: Gitops) -> None:
    ran = gitops("agent", "settings", GITOPS_NATS_URL="nats://me:hush@nats:4222")

    assert ran.code == 0
    assert "GITOPS_NATS_URL" in ran.out
    assert "hush" not in ran.out + ran.err


def test_wrong_settings_are_told_at_once(gitops: Gitops) -> None:
    ran = gitops("agent", "settings", GITOPS_HTTP_PORT="x", GITOPS_LOG_LEVEL="loud")

    assert ran.code == 2
    assert "GITOPS_HTTP_PORT" in ran.err
    assert "GITOPS_LOG_LEVEL" in ran.err


def test_a_report_that_cannot_be_written_is_told_before_the_demo_begins(gitops: Gitops) -> None:
    ran = gitops("demo", "--once", "--json", "nowhere/report.json")

    assert (ran.code, ran.out) == (2, "")
    assert "nowhere" in ran.err


def test_an_application_that_is_none_is_told_by_its_option(gitops: Gitops) -> None:
    ran = gitops("events", "--app", "a/b/c", "--nats", "nats://127.0.0.1:1")

    assert ran.code == 2
    assert "--app: expected NAME or NAMESPACE/NAME, found 'a/b/c'" in ran.err


def test_events_come_from_one_place(gitops: Gitops) -> None:
    ran = gitops("events", "--nats", "nats://127.0.0.1:1", "--context", "work")

    assert ran.code == 2
    assert "say one" in ran.err


@pytest.mark.parametrize("word", ["version", "--version"])
def test_the_version_is_told(gitops: Gitops, word: str) -> None:
    ran = gitops(word)
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith("gitops ")


def test_help_is_a_word_as_well(gitops: Gitops) -> None:
    assert gitops("help").out == gitops("--help").out
    assert gitops("help", "app", "get").out == gitops("app", "get", "--help").out


def test_help_has_one_style(gitops: Gitops) -> None:
    shown = gitops("app", "list", "--help").out
    assert "\nOptions:\n" in shown
    assert "─" not in shown


@pytest.mark.parametrize("words", ["--help", "app sync --help", "version"])
def test_a_reader_who_leaves_is_no_failure(words: str) -> None:
    program = "from cli.main import main; input(); main()"
    process = subprocess.Popen(
        [sys.executable, "-c", program, *words.split()],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    process.stdout.close()
    _, err = process.communicate(b"\n", timeout=180)
    assert (process.returncode, err) == (0, b"")


NAMES = tuple(name for name, _ in named_verbs(GITOPS))
FRAGMENTS = re.compile(r"(The|What|Who|Those|Its?|One|Every|Until|Whether|In which|All) ")


@pytest.mark.parametrize("name", NAMES)
def test_every_command_has_an_example(name: str) -> None:
    assert EXAMPLES.get(name), f"add an example of {name} to cli/examples.py"


@pytest.mark.parametrize(("name", "verb"), tuple(named_verbs(GITOPS)), ids=NAMES)
def test_every_help_begins_with_what_the_command_does(name: str, verb: LazyVerb) -> None:
    command = command_of(verb)
    for text in (verb.summary, *([command.help or ""] if command else [])):
        assert text, name
        assert not FRAGMENTS.match(text), text


@pytest.mark.parametrize("words", ["app sync", "agent manifest", "health", "webhook parse"])
def test_help_shows_no_types_of_python_and_fits_the_terminal(gitops: Gitops, words: str) -> None:
    ran = gitops(*words.split(), "--help", COLUMNS=60)
    body = ran.out.partition("Examples:")[0]
    assert ran.code == 0, ran.err
    assert not re.search(r"<\w+(\[\w+\])?>|[{}]", body)
    assert max(map(len, body.splitlines())) <= 60


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_are_of_commands_with_options_that_there_are(name: str) -> None:
    reference = (ROOT / "docs" / "cli-reference.md").read_text("utf-8")
    section = next(
        it for it in reference.split("\n## ") if it.startswith((f"`{name}`", f"`{name} "))
    )
    for example in EXAMPLES[name]:
        _, found, words = example.partition(name)
        assert found
        options = {it for it in words.split("|")[0].split() if it.startswith("--")}
        assert options <= set(re.findall(r"--[a-z-]+", section))


def test_help_ends_with_examples(gitops: Gitops) -> None:
    assert gitops("app", "get", "--help").out.endswith("gitops app get prod/argocd/shop --json\n")
