"""The command of the unit reads its password as systemd shows it: under another user, in both modes."""

from __future__ import annotations

import os
import shlex
import socket
import struct
import subprocess
import sys
import sysconfig
import threading
from collections.abc import Sequence
from pathlib import Path

import psycopg
import pytest

from handrail.contract.outcome import Fault
from handrail_team.store.credential_file import NAME, add_password
from handrail_team.store.database import find_secrets
from tests.referees.equipment import ROOT

pytestmark = pytest.mark.thorough

UNIT = Path(ROOT, "deploy/handrail-team.service").read_text(encoding="utf-8")
PASSWORD = "with 'quotes' and spaces"
USER, GROUP = 65_534, 65_533
SECONDS = 60


class FakeDatabase:
    """Asks whoever connects for a password, as PostgreSQL does, and keeps what it is told."""

    def __init__(self) -> None:
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port = self._socket.getsockname()[1]
        self.told = ""
        self.heard = threading.Event()
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while not self.heard.is_set():
            link, _ = self._socket.accept()
            with link:
                self._talk(link)

    def _talk(self, link: socket.socket) -> None:
        while True:
            size, code = struct.unpack("!II", link.recv(8, socket.MSG_WAITALL))
            link.recv(size - 8, socket.MSG_WAITALL)
            if code == 3 << 16:
                break
            link.sendall(b"N")  # neither TLS nor GSS
        link.sendall(b"R" + struct.pack("!II", 8, 3))
        kind, size = struct.unpack("!cI", link.recv(5, socket.MSG_WAITALL))
        assert kind == b"p"
        self.told = link.recv(size - 4, socket.MSG_WAITALL).rstrip(b"\0").decode()
        self._socket.close()
        self.heard.set()


def write_credential(folder: Path, mode: int, owner: tuple[int, int]) -> Path:
    place = folder / "credentials"
    place.mkdir(mode=0o755)
    (place / NAME).write_text(PASSWORD + "\n", encoding="utf-8")
    os.chmod(place / NAME, mode)
    os.chown(place / NAME, *owner)
    return place


def read_unit() -> list[str]:
    (line,) = [one for one in UNIT.splitlines() if one.startswith("ExecStart=")]
    words = shlex.split(
        line.removeprefix("ExecStart=").replace("${HANDRAIL_ORIGIN}", "https://h.example.com")
    )
    assert words[0] == "/usr/local/bin/handrail"
    return words[1:]


MODES = [(0o400, (USER, GROUP)), (0o440, (0, GROUP))]
"""A file of the service's own, and one of root that its group may read."""
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root becomes another user")


def open_to_all(folder: Path) -> None:
    """Let another user reach a folder of this test."""
    for one in (folder, *folder.parents):
        if one.stat().st_uid == os.geteuid() and one.stat().st_mode & 0o077 == 0:
            one.chmod(0o711)


def become_service() -> None:
    os.setgroups([])
    os.setgid(GROUP)
    os.setuid(USER)


@as_root
@pytest.mark.parametrize(("mode", "owner"), MODES)
def test_another_user_reads_its_credential(tmp_path: Path, mode: int, owner: tuple[int, int]) -> None:
    open_to_all(tmp_path)
    given = {"CREDENTIALS_DIRECTORY": str(write_credential(tmp_path, mode, owner))}
    ours, theirs = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            become_service()
            os.write(theirs, add_password("postgresql://h@db/h", given).encode())
        finally:
            os._exit(0)
    os.close(theirs)
    with os.fdopen(ours, "rb") as told:
        address = told.read().decode()
    os.waitpid(child, 0)

    assert psycopg.conninfo.conninfo_to_dict(address)["password"] == PASSWORD


def start_unit(
    home: Path, credentials: Path, port: int, python: Sequence[str] = (sys.executable,)
) -> subprocess.Popen[bytes]:
    environment = {
        "CREDENTIALS_DIRECTORY": str(credentials),
        "HANDRAIL_HOME": str(home),
        "HANDRAIL_STORE": f"postgresql://handrail@127.0.0.1:{port}/handrail",
        "HOME": str(home),
        "PATH": os.environ["PATH"],
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    return subprocess.Popen(
        [*python, "-m", "handrail.main", *read_unit(), "--port", "0"],
        env=environment,
        cwd=home,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
    )


def hear_password(process: subprocess.Popen[bytes], database: FakeDatabase) -> None:
    """The database is told the password, and nobody else."""
    try:
        heard = database.heard.wait(SECONDS)
    finally:
        process.kill()
        out, err = process.communicate(timeout=SECONDS)
    assert heard, err.decode()
    assert database.told == PASSWORD
    assert PASSWORD.encode() not in out + err


def test_the_unit_hands_its_password_to_the_database(tmp_path: Path) -> None:
    database = FakeDatabase()
    credentials = write_credential(tmp_path, 0o400, (os.geteuid(), os.getegid()))
    (tmp_path / "home").mkdir()

    hear_password(start_unit(tmp_path / "home", credentials, database.port), database)


def show_to_another_user(folder: Path) -> list[str]:
    """The command that starts this interpreter with our package as the service's user, wherever both lie.

    They are mounted in a readable folder, in a mount namespace that ends with the process.
    """
    shown = {
        "python": sys.base_prefix,
        "packages": sysconfig.get_path("purelib"),
        "src": str(Path(ROOT, "src")),
    }
    for name in shown:
        (folder / name).mkdir()
    mounts = [f"mount --bind {shlex.quote(place)} {folder / name}" for name, place in shown.items()]
    who = f"setpriv --reuid={USER} --regid={GROUP} --clear-groups --no-new-privs"
    paths = f"PYTHONPATH={folder}/src:{folder}/packages LD_LIBRARY_PATH={folder}/python/lib"
    program = f"{folder}/python/bin/python{sys.version_info[0]}.{sys.version_info[1]}"
    line = " && ".join([*mounts, f'exec env {paths} {who} -- {program} "$@"'])
    return ["unshare", "--mount", "--propagation", "private", "sh", "-c", line, "sh"]


@as_root
@pytest.mark.parametrize(("mode", "owner"), MODES)
def test_the_unit_starts_under_another_user(tmp_path: Path, mode: int, owner: tuple[int, int]) -> None:
    open_to_all(tmp_path)
    home = tmp_path / "home"
    home.mkdir()
    os.chown(home, USER, GROUP)
    command = show_to_another_user(tmp_path)
    tried = subprocess.run(
        [*command, "-c", "import os, msgspec, handrail; print(os.getuid())"],
        capture_output=True,
        check=False,
        cwd=home,
        encoding="utf-8",
    )
    if "mount: " in tried.stderr or "unshare: " in tried.stderr:
        pytest.skip(f"nothing can be mounted here: {tried.stderr.strip()}")
    assert tried.stdout == f"{USER}\n", tried.stderr
    database = FakeDatabase()
    credentials = write_credential(tmp_path, mode, owner)

    hear_password(start_unit(home, credentials, database.port, command), database)


def test_a_password_in_the_address_comes_first(tmp_path: Path) -> None:
    (tmp_path / NAME).write_text("of the file", encoding="utf-8")
    given = {"CREDENTIALS_DIRECTORY": str(tmp_path)}

    assert add_password("postgresql://h:own@db/h", given) == "postgresql://h:own@db/h"
    assert "of the file" in add_password("postgresql://h@db/h", given)
    assert add_password("postgresql://h@db/h", {}) == "postgresql://h@db/h"


def test_the_password_of_the_file_is_a_secret_of_the_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / NAME).write_text("of the file", encoding="utf-8")
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(tmp_path))

    assert "of the file" in find_secrets("postgresql://h@db/h")


@pytest.mark.parametrize("content", ["", "two\nlines", "\n"])
def test_a_credential_that_is_no_password_is_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / NAME).write_text(content, encoding="utf-8")

    with pytest.raises(Fault, match="database-password cannot be used"):
        add_password("postgresql://h@db/h", {"CREDENTIALS_DIRECTORY": str(tmp_path)})
