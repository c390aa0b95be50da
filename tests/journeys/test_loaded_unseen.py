"""What git does not list and a run depends on: ignore rules of the machine, files that load themselves."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import msgspec
import pytest

from handrail.host.check_programs import LocalCheckPrograms
from handrail.operations.checks.run_check import RunCheck, run_check
from tests.host.worktree.project import write
from tests.hostile.repository.checkout import run_git
from tests.journeys.doors import events_of, of_kind
from tests.journeys.test_odd_but_true import Reply, Repository, edit, entry, told

pytestmark = [
    pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed"),
    pytest.mark.promise("evidence.unseen-leaving"),
]

Hide: TypeAlias = Callable[[Path], object]
RUNNER = (sys.executable, "-B", "-m", "unittest", "discover")
RED = "import unittest\nclass T(unittest.TestCase):\n    def test_it(self):\n        self.fail('red')\n"
FAKE = "import sys\nif __name__ == '__main__':\n    sys.exit(0)\n"


class Site(Repository):
    """The repository, with an agent that runs commands through Handrail."""

    def __init__(self, place: Path) -> None:
        super().__init__(place)
        environment = {"PATH": os.environ["PATH"], "HOME": str(place)}
        programs = LocalCheckPrograms(environment, self.runtime.secrets)
        self.runtime = msgspec.structs.replace(self.runtime, check_programs=lambda: programs)

    def run(self, reply: Reply, *argv: str) -> dict[str, Any]:
        ran = run_check(self.runtime, RunCheck(argv=list(argv), state_token=reply["stateToken"]))
        self.settled(reply)
        assert isinstance(ran.data, dict)
        return ran.data


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path)


def _exclude(root: Path, line: str) -> object:
    return write(root, ".git/info/exclude", line)


def _set_own_rules(root: Path, line: str) -> object:
    write(root.parent, "rules", line)
    run_git(root, "config", "core.excludesFile", str(root.parent / "rules"))
    return root


HIDING: dict[str, Hide] = {
    "assume-unchanged": lambda root: run_git(root, "update-index", "--assume-unchanged", "src/old.py"),
    "skip-worktree": lambda root: run_git(root, "update-index", "--skip-worktree", "src/old.py"),
    "untracked": lambda root: run_git(root, "rm", "-q", "--cached", "src/old.py"),
    "untracked and excluded": lambda root: (
        run_git(root, "rm", "-q", "--cached", "src/old.py"),
        _exclude(root, "old.py\n"),
    ),
    "untracked and ignored by the user's own rules": lambda root: (
        run_git(root, "rm", "-q", "--cached", "src/old.py"),
        _set_own_rules(root, "old.py\n"),
    ),
}


@pytest.mark.parametrize("hide", HIDING.values(), ids=HIDING)
def test_an_edit_is_named_however_git_was_told_not_to_see_it(site: Site, hide: Hide) -> None:
    first = site.begin()
    edit(site.root, "src/bill.py")
    hide(site.root)
    edit(site.root, "src/old.py")

    refused = site.send(first, entry("src/bill.py"))

    assert "src/old.py" in told(refused)


RULES: dict[str, tuple[Hide, str]] = {
    "excluded": (lambda root: _exclude(root, "/unittest*\n"), ".git/info/exclude"),
    "the user's own rules": (lambda root: _set_own_rules(root, "/unittest*\n"), "core.excludesFile"),
}


@pytest.mark.thorough
@pytest.mark.parametrize(("hide", "rules"), RULES.values(), ids=RULES)
@pytest.mark.parametrize("name", ["unittest.py", "unittest/__init__.py"])
def test_a_runner_that_an_ignore_rule_hides_is_named_and_so_is_the_rule(
    site: Site, hide: Hide, rules: str, name: str
) -> None:
    write(site.root, "tests/test_bill.py", RED)
    first = site.begin()
    edit(site.root, "src/bill.py")
    hide(site.root)
    write(site.root, name, FAKE)
    if "/" in name:
        write(site.root, "unittest/__main__.py", FAKE)
    ran = site.run(first, *RUNNER)
    check = {"command": " ".join(RUNNER), "exitCode": 0, "summary": "It is green."}

    accepted = site.send(first, entry("src/bill.py"), checks=[check])

    assert ran["exitStatus"] == 0, ran
    assert accepted["kind"] == "ok", told(accepted)
    assert [fact for _, fact in site.claims(accepted, "ran") if name.partition("/")[0] in fact]
    listed = [fact for _, fact in site.claims(accepted, "changed_in_run")]
    assert f"changed in this run as ignore rules and not listed: {rules}" in listed
    ended = site.send(accepted, entry("src/bill.py"), checks=[check])
    assert ended["isComplete"]
    assert rules in ended["closing"]
    assert name.partition("/")[0] in ended["closing"]


LOADED = {
    "compiled": "unittest.pyc",
    "at the start of Python": "sitecustomize.py",
    "of the user": "usercustomize.py",
    "of the tests": "tests/conftest.py",
    "of another directory": "src/more.pth",
    "of an environment": ".venv/lib/python3.13/site-packages/more.pth",
    "a program of packages": "node_modules/.bin/jest",
    "a makefile that comes first": "GNUmakefile",
}


@pytest.mark.thorough
@pytest.mark.parametrize("name", LOADED.values(), ids=LOADED)
def test_what_loads_itself_and_git_does_not_track_is_named_where_it_appeared(site: Site, name: str) -> None:
    ignored = ("*.py[co]", "*.pth", ".venv/", "node_modules/", "GNUmakefile", "*customize.py", "conftest.py")
    write(site.root, ".gitignore", "\n".join(ignored))
    write(site.root, "tests/test_bill.py", RED)
    write(site.root, ".venv/pyvenv.cfg", "home = /usr/bin\n")
    write(site.root, "package.json", "{}")
    first = site.begin()
    edit(site.root, "src/bill.py")
    write(site.root, name, "x")
    site.run(first, "true")
    check = {"command": "true", "exitCode": 0, "summary": "It is green."}

    accepted = site.send(first, entry("src/bill.py"), checks=[check])

    assert accepted["kind"] == "ok", told(accepted)
    shown = "node_modules/.bin" if name.startswith("node") else name
    assert [fact for _, fact in site.claims(accepted, "ran") if shown in fact]


def test_what_was_there_before_the_run_is_not_named(site: Site) -> None:
    write(site.root, ".git/info/exclude", "/local.py\n")
    write(site.root, "local.py", "x = 1\n")
    write(site.root, "node_modules/.bin/jest", "x")
    first = site.begin()
    edit(site.root, "src/bill.py")
    site.run(first, "true")
    check = {"command": "true", "exitCode": 0, "summary": "It is green."}

    accepted = site.send(first, entry("src/bill.py"), checks=[check])

    assert site.claims(accepted, "ran") == [("holds", "exit 0")]
    assert of_kind(events_of(site.runtime, accepted), "tree_recorded")[0]["data"]["ignoreRules"]
