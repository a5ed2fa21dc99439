"""A target of an outgoing request: its URL, parsed once and judged as it will be used.

The value that is judged is the value that the client connects with: a text that one parser reads as
a name and another as 127.0.0.1 (`①②⑦.0.0.1`) has one meaning here. What a name resolves to is
judged by the client, at each connection.
"""

from __future__ import annotations

from yarl import URL

from service.outgoing.addresses import AddressPolicy, numeric_address

NOT_PUBLIC = "the host is not on the public internet"
_LONGEST = 2000


class InvalidTargetError(ValueError):
    """The URL cannot be a target; the message says why, in a sentence for its writer."""


def parse_target(text: str, policy: AddressPolicy) -> URL:
    """Raises InvalidTargetError. No name is looked up."""
    url = _parsed(text)
    if url.scheme == "http" and not policy.plain_http:
        raise InvalidTargetError("expected https://: what is sent must not be readable on its way")
    if url.user is not None or url.password is not None:
        raise InvalidTargetError("the URL must hold no user and no password: requests are signed")
    _check_host(url.raw_host or "", policy)
    return url.with_fragment(None)


def _parsed(text: str) -> URL:
    try:
        url = URL(text)
        usable = url.scheme in ("https", "http") and bool(url.raw_host) and bool(url.port)
    except ValueError as e:
        raise InvalidTargetError("expected https://host/path") from e
    if not usable or len(text) > _LONGEST:
        raise InvalidTargetError("expected https://host/path")
    return url


def _check_host(host: str, policy: AddressPolicy) -> None:
    address = numeric_address(host)
    if address is not None and not policy.permits(address):
        raise InvalidTargetError(NOT_PUBLIC)
    name = host.rstrip(".").lower()
    is_local_name = name == "localhost" or name.endswith(".localhost")
    if is_local_name and not policy.allowed:
        raise InvalidTargetError(NOT_PUBLIC)
