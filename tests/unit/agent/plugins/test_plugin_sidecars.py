"""Argo CD's plugin server is asked over its socket: what it makes of files, and how it fails."""

import asyncio
import socket
from pathlib import Path

import pytest
import yaml

from agent.plugins.plugin_client import PluginAnnouncement, PluginClient
from agent.plugins.plugin_limits import PluginLimits
from agent.plugins.plugin_sidecars import PluginSidecars
from agent.plugins.plugin_sockets import plugin_sockets
from agent.settings import Settings
from bus.status import Reason
from cli.local import probes
from handlers.ports import RendererBusyError
from handlers.ports.plugins import PluginMatch
from handlers.ports.rendering import PluginRecipe, Recipe, RenderError, SourceType
from playground.plugin_sidecar import PluginSidecar
from tests.support import eventually
from tests.unit.agent.renderer.written_tree import TreeLink, WrittenTree

NAME = "scripts-v1"


def recipe(name: str = NAME, path: str = "app", **variables: str) -> Recipe:
    return Recipe(
        type=SourceType.PLUGIN,
        path=path,
        app_name="shop",
        namespace="prod",
        plugin=PluginRecipe(name, tuple(variables.items())),
    )


def script(text: str, **files: str) -> WrittenTree:
    return WrittenTree({"app/generate.sh": text, **files})


def documents(made: bytes) -> list[object]:
    return list(yaml.safe_load_all(made))


async def failure(plugins: PluginSidecars, tree: WrittenTree) -> RenderError:
    with pytest.raises(RenderError) as caught:
        await plugins.generate(recipe(), tree)
    assert NAME in caught.value.message
    return caught.value


async def test_a_plugin_renders_in_its_folder_of_the_whole_repository(
    plugins: PluginSidecars,
) -> None:
    tree = WrittenTree(
        {
            "app/init.sh": "cat ../shared/base.yaml > made.yaml",
            "app/generate.sh": 'cat made.yaml; echo "---"; echo "kind: $PARAM_KIND"',
            "shared/base.yaml": "kind: Base\n",
            "app/link": TreeLink("../shared/base.yaml"),
        }
    )
    made = await plugins.generate(recipe(PARAM_KIND="Made"), tree)
    assert documents(made) == [{"kind": "Base"}, {"kind": "Made"}]


async def test_a_plugin_recognises_the_files_that_it_looks_for(plugins: PluginSidecars) -> None:
    assert await plugins.match(recipe(), script("true")) is PluginMatch.MATCHES
    other = WrittenTree({"app/Chart.yaml": "name: x"})
    assert await plugins.match(recipe(x="1"), other) is PluginMatch.DIFFERS
    assert plugins.names() == (NAME,)


async def test_a_plugin_announces_its_parameters(plugins: PluginSidecars) -> None:
    tree = script("true", **{"app/parameters.json": '[{"name": "region", "required": true}]'})
    assert await plugins.announcements(recipe(), tree) == (
        PluginAnnouncement("region", required=True),
        PluginAnnouncement("replicas", title="Replicas", item_type="number", string="2"),
    )


async def test_an_error_quotes_the_plugin_and_not_its_scratch_folder(
    plugins: PluginSidecars,
) -> None:
    error = await failure(plugins, script("echo no values in $(pwd)/x.yaml >&2; exit 3"))
    assert error.reason is Reason.PLUGIN_FAILED
    assert "no values in /app/x.yaml" in error.message
    assert "exit status 3" in error.message


async def test_a_crash_is_an_error_of_the_plugin(plugins: PluginSidecars) -> None:
    error = await failure(plugins, script("kill -9 $$"))
    assert error.reason is Reason.PLUGIN_FAILED
    assert "killed" in error.message


async def test_what_is_no_yaml_is_refused(plugins: PluginSidecars) -> None:
    error = await failure(plugins, script("echo '{{'"))
    assert error.reason is Reason.PLUGIN_FAILED


class TestLimits:
    @pytest.fixture
    def limits(self) -> PluginLimits:
        return PluginLimits(
            output_bytes=1 << 16,
            repository_bytes=1 << 20,
            exclude=("docs", "*/*.bin"),
        )

    async def test_a_render_that_hangs_ends_and_is_not_tried_again(
        self, plugins: PluginSidecars, tmp_path: Path
    ) -> None:
        plugins.limits = PluginLimits(deadline=1)
        tree = script("sleep 100")
        assert (await failure(plugins, tree)).reason is Reason.DEADLINE_EXCEEDED
        plugins.client = PluginClient(tmp_path / "missing")
        assert (await failure(plugins, tree)).reason is Reason.DEADLINE_EXCEEDED
        with pytest.raises(RenderError, match="cannot be started"):
            await plugins.generate(recipe(), tree, hard=True)

    async def test_too_much_output_is_refused(self, plugins: PluginSidecars) -> None:
        error = await failure(
            plugins, script("echo -n 'a: '; head -c 300000 /dev/zero | tr '\\0' x")
        )
        assert error.reason is Reason.OUTPUT_TOO_LARGE

    async def test_a_large_repository_is_not_sent(self, plugins: PluginSidecars) -> None:
        tree = WrittenTree({"app/generate.sh": "true", "big": bytes(2 << 20)})
        with pytest.raises(RenderError, match="GITOPS_PLUGINS_EXCLUDE"):
            await plugins.generate(recipe(), tree)

    async def test_what_is_excluded_is_not_sent(self, plugins: PluginSidecars) -> None:
        tree = WrittenTree(
            {
                "app/generate.sh": 'echo "found: [$(cd ..; find . -type f | sort | tr "\\n" ,)]"',
                "app/large.bin": bytes(2 << 20),
                "docs/deep/x.md": bytes(2 << 20),
                "deep/er/x.bin": "kept",
            }
        )
        found = await plugins.generate(recipe(), tree)
        assert documents(found) == [{"found": ["./app/generate.sh", "./deep/er/x.bin"]}]

    async def test_a_link_out_of_the_repository_is_not_sent(self, plugins: PluginSidecars) -> None:
        tree = WrittenTree({"app/generate.sh": "true", "app/x": TreeLink("../../etc/passwd")})
        with pytest.raises(RenderError) as caught:
            await plugins.generate(recipe(), tree)
        assert caught.value.reason is Reason.OUTSIDE_REPOSITORY


async def test_a_cancelled_render_leaves_no_turn_and_no_process(
    plugins: PluginSidecars, tmp_path: Path
) -> None:
    begun = tmp_path / "begun"
    tree = script(f"touch {begun}; sleep 100")
    tasks = [asyncio.create_task(plugins.generate(recipe(x=str(n)), tree)) for n in range(2)]
    await eventually(begun.exists)
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)
    made = await plugins.generate(recipe(), script("echo 'kind: Made'"))
    assert documents(made) == [{"kind": "Made"}]


async def test_one_project_never_has_all_turns(plugins: PluginSidecars, tmp_path: Path) -> None:
    plugins.limits = PluginLimits(parallel=2, patience=0.2)
    begun = tmp_path / "begun"
    tree = script(f"touch {begun}; sleep 100")
    hanging = asyncio.create_task(plugins.generate(recipe(), tree, project="a"))
    await eventually(begun.exists)
    with pytest.raises(RendererBusyError):
        await plugins.generate(recipe(), script("true"), project="a")
    assert await plugins.generate(recipe(), script("true"), project="b") == b""
    hanging.cancel()
    await asyncio.wait([hanging])


async def test_a_discovery_that_fails_on_one_source_is_no_failure_of_others(
    sidecar: PluginSidecar, plugins: PluginSidecars, tmp_path: Path
) -> None:
    searching = PluginSidecar(
        binary=sidecar.binary,
        folder=tmp_path / "searching",
        sockets=sidecar.sockets,
        name="searching",
        spec={
            "generate": {"command": ["true"]},
            "discover": {"find": {"command": ["sh", "find.sh"]}},
        },
    )
    async with searching.running():
        with pytest.raises(RenderError, match="not mine"):
            await plugins.match(
                recipe("searching"), WrittenTree({"app/find.sh": "echo not mine >&2; exit 1"})
            )
        found = await plugins.match(
            recipe("searching", x="1"), WrittenTree({"app/find.sh": "echo yes"})
        )
        assert found is PluginMatch.MATCHES


async def test_a_server_that_answers_nothing_is_not_asked_by_each_application(
    plugin_client_binary: Path, tmp_path: Path
) -> None:
    asked = 0

    async def count(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal asked
        asked += 1
        writer.close()

    now = 0.0
    plugins = PluginSidecars(
        folder=tmp_path,
        client=PluginClient(plugin_client_binary),
        scratch=tmp_path,
        limits=PluginLimits(check_deadline=1),
        now=lambda: now,
    )
    server = await asyncio.start_unix_server(count, tmp_path / "broken.sock")
    async with server:
        for number in range(3):
            with pytest.raises(RenderError, match="'broken'"):
                await plugins.match(recipe("broken", x=str(number)), script("true"))
        before = asked
        with pytest.raises(RenderError, match="'broken'"):
            await plugins.match(recipe("broken", x="4"), script("true"))
        assert asked == before
        now = 31.0
        with pytest.raises(RenderError, match="'broken'"):
            await plugins.match(recipe("broken", x="5"), script("true"))
        assert asked > before


async def test_a_plugin_that_wants_the_credential_of_a_repository_is_refused(
    sidecar: PluginSidecar, plugins: PluginSidecars, tmp_path: Path
) -> None:
    greedy = PluginSidecar(
        binary=sidecar.binary,
        folder=tmp_path / "greedy",
        sockets=sidecar.sockets,
        name="greedy",
        spec={"generate": {"command": ["env"]}, "provideGitCreds": True},
    )
    async with greedy.running():
        with pytest.raises(RenderError, match="provideGitCreds"):
            await plugins.match(recipe("greedy"), script("true"))


async def test_a_plugin_that_is_gone_is_named(plugins: PluginSidecars) -> None:
    with pytest.raises(RenderError) as caught:
        await plugins.generate(recipe("other"), script("true"))
    assert caught.value.reason is Reason.PLUGIN_NOT_FOUND
    assert "'other'" in caught.value.message


async def test_without_its_program_a_plugin_fails_with_the_variable_to_set(
    plugins: PluginSidecars, tmp_path: Path
) -> None:
    plugins.client = PluginClient(tmp_path / "missing")
    with pytest.raises(RenderError, match="missing cannot be started"):
        await plugins.generate(recipe(), script("true"))


def test_only_sockets_with_the_name_of_a_plugin_are_plugins(tmp_path: Path) -> None:
    def bound(name: str) -> None:
        with socket.socket(socket.AF_UNIX) as one:
            one.bind(str(tmp_path / name))

    bound("cue-v1.sock")
    bound("-x.sock")
    bound("other")
    (tmp_path / "file.sock").write_text("")
    (tmp_path / "link.sock").symlink_to(tmp_path / "cue-v1.sock")
    (found,) = plugin_sockets(tmp_path)
    assert found.name == "cue-v1"
    found.path.unlink()
    bound("cue-v1.sock")
    (again,) = plugin_sockets(tmp_path)
    assert again.identity != found.identity


async def test_the_check_names_each_plugin_and_whether_it_answers(
    sidecar: PluginSidecar, plugin_client_binary: Path, tmp_path: Path
) -> None:
    def settings(folder: Path | None) -> Settings:
        return Settings(plugins={"folder": folder, "binary": plugin_client_binary})

    found = await probes.plugins(settings(sidecar.sockets))
    assert (found.ok, found.found) == (True, "scripts-v1 (recognises sources)")
    assert (await probes.plugins(settings(None))).found == "not configured"
    nothing = await probes.plugins(settings(tmp_path))
    assert (nothing.ok, nothing.found) == (False, f"no plugin answers in {tmp_path}")
    with socket.socket(socket.AF_UNIX) as one:
        one.bind(str(tmp_path / "dead.sock"))
    dead = await probes.plugins(settings(tmp_path))
    assert not dead.ok
    assert "the plugin 'dead' does not answer at its socket" in dead.found
    assert "docs/plugins.md" in dead.remedy
