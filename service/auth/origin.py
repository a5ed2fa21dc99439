"""Did this page of ours send the request? Pure.

A browser adds the cookie to whatever any page sends, so a request that changes something and comes
by cookie must show two things another page cannot: our own Origin, and the session's CSRF word.
Requests with a token need neither: no browser adds it by itself.
"""

from __future__ import annotations

from urllib.parse import urlsplit

SAFE = frozenset({"GET", "HEAD", "OPTIONS"})


def is_own(origin: str | None, host: str, public_url: str) -> bool:
    """`host`: the request's Host header, which a page of somebody else cannot choose either."""
    if not origin or origin == "null":
        return False
    parts = urlsplit(origin)
    if public_url:
        public = urlsplit(public_url)
        return (parts.scheme, parts.netloc.lower()) == (public.scheme, public.netloc.lower())
    return parts.scheme in ("http", "https") and parts.netloc.lower() == host.lower()
