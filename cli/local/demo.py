"""`gitops demo`: agent and service on real parts of this machine."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cli import output
from cli.command import new_app
from playground.demo.scene_name import SceneName

app = new_app()


@app.command(
    epilog="Exit codes: 0 every stage held, 1 one did not, 2 wrong usage, 130 interrupted."
)
def demo(
    *,
    scene: Annotated[
        SceneName,
        typer.Option(
            "--scene",
            help="push: the way of a push, with an agent in each of two clusters. "
            "clusters: one agent for both, by a cluster Secret. "
            "sources: a chart of an OCI registry, two sources, SSH, signed commits.",
        ),
    ] = SceneName.PUSH,
    once: Annotated[bool, typer.Option("--once", help="End after the last stage.")] = False,
    json_file: Annotated[
        Path | None,
        typer.Option("--json", metavar="FILE", help="Write what was expected and seen to FILE."),
    ] = None,
) -> None:
    """Play the main job live: pushes, an edit by hand, a removed file, a broken manifest."""
    if json_file and not json_file.parent.is_dir():
        output.stop(f"--json {json_file}: there is no folder {json_file.parent}")
    from playground.demo.main import run_demo  # noqa: PLC0415  seconds of imports, for this only

    raise typer.Exit(run_demo(scene=scene, once=once, json_file=json_file))
