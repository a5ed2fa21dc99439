"""What the Dockerfile says and copies, without a build; `test_built_images` builds and starts it.

What pip would install is built and looked into: a wheel, of exactly the copied files.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
from fnmatch import fnmatchcase
from pathlib import Path
from zipfile import ZipFile

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from agent.configuration import unknown_variables
from service.settings import PREFIX, ServiceSettings
from tests.paths import REPOSITORY

ROOT = REPOSITORY
DOCKERFILE = (ROOT / "Dockerfile").read_text().replace("\\\n", " ")
STAGES = {
    text.split(" AS ")[1].split()[0]: text
    for text in re.split(r"^FROM ", DOCKERFILE, flags=re.MULTILINE)[1:]
}
IMAGES = {
    "agent": ("dependencies", "sources", "wheel"),
    "service": ("service-dependencies", "sources", "service-wheel"),
}
"""Each image with the stages whose copies its environment is made of."""
both = pytest.mark.parametrize("image", IMAGES)
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


def copied(text: str = DOCKERFILE) -> list[str]:
    """What the Dockerfile takes from this repository."""
    copies = re.findall(r"^COPY (?!--from)(.+)$", text, re.MULTILINE)
    return [source.rstrip("/") for line in copies for source in line.split()[:-1]]


def run_tool(tool: str, *words: str) -> tuple[int, str]:
    """Its exit code and what it printed; the tool is one of our environment."""
    command = [str(Path(sys.executable).parent / tool), *words]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=180, check=False, cwd=ROOT
    )
    return done.returncode, done.stdout


def test_the_linter_finds_nothing() -> None:
    assert run_tool("hadolint", "--no-color", "Dockerfile") == (0, "")


def test_the_yaml_of_deploy_is_clean() -> None:
    assert run_tool("yamllint", "--strict", "-c", "deploy/.yamllint.yaml", "deploy") == (0, "")


@both
def test_an_image_runs_as_nobody_and_says_how_it_is(image: str) -> None:
    assert re.search(r"^USER ([1-9]\d+):\1$", STAGES[image], re.MULTILINE)
    assert "\nHEALTHCHECK " in STAGES[image]
    assert "/healthz" in STAGES[image]


def test_an_image_that_is_not_named_is_the_agents() -> None:
    assert list(STAGES)[-1] == "agent"


@both
def test_an_image_holds_no_servers(image: str) -> None:
    installed = re.findall(r"apt-get install .*?([a-z -]+) &&", STAGES[image])[0].split()
    assert ("git" in installed) is (image == "agent")
    assert not {"nats-server", "valkey", "redis-server", "postgresql"} & {*installed}
    servers = {canonicalize_name(one.name) for one in required("embedded")}
    assert not servers & pins(lock_of(image)).keys()


@both
def test_an_images_variables_are_settings(image: str) -> None:
    named = re.findall(r"\b(GITOPS_[A-Z_]+)=", STAGES[image])
    assert named
    known = {f"{PREFIX}{name.upper()}" for name in ServiceSettings.model_fields}
    unknown = (
        set(named) - known if image == "service" else unknown_variables(dict.fromkeys(named, ""))
    )
    assert not unknown


@both
def test_our_own_code_is_the_last_layer_and_what_others_wrote_is_another(image: str) -> None:
    """A release downloads, and a build after an edit makes, no more than what changed."""
    copies = re.findall(r"^COPY --from=(\S+)", STAGES[image], re.MULTILINE)
    dependencies, *_, wheel = IMAGES[image]
    assert (copies[0], copies[-1]) == (dependencies, wheel)
    assert not any("lock" in it for stage in ("sources", wheel) for it in copied(STAGES[stage]))


def test_no_secret_is_given_while_building() -> None:
    """The only arguments are the base images, and every one of them has a public default."""
    arguments = dict(re.findall(r"^ARG (\w+)=?(.*)$", DOCKERFILE, re.MULTILINE))
    assert {*arguments} == {"GO_IMAGE", "NODE_IMAGE", "PYTHON_IMAGE"}
    assert all(":" in default for default in arguments.values())
    assert not re.search(r"(?i:password|secret|token)\S*=", DOCKERFILE)


def test_every_stage_begins_with_a_given_base_or_another_stage() -> None:
    begins = re.findall(r"^FROM (\S+) AS", DOCKERFILE, re.MULTILINE)
    images = {"${GO_IMAGE}", "${NODE_IMAGE}", "${PYTHON_IMAGE}"}
    assert {*begins} <= images | {*STAGES}


def lock_of(image: str) -> str:
    (lock,) = [it for stage in IMAGES[image] for it in copied(STAGES[stage]) if "lock" in it]
    return lock


@both
def test_the_lock_has_what_the_image_needs_at_run_time(image: str) -> None:
    locked = pins(lock_of(image))
    for one in (*required(), *(required("service") if image == "service" else ())):
        assert one.specifier.contains(locked[canonicalize_name(one.name)]), str(one)


@both
def test_the_lock_has_no_tools_of_development(image: str) -> None:
    tools = {"pytest", "mypy", "ruff", "playwright", "hypothesis"}
    assert tools <= {one.name for one in required("dev")}
    assert not tools & pins(lock_of(image)).keys()


@both
def test_what_is_shipped_is_what_is_tested(image: str) -> None:
    tested = pins("requirements.lock")
    shipped = pins(lock_of(image))
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
    there = {it for stage in IMAGES["agent"] for it in copied(STAGES[stage])}
    missing = [name for name in ("playground", "service") if name not in there]
    assert len(missing) == 2
    program = (
        "import sys; sys.modules.update(dict.fromkeys(sys.argv[1:]));"
        "import agent.lifecycle, cli.main, cli.events;"
        "import cli.local.run, cli.local.check, cli.local.render"
    )
    command = [sys.executable, "-c", program, *missing]
    subprocess.run(command, check=True, timeout=180, cwd=ROOT)


@pytest.fixture(scope="module", params=IMAGES)
def unpacked(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What pip installs of ours into this image."""
    source, folder = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp(request.param)
    stages = [STAGES[it] for it in IMAGES[request.param]]
    built = re.findall(r"COPY --from=dashboard /src/(\S+)", "".join(stages))
    for name in (*(it for stage in stages for it in copied(stage)), *built):
        here, there = ROOT / name, source / name
        if here.is_dir():
            ignore = shutil.ignore_patterns("__pycache__", *(() if name in built else ("static",)))
            shutil.copytree(here, there, ignore=ignore)
        else:
            there.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(here, there)
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(command, check=True, timeout=180, cwd=source, capture_output=True)
    (wheel,) = folder.glob("*.whl")
    with ZipFile(wheel) as archive:
        archive.extractall(folder / "installed")
    return folder / "installed"


def test_the_wheel_has_what_its_commands_need(unpacked: Path) -> None:
    """The service's with dashboard, migrations and what it makes manifests from."""
    of_service = (
        "service/static/index.html",
        "service/store/migrations/env.py",
        "service/api/agents/install/fullest.json",
    )
    there = {it for it in of_service if (unpacked / it).is_file()}
    is_service = "service" in unpacked.parent.name
    assert there == ({*of_service} if is_service else set())
    modules = (
        ("cli.service", "service.lifecycle") if is_service else ("cli.local.run", "agent.lifecycle")
    )
    program = f"import {', '.join(modules)}; print({modules[0]}.__file__)"
    command = [sys.executable, "-c", program]
    environment = {"PYTHONPATH": str(unpacked)}
    ran = subprocess.run(
        command, check=True, timeout=180, cwd=unpacked, env=environment, capture_output=True
    )
    assert str(unpacked) in ran.stdout.decode()
