"""Write docs/cli-reference.md: every command with its options and exit codes.

    python -m cli.document > docs/cli-reference.md

What commands are for, and how they belong together, stands in docs/cli.md, written by people.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

from typer.core import TyperOption

from cli.command import arguments_of, command_of, meaning_of, option_name, options_of, usage_of
from cli.examples import EXAMPLES
from cli.lazy import LazyGroup, LazyVerb
from cli.verbs import GITOPS

_HEAD = """# Reference of the command line

<!-- Made by `make docs` from cli/. Do not edit. -->

What the commands are for stands in [cli.md](cli.md), with the exit codes of all of them.
"""


def page() -> str:
    sections = (_section(name, verb) for name, verb in verbs(GITOPS))
    return "\n".join((_HEAD, *sections))


def verbs(group: LazyGroup) -> Iterator[tuple[str, LazyVerb]]:
    """List every command as it is typed, in the order of the help."""
    for word, found in group.verbs.items():
        match found:
            case LazyGroup():
                yield from verbs(found)
            case LazyVerb():
                yield f"{group.name} {word}", found


def _section(name: str, verb: LazyVerb) -> str:
    command = command_of(verb)
    if command is None:
        return _joined(f"## `{name}`", verb.summary, _examples(name))
    usage = " ".join((name, *(usage_of(it) for it in arguments_of(command))))
    table = _table(options_of(command))
    parts = (command.help or "", table, command.epilog or "", _examples(name))
    return _joined(f"## `{usage}`", *parts)


def _joined(*parts: str) -> str:
    return "\n\n".join(filter(None, parts)) + "\n"


def _table(options: list[TyperOption]) -> str:
    if not options:
        return ""
    rows = (f"| `{_cell(option_name(it))}` | {_cell(meaning_of(it))} |" for it in options)
    return "\n".join(("| Option | Meaning |", "|---|---|", *rows))


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _examples(name: str) -> str:
    lines = EXAMPLES.get(name, ())
    return "\n".join(("```console", *(f"$ {it}" for it in lines), "```")) if lines else ""


if __name__ == "__main__":
    sys.stdout.write(page())
