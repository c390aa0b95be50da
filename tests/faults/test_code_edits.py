"""Applying an edit while the world breaks: a kill before any change of a file, a full disk, eight at once."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from handrail.ports.worktree import Worktree
from handrail.worktree.local_worktree import LocalWorktree
from handrail.worktree.restore import Disk, Journals
from tests.journeys.code_project import FILES, CodeProject
from tests.worktree.project import ENVIRONMENT
from tests.worktree.test_restore import DyingDisk, Killed

pytestmark = pytest.mark.thorough

RENAME = "--rename myFunc --to fetchData"
MOVE = "--move helper --to-module lib/words.js"
"""Makes a file in a new folder, and leaves nothing of `src/util.js`."""
EDITS = {
    RENAME: ["src/app.js", "src/main.js", "test/app.test.js"],
    MOVE: ["lib/words.js", "src/app.js", "src/util.js"],
}
MOST_CHANGES = 40
EIGHT = 8


class FullDisk(Disk):
    """Refuses the content with this number."""

    def __init__(self, refuses_at: int) -> None:
        self.left = refuses_at

    def write_new(self, name: bytes, folder: int, content: bytes, mode: int, *, is_exact: bool) -> None:
        self.left -= 1
        if self.left == -1:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        super().write_new(name, folder, content, mode, is_exact=is_exact)


class OtherDisk(LocalWorktree):
    def __init__(self, home: str, disk: Disk) -> None:
        super().__init__(home, ENVIRONMENT)
        self._journals = Journals(home, disk)


def put_on(code: CodeProject, disk: Disk) -> None:
    worktree: Worktree = OtherDisk(str(code.home), disk)
    code.runtime = msgspec.structs.replace(code.runtime, worktree=lambda: worktree)


def edited(texts: dict[str, bytes], edit: str) -> dict[str, bytes]:
    """The files afterwards."""
    if edit == RENAME:
        return {
            name: text.replace(b"myFunc", b"fetchData") if name in EDITS[edit] else text
            for name, text in texts.items()
        }
    after = {**texts, "lib/words.js": texts["src/util.js"]}
    after["src/app.js"] = texts["src/app.js"].replace(b"'./util.js'", b"'../lib/words.js'")
    del after["src/util.js"]
    return after


def preview(code: CodeProject, edit: str) -> str:
    token: str = code.told(f"js-edit {edit} --ai-mode")["continuation_tokens"]["apply"]
    return token


@pytest.mark.parametrize("edit", EDITS)
def test_kill_before_any_change_leaves_each_file_whole(tmp_path: Path, edit: str) -> None:
    deaths = 0
    for dies_at in range(MOST_CHANGES):
        folder = tmp_path / str(dies_at)
        folder.mkdir()
        code = CodeProject(folder)
        before = code.texts()
        after = edited(before, edit)
        token = preview(code, edit)
        put_on(code, DyingDisk(dies_at))

        try:
            code.line("js-edit --continuation T --fix", T=token)
        except Killed:
            deaths += 1
        between = _without_temporary(code.texts())
        code.runtime = code.make_runtime()
        read = code.told("js-scan --search e --limit 200")
        told = code.line("js-edit --continuation T --fix", T=token)

        assert all(
            between.get(name) in (before.get(name), after.get(name)) for name in between | before | after
        )
        is_mixed = between not in (before, after)
        assert [one["code"] for one in read["warnings"]] == (["UNFINISHED_WRITE"] if is_mixed else [])
        assert told[0] == (6 if between == after else 0)
        assert code.texts() == after

    assert deaths >= len(EDITS[edit]) * 3


def killed(code: CodeProject, edit: str) -> tuple[str, dict[str, bytes], dict[str, bytes]]:
    """The apply token, and the files before and after a kill that leaves some of them written."""
    before, token = code.texts(), preview(code, edit)
    put_on(code, DyingDisk(3))
    with pytest.raises(Killed):
        code.line("js-edit --continuation T --fix", T=token)
    code.runtime = code.make_runtime()
    between = _without_temporary(code.texts())
    assert between not in (before, edited(before, edit))
    return token, before, between


def test_question_after_a_kill_changes_nothing(tmp_path: Path) -> None:
    code = CodeProject(tmp_path)
    _, before, between = killed(code, RENAME)

    (warning,) = code.told("js-scan --search myFunc")["warnings"]
    assert "with --fix again" in warning["message"]
    assert _without_temporary(code.texts()) == between

    for name, text in before.items():  # as a person takes it back
        (code.root / name).write_bytes(text)
    assert code.told("js-scan --search myFunc")["warnings"] == []
    assert code.told(f"js-edit {MOVE}")["warnings"] == []
    assert _without_temporary(code.texts()) == before


def test_what_somebody_wrote_after_a_kill_stays(tmp_path: Path) -> None:
    code = CodeProject(tmp_path)
    token, before, between = killed(code, RENAME)
    mine = next(name for name in EDITS[RENAME] if between[name] == before[name])
    (code.root / mine).write_bytes(before[mine] + b"// mine\n")

    status, told = code.line("js-edit --continuation T --fix", T=token)

    assert (status, told["code"]) == (6, "RESULTS_STALE")
    assert code.texts() == {**before, mine: before[mine] + b"// mine\n"}


@pytest.mark.parametrize(
    ("edit", "refuses_at"), [(RENAME, 0), (RENAME, 1), (RENAME, 2), (MOVE, 0), (MOVE, 1)]
)
def test_a_full_disk_leaves_every_file_as_it_was(tmp_path: Path, edit: str, refuses_at: int) -> None:
    code = CodeProject(tmp_path)
    before = code.texts()
    token = preview(code, edit)
    put_on(code, FullDisk(refuses_at))

    status, told = code.line("js-edit --continuation T --fix", T=token)

    assert (status, told["code"]) == (1, "E_IO")
    assert code.texts() == before
    code.runtime = code.make_runtime()
    assert code.line("js-edit --continuation T --fix", T=token)[0] == 0
    assert code.texts() == edited(before, edit)


@pytest.mark.parametrize(("edit", "is_one_token"), [(RENAME, True), (MOVE, False)])
def test_one_of_eight_applies_at_once_wins(tmp_path: Path, edit: str, is_one_token: bool) -> None:
    project, home = tmp_path / "project", tmp_path / "home"
    for name, content in FILES.items():
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text(content, encoding="utf-8")
    before = {name: (project / name).read_bytes() for name in FILES}
    count = 1 if is_one_token else EIGHT
    previews = [_run(home, project, *edit.split(), "--ai-mode") for _ in range(count)]
    tokens = [json.loads(preview)["continuation_tokens"]["apply"] for preview in previews]

    children = [_start(home, project, "--continuation", tokens[at % count], "--fix") for at in range(EIGHT)]
    try:
        ends = [(child.communicate(timeout=60)[0], child.returncode) for child in children]
    finally:
        for child in children:
            child.kill()

    told = [json.loads(out) for out, _ in ends]
    assert sorted(document.get("code", "") for document in told) == ["", *["RESULTS_STALE"] * (EIGHT - 1)]
    assert sorted(status for _, status in ends) == [0, *[6] * (EIGHT - 1)]
    after = {name: (project / name).read_bytes() for name in edited(before, edit)}
    assert after == edited(before, edit)
    assert (project / "src/util.js").exists() == (edit == RENAME)


def _without_temporary(texts: dict[str, bytes]) -> dict[str, bytes]:
    return {name: text for name, text in texts.items() if not name.endswith(".tmp")}


def _start(home: Path, project: Path, *arguments: str) -> subprocess.Popen[Any]:
    return subprocess.Popen(
        [sys.executable, "-c", "from handrail_code.scripts import js_edit; js_edit()", *arguments],
        cwd=project,
        env={**os.environ, "HANDRAIL_HOME": str(home)},
        stdout=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    )


def _run(home: Path, project: Path, *arguments: str) -> str:
    child = _start(home, project, *arguments)
    try:
        out: str = child.communicate(timeout=60)[0]
    finally:
        child.kill()
    return out
