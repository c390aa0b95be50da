"""The hostile index: what a package index, or whoever stands before it, could answer, and what that tries.

What only is in trouble stands in `tests/updates/test_discovery.py` and belongs to the set; the rest is here.
`tests/hostile/index/test_index.py` puts each before every command that speaks to an index.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec

from handrail import __version__
from tests.updates.releases import JSON
from tests.updates.test_discovery import TROUBLES

SECRET = "open-sesame-of-the-index"
STEERING = "\x1b]0;owned\x07\x1b[2J\u202egnihton"
WHEEL = "handrail-99.0.0-py3-none-any.whl"
ELSEWHERE = "http://127.0.0.1:9"
"""A host where nobody listens."""


class IndexAttack(NamedTuple):
    """What `Index.trouble` is set to."""

    name: str
    tries: str
    trouble: dict[str, Any]


def index_attacks() -> list[IndexAttack]:
    """All of them."""
    trouble = [IndexAttack(name, "trouble", given) for name, given, _ in TROUBLES]
    return [*trouble, *_LISTINGS, *_SLOW]


def _listing(name: str, tries: str, *rows: dict[str, Any], **members: Any) -> IndexAttack:
    document = {"meta": {"api-version": "1.0"}, "name": "handrail", "files": list(rows), **members}
    return IndexAttack(name, tries, {"body": (msgspec.json.encode(document), JSON)})


def _file(filename: str = WHEEL, metadata: Any = False, **members: Any) -> dict[str, Any]:
    told = {"filename": filename, "url": f"/files/{filename}", "hashes": {"sha256": "0" * 64}}
    return told | {"core-metadata": metadata} | members


_SLOW_DEMAND: dict[str, Any] = {"requires-python": ">=3," * 50_000}
_LISTINGS = [
    _listing("wrong-checksum", "a release whose bytes are others", _file(metadata={"sha256": "1" * 64})),
    _listing("no-checksum", "a release without one", {"filename": WHEEL, "url": f"/files/{WHEEL}"}),
    _listing(
        "path-in-name", "a file outside of where files go", _file("../../../handrail-99.0.0-py3-none-any.whl")
    ),
    _listing("path-in-version", "the same by the version", _file("handrail-../../x-py3-none-any.whl")),
    _listing(
        "option-in-name", "to be an option of the manager", _file("--index-url=http://x-99-py3-none-any.whl")
    ),
    _listing("option-in-version", "the same by the version", _file("handrail---pre-py3-none-any.whl")),
    _listing("steering-name", "to steer the terminal", _file(f"handrail-99.0.0{STEERING}-py3-none-any.whl")),
    _listing("steering-reason", "the same from why it was withdrawn", _file(yanked=STEERING)),
    _listing(
        "markup-name",
        "to be a page in somebody's report",
        _file("handrail-<script>x</script>-py3-none-any.whl"),
    ),
    _listing(
        "login-in-address", "to have a login shown", _file(url=f"http://agent:{SECRET}@127.0.0.1:9/{WHEEL}")
    ),
    _listing(
        "login-in-query", "the same behind a question mark", _file(url=f"{ELSEWHERE}/{WHEEL}?token={SECRET}")
    ),
    _listing("no-address", "an address that cannot be read", _file(url="http://[x", metadata=True)),
    _listing("file-address", "a file of this machine", _file(url="file:///etc/passwd", metadata=True)),
    _listing("other-host", "a file from elsewhere", _file(url=f"{ELSEWHERE}/{WHEEL}", metadata=True)),
    _listing("downgrade", "an old release as the newest", _file("handrail-0.0.1-py3-none-any.whl")),
    _listing("withdrawn", "a release that was withdrawn", _file(yanked=True)),
    _listing(
        "endless-version",
        "a number that takes long to read",
        _file(f"handrail-{'9' * 20_000}-py3-none-any.whl"),
    ),
    _listing("epoch", "to be newer than all that will ever be", _file("handrail-99999!1.0-py3-none-any.whl")),
    _listing("slow-specifier", "a demand that takes long to read", _file(**_SLOW_DEMAND)),
    _listing("odd-members", "members of other kinds", _file(hashes=7, url=[], yanked={"a": 1}), versions=7),
    _listing(
        "many-files",
        "more files than any project has",
        *(_file(f"handrail-9.{n}-py3-none-any.whl") for n in range(30_000)),
    ),
    _listing("same-file", "one release many times", *(_file() for _ in range(5_000))),
    _listing(
        "this-version",
        "what is installed, with other bytes",
        _file(f"handrail-{__version__}-py3-none-any.whl"),
    ),
]
_SLOW = [
    IndexAttack("stall", "to be waited for", {"stall": True}),
    IndexAttack("drip", "to answer a byte at a time, for ever", {"drip": True}),
    IndexAttack(
        "login-elsewhere", "to send on with a login", {"redirect": f"http://agent:{SECRET}@127.0.0.1:9/"}
    ),
]
