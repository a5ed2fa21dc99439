"""`gitops diff`: whether live objects hold what is desired, with the agent's own comparison.

Offline nobody can ask the server, so where only the server could tell the objects count as the
same, and the text says what is uncertain.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from typing import Annotated, Any

import typer

from agent.sandbox.binary import SandboxMissingError
from cli import say
from cli.inputs import Document, Manifests, refuse, sorted_out
from cli.pairs import Pair, pair_up
from handlers.compare.change import ChangeKind, Difference, Outcome, Verdict
from handlers.compare.diff import diff as compare
from handlers.compare.fields import owned_fields
from handlers.compare.normalise import normalise
from handlers.manifest.access import Manifest, annotation, mapping
from handlers.manifest.tracking import TRACKING_ID

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)

_SIGN = {ChangeKind.CHANGED: "~", ChangeKind.MISSING: "+", ChangeKind.EXTRA: "-"}


@app.command(epilog="Exit codes: 0 the same, 1 something differs, 2 bad input.")
def diff(
    desired: Annotated[list[str], typer.Option(help="File with what is wanted; repeatable.")],
    live: Annotated[list[str], typer.Option(help="File with what the cluster has; repeatable.")],
    *,
    as_json: Annotated[bool, typer.Option("--json", help="One line of JSON per object.")] = False,
) -> None:
    """Compare each desired object with its live one.

    With as many --live as --desired files they are taken in pairs; else all live objects are
    one set. Objects are paired by group, kind, namespace and name.
    """
    sets = [(d, live) for d in desired]
    if len(desired) == len(live):
        sets = [(d, [one]) for d, one in zip(desired, live, strict=True)]
    try:
        raise typer.Exit(asyncio.run(_diff_all(sets, as_json=as_json)))
    except SandboxMissingError as e:
        say.stop(str(e))


def outcome_of(pair: Pair) -> Outcome:
    """What is given as live may be from Git, too, and is then spelled as an author does."""
    if pair.live is None:
        whole = Difference(path="", kind=ChangeKind.MISSING)
        return Outcome(verdict=Verdict.DIFFERENT, differences=(whole,))
    live, owned = normalise(pair.live), owned_fields(pair.live)
    return compare(_stamped(pair.desired.manifest, live), live, owned)


async def _diff_all(sets: Sequence[tuple[str, Sequence[str]]], *, as_json: bool) -> say.Exit:
    """The worst of all answers; what cannot be read does not stop the others."""
    worst = say.Exit.FINE
    async with Manifests() as manifests:
        for desired, live in sets:
            wanted, bad = sorted_out(await manifests.examine(desired))
            found, worse = sorted_out([it async for it in manifests.each(live)])
            broken = (*bad, *worse)
            for pair in pair_up(wanted, found, lone=not broken):
                if pair.live is not None or not worse:  # else it may be in what cannot be read
                    worst = max(worst, _one(pair, as_json=as_json))
            worst = max((worst, *(refuse(error, as_json=as_json) for error in broken)))
    return worst


def _one(pair: Pair, *, as_json: bool) -> say.Exit:
    outcome = outcome_of(pair)
    _say(pair.desired, outcome, as_json=as_json)
    return say.Exit.NO if outcome.verdict is Verdict.DIFFERENT else say.Exit.FINE


def _stamped(desired: Manifest, live: Manifest) -> Manifest:
    """What Git has carries no tracking annotation yet; the agent would write the live one again."""
    tracking = annotation(live, TRACKING_ID)
    if not tracking or annotation(desired, TRACKING_ID):
        return desired
    metadata = mapping(desired, "metadata")
    notes = {**mapping(metadata, "annotations"), TRACKING_ID: tracking}
    return {**desired, "metadata": {**metadata, "annotations": notes}}


def _say(document: Document, outcome: Outcome, *, as_json: bool) -> None:
    if as_json:
        say.line(
            {
                "file": document.file,
                "modified": outcome.verdict is Verdict.DIFFERENT,
                "changes": [_change(difference) for difference in outcome.differences],
            }
        )
        return
    for written in _lines(document, outcome):
        say.text(written)


def _change(difference: Difference) -> dict[str, Any]:
    return {
        "path": difference.path,
        "kind": difference.kind.value,
        "desired": difference.desired,
        "live": difference.live,
    }


def _lines(document: Document, outcome: Outcome) -> Iterator[str]:
    yield f"{document.about}: {outcome.verdict.value.lower()}"
    for difference in outcome.differences:
        yield f"  {_SIGN[difference.kind]} {_shown(difference)}"
    for doubt in outcome.doubts:
        yield f"  ? {doubt}: only the server can tell"


def _shown(difference: Difference) -> str:
    match difference.kind:
        case ChangeKind.MISSING:
            return f"{difference.path}: {difference.desired!r}" if difference.path else "not there"
        case ChangeKind.EXTRA:
            return f"{difference.path}: {difference.live!r}"
        case ChangeKind.CHANGED:
            return f"{difference.path}: {difference.live!r} -> {difference.desired!r}"
