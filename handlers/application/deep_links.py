"""Deep links: links to other tools that `argocd-cm` describes, for applications, projects, objects.

`application.links`, `project.links` and `resource.links` are lists of YAML: the URL is a Go
template, `if` a condition, both evaluated in the sandbox with the object as data. Names, labels and
annotations of tenants are among that data, so what comes out is believed to be no more than a text:
anything but an address of http or https is a problem, and no link.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from urllib.parse import urlsplit

import msgspec
import yaml

KEYS = ("application.links", "project.links", "resource.links")
LONGEST_URL = 2048
_MOST = 50
_LONGEST = 4096


class DeepLink(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One link as it is written."""

    url: str
    """A Go template."""
    title: str
    description: str = ""
    icon_class: str = msgspec.field(name="icon.class", default="")
    condition: str = msgspec.field(name="if", default="")


class DeepLinks(msgspec.Struct, frozen=True, kw_only=True):
    """The links of each noun, and the keys that cannot be read with what is wrong."""

    application: tuple[DeepLink, ...] = ()
    project: tuple[DeepLink, ...] = ()
    resource: tuple[DeepLink, ...] = ()
    unreadable: tuple[tuple[str, str], ...] = ()


class EvaluatedLink(msgspec.Struct, frozen=True, kw_only=True):
    """What the sandbox made of one link; both are empty where its condition does not hold."""

    url: str = ""
    problem: str = ""


class ShownLink(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A link as people see it."""

    title: str
    url: str
    description: str = ""
    icon_class: str = ""


def read_deep_links(data: Mapping[str, str]) -> DeepLinks:
    """Read the links of `argocd-cm`; a key of which one link is malformed has none."""
    found: dict[str, tuple[DeepLink, ...]] = {}
    unreadable: list[tuple[str, str]] = []
    for key in KEYS:
        try:
            found[key] = _read(data.get(key, ""))
        except (yaml.YAMLError, msgspec.ValidationError, ValueError) as error:
            unreadable.append((key, str(error).partition("\n")[0]))
    links = {key.partition(".")[0]: found.get(key, ()) for key in KEYS}
    return DeepLinks(**links, unreadable=tuple(unreadable))


def _read(text: str) -> tuple[DeepLink, ...]:
    found = msgspec.convert(yaml.safe_load(text) or (), tuple[DeepLink, ...])
    if len(found) > _MOST:
        raise ValueError(f"expected {_MOST} links at most, found {len(found)}")
    for one in found:
        if any(len(each) > _LONGEST for each in msgspec.structs.astuple(one)):
            raise ValueError(f"a field of {one.title[:40]!r} has more than {_LONGEST} characters")
    return found


def shown_links(
    links: Sequence[DeepLink], evaluated: Sequence[EvaluatedLink]
) -> tuple[tuple[ShownLink, ...], tuple[str, ...]]:
    """Pair the links with their answers: those to be shown, and what is wrong with others."""
    shown: list[ShownLink] = []
    problems: list[str] = []
    for link, answer in zip(links, evaluated, strict=True):
        wrong = answer.problem or (url_problem(answer.url) if answer.url else "")
        if wrong:
            problems.append(f"link {link.title!r}: {wrong}"[:500])
        elif answer.url:
            shown.append(
                ShownLink(
                    title=link.title,
                    url=answer.url,
                    description=link.description,
                    icon_class=link.icon_class,
                )
            )
    return tuple(shown), tuple(problems)


def url_problem(url: str) -> str:
    """Say why a text is no address that a dashboard may lead to; empty where it is one."""
    try:
        parts = urlsplit(url)
        is_web = parts.scheme.lower() in ("http", "https") and bool(parts.hostname)
    except ValueError:
        return f"{url[:100]!r} is no address"
    if not is_web:
        return f"{url[:100]!r} is no address of http or https"
    if "@" in parts.netloc:
        return f"{parts.netloc[:100]!r} names a user, which makes an address look like another's"
    if len(url) > LONGEST_URL or not url.isprintable() or " " in url or "\\" in url:
        return f"expected a URL of at most {LONGEST_URL} characters, without spaces: {url[:100]!r}"
    return ""
