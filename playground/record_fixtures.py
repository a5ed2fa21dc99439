"""Records the dashboard's fixtures from a real agent and a real service on the playground's parts.

    python -m playground.record_fixtures        (make fixtures)

The answers of the API are stored as they came; only what differs between two runs is replaced: ids
by numbers in the order of their appearance, addresses by names, moments by their distance to the
recording, which stands at `RECORDED_AT`. The fixture service shifts them to its own start.
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
import tempfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

from playground.build import build_sandbox, ignore_progress
from playground.demo.control_plane import DemoServiceError
from playground.demo.fixture_states import (
    FIXTURE_STATES,
    RELEASES,
    SYNCED,
    drift,
    make_applications,
    release,
)
from playground.demo.running_demo import RunningDemo, create_remote_application, open_running_demo

RECORDED_AT = datetime(2026, 1, 1, 12, tzinfo=UTC)
FILE = Path(__file__).parents[1] / "web/fixtures/recorded.json"
LISTS = (
    "agents",
    "drifts",
    "audit",
    "services",
    "instances",
    "appprojects",
    "clusters",
    "repositories",
)
OF_EACH = ("", "tree", "history", "pushes", "diff", "timeline")
_WITHIN = 180.0

_TIMESTAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|\+00:00)")
_IDS = re.compile(
    r"\b[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\b|\b[0-9a-f]{64}\b|\b[0-9a-f]{40}\b"
)
_ADDRESS = re.compile(r"https?://127\.0\.0\.1:\d+")


async def record(demo: RunningDemo) -> dict[str, Any]:
    """Bring the applications into their states, and ask the service everything a page asks."""
    get = demo.service.get
    await create_remote_application(demo)
    await make_applications(demo)
    for number in range(1, RELEASES):
        await _until(demo, SYNCED, FIXTURE_STATES[SYNCED])
        commit = await release(demo, number)
        await _until(demo, SYNCED, {"revision": commit, "sync": "Synced"})
    await _until(demo, "checkout", {"sync": "OutOfSync"})
    await _sync(demo, "checkout")
    await drift(demo)
    for name, fields in FIXTURE_STATES.items():
        await _until(demo, name, fields)
    found: dict[str, Any] = {name: await get(f"/{name}") for name in (*LISTS, "fleet")}
    listed = (await get("/applications"))["items"]
    found["applications"] = [
        {
            "listed": one,
            **{tail or "one": await _answer(demo, one["id"], tail) for tail in OF_EACH},
        }
        for one in listed
    ]
    return found


async def _sync(demo: RunningDemo, name: str) -> None:
    found = await demo.service.application("laptop", name)
    if found is None:
        raise SystemExit(f"the service does not know {name}")
    await demo.service.post(f"/applications/{found['id']}/sync", {})
    await _until(demo, name, {"sync": "Synced", "health": "Healthy"})


async def _answer(demo: RunningDemo, id_: str, tail: str) -> Any:
    """None where the service has none: what cannot be rendered has no diff."""
    try:
        return await demo.service.get(f"/applications/{id_}/{tail}".rstrip("/"))
    except DemoServiceError:
        return None


async def _until(demo: RunningDemo, name: str, fields: Mapping[str, str]) -> None:
    found: Mapping[str, Any] | None = None
    with suppress(TimeoutError):
        async with asyncio.timeout(_WITHIN):
            while True:
                found = await demo.service.application("laptop", name)
                if found is not None and all(found[it] == fields[it] for it in fields):
                    return
                await asyncio.sleep(0.2)
    reported = {it: found[it] for it in fields} if found else "not reported"
    raise SystemExit(
        f"{name} did not become {dict(fields)} within {_WITHIN:.0f} s: it is {reported}"
    )


def normalised(found: Mapping[str, Any], now: datetime) -> str:
    """As text of the file: the same states give the same ids, whatever the run."""
    text = json.dumps(found, indent=1, ensure_ascii=False)
    text = _IDS.sub(_numbered(), text)
    text = _ADDRESS.sub("https://git.example", text)
    return _TIMESTAMP.sub(lambda it: _moved(it[0], now), text) + "\n"


def _numbered() -> Callable[[re.Match[str]], str]:
    """Each id keeps its shape, and becomes one that follows from its place alone."""
    known: dict[str, str] = {}

    def replaced(match: re.Match[str]) -> str:
        digits = iter(sha256(str(len(known)).encode()).hexdigest())
        made = "".join(it if it == "-" else next(digits) for it in match[0])
        return known.setdefault(match[0], made)

    return replaced


def _moved(text: str, now: datetime) -> str:
    shifted = datetime.fromisoformat(text) - now + RECORDED_AT
    return shifted.isoformat(timespec="milliseconds").replace("+00:00", "Z")


async def main() -> int:
    with tempfile.TemporaryDirectory(prefix="fixtures-") as name:
        folder = Path(name)
        folder.chmod(0o755)  # noqa: ASYNC240  once; under root PostgreSQL runs as another account
        async with open_running_demo(folder, build_sandbox(ignore_progress)) as demo:
            found = await record(demo)
            FILE.write_text(normalised(found, datetime.now(UTC)))
    sys.stdout.write(f"recorded {len(found['applications'])} applications in {FILE}\n")
    return 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
