"""Canaries: texts planted in every place where a secret may stand; none of them leaves."""

import base64
import random
import re
import string
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote, quote_plus

import msgspec
import pytest
import yaml

from handlers.report.known_secrets import KnownSecrets, pieces_of_secret
from handlers.report.log_redaction import LogRedaction
from handlers.report.redaction import Redaction

FOLDER = Path(__file__).parent
CANARIES: dict[str, list[dict[str, Any]]] = yaml.load(
    (FOLDER / "canaries.yaml").read_text(encoding="utf-8"), Loader=yaml.CSafeLoader
)
HARMLESS: list[dict[str, Any]] = yaml.load(
    (FOLDER / "harmless.yaml").read_text(encoding="utf-8"), Loader=yaml.CSafeLoader
)
LEAST_OF_REVIEW, LEAST_OF_OURS, LEAST_HARMLESS = 64, 337, 100
"""How many there are; who adds some raises it."""

CANARY = "c4nary-Zq7w"
WORD = "cormorant"
NUMBER = 90817263544
SIGNS = string.ascii_letters + string.digits


def drawn(length: int, signs: str = SIGNS) -> str:
    return "".join(random.Random(f"{length}").choices(signs, k=length))  # noqa: S311  no secret


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


OPAQUE = drawn(32)
FORMS: dict[str, Callable[[], str]] = {
    "canary": lambda: CANARY,
    "canary:hex": lambda: CANARY.encode().hex(),
    "canary:HEX": lambda: CANARY.encode().hex().upper(),
    "canary:base64": lambda: encoded(CANARY),
    "canary:base64*2": lambda: encoded(encoded(CANARY)),
    "canary:user:base64": lambda: encoded(f"user:{CANARY}"),
    "canary:url": lambda: quote(CANARY + "/%", safe=""),
    "canary:url+": lambda: quote_plus(f"a {CANARY} b"),
    "canary:json": lambda: encoded(f'{{"a": "{CANARY}", "b": 1}}'),
    "canary:long": lambda: encoded("before " * 20 + CANARY + " behind"),
    "word": lambda: WORD,
    "number": lambda: str(NUMBER),
    "opaque": lambda: OPAQUE,
    "token36": lambda: drawn(36),
    "UPPER16": lambda: drawn(16, string.ascii_uppercase + string.digits),
    "key": lambda: "\n".join(drawn(64)[n:] + drawn(64)[:n] for n in range(3)),
}
_FORM = re.compile("<(" + "|".join(map(re.escape, FORMS)) + ")>")


def filled(value: Any) -> Any:
    """`value` with the forms filled in; `<number>` alone is a number."""
    if isinstance(value, str):
        return NUMBER if value == "<number>" else _FORM.sub(lambda it: FORMS[it[1]](), value)
    if isinstance(value, dict):
        return {filled(key): filled(item) for key, item in value.items()}
    return [filled(item) for item in value] if isinstance(value, list) else value


def gate(known: str = "", config_maps: tuple[str, ...] = ()) -> Redaction:
    secrets = KnownSecrets(b"a salt")
    for value in filter(None, known.split()):
        secrets.learn(pieces_of_secret({"password": encoded(value)}))
    return Redaction(salt=b"another", known=secrets, config_maps=config_maps)


def shown(canary: dict[str, Any]) -> str:
    match canary:
        case {"object": planted}:
            planted = filled(planted)
            return f"{gate().value(planted)} {gate().together().value({'of': [planted]})}"
        case {"text": text}:
            return gate().text(filled(text))
        case {"lines": lines}:
            log = LogRedaction(gate)
            return "\n".join("\n".join(log.lines(filled(it).split("\n"))) for it in lines)
        case {"known": text}:
            return gate(CANARY).text(filled(text))
        case {"known-object": planted}:
            return str(gate(CANARY).value(filled(planted)))
        case {"word": text}:
            return gate(f"{WORD} {NUMBER}").text(filled(text))
    raise AssertionError(f"{canary['name']}: what is it? object, text, lines, known or word")


def leaked(text: str) -> list[str]:
    secret = {
        *(make() for name, make in FORMS.items() if name not in ("key", "token36", "UPPER16")),
        drawn(36),
        drawn(16, string.ascii_uppercase + string.digits),
        *FORMS["key"]().split("\n"),
    }
    return [one for one in secret if one in text]


@pytest.mark.parametrize(
    "canary", [*CANARIES["review"], *CANARIES["own"]], ids=lambda canary: canary["name"]
)
def test_no_canary_leaves(canary: dict[str, Any]) -> None:
    assert leaked(shown(canary)) == []


@pytest.mark.parametrize("harmless", HARMLESS, ids=lambda harmless: str(harmless)[:60])
def test_what_is_plainly_no_secret_is_shown(harmless: dict[str, Any]) -> None:
    redaction = gate(f"{CANARY} production 5432 hunter", config_maps=("shop/*",))
    if "text" in harmless:
        assert redaction.text(harmless["text"]) == harmless["text"]
    else:
        assert redaction.value(harmless["object"]) == harmless["object"]


def test_the_corpus_only_grows() -> None:
    assert len(CANARIES["review"]) >= LEAST_OF_REVIEW
    assert len(CANARIES["own"]) >= LEAST_OF_OURS
    assert len(HARMLESS) >= LEAST_HARMLESS


def test_the_canaries_are_found_where_nothing_masks_them() -> None:
    for canary in [*CANARIES["review"], *CANARIES["own"]]:
        (planted,) = (value for key, value in canary.items() if key != "name")
        assert leaked(msgspec.json.encode(filled(planted)).decode()) or leaked(str(filled(planted)))
