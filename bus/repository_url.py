"""A repository URL is parsed once where it comes in, and compared in one canonical form.

    https://Git.Example:443/Team/App.git/     https://git.example/Team/App.git
    git@git.example:Team/App.git              ssh://git@git.example/Team/App.git

The text of a value is the key of mirrors, caches and lanes and the argument of `git`, so two
repositories never share one of them. The case of the path and a `.git` at its end stay: there are
servers to which they make another repository. Where users mix both forms (`app`, `app.git`), the
credentials and the rules of projects know them as `without_suffix`. User information is part of an
SSH address; over HTTP it is a login, which is no part of where a repository is (see `login_of`).

A delivery of a Git host may spell the repository differently from the Application: `delivery_key`
folds all that such spellings differ in. It finds candidates; each is looked at by its own URL.
"""

from __future__ import annotations

import re
from functools import lru_cache
from urllib.parse import unquote

import msgspec

from bus.address import AddressError, Origin, canonical_path, split_address

_SUFFIX = ".git"
_SCP = re.compile(
    r"(?:(?P<user>[^@:/\[\]]+)@)?(?P<host>\[[^\]/]+\]|[^@:/\[\]]+):(?P<path>(?!:)[^@]*)"
)
_SSH_USER = re.compile(r"[A-Za-z0-9._$][A-Za-z0-9._$-]{0,63}")
_SSH = "ssh"
_REMEMBERED = 4096
"""Texts whose address is kept: the same few are parsed for each Application that names them."""


class RepositoryUrlError(ValueError):
    """The text names no certain repository; the message says why and quotes no login."""


class UrlLogin(msgspec.Struct, frozen=True):
    """The user name and password of a URL."""

    username: str
    password: str

    def __repr__(self) -> str:
        return f"Login({self.username!r})"


class RepositoryUrl(msgspec.Struct, frozen=True, order=True):
    """Make it with `parse`: its parts are canonical."""

    origin: Origin
    path: str
    """Empty for the root; else it begins with a slash and ends with none."""
    user: str = ""
    """Of an SSH address; it may decide which home directory the path is in."""

    def __str__(self) -> str:
        user = f"{self.user}@" if self.user else ""
        scheme, _, rest = str(self.origin).partition("://")
        return f"{scheme}://{user}{rest}{self.path}"

    @classmethod
    def parse(cls, text: str) -> RepositoryUrl:
        """Raises RepositoryUrlError."""
        try:
            return _parsed(text)
        except AddressError as error:
            raise RepositoryUrlError(f"{_shown(text)!r} {error}") from None

    @property
    def is_ssh(self) -> bool:
        return self.origin.scheme == _SSH

    @property
    def without_suffix(self) -> RepositoryUrl:
        return msgspec.structs.replace(self, path=self.path.removesuffix(_SUFFIX))

    @property
    def with_suffix(self) -> RepositoryUrl:
        return msgspec.structs.replace(self, path=self.without_suffix.path + _SUFFIX)

    @property
    def without_user(self) -> RepositoryUrl:
        """The address as the control plane shows it, and Secrets of a prefix may have it."""
        return msgspec.structs.replace(self, user="")

    @property
    def identities(self) -> tuple[str, ...]:
        """The texts that rules may use: with and without `.git`, with and without the SSH user."""
        bare = self.without_user
        forms = (self, self.without_suffix, bare, bare.without_suffix)
        return tuple(dict.fromkeys(map(str, forms)))

    @property
    def delivery_key(self) -> str:
        """The form in which deliveries are matched: host and path, case and suffix folded."""
        return f"{self.origin.host}{self.path.removesuffix(_SUFFIX)}".lower()

    def covers(self, other: RepositoryUrl) -> bool:
        """Tell whether `other` is this address or lies below it, on the same server."""
        if self.origin != other.origin or self.user not in ("", other.user):
            return False
        return f"{other.path}/".startswith(f"{self.path}/")


def login_of(text: str) -> UrlLogin | None:
    """Read the login before the host of an HTTP address; raises RepositoryUrlError."""
    try:
        parts = split_address(_with_scheme(text))
    except AddressError as error:
        raise RepositoryUrlError(f"{_shown(text)!r} {error}") from None
    if not parts.user or parts.scheme.lower() == _SSH:
        return None
    name, _, password = parts.user.partition(":")
    return UrlLogin(unquote(name), unquote(password))


@lru_cache(maxsize=_REMEMBERED)
def _parsed(text: str) -> RepositoryUrl:
    parts = split_address(_with_scheme(text))
    origin = Origin.parse(parts.scheme, parts.authority)
    user = parts.user if origin.scheme == _SSH else ""
    if user and not _SSH_USER.fullmatch(user):
        raise AddressError("has a user that is no plain name; expected ssh://user@host/path")
    return RepositoryUrl(origin, canonical_path(parts.path), user)


def _with_scheme(text: str) -> str:
    """The scp form `user@host:path` is SSH at its default port."""
    text = text.strip()
    if "://" in text:
        return text
    scp = _SCP.fullmatch(text)
    if scp is None:
        raise AddressError("has no scheme; expected https://host/path or user@host:path")
    user = f"{scp['user']}@" if scp["user"] else ""
    return f"{_SSH}://{user}{scp['host']}/{scp['path'].removeprefix('/')}"


def _shown(text: str) -> str:
    """Mask what stands before the last @, which may be a password."""
    head, at, rest = text.strip().rpartition("@")
    scheme = head.partition("://")[0] + "://" if "://" in head else ""
    return (f"{scheme}***@{rest}" if at else rest)[:200]
