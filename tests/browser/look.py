"""Looks at every page: screenshots in both themes at three widths, and axe-core's verdict on each.

    python -m tests.browser.look --url http://127.0.0.1:8790 --out build/look --name admin

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
from playwright.sync_api import TimeoutError as PlaywrightTimeoutError

AXE = Path(__file__).parents[2] / "web/node_modules/axe-core/axe.min.js"
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)
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
class Wish:
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
def signed_in(browser: Browser, wish: Wish, theme: str, width: int) -> Iterator[Page]:
    context = browser.new_context(
        viewport={"width": width, "height": 900},
        color_scheme="dark" if theme == "dark" else "light",
        bypass_csp=wish.axe,
    )
    page = context.new_page()
    page.on("pageerror", lambda error: print(f"ERROR in {page.url}: {error}", file=sys.stderr))
    page.on("console", lambda said: _complain(page, said.type, said.text))
    page.goto(f"{wish.url}/login")
    if theme == THEMES[0]:
        page.screenshot(path=wish.out / f"login-{width}.png")
    page.fill("input[name=username]", wish.name)
    page.fill("input[name=password]", wish.password)
    page.click("button[type=submit]")
    page.wait_for_selector("nav[aria-label=Pages]", state="attached")
    yield page
    context.close()


def _complain(page: Page, kind: str, text: str) -> None:
    if kind in ("error", "warning"):
        print(f"{kind.upper()} in {page.url}: {text}", file=sys.stderr)


def settled(page: Page) -> None:
    """The first data stand: no skeleton is left, unless an agent that is away has to answer."""
    page.wait_for_selector("main h1, main h2", state="attached")
    try:
        page.wait_for_selector(".skeleton", state="detached", timeout=5_000)
    except PlaywrightTimeoutError:
        print(f"SLOW {page.url}: something is still being waited for")
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => setTimeout(done, 250)))")


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


def look(browser: Browser, wish: Wish, theme: str, width: int) -> int:
    bad = 0
    with signed_in(browser, wish, theme, width) as page:
        app, key = worst_application(page)
        for path in wish.pages:
            page.goto(wish.url + path.format(id=app, object=key))
            settled(page)
            page.screenshot(path=wish.out / file_name(path, width, theme), full_page=wish.full)
            for line in axe(page) if wish.axe else ():
                bad += 1
                print(f"AXE {path} {width} {theme}: {line}")
            over = page.evaluate(
                "document.documentElement.scrollWidth - document.documentElement.clientWidth"
            )
            if over > 0:
                bad += 1
                print(f"WIDE {path} {width}: {over} px wider than the screen")
    return bad


def asked() -> Wish:
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
    given = parser.parse_args()
    return Wish(
        url=given.url,
        out=given.out,
        name=given.name,
        password=given.password,
        pages=tuple(given.page) or PAGES,
        widths=tuple(given.width) or WIDTHS,
        themes=tuple(given.theme) or THEMES,
        full=given.full,
        axe=given.axe,
    )


def main() -> int:
    wish = asked()
    wish.out.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=[*FLAGS])
        bad = sum(
            look(browser, wish, theme, width) for theme in wish.themes for width in wish.widths
        )
        browser.close()
    print(f"{bad} findings; pictures in {wish.out}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
