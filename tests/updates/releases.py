"""Releases of Handrail made from this source, an index on loopback that offers them, and installations."""

from __future__ import annotations

import base64
import hashlib
import http.server
import os
import subprocess
import sys
import sysconfig
import threading
import zipfile
from pathlib import Path
from typing import Any

import msgspec

import handrail
from tests.surfaces.cli.tool import Ran

OLD, NEW = handrail.__version__, "7.1.0"
PACKAGE = Path(handrail.__file__).parent
SECONDS = 240


def wheel(folder: Path, version: str) -> Path:
    """This package under another version, without what it depends on: the installation borrows that."""
    path = folder / f"handrail-{version}-py3-none-any.whl"
    info = f"handrail-{version}.dist-info"
    content = {
        f"handrail/{file.relative_to(PACKAGE).as_posix()}": file.read_bytes()
        for file in sorted(PACKAGE.rglob("*"))
        if file.is_file() and "__pycache__" not in file.parts
    }
    stated = content["handrail/__init__.py"].decode()
    content["handrail/__init__.py"] = stated.replace(f'"{OLD}"', f'"{version}"').encode()
    metadata = f"Metadata-Version: 2.1\nName: handrail\nVersion: {version}\nRequires-Python: >=3.11\n"
    content[f"{info}/METADATA"] = metadata.encode()
    content[f"{info}/WHEEL"] = (
        b"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    )
    content[f"{info}/entry_points.txt"] = b"[console_scripts]\nhandrail = handrail.main:console\n"
    lines = [f"{name},sha256={_record(data)},{len(data)}" for name, data in content.items()]
    content[f"{info}/RECORD"] = "\n".join([*lines, f"{info}/RECORD,,", ""]).encode()
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in content.items():
            archive.writestr(name, data)
    return path


def _record(data: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


class Index:
    """A package index on loopback whose answers a test chooses."""

    def __init__(self, folder: Path, versions: tuple[str, ...] = (OLD, NEW)) -> None:
        self.wheels = {path.name: path for path in (wheel(folder, version) for version in versions)}
        self.stalled = threading.Event()
        self.trouble: dict[str, Any] = {}
        self.is_tampered = False
        self.is_json = True
        index = self

        class Answering(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                index.answer(self)

            def do_HEAD(self) -> None:
                index.answer(self)

            def log_message(self, *_: Any) -> None:
                return

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answering)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_port}/simple"

    def answer(self, request: http.server.BaseHTTPRequestHandler) -> None:
        if "stall" in self.trouble:
            self.stalled.wait(30)
            return
        if "status" in self.trouble:
            request.send_response(self.trouble["status"])
            request.send_header("Retry-After", "7")
            request.end_headers()
            return
        name = request.path.rstrip("/").rpartition("/")[2]
        media = "application/octet-stream"
        if name in self.wheels:
            content = self.wheels[name].read_bytes()
        elif name != "handrail":
            request.send_response(404)
            request.end_headers()
            return
        elif self.is_json:
            content, media = self.listing(), "application/vnd.pypi.simple.v1+json"
        else:
            content, media = self.page(), "text/html"
        request.send_response(200)
        request.send_header("Content-Type", media)
        request.send_header("Content-Length", str(len(content)))
        request.end_headers()
        if request.command == "GET":
            request.wfile.write(content)

    def digest(self, name: str) -> str:
        content = b"something else" if self.is_tampered else self.wheels[name].read_bytes()
        return hashlib.sha256(content).hexdigest()

    def listing(self) -> bytes:
        files = [
            {"filename": name, "url": f"/files/{name}", "hashes": {"sha256": self.digest(name)}}
            for name in self.wheels
        ]
        return msgspec.json.encode({"meta": {"api-version": "1.0"}, "name": "handrail", "files": files})

    def page(self) -> bytes:
        links = [f'<a href="/files/{name}#sha256={self.digest(name)}">{name}</a>' for name in self.wheels]
        return f"<!DOCTYPE html><html><body>{''.join(links)}</body></html>".encode()

    def close(self) -> None:
        self.stalled.set()
        self.server.shutdown()
        self.server.server_close()


class Installation:
    """One copy of the program, put there by a package manager, in a home of its own."""

    def __init__(self, folder: Path, index: Index) -> None:
        self.folder = folder
        self.index = index
        self.home = folder / "home"
        self.home.mkdir(parents=True)
        self.environment = {
            "PATH": os.environ.get("PATH", os.defpath),
            "HOME": str(self.home),
            "UV_TOOL_DIR": str(folder / "tools"),
            "UV_TOOL_BIN_DIR": str(folder / "bin"),
            "UV_CACHE_DIR": str(folder / "cache"),
            "UV_DEFAULT_INDEX": index.url,
            "UV_PYTHON_DOWNLOADS": "never",
            "UV_NO_CONFIG": "1",
        }
        self.python = folder / "tools" / "handrail" / "bin" / "python"

    def by_uv_tool(self, version: str = OLD) -> Installation:
        self.uv("tool", "install", "--force", "--refresh", "--python", sys.executable, f"handrail=={version}")
        # The newest release is wanted from now on, not just this one.
        receipt = self.folder / "tools" / "handrail" / "uv-receipt.toml"
        text = receipt.read_text(encoding="utf-8").replace(f', specifier = "=={version}"', "")
        receipt.write_text(text, encoding="utf-8")
        return self.borrowing()

    def by_venv(self, version: str = OLD) -> Installation:
        self.python = self.folder / "venv" / "bin" / "python"
        self.uv("venv", "--python", sys.executable, str(self.folder / "venv"))
        self.uv("pip", "install", "--python", str(self.python), f"handrail=={version}")
        return self.borrowing()

    def borrowing(self) -> Installation:
        """msgspec and the others come from the environment that runs the tests."""
        site = next(self.python.parent.parent.glob("lib/python*/site-packages"))
        (site / "borrowed.pth").write_text(f"{sysconfig.get_path('purelib')}\n", encoding="utf-8")
        return self

    def uv(self, *arguments: str) -> None:
        done = subprocess.run(
            ["uv", *arguments], env=self.environment, capture_output=True, timeout=SECONDS, check=False
        )
        assert done.returncode == 0, done.stderr.decode()

    def command(self, *arguments: str) -> list[str]:
        return [str(self.python), "-P", "-c", "from handrail.main import console; console()", *arguments]

    def run(self, *arguments: str, environment: dict[str, str] | None = None) -> Ran:
        done = subprocess.run(
            self.command(*arguments),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            cwd=self.folder,
            env={**self.environment, **(environment or {})},
            timeout=SECONDS,
            check=False,
        )
        return Ran(status=done.returncode, out=done.stdout, err=done.stderr)

    def version(self) -> str:
        return self.run("--version").out.decode().split()[1]
