"""Completion lists the words that may follow on a command line that is being typed.

The shells' scripts (cli/completion_scripts.py) ask this after each Tab. Verbs come from their table
and options from their commands, so nothing is listed twice; names come from the service, if it
answers within two seconds. Nothing here fails aloud: a person is in the middle of a line.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cli.lazy import LazyGroup, LazyVerb

if TYPE_CHECKING:
    from typer.core import TyperArgument, TyperCommand, TyperOption

FILES = ":files"
"""Tells the shell to offer files."""
_FILE_WORDS = frozenset({"FILE", "FILES", "DIR", "SCRIPT", "HEADERS", "BODY", "DESIRED", "LIVE"})
_OF_SERVICE = {"APP": "applications", "AGENT": "agents", "PROJECT": "appprojects"}

Candidate = tuple[str, str]
"""A word, and what it means."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Typed:
    """The words of a verb that stand before the word being typed."""

    words: Sequence[str]
    prefix: str

    @property
    def context(self) -> str:
        """The value of `--context NAME`; empty for the current context."""
        places = [i for i, word in enumerate(self.words[:-1]) if word == "--context"]
        return self.words[places[-1] + 1] if places else ""


def answer(group: LazyGroup, words: Sequence[str]) -> int:
    """Print a line for each candidate: word, tab, meaning. The last of `words` is being typed."""
    for word, meaning in candidates(group, words):
        sys.stdout.write(f"{word}\t{meaning}\n" if meaning else f"{word}\n")
    return 0


def candidates(group: LazyGroup, words: Sequence[str]) -> Iterable[Candidate]:
    *before, prefix = [*words] or [""]
    for i, word in enumerate(before):
        match group.verbs.get(word):
            case LazyGroup() as inner:
                group = inner
            case LazyVerb() as verb:
                return _of_verb(verb, Typed(words=before[i + 1 :], prefix=prefix))
            case None:
                return ()
    verbs = ((name, found.summary) for name, found in group.verbs.items())
    return [it for it in verbs if it[0].startswith(prefix)]


def _of_verb(verb: LazyVerb, typed: Typed) -> Iterable[Candidate]:
    from cli.command import arguments_of, command_of, options_of  # noqa: PLC0415  only for verbs

    command = command_of(verb)
    if command is None:
        return ()
    valued = {name: it for it in options_of(command) if not it.is_flag for name in it.opts}
    if typed.words and typed.words[-1] in valued:
        return _values(valued[typed.words[-1]], typed)
    if typed.prefix.startswith("-"):
        return _options(command, typed.prefix)
    place = len(list(_positional(typed.words, valued)))
    arguments = arguments_of(command)
    if not arguments or (place >= len(arguments) and arguments[-1].nargs == 1):
        return _options(command, typed.prefix or "-")
    return _values(arguments[min(place, len(arguments) - 1)], typed)


def _positional(words: Sequence[str], valued: Iterable[str]) -> Iterator[str]:
    """List the words that are neither options nor values of options."""
    for i, word in enumerate(words):
        if not word.startswith("-") and (i == 0 or words[i - 1] not in valued):
            yield word


def _options(command: TyperCommand, prefix: str) -> list[Candidate]:
    from cli.command import options_of  # noqa: PLC0415  only for verbs

    found = [(max(it.opts, key=len), it.help or "") for it in options_of(command)]
    found.append(("--help", "Show this help."))
    return [it for it in found if it[0].startswith(prefix)]


def _values(of: TyperOption | TyperArgument, typed: Typed) -> list[Candidate]:
    from cli.command import choices_of, value_word  # noqa: PLC0415  only for verbs

    word = value_word(of)
    if choices := choices_of(of):
        return [(it, "") for it in choices if it.startswith(typed.prefix)]
    if word.removesuffix("...") in _FILE_WORDS:
        return [(FILES, "")]
    from cli.remote import completion_names  # noqa: PLC0415  an HTTP client, for names only

    if word == "CONTEXT":
        return completion_names.contexts_of(typed.prefix)
    noun = _OF_SERVICE.get(word.removesuffix("..."), "")
    return completion_names.names_of(noun, typed.prefix, typed.context) if noun else []
