"""Looks at every page: screenshots in both themes at three widths, and axe-core's verdict on each.

    python -m tests.browser.page_review --url http://127.0.0.1:8790 --out build/look --name admin

Works against the fixture service of web/fixtures and against the real one: nothing here knows
which. For people who change the dashboard; what a test checks is in test_*.py beside it.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

from playground.browser import CHROMIUM_FLAGS, chromium_program, is_settled, sign_in
from tests.paths import REPOSITORY

AXE = REPOSITORY / "web/node_modules/axe-core/axe.min.js"
WIDTHS = (1440, 1024, 390)
THEMES = ("light", "dark")
PAGES = (
    "/",
    "/applications",
    "/applications?view=tiles",
    "/applications/new",
    "/applications/{id}",
    "/applications/{id}?object={object}",
    "/applications/{id}/diff",
    "/applications/{id}/pushes",
    "/applications/{id}/history",
    "/applications/{id}/timeline",
    "/applications/{id}/manifest",
    "/applications/{id}/events",
    "/applications/{id}/windows",
    "/applications/{id}/settings",
    "/applications/{id}/edit",
    "/services",
    "/timeline",
    "/drift",
    "/agents",
    "/agents/connect",
    "/appprojects",
    "/appprojects/new",
    "/repositories",
    "/clusters",
    "/keys",
    "/audit",
    "/settings/organisations",
    "/settings/projects",
    "/settings/members",
    "/settings/roles",
    "/settings/groups",
    "/settings/tokens",
    "/settings/webhooks",
)


@dataclass(frozen=True, kw_only=True)
class ReviewRequest:
    url: str
    out: Path
    name: str
    password: str
    pages: tuple[str, ...]
    widths: tuple[int, ...]
    themes: tuple[str, ...]
    full: bool
    axe: bool


@contextmanager
def signed_in(browser: Browser, request: ReviewRequest, theme: str, width: int) -> Iterator[Page]:
    context = browser.new_context(
        viewport={"width": width, "height": 900},
        color_scheme="dark" if theme == "dark" else "light",
        bypass_csp=request.axe,
    )
    page = context.new_page()
    page.on("pageerror", lambda error: print(f"ERROR in {page.url}: {error}", file=sys.stderr))
    page.on("console", lambda line: _complain(page, line.type, line.text))
    page.goto(f"{request.url}/login")
    if theme == THEMES[0]:
        page.screenshot(path=request.out / f"login-{width}.png")
    sign_in(page, request.name, request.password)
    yield page
    context.close()


def _complain(page: Page, kind: str, text: str) -> None:
    if kind in ("error", "warning"):
        print(f"{kind.upper()} in {page.url}: {text}", file=sys.stderr)


def worst_application(page: Page) -> tuple[str, str]:
    """The id of the first application, and the key of its first object."""
    found = page.evaluate(
        """async () => {
            const read = async (path) => (await fetch('/api/v1' + path)).json();
            const { items } = await read('/applications?limit=1&sort=worst');
            if (!items.length) return ['none', ''];
            const { nodes = [] } = await read(`/applications/${items[0].id}/tree`);
            const node = nodes[0];
            const parts = node ? [node.group, node.kind, node.namespace, node.name] : [];
            return [items[0].id, parts.join('/')];
        }"""
    )
    return str(found[0]), str(found[1])


def file_name(path: str, width: int, theme: str) -> str:
    words = path.replace("{id}", "one").replace("?", "-").replace("={object}", "").strip("/")
    return f"{words.replace('/', '-').replace('=', '-') or 'fleet'}-{width}-{theme}.png"


def axe(page: Page) -> list[str]:
    """What axe-core finds serious or critical."""
    page.add_script_tag(path=AXE)
    found = page.evaluate("async () => JSON.stringify((await axe.run()).violations)")
    return [
        f"{rule['impact']}: {rule['id']}: {node['target']} {node['failureSummary']}"
        for rule in json.loads(found)
        if rule["impact"] in ("serious", "critical")
        for node in rule["nodes"][:3]
    ]


def look(browser: Browser, request: ReviewRequest, theme: str, width: int) -> int:
    bad = 0
    with signed_in(browser, request, theme, width) as page:
        app, key = worst_application(page)
        for path in request.pages:
            page.goto(request.url + path.format(id=app, object=key))
            if not is_settled(page):
                print(f"SLOW {page.url}: something is still being waited for")
            page.screenshot(
                path=request.out / file_name(path, width, theme), full_page=request.full
            )
            for line in axe(page) if request.axe else ():
                bad += 1
                print(f"AXE {path} {width} {theme}: {line}")
            over = page.evaluate(
                "document.documentElement.scrollWidth - document.documentElement.clientWidth"
            )
            if over > 0:
                bad += 1
                print(f"WIDE {path} {width}: {over} px wider than the screen")
    return bad


def asked() -> ReviewRequest:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--url", default="http://127.0.0.1:8790")
    parser.add_argument("--out", type=Path, default=Path("build/look"))
    parser.add_argument("--name", default="mira")
    parser.add_argument("--password", default="fixture")
    parser.add_argument("--page", action="append", default=[])
    parser.add_argument("--width", action="append", type=int, default=[])
    parser.add_argument("--theme", action="append", default=[])
    parser.add_argument("--full", action="store_true", help="the whole page, not the first screen")
    parser.add_argument("--axe", action="store_true", help="also run axe-core on each page")
    options = parser.parse_args()
    return ReviewRequest(
        url=options.url,
        out=options.out,
        name=options.name,
        password=options.password,
        pages=tuple(options.page) or PAGES,
        widths=tuple(options.width) or WIDTHS,
        themes=tuple(options.theme) or THEMES,
        full=options.full,
        axe=options.axe,
    )


def main() -> int:
    request = asked()
    request.out.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=chromium_program(), args=[*CHROMIUM_FLAGS]
        )
        bad = sum(
            look(browser, request, theme, width)
            for theme in request.themes
            for width in request.widths
        )
        browser.close()
    print(f"{bad} findings; pictures in {request.out}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
