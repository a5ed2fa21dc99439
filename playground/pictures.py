"""Take the pictures of the README from the running demo, in light and in dark.

    python -m playground.pictures        (make pictures)

The demo runs as a child process, as a person starts it. Its timeline becomes a drawing of a
terminal; two pages of its dashboard are photographed by Chromium. Nothing in them is made up.
"""

from __future__ import annotations

import io
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, Queue
from threading import Thread
from typing import IO

from playwright.sync_api import Page, sync_playwright
from rich.console import Console
from rich.terminal_theme import DIMMED_MONOKAI, TerminalTheme
from rich.text import Text

from playground.browser import (
    CHROMIUM_FLAGS,
    SIGNED_IN,
    BrowserMissingError,
    chromium_program,
    is_settled,
)

FOLDER = Path(__file__).parents[1] / "docs/pictures"
_COLUMNS = 116
_ROWS = 34
_WITHIN = 300.0
_PAGE_WITHIN = 30.0
_POD_OF_TREE = ".canvas .box:has-text('Pod')"
"""Comes last: the objects that others own are asked of the agent."""
_LINK = re.compile(r"Dashboard\s+(http\S+)")
_LIGHT = TerminalTheme(
    (252, 252, 250),
    (40, 40, 40),
    [
        (40, 40, 40),
        (176, 32, 32),
        (0, 118, 60),
        (150, 100, 0),
        (0, 88, 170),
        (130, 40, 140),
        (0, 110, 120),
        (90, 90, 90),
    ],
)
_STYLES = ((r"^\d+/\d+ .*$", "bold"), (r"✔", "green"), (r"✘", "red"), (r"\(\d+ ms\)", "dim"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Demo:
    """What the demo has printed until it stays, and the link that signs in."""

    lines: tuple[str, ...]
    link: str


class PictureError(Exception):
    """The demo or its dashboard did not come; the text says what was seen last."""


def main() -> int:
    FOLDER.mkdir(parents=True, exist_ok=True)
    try:
        with _demo() as demo:
            _draw_terminal(demo.lines)
            _photograph(demo)
    except (PictureError, BrowserMissingError) as error:
        sys.stderr.write(f"no pictures: {error}\n")
        return 1
    sys.stdout.write(f"pictures: {', '.join(sorted(one.name for one in FOLDER.iterdir()))}\n")
    return 0


@contextmanager
def _demo() -> Iterator[Demo]:
    """Start `gitops demo`, wait until it stays, and end it."""
    program = Path(sys.executable).with_name("gitops")
    process = subprocess.Popen([program, "demo"], stdout=subprocess.PIPE, text=True)
    try:
        yield _started(process)
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(60)


def _started(process: subprocess.Popen[str]) -> Demo:
    seen: list[str] = []
    for line in _lines(process):
        seen.append(line.rstrip())
        if found := _LINK.search(line):
            return Demo(lines=tuple(seen), link=found[1])
    raise PictureError("the demo did not stay; its last lines: " + " | ".join(seen[-5:]))


def _lines(process: subprocess.Popen[str]) -> Iterator[str]:
    """Yield what the process prints, until it ends or the time is over."""
    assert process.stdout is not None
    queue: Queue[str | None] = Queue()
    Thread(target=_read, args=(process.stdout, queue), daemon=True).start()
    end = time.monotonic() + _WITHIN
    while (left := end - time.monotonic()) > 0:
        try:
            line = queue.get(timeout=left)
        except Empty:
            return
        if line is None:
            return
        yield line


def _read(stream: IO[str], queue: Queue[str | None]) -> None:
    for line in stream:
        queue.put(line)
    queue.put(None)


def _draw_terminal(lines: tuple[str, ...]) -> None:
    shown = _of_the_push(lines)
    for name, theme in (("light", _LIGHT), ("dark", DIMMED_MONOKAI)):
        console = Console(record=True, width=_COLUMNS, file=io.StringIO())
        for line in shown:
            text = Text(line)
            text.truncate(_COLUMNS, overflow="ellipsis")
            for pattern, style in _STYLES:
                text.highlight_regex(pattern, style)
            console.print(text, soft_wrap=False)
        drawing = console.export_svg(title="make demo", theme=theme)
        (FOLDER / f"terminal-{name}.svg").write_text(_without_web_fonts(drawing))


def _of_the_push(lines: tuple[str, ...]) -> tuple[str, ...]:
    """Choose the first stages: the way of a push with its milliseconds."""
    first = next((at for at, line in enumerate(lines) if re.match(r"\d+/\d+ ", line)), 0)
    return lines[first : first + _ROWS]


def _without_web_fonts(drawing: str) -> str:
    """Leave out fonts that a viewer would fetch from elsewhere."""
    return re.sub(r"@font-face \{.*?\}\s*", "", drawing, flags=re.DOTALL)


def _photograph(demo: Demo) -> None:
    program = chromium_program()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=[*CHROMIUM_FLAGS])
        for theme in ("light", "dark"):
            context = browser.new_context(
                viewport={"width": 1440, "height": 900},
                color_scheme="dark" if theme == "dark" else "light",
                reduced_motion="reduce",
            )
            page = context.new_page()
            page.goto(demo.link)
            page.wait_for_selector(SIGNED_IN, state="attached")
            _take(page, f"fleet-{theme}.png")
            page.get_by_role("link", name="Applications", exact=True).click()
            page.get_by_role("link", name="guestbook").first.click()
            page.wait_for_selector(_POD_OF_TREE)
            _take(page, f"application-{theme}.png")
            context.close()
        browser.close()


def _take(page: Page, name: str) -> None:
    if not is_settled(page, within=_PAGE_WITHIN):
        raise PictureError(f"{page.url} had not all its data after {_PAGE_WITHIN:.0f} s")
    page.screenshot(path=FOLDER / name)


if __name__ == "__main__":
    sys.exit(main())
