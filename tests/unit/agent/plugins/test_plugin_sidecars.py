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
from bus.status import Reason
from handlers.ports import RendererBusyError
from handlers.ports.plugins import PluginMatch
from handlers.ports.rendering import PluginRecipe, Recipe, RenderError, SourceType
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
            parallel=1,
            deadline=2,
            patience=0.2,
            output_bytes=1 << 16,
            repository_bytes=1 << 20,
            exclude=("docs", "*/*.bin"),
        )

    async def test_a_render_that_hangs_ends_and_is_not_tried_again(
        self, plugins: PluginSidecars, tmp_path: Path
    ) -> None:
        count = tmp_path / "count"
        tree = script(f"echo x >> {count}; sleep 100")
        assert (await failure(plugins, tree)).reason is Reason.DEADLINE_EXCEEDED
        assert (await failure(plugins, tree)).reason is Reason.DEADLINE_EXCEEDED
        assert count.read_text() == "x\n"
        with pytest.raises(RenderError):
            await plugins.generate(recipe(), tree, hard=True)
        assert count.read_text() == "x\nx\n"

    async def test_while_it_hangs_others_come_back_later(
        self, plugins: PluginSidecars, tmp_path: Path
    ) -> None:
        begun = tmp_path / "begun"
        hanging = asyncio.create_task(
            plugins.generate(recipe(), script(f"touch {begun}; sleep 100"))
        )
        await eventually(begun.exists)
        with pytest.raises(RendererBusyError):
            await plugins.generate(recipe(), script("true"))
        with pytest.raises(RenderError):
            await hanging

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
