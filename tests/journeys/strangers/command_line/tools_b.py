"""What several journeys of this folder share: runs to act on, an index of releases, an installed copy."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from tests.journeys.strangers.product import Product, Ran
from tests.updates.releases import JSON as LISTING

Json = dict[str, Any]

WHEEL = b"no wheel at all"


def started(product: Product, key: str, goal: str = "try", workflow: str = "wr.small_change") -> Json:
    """The data of a run that is begun under its own key."""
    return product.data("run", "start", workflow, "--goal", goal, "--request-id", key)


def session_ids(product: Product, count: int) -> list[str]:
    """The ids of new sessions, oldest first."""
    return [str(started(product, f"key-{at}", f"goal {at}")["session"]["sessionId"]) for at in range(count)]


def token_of(product: Product, *line: str) -> str:
    """The confirm token of a dry run."""
    return str(product.data(*line, "--dry-run")["confirm_token"])


def confirmed(product: Product, *line: str) -> Ran:
    """The same line twice: shown, then done."""
    return product.run(*line, "--confirm", token_of(product, *line))


def small_workflow(name: str, step: str = "only", prompt: str = "Do it.") -> Json:
    """A sound workflow of one step."""
    steps = [{"id": step, "title": "The step", "prompt": prompt}]
    return {"id": name, "name": "Small", "version": "1.0.0", "description": "One step.", "steps": steps}


def tree(place: Path) -> dict[str, bytes]:
    """Every file below a place with its bytes."""
    return {str(path.relative_to(place)): path.read_bytes() for path in place.rglob("*") if path.is_file()}


def stored(product: Product) -> set[str]:
    """The ids of the sessions that lie in the store."""
    place = product.home / "data" / "sessions"
    return (
        {path.name for path in place.iterdir() if path.name.startswith("ses_")} if place.exists() else set()
    )


def paths_of(value: Any, at: str = "") -> Iterator[tuple[str, Any]]:
    """Every value of a document with its dotted path; lists do not count as a level."""
    if isinstance(value, dict):
        for key, part in value.items():
            name = f"{at}.{key}" if at else str(key)
            yield name, part
            yield from paths_of(part, name)
    elif isinstance(value, list):
        for part in value:
            yield from paths_of(part, at)


def reference(product: Product) -> Json:
    return product.data("reference")


def skill_of(product: Product) -> Path:
    """The skill as `setup` puts it into the home of the user."""
    ran = confirmed(product, "setup", "--clients", "cursor")
    assert ran.status == 0, ran
    return Path(product.environment["HOME"]) / ".agents" / "skills" / "handrail"


class Index:
    """A package index on this machine that answers as it is told."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.versions = ["0.1.0"]
        self.status = 200
        self.wheel = WHEEL
        self.sha256: str | None = None
        self.hangs = threading.Event()
        self.hangs.set()
        index = self

        class Answer(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                index.asked.append(self.path)
                index.hangs.wait(timeout=120)
                status, body = index.answer(self.path)
                self.send_response(status)
                self.send_header("Content-Type", LISTING)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *words: object) -> None:
                return None

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Answer)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/simple/"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def answer(self, path: str) -> tuple[int, bytes]:
        if path.endswith(".whl"):
            return self.status, self.wheel
        if not path.endswith("/handrail/"):
            return 404, b""
        files = [
            {
                "filename": f"handrail-{version}-py3-none-any.whl",
                "url": f"/files/handrail-{version}-py3-none-any.whl",
                "hashes": {"sha256": self.sha256 or hashlib.sha256(self.wheel).hexdigest()},
                "requires-python": ">=3.11",
            }
            for version in self.versions
        ]
        page = {"meta": {"api-version": "1.1"}, "name": "handrail", "versions": self.versions, "files": files}
        return self.status, json.dumps(page).encode()

    def used_by(self, product: Product) -> None:
        """Makes this the index of a home."""
        product.home.mkdir(mode=0o700, exist_ok=True)
        (product.home / "config.json").write_text(
            json.dumps({"update": {"index": self.url}}), encoding="utf-8"
        )

    def close(self) -> None:
        self.hangs.set()
        self.server.shutdown()
        self.server.server_close()
