"""The configuration is read from environment and file, and all its problems are reported at once.

A problem names the variable, the expected form and the given value; the value of a secret is not
repeated. Variables that nothing reads are reported too: they are spelling mistakes.
"""

from __future__ import annotations

import difflib
import os
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
from pydantic import BaseModel, SecretStr, ValidationError
from pydantic.fields import FieldInfo
from pydantic_settings import SettingsError as SourceError

from agent.settings import FILE_VARIABLE, PREFIX, Settings
from bus.redaction import without_user_info

EXIT_CODE = 2
MASK = "********"
_OF_THE_COMMAND_LINE = frozenset({"GITOPS_CONTEXTS"})
"""Variables that a shell may hold for `gitops`, and no setting of an agent."""


class InvalidSettingsError(Exception):
    """`problems` is one line each."""

    def __init__(self, problems: tuple[str, ...]) -> None:
        lines = "\n".join(f"  {problem}" for problem in problems)
        super().__init__(f"The settings cannot be used:\n{lines}")
        self.problems = problems


class Variable(msgspec.Struct, frozen=True, kw_only=True):
    """One setting: its variable, its place in the file, and its field."""

    name: str
    path: tuple[str, ...]
    field: Any

    @property
    def secret(self) -> bool:
        return "SecretStr" in str(self.field.annotation)


def load() -> Settings:
    """Load environment and file; raises InvalidSettingsError with all problems."""
    problems = _file_problems()
    try:
        settings = Settings()
    except ValidationError as e:
        problems += [_problem(error) for error in e.errors(include_url=False)]
    except SourceError as e:
        problems.append(f"{e}: set the single variables of the group instead")
    except (tomllib.TOMLDecodeError, OSError) as e:
        problems = problems or [f"{FILE_VARIABLE}: {e}"]
    else:
        problems += _division_problems(settings)
        if not problems:
            return settings
    raise InvalidSettingsError(tuple(problems))


def variables(model: type[BaseModel] = Settings, path: tuple[str, ...] = ()) -> Iterator[Variable]:
    """List all settings in the order of the types."""
    for name, field in model.model_fields.items():
        here = (*path, name)
        group = field.annotation
        if isinstance(group, type) and issubclass(group, BaseModel):
            yield from variables(group, here)
        else:
            yield Variable(name=_variable(here), path=here, field=field)


def effective(settings: Settings) -> tuple[tuple[Variable, str], ...]:
    """List every setting with its value as text, secrets masked."""
    return tuple((variable, _shown(_value(settings, variable.path))) for variable in variables())


def unknown_variables(environment: Mapping[str, str]) -> tuple[str, ...]:
    """Report each variable with our prefix that no setting reads."""
    known = {variable.name for variable in variables()} | {FILE_VARIABLE, *_OF_THE_COMMAND_LINE}
    strange = sorted(n for n in environment if n.startswith(PREFIX) and n not in known)
    return tuple(f"{name} is not read by anything{_suggestion(name, known)}" for name in strange)


def default_text(field: FieldInfo) -> str:
    return _shown(field.default)


def _division_problems(settings: Settings) -> list[str]:
    """Find what does not go together with replicas that divide the work."""
    if not settings.replicas.divide:
        return []
    obstacles = {
        "GITOPS_NATS_URL of a NATS that all replicas share": settings.nats.url is None,
        "GITOPS_LEASE_ENABLED=true": not settings.lease.enabled,
        "no GITOPS_LINK_URL: an agent with a link is one process, and its replicas stand by": bool(
            settings.link.url
        ),
    }
    return [
        f"GITOPS_REPLICAS_DIVIDE: expected {what}" for what, is_met in obstacles.items() if is_met
    ]


def _file_problems() -> list[str]:
    """Find what the library lets pass: a missing file, and keys that nothing reads.

    Keys are judged in the file only: Kubernetes puts variables of its own beside ours, such as
    GITOPS_NATS_PORT for a Service named gitops-nats.
    """
    file = os.environ.get(FILE_VARIABLE)
    if not file:
        return []
    try:
        document = tomllib.loads(Path(file).read_text("utf-8"))
    except OSError as e:
        return [f"{FILE_VARIABLE}: cannot read {file}: {e.strerror}"]
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as e:
        return [f"{FILE_VARIABLE}: {file} is not TOML: {e}"]
    known = {".".join(variable.path) for variable in variables()}
    strange = sorted(set(_keys(document)) - known - {v.path[0] for v in variables()})
    return [f"{key} in {file} is no setting{_suggestion(key, known)}" for key in strange]


def _keys(table: Mapping[str, Any]) -> Iterator[str]:
    for name, value in table.items():
        if isinstance(value, dict):
            yield from (f"{name}.{key}" for key in value)
        else:
            yield name


def _problem(error: Any) -> str:
    path = tuple(part for part in error["loc"] if isinstance(part, str))
    name = _variable(path)
    expected = error["msg"].removeprefix("Value error, ")
    secret = {v.name: v.secret for v in variables()}.get(name, True)
    suffix = "" if secret else f", given {without_user_info(repr(error['input']))}"
    return f"{name}: {expected[:1].lower()}{expected[1:]}{suffix}"


def _variable(path: tuple[str, ...]) -> str:
    return PREFIX + "_".join(path).upper()


def _suggestion(name: str, known: set[str]) -> str:
    similar = difflib.get_close_matches(name, known, n=1)
    return f"; did you mean {similar[0]}?" if similar else ""


def _value(settings: BaseModel, path: tuple[str, ...]) -> object:
    value: object = settings
    for name in path:
        value = getattr(value, name)
    return value


def _shown(value: object) -> str:
    match value:
        case None | "" | ():
            return ""
        case SecretStr():
            return MASK
        case bool():
            return str(value).lower()
        case tuple():
            return ",".join(str(item) for item in value)
        case float() if value.is_integer():
            return str(int(value))
        case _:
            return without_user_info(str(value))
