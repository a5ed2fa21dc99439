"""No engine builds the image here: a linter judges its file, and these tests what it copies."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from fnmatch import fnmatchcase
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from agent.configuration import unknown_variables

ROOT = Path(__file__).parents[2]
DOCKERFILE = (ROOT / "Dockerfile").read_text().replace("\\\n", " ")
LAST_STAGE = DOCKERFILE[DOCKERFILE.rindex("\nFROM ") :]
_PIN = re.compile(r"^([A-Za-z0-9._-]+)==([^\s;\\]+)", re.MULTILINE)


def pins(lock: str) -> dict[str, str]:
    found = _PIN.findall((ROOT / lock).read_text())
    return {canonicalize_name(name): version for name, version in found}


def required(*extras: str) -> list[Requirement]:
    """Without extras, what the agent needs at run time."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    optional = project["optional-dependencies"]
    lines = [one for extra in extras for one in optional[extra]] or project["dependencies"]
    return [Requirement(line) for line in lines]


def copied() -> list[str]:
    """What the Dockerfile takes from this repository."""
    copies = re.findall(r"^COPY (?!--from)(.+)$", DOCKERFILE, re.MULTILINE)
    return [source.rstrip("/") for line in copies for source in line.split()[:-1]]


def said_by(tool: str, *words: str) -> tuple[int, str]:
    """Its exit code and what it printed; the tool is one of our environment."""
    command = [str(Path(sys.executable).parent / tool), *words]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=60, check=False, cwd=ROOT
    )
    return done.returncode, done.stdout


def test_the_linter_finds_nothing() -> None:
    assert said_by("hadolint", "--no-color", "Dockerfile") == (0, "")


def test_the_yaml_of_deploy_is_clean() -> None:
    assert said_by("yamllint", "--strict", "-c", "deploy/.yamllint.yaml", "deploy") == (0, "")


def test_the_image_runs_as_nobody_and_says_how_it_is() -> None:
    assert re.search(r"^USER ([1-9]\d+):\1$", LAST_STAGE, re.MULTILINE)
    assert "\nHEALTHCHECK " in LAST_STAGE
    assert "/healthz" in LAST_STAGE


def test_the_image_holds_git_and_no_servers() -> None:
    installed = re.findall(r"apt-get install .*?([a-z -]+) &&", LAST_STAGE)[0].split()
    assert "git" in installed
    assert not {"nats-server", "valkey", "redis-server"} & {*installed}
    servers = {canonicalize_name(one.name) for one in required("embedded")}
    assert not servers & pins("requirements.image.lock").keys()


def test_the_images_variables_are_settings() -> None:
    named = re.findall(r"\b(GITOPS_[A-Z_]+)=", DOCKERFILE)
    assert named
    assert unknown_variables(dict.fromkeys(named, "")) == ()


def test_no_secret_is_given_while_building() -> None:
    assert not re.search(r"^ARG|(?i:password|secret|token)\S*=", DOCKERFILE, re.MULTILINE)


def test_the_lock_has_what_the_project_needs_at_run_time() -> None:
    locked = pins("requirements.image.lock")
    for one in required():
        assert one.specifier.contains(locked[canonicalize_name(one.name)]), str(one)


def test_the_lock_has_no_tools_of_development() -> None:
    tools = {"pytest", "mypy", "ruff", "playwright", "hypothesis"}
    assert tools <= {one.name for one in required("dev")}
    assert not tools & pins("requirements.image.lock").keys()


def test_what_is_shipped_is_what_is_tested() -> None:
    tested = pins("requirements.lock")
    shipped = pins("requirements.image.lock")
    other = {name: (version, tested.get(name)) for name, version in shipped.items()}
    assert {name: pair for name, pair in other.items() if pair[0] != pair[1]} == {}


def test_the_builder_is_sent_what_is_copied_and_no_more() -> None:
    rules = (ROOT / ".dockerignore").read_text().split("\n")
    sent = {rule[1:] for rule in rules if rule.startswith("!")}
    tops = {source.split("/")[0] for source in copied()}
    assert "*" in rules
    assert sent == tops
    for secret in (".git", ".env", ".venv", "tests"):
        assert not any(fnmatchcase(secret, one) for one in sent)


def test_the_copied_packages_need_no_other() -> None:
    """The playground and the service stay outside; the agent starts without them."""
    missing = [name for name in ("playground", "service") if name not in copied()]
    program = (
        "import sys; sys.modules.update(dict.fromkeys(sys.argv[1:]));"
        "import agent.app, cli.main, cli.run, cli.check, cli.events, cli.render"
    )
    command = [sys.executable, "-c", program, *missing]
    subprocess.run(command, check=True, timeout=60, cwd=ROOT)
