"""An installation without a package beside the core: its commands are known and say what is missing."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

HIDE = """
import sys
hidden = sys.argv[1].split(",")
class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in hidden:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Hidden())
from handrail.main import main
sys.argv = ["handrail", *sys.argv[2:]]
sys.exit(main())
"""


def run_without(package: str, home: Path, *line: str) -> subprocess.CompletedProcess[str]:
    """A command line in an installation that lacks this package."""
    return subprocess.run(
        [sys.executable, "-c", HIDE, package, *line],
        cwd=home,
        env={"HANDRAIL_HOME": str(home / "store"), "PATH": "/usr/bin:/bin"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize(
    ("package", "line"),
    [
        ("handrail_code", ("code", "search", "greet")),
        ("handrail_code", ("code", "rename", "greet", "--to", "welcome")),
        ("handrail_code", ("js-scan", "--search", "greet")),
        ("handrail_code", ("mcp", "--set", "code")),
        ("handrail_serve", ("serve", "--port", "0")),
    ],
)
@pytest.mark.thorough
def test_command_of_a_missing_part_names_its_install_line(
    package: str, line: tuple[str, ...], tmp_path: Path
) -> None:
    answered = run_without(package, tmp_path, *line, "--json")

    error = json.loads(answered.stdout)["error"]
    assert (answered.returncode, error["code"]) == (4, "E_CONFIG")
    assert package in error["message"]
    assert error["details"]["reason"] == "part_missing"
    assert " ".join(error["details"]["install_command"]) in error["details"]["hint"]


def test_it_is_listed_and_its_help_says_what_is_missing(tmp_path: Path) -> None:
    listed = run_without("handrail_code", tmp_path, "help", "code")
    helped = run_without("handrail_code", tmp_path, "code", "search", "--help")
    served = run_without("handrail_serve", tmp_path, "serve", "--help")

    assert "code search" in listed.stdout
    assert "code status" in listed.stdout
    assert (helped.returncode, "handrail_code" in helped.stdout) == (0, True)
    assert "pip install" in helped.stdout
    assert "The command serve comes with handrail_serve" in served.stdout


@pytest.mark.thorough
def test_everything_else_works_without_it(tmp_path: Path) -> None:
    started = run_without(
        "handrail_code", tmp_path, "run", "start", "wr.small_change", "--goal", "x", "--request-id", "one"
    )

    assert json.loads(started.stdout)["ok"] is True, started.stdout


OF_EXTRAS = "psycopg,psycopg_binary,jwt,sigstore"


@pytest.mark.thorough
def test_a_plain_install_serves_the_console(tmp_path: Path) -> None:
    """What an extra brings is missing there: no operation loads it before it is called."""
    environment = {"HANDRAIL_HOME": str(tmp_path / "store"), "PATH": "/usr/bin:/bin"}
    served = subprocess.Popen(
        [sys.executable, "-c", HIDE, OF_EXTRAS, "serve", "--port", "0"],
        cwd=tmp_path,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    try:
        assert served.stdout is not None
        address = served.stdout.readline().decode().strip()
        assert address.startswith("http://"), served.communicate(timeout=60)
        token = json.loads((tmp_path / "store/run/server.json").read_bytes())["token"]
        asked = urllib.request.Request(f"{address}api", headers={"Authorization": f"Bearer {token}"})
        with urllib.request.urlopen(asked, timeout=60) as answered:
            offered = answered.read()
    finally:
        served.terminate()
        served.communicate(timeout=60)

    assert b"session.list" in offered
    assert b"team.admit" in offered
    told = run_without(OF_EXTRAS, tmp_path, "team", "members", "--store", "postgresql:///x", "--json")
    assert ".[team]" in told.stdout
