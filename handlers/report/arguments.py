"""Arguments of commands: which entries of a list of strings are given as secrets. Pure.

`--password x`, `-u me:x`, `mysql -px`: an entry is read together with the one before it and with
the program, just as the program reads it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bus.redaction.assignments import takes_password_with_p, without_flags

LISTS = frozenset({"args", "command", "arguments", "cmd", "entrypoint"})
_WORDS_OF_PROGRAM = 2


def program_of(owner: Mapping[str, Any]) -> str:
    """The image and the first words of a container's command: `mysql mysqldump --all`."""
    image = owner.get("image")
    said = [image.rpartition("/")[2].partition(":")[0]] if isinstance(image, str) else []
    for name in ("command", "args"):
        items = owner.get(name)
        said.extend(_words(items) if isinstance(items, list | tuple) else ())
    return " ".join(said)


def hidden_arguments(items: Sequence[Any], program: str = "") -> dict[int, str]:
    """The places of entries to be hidden, each with what stays before its secret."""
    program = program or " ".join(_words(items))
    with_p = takes_password_with_p(program)
    found: dict[int, str] = {}
    before = ""
    for place, item in enumerate(items):
        if not isinstance(item, str) or " " in item:
            before = ""
            continue
        if with_p and item.startswith("-p") and len(item) > len("-p"):
            found[place] = "-p"
        elif before.startswith("-") and not item.startswith("-"):
            line = f"{program} {before} {item}"
            if item and without_flags(line) != without_flags(f"{program} {before} ") + item:
                found[place] = ""
        before = item
    return found


def _words(items: Sequence[Any]) -> list[str]:
    words = [item for item in items if isinstance(item, str) and not item.startswith("-")]
    return [word for word in words[:_WORDS_OF_PROGRAM] if " " not in word]
