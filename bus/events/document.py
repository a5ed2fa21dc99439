"""Document: `python -m bus.events.document` writes docs/events.md from the types.

Every sentence about an event is its class's docstring or its field's; every example is an instance
that was encoded, so it decodes too. A test compares the file with what this prints.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
import textwrap
from collections.abc import Iterator
from enum import StrEnum
from itertools import pairwise
from types import UnionType
from typing import Any, NamedTuple, get_args, get_origin, get_type_hints

import msgspec

from bus.events.event import Event, EventKind, event_types, subject_words, wire_type
from bus.events.examples import example_of
from bus.status import Reason

_PREFACE = """\
# Events

Made from the types by `python -m bus.events.document > docs/events.md`; do not edit.

**Facts are a public interface**: anyone who may read the agent's NATS can subscribe to them. They
carry keys, revisions, digests and counts; no manifest and no secret. A fact stays readable for 72
hours.

Whatever a status shows has its fact, however suddenly the agent ended: what was written and not yet
said is said by the next start, in the order in which it happened. Such a fact begins a chain of its
own.

`fact.object.changed.v1` is of another kind: it tells what the watches of the clusters see. There is
at most one a second of each object, and 200 a second of one agent, its applications in turns; what
happens meanwhile is summed up in the next. What is too much for that, and what waited when an agent
ended, is left out (metric `gitops_object_facts_left_out_total`), and the service does not get these
facts. `GITOPS_FACTS_OBJECTS=false` switches them off.

## How to subscribe

    gitops events --follow --app argocd/guestbook --since 1h --json     # replay, then follow
    nats --nkey subscriber.nk sub 'gt.acme.prod1.fact.>'                # everything, from now on
    nats --nkey subscriber.nk sub 'gt.acme.prod1.fact.app.compared.>'   # one type
    nats --nkey subscriber.nk sub 'gt.acme.prod1.fact.object.changed.>' # what became of objects

Nobody reads without a login. The agent makes one that may read facts and nothing else, in a Secret
of its own: see "Who may use the bus" in docs/operate.md. `gitops events` finds it by itself on the
machine of an agent with a NATS of its own; elsewhere it is told by GITOPS_NATS_NKEY_FILE.

Any NATS client does. What is stored is read with direct gets of the stream
`GT-{account}-{agent}-FACT` (by sequence, by time, by subject, in batches), and the client's inbox
prefix is then `_INBOX.GT-{account}-{agent}-subscriber`; a `-` inside of a name is written `_2d`
there. A subscriber makes no consumers: one that pushes could be pointed anywhere.

A subject is `gt.{account}.{agent}.fact.{noun}.{verb}.{shard}.{key}`: the key is a hash, the name it
stands for is in the header `ce-subject` and in the event. All facts about one application share
`{shard}.{key}`.

Each message is a [CloudEvent](https://cloudevents.io) in binary mode, the attributes as headers:

| Header | Holds |
|---|---|
| `ce-specversion`, `ce-datacontenttype` | `1.0`, `application/json` |
| `ce-id` | the event's id; the same where a fact is repeated: drop what you have seen |
| `ce-source` | `/gitops/{account}/{agent}` |
| `ce-type` | the type with its version, as in the titles below |
| `ce-subject` | what it is about, in words |
| `ce-time` | when it was said, RFC 3339 |
| `ce-correlation`, `ce-cause` | the event that began the chain, and the one that led to this |
| `traceparent`, `tracestate` | W3C Trace Context |

A field may be missing where it has its default. Fields may be added to a version; a subscriber
ignores those it does not know. A changed meaning is a new version of the type.
"""

_CHAPTERS = {
    EventKind.FACT: ("Facts", "What happened, for whoever cares."),
    EventKind.COMMAND: (
        "Commands",
        "What a person or the service wants done; `id` makes a repeat harmless.",
    ),
    EventKind.ASK: (
        "Asks",
        "Reasons to look again, between handlers: described for operators, not an interface.",
    ),
}


class DocumentedField(NamedTuple):
    name: str
    type: str
    default: str
    about: str


def document() -> str:
    chapters = "\n".join(_chapter(kind) for kind in _CHAPTERS)
    return f"{_PREFACE}\n{chapters}\n{_reasons()}"


def _chapter(kind: EventKind) -> str:
    title, about = _CHAPTERS[kind]
    sections = [_section(event) for event in event_types() if event.kind == kind]
    return "\n".join([f"## {title}\n\n{about}\n", *sections])


def _section(event: type[Event]) -> str:
    subject = ".".join(("gt.{account}.{agent}", event.kind, *subject_words(event), "{shard}.{key}"))
    rows = [f"| `{f.name}` | {f.type} | {f.default} | {f.about} |" for f in fields_of(event)]
    return "\n".join(
        [
            f"### `{wire_type(event)}`\n",
            f"{_about(event)}\n",
            f"Subject `{subject}`, class `{event.__name__}`.\n",
            "| Field | Type | Default | |",
            "|---|---|---|---|",
            *rows,
            "\n```json",
            msgspec.json.format(msgspec.json.encode(example_of(event)), indent=2).decode(),
            "```\n",
        ]
    )


def _reasons() -> str:
    about = "Stable words for scripts, beside a sentence for people"
    return f"## Reasons\n\n{about}: {_choices(Reason)}.\n"


def fields_of(event: type[Event]) -> Iterator[DocumentedField]:
    hints, notes = get_type_hints(event), _notes(event)
    for field in msgspec.structs.fields(event):
        default = "" if field.required else f"`{_json(field.default)}`"
        yield DocumentedField(
            field.name, _type_name(hints[field.name]), default, notes.get(field.name, "")
        )


def _about(event: type[Event]) -> str:
    own = event.__dict__.get("__doc__") or ""
    return textwrap.dedent(own).strip() or _words(event.__name__)


def _words(name: str) -> str:
    """The sentence of a name: `OperationStarted` is `Operation started.`."""
    return re.sub(r"(?<!^)([A-Z])", r" \1", name).capitalize() + "."


def _notes(event: type[Event]) -> dict[str, str]:
    """The docstrings that stand below fields, inherited ones included."""
    notes: dict[str, str] = {}
    for base in reversed(event.__mro__):
        if issubclass(base, Event):
            notes |= _notes_in(ast.parse(textwrap.dedent(inspect.getsource(base))).body[0])
    return notes


def _notes_in(node: ast.AST) -> dict[str, str]:
    body = node.body if isinstance(node, ast.ClassDef) else []
    return {
        field.target.id: " ".join(str(note.value.value).split())
        for field, note in pairwise(body)
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name)
        if isinstance(note, ast.Expr) and isinstance(note.value, ast.Constant)
    }


def _type_name(hint: Any) -> str:
    if get_origin(hint) is tuple:
        return f"list of {_type_name(get_args(hint)[0])}"
    if isinstance(hint, type) and issubclass(hint, StrEnum):
        return "[Reason](#reasons)" if hint is Reason else _choices(hint)
    if isinstance(hint, UnionType):
        return f"{_type_name(get_args(hint)[0])} or nothing"
    plain = {str: "string", int: "integer", float: "number", bool: "boolean"}
    return plain.get(hint, str(getattr(hint, "__name__", hint)))


def _choices(hint: type[StrEnum]) -> str:
    return ", ".join(f"`{member.value}`" for member in hint)


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()


if __name__ == "__main__":
    sys.stdout.write(document())
