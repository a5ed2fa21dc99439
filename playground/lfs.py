"""The batch API of Git LFS at the Git host: objects beside a repository, or elsewhere."""

import hashlib
from dataclasses import dataclass, field

import msgspec
from aiohttp import web

BATCH = "/info/lfs/objects/batch"
_OBJECTS = "/info/lfs/objects/"
TOKEN = {"X-Object-Token": "for-one-object"}
_MEDIA_TYPE = "application/vnd.git-lfs+json"


@dataclass
class LfsStore:
    """Whatever is here can be read; `elsewhere` is the address below which it is then."""

    objects: dict[str, bytes] = field(default_factory=dict)
    elsewhere: str = ""

    def put(self, content: bytes) -> bytes:
        """Keep an object; returns its pointer."""
        digest = hashlib.sha256(content).hexdigest()
        self.objects[digest] = content
        return pointer(digest, len(content))

    async def answer(self, request: web.Request, repository: str) -> web.Response:
        """Answer for the repository at this address; every request has its login already."""
        if not request.path.endswith(BATCH):
            content = self.objects.get(request.path.rpartition("/")[2])
            is_known = request.headers.get("X-Object-Token") == TOKEN["X-Object-Token"]
            return web.Response(body=content) if content and is_known else web.Response(status=403)
        asked = msgspec.json.decode(await request.read())["objects"]
        base = self.elsewhere or f"{repository}{_OBJECTS}"
        body = {"transfer": "basic", "objects": [self._one(it, base) for it in asked]}
        return web.Response(body=msgspec.json.encode(body), content_type=_MEDIA_TYPE)

    def _one(self, asked: dict[str, object], base: str) -> dict[str, object]:
        digest = str(asked["oid"])
        if digest not in self.objects:
            return {**asked, "error": {"code": 404, "message": "Object does not exist"}}
        return {**asked, "actions": {"download": {"href": f"{base}{digest}", "header": TOKEN}}}


def pointer(digest: str, size: int) -> bytes:
    text = f"version https://git-lfs.github.com/spec/v1\noid sha256:{digest}\nsize {size}\n"
    return text.encode()
