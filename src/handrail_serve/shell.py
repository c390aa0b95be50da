"""The page without data that every address of the Console returns, and the files that it loads.

The name of a file carries a digest of its content, so a browser may keep it for good.
"""

from __future__ import annotations

import os
import re
from functools import cache
from hashlib import sha256

import msgspec

from handrail_serve.exchange import HTML_TYPE, Headers, Response

_STATIC = os.path.join(os.path.dirname(os.path.abspath(__file__)), "static")
_TYPES = {
    "js": b"text/javascript; charset=utf-8",
    "css": b"text/css; charset=utf-8",
    "svg": b"image/svg+xml",
    "png": b"image/png",
    "woff2": b"font/woff2",
}
_SHELL = "shell.html"
_NAMED = re.compile(r"\{\{([a-z0-9_-]+\.[a-z0-9]+)\}\}")
"""Where the shell, a module or a style sheet names another file."""
_KEPT: Headers = ((b"cache-control", b"public, max-age=31536000, immutable"),)


class Asset(msgspec.Struct, frozen=True, kw_only=True):
    """A file that pages load."""

    media_type: bytes
    body: bytes


class Static(msgspec.Struct, frozen=True, kw_only=True):
    """The shell and every asset by its public name."""

    shell: bytes
    assets: dict[str, Asset]


@cache
def load_static() -> Static:
    """Read the files once; `{{name.ext}}` in them becomes the address of that file."""
    addresses: dict[str, str] = {}
    assets: dict[str, Asset] = {}

    def address_of(name: str) -> str:
        if name not in addresses:
            body = resolve(name)
            stem, _, ending = name.rpartition(".")
            public = f"{stem}.{sha256(body).hexdigest()[:8]}.{ending}"
            assets[public] = Asset(media_type=_TYPES[ending], body=body)
            addresses[name] = f"/assets/{public}"
        return addresses[name]

    def resolve(name: str) -> bytes:
        with open(os.path.join(_STATIC, name), "rb") as file:
            content = file.read()
        if not name.endswith((".html", ".js", ".css")):
            return content
        return _NAMED.sub(lambda found: address_of(found.group(1)), content.decode()).encode()

    for name in sorted(os.listdir(_STATIC)):
        if name.rpartition(".")[2] in _TYPES:
            address_of(name)
    return Static(shell=resolve(_SHELL), assets=assets)


def shell_response() -> Response:
    return Response(headers=((b"content-type", HTML_TYPE),), body=load_static().shell)


def asset_response(name: str) -> Response | None:
    """The asset of this name; None where there is none."""
    asset = load_static().assets.get(name)
    if asset is None:
        return None
    return Response(headers=((b"content-type", asset.media_type), *_KEPT), body=asset.body)
