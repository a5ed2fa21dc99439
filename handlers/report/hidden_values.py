"""Hidden values: what the redaction of an object hides must stay hidden when the object changes.

A change may give a hidden value another name (`env`), another place (`args`), or take away the
sibling that made it one. So the changed object is redacted again, and each mask has to be there
still. Only places are compared, never texts: no refusal says whether a guess of a value is right.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

import msgspec

from bus.metadata_keys import PENDING_FACTS
from bus.redaction import HIDDEN
from handlers.application.patch import patched
from handlers.manifest.access import LAST_APPLIED
from handlers.report.masks import MASK
from handlers.report.redaction import TOO_DEEP, Redaction

_SIGN = "(hidden"
_UNSEEN = frozenset({LAST_APPLIED, "managedFields", *PENDING_FACTS.names})
_SHORTEST = 3
"""Characters; shorter texts stand in ordinary words."""


class RevealedValueError(ValueError):
    """A change after which a hidden value could be read; the text says where."""


def check_hidden(expected: Any, shown: Any, path: str = "") -> None:
    """Raise RevealedValueError unless each mask of `expected` is one in `shown` as well.

    `expected` is the redacted object as the person changed it, masks included; `shown` is the
    redaction of what would be written.
    """
    if isinstance(expected, Mapping):
        there = shown if isinstance(shown, Mapping) else {}
        for name in _UNSEEN & there.keys() - expected.keys():
            raise _revealed(f"{path}.{name}")
        for name, value in expected.items():
            check_hidden(value, there.get(name), f"{path}.{name}")
    elif isinstance(expected, list | tuple):
        entries = shown if isinstance(shown, list | tuple) else ()
        for place, value in enumerate(expected):
            entry = entries[place] if place < len(entries) else None
            check_hidden(value, entry, f"{path}[{place}]")
    elif isinstance(expected, str) and not _is_hidden(expected, shown):
        raise _revealed(path)


def check_edit(live: Any, patch: Mapping[str, Any], after: Any, redaction: Redaction) -> None:
    """Check a merge patch as a person sent it, masks included; raises RevealedValueError."""
    check_hidden(patched(redaction.value(live), patch), redaction.value(after))


def hidden_texts(live: Any, redaction: Redaction) -> frozenset[str]:
    """Return every text that the redaction of `live` hides, whole and by its parts."""
    return frozenset(it for it in _texts(live, redaction.value(live)) if len(it) >= _SHORTEST)


def quoted(message: str, hidden: Collection[str]) -> str:
    """Return the refusal of an object without its hidden texts, which it may quote.

    After the first line follows a comparison, with values in pieces: it is left out as a whole.
    """
    first, _, rest = message.partition("\n")
    if not (hidden and rest):
        return without(message, hidden)
    return f"{without(first, hidden)} (the rest quotes the object, which has hidden values)"


def without(text: str, hidden: Iterable[str]) -> str:
    """Mask hidden texts in a message, plain and as they are quoted in one."""
    forms = {form for one in hidden for form in _forms(one)}
    for form in sorted(forms, key=len, reverse=True):
        text = text.replace(form, HIDDEN)
    return text


def unrevealed(value: Any, hidden: frozenset[str]) -> Any:
    """Mask each text of a redacted value that is a hidden one."""
    if isinstance(value, Mapping):
        return {name: unrevealed(it, hidden) for name, it in value.items()}
    if isinstance(value, list | tuple):
        return [unrevealed(it, hidden) for it in value]
    return HIDDEN if isinstance(value, str) and value in hidden else value


def _forms(text: str) -> Iterator[str]:
    """A text as it stands, in JSON, and in the JSON of an API server."""
    written = msgspec.json.encode(text).decode()[1:-1]
    yield from (text, written)
    yield written.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _is_hidden(expected: str, shown: Any) -> bool:
    if expected == TOO_DEEP:
        return bool(shown == expected)
    if _SIGN not in expected:
        return True
    if not isinstance(shown, str):
        return False
    before, after = MASK.sub(HIDDEN, expected), MASK.sub(HIDDEN, shown)
    if after in (before, HIDDEN):
        return True
    lines, others = before.split("\n"), after.split("\n")
    if len(lines) != len(others):
        return False
    return all(
        other in (line, HIDDEN) for line, other in zip(lines, others, strict=True) if _SIGN in line
    )


def _texts(live: Any, shown: Any) -> Iterator[str]:
    if live == shown:
        return
    if isinstance(live, Mapping):
        there = shown if isinstance(shown, Mapping) else {}
        for name, value in live.items():
            if name not in _UNSEEN:
                yield from _texts(value, there.get(name))
    elif isinstance(live, list | tuple):
        same = isinstance(shown, list | tuple) and len(shown) == len(live)
        for place, value in enumerate(live):
            yield from _texts(value, shown[place] if same else None)
    elif isinstance(live, str):
        yield live
        yield from live.splitlines()
        if isinstance(shown, str):
            yield from _parts(live, MASK.sub(HIDDEN, shown).split(HIDDEN))
    elif live is not None and not isinstance(live, bool):
        yield str(live)


def _parts(live: str, readable: list[str]) -> Iterator[str]:
    """The hidden parts of a text, between the parts that are shown."""
    if not live.startswith(readable[0]):
        return
    begin = len(readable[0])
    for number, part in enumerate(readable[1:], 2):
        last = number == len(readable)
        end = len(live) if last and not part else live.find(part, begin)
        if end < 0:
            return
        yield live[begin:end]
        begin = end + len(part)


def _revealed(path: str) -> RevealedValueError:
    return RevealedValueError(
        f"{path.removeprefix('.')}: the change would show a hidden value; leave hidden values, "
        "their names and what stands beside them as they are, or write a new value"
    )
