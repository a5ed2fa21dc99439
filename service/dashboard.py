"""Routes of the dashboard: its files, and its one page for every other address.

The address bar is the dashboard's state, so an unknown path is answered with the page. Built files
have their content's hash in their names and may be cached for ever; the page is revalidated each
time. Nothing may be loaded from anywhere else.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from aiohttp import web

BUILT = Path(__file__).parent / "static"
_FOR_EVER = "public, max-age=31536000, immutable"
_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
        "object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    ),
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
}
_NOT_BUILT = (
    "The dashboard is not built: run `make web` and open this address again.\n"
    "The API is at /api/v1, its description at /api/v1/docs.\n"
)


def routes(folder: Path | None) -> Sequence[web.RouteDef]:
    """Make the dashboard's routes, to be added last: they answer every path that is left.

    `folder`: the built dashboard; None: the one in the package.
    """
    pages = Pages(folder or BUILT)
    return (web.get("/{path:(?!api/).*}", pages.answer),)


@dataclass(frozen=True, slots=True)
class Pages:
    folder: Path

    async def answer(self, request: web.Request) -> web.StreamResponse:
        path = request.match_info["path"]
        found = await asyncio.to_thread(self.find, path)
        if found is None:
            return web.Response(status=503, text=_NOT_BUILT, headers=_HEADERS)
        kept = _FOR_EVER if path.startswith("assets/") else "no-cache"
        return web.FileResponse(found, headers={**_HEADERS, "Cache-Control": kept})

    def find(self, path: str) -> Path | None:
        """Find the file, or the page where there is none; never anything outside of the folder."""
        page = self.folder / "index.html"
        file = (self.folder / path).resolve()
        inside = file.is_relative_to(self.folder.resolve()) and not path.startswith(".")
        if path and inside and file.is_file():
            return file
        return page if page.is_file() else None
