"""One server of the playground: its address, and the ways to break it and bring it back."""

from dataclasses import dataclass

from agent.child_process import ChildProcess


@dataclass(frozen=True, slots=True)
class Server:
    """Stopping keeps folder and port, so that `start` brings back the same server."""

    url: str
    child: ChildProcess
    metrics_url: str = ""
    """Of health and metrics, where they have a port of their own."""

    async def start(self) -> None:
        await self.child.start()

    async def stop(self) -> None:
        await self.child.stop()

    def kill(self) -> None:
        """As a crash would."""
        self.child.kill()
