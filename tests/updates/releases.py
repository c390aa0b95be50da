"""Releases of Handrail made from this source, an index on loopback that offers them, and installations."""

from __future__ import annotations

import base64
import ensurepip
import hashlib
import http.server
import os
import subprocess
import sys
import sysconfig
import threading
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest

import handrail
from tests.surfaces.cli.tool import Ran

OLD, NEW = handrail.__version__, "7.1.0"
SITE = Path(handrail.__file__).parent.parent
PACKAGES = ("handrail", "handrail_code", "handrail_serve", "handrail_team")
PIPX = Path(sys.executable).parent / "pipx"
SECONDS = 240
HUGE = 33_554_433
"""One byte more than is read."""
JSON = "application/vnd.pypi.simple.v1+json"
README = "# Handrail\n\nRead me.\n\n## 99.0\n\n### Security\n\n- No release, but a heading.\n"
CHANGELOG = f"{README}\n# Changelog\n\n## Unreleased\n\n### Security\n\n- Later.\n"


def changelog(*entries: tuple[str, str]) -> str:
    """A long description that ends with these releases, each with one line under its heading."""
    told = [f"\n## {version} - 2027-01-01\n\n### {heading}\n\n- A line.\n" for version, heading in entries]
    return CHANGELOG + "".join(told)


def wheel(folder: Path, version: str, description: str = "") -> Path:
    """This package under another version, without what it depends on: the installation borrows that.

    A module of a newer version refuses to be loaded into a process of this one, as a changed module might.
    """
    path = folder / f"handrail-{version}-py3-none-any.whl"
    info = f"handrail-{version}.dist-info"
    content = {
        file.relative_to(SITE).as_posix(): file.read_bytes()
        for package in PACKAGES
        for file in sorted((SITE / package).rglob("*"))
        if file.is_file() and "__pycache__" not in file.parts
    }
    guard = f"\nimport handrail as _own\nassert _own.__version__ == {version!r}, 'another version runs'\n"
    home = "handrail/version.py"
    for name in [
        name for name in content if name.endswith(".py") and name not in ("handrail/__init__.py", home)
    ]:
        content[name] += guard.encode()
    stated = content[home].decode()
    content[home] = stated.replace(f'"{OLD}"', f'"{version}"').encode()
    content[f"{info}/METADATA"] = metadata(version, description)
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


def metadata(version: str, description: str = "") -> bytes:
    head = f"Metadata-Version: 2.1\nName: handrail\nVersion: {version}\nRequires-Python: >=3.11\n"
    return f"{head}\n{description}".encode() if description else head.encode()


def _record(data: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


class Index:
    """A package index on loopback whose answers a test chooses."""

    def __init__(self, folder: Path, versions: tuple[str, ...] = (OLD, NEW)) -> None:
        self.folder = folder
        self.wheels = {path.name: path for path in (wheel(folder, version) for version in versions)}
        self.stalled = threading.Event()
        self.healthy()
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

    def healthy(self) -> None:
        """Forget what a test chose."""
        self.trouble: dict[str, Any] = {}
        self.is_tampered = False
        self.rows: dict[str, dict[str, Any]] = {}
        """Further facts of a version: `yanked`, `requires-python`."""
        self.metadata: dict[str, bytes] = {}
        """The metadata file beside the wheel of a version."""
        self.seen: list[str] = []
        """The path of each request."""

    def answer(self, request: http.server.BaseHTTPRequestHandler) -> None:
        self.seen.append(request.path)
        if "stall" in self.trouble:
            self.stalled.wait(120)
        elif "drip" in self.trouble:
            self._drip(request)
        elif "status" in self.trouble:
            self._send(request, self.trouble["status"], headers={"Retry-After": "7"})
        elif "redirect" in self.trouble:
            self._send(request, 302, headers={"Location": self.trouble["redirect"]})
        elif "body" in self.trouble and request.path.rstrip("/").endswith("/handrail"):
            content, media = self.trouble["body"]
            self._send(request, 200, content, media)
        else:
            self._offer(request)

    def _drip(self, request: http.server.BaseHTTPRequestHandler) -> None:
        """A byte now and then, until the caller has enough."""
        request.send_response(200)
        request.send_header("Content-Type", JSON)
        request.end_headers()
        for _ in range(600):
            try:
                request.wfile.write(b" ")
            except OSError:
                return
            if self.stalled.wait(0.05):
                return

    def _offer(self, request: http.server.BaseHTTPRequestHandler) -> None:
        name = request.path.rstrip("/").rpartition("/")[2]
        version = name.removesuffix(".metadata").removeprefix("handrail-").partition("-py3")[0]
        if name.endswith(".metadata") and version in self.metadata:
            self._send(request, 200, self.metadata[version], "text/plain")
        elif name in self.wheels:
            self._send(request, 200, self.wheels[name].read_bytes(), "application/octet-stream")
        elif name == "handrail":
            self._send(request, 200, self.listing(), JSON)
        else:
            self._send(request, 404)

    def _send(
        self,
        request: http.server.BaseHTTPRequestHandler,
        status: int,
        content: bytes = b"",
        media: str = "text/plain",
        headers: dict[str, str] | None = None,
    ) -> None:
        request.send_response(status)
        told = {"Content-Type": media, "Content-Length": str(len(content)), **(headers or {})}
        for name, value in told.items():
            request.send_header(name, value)
        request.end_headers()
        if request.command == "GET":
            try:
                request.wfile.write(content)
            except OSError:
                return  # the caller had enough

    def digest(self, name: str) -> str:
        content = b"something else" if self.is_tampered else self.wheels[name].read_bytes()
        return hashlib.sha256(content).hexdigest()

    def listing(self) -> bytes:
        files = [
            {
                "filename": name,
                "url": f"/files/{name}",
                "hashes": {"sha256": self.digest(name)},
                "core-metadata": _version(name) in self.metadata,
                **self.rows.get(_version(name), {}),
            }
            for name in self.wheels
        ]
        return msgspec.json.encode({"meta": {"api-version": "1.0"}, "name": "handrail", "files": files})

    def close(self) -> None:
        self.stalled.set()
        self.server.shutdown()
        self.server.server_close()


def _version(name: str) -> str:
    return name.removeprefix("handrail-").partition("-py3")[0]


def name_index(home: Path, url: str, **update: Any) -> None:
    """Make this the index that `handrail update` asks in this home."""
    home.mkdir(mode=0o700, exist_ok=True)
    content = msgspec.json.encode({"update": {"index": url, **update}})
    (home / "config.json").write_bytes(content)


class Installation:
    """One copy of the program, put there by a package manager, in a home of its own."""

    def __init__(self, folder: Path, index: Index) -> None:
        self.folder = folder
        self.index = index
        self.home = folder / "home"
        self.home.mkdir(parents=True)
        name_index(self.home / ".handrail", index.url)
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
        return self.borrowing()

    def by_venv(self, version: str = OLD) -> Installation:
        self.python = self.folder / "venv" / "bin" / "python"
        self.uv("venv", "--python", sys.executable, str(self.folder / "venv"))
        self.uv("pip", "install", "--python", str(self.python), f"handrail=={version}")
        return self.borrowing()

    def by_pip(self) -> Installation:
        """A venv with a pip of its own, which reads pip's settings: the one that comes with Python."""
        self.environment |= {
            "PIP_DISABLE_PIP_VERSION_CHECK": "1",
            "PIP_NO_CACHE_DIR": "1",
            "PIP_COMPILE": "0",  # a few of its modules are loaded
            "PIP_NO_DEPS": "1",
        }
        self.by_venv()
        site = next(self.python.parent.parent.glob("lib/python*/site-packages"))
        packed = sorted(Path(ensurepip.__file__).parent.glob("_bundled/pip-*.whl"))
        if not packed:
            pytest.skip("this Python comes without pip")
        with zipfile.ZipFile(packed[-1]) as archive:
            archive.extractall(site)
        return self

    def as_before(self) -> Installation:
        """With the older release again, whatever a test did."""
        self.uv("pip", "install", "--python", str(self.python), f"handrail=={OLD}")
        return self

    def by_pipx(self, backend: str, version: str = OLD) -> Installation:
        self.environment |= {
            "PATH": f"{PIPX.parent}{os.pathsep}{self.environment['PATH']}",
            "PIPX_HOME": str(self.folder / "pipx"),
            "PIPX_BIN_DIR": str(self.folder / "bin"),
            "PIPX_MAN_DIR": str(self.folder / "man"),
            "PIP_INDEX_URL": self.index.url,
            "PIP_CONFIG_FILE": os.devnull,
            "PIP_COMPILE": "0",
        }
        self.python = self.folder / "pipx" / "venvs" / "handrail" / "bin" / "python"
        self._ran(
            *(str(PIPX), "install", "--skip-maintenance", "--backend", backend),
            *("--python", sys.executable, f"handrail=={version}"),
        )
        return self.borrowing()

    def borrowing(self) -> Installation:
        """msgspec and the others come from the environment that runs the tests."""
        site = next(self.python.parent.parent.glob("lib/python*/site-packages"))
        (site / "borrowed.pth").write_text(f"{sysconfig.get_path('purelib')}\n", encoding="utf-8")
        return self

    def uv(self, *arguments: str) -> None:
        self._ran("uv", *arguments)

    def _ran(self, *command: str) -> None:
        done = subprocess.run(
            command, env=self.environment, capture_output=True, timeout=SECONDS, check=False
        )
        assert done.returncode == 0, done.stderr.decode()

    def command(self, *arguments: str) -> list[str]:
        return [str(self.python), "-P", "-c", "from handrail.main import console; console()", *arguments]

    def run(
        self,
        *arguments: str,
        environment: Mapping[str, str] | None = None,
        without: tuple[str, ...] = (),
        cwd: Path | None = None,
    ) -> Ran:
        own = {name: value for name, value in self.environment.items() if name not in without}
        done = subprocess.run(
            self.command(*arguments),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            cwd=cwd or self.folder,
            env={**own, **(environment or {})},
            timeout=SECONDS,
            check=False,
        )
        return Ran(status=done.returncode, out=done.stdout, err=done.stderr)

    def version(self) -> str:
        return self.run("--version").out.decode().split()[1]
