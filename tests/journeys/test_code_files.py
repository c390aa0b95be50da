"""Files that a question about code did not look at, and files named from anywhere in the project."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec
import pytest

from tests.conftest import GivenWorkspace
from tests.journeys.code_project import CodeProject
from tests.worktree.project import write

SOURCES = {
    "a.js": "export function here() {}\n",
    "dist/x.js": "export function built() {}\n",
    "lib.min.js": "function packed() {}\n",
    "sub/a.js": "export function here() {}\n",
    "sub/app.js": "export function inner() {}\nexport const rest = 1;\n",
}


class Below(GivenWorkspace):
    """The caller works in a folder of the project."""

    folder = "sub"

    def project(self, asked: str) -> str:
        root = super().project("")
        return os.path.join(root, self.folder) if asked == "." else root


@pytest.fixture
def code(tmp_path: Path) -> CodeProject:
    made = CodeProject(tmp_path, SOURCES)
    below = Below()
    below.directory = str(made.root)
    made.runtime = msgspec.structs.replace(made.runtime, workspace=below)
    return made


def test_nothing_found_with_skipped_files_is_not_all(code: CodeProject) -> None:
    told = code.told("js-scan --search built")
    _, refused = code.line("js-scan --trace built")

    assert (told["count"], told["complete"]) == (0, False)
    assert [(one["code"], one["file"]) for one in told["reasons"]] == [
        ("skipped_file", "dist/x.js"),
        ("skipped_file", "lib.min.js"),
    ]
    for message in (told["message"], refused["message"]):
        assert "2 files were skipped (1 generated, 1 minified)" in message
    assert code.told("js-scan --search here --scope sub")["complete"] is True


def test_a_method_with_skipped_files_is_not_all(code: CodeProject) -> None:
    write(code.root, "m.js", "class A { go() {} }\n")

    assert code.told("js-scan --trace go")["complete"] is False


def test_sources_of_another_language_are_named(tmp_path: Path) -> None:
    code = CodeProject(tmp_path, {"lib.py": "def foo(): pass\n"})

    told = code.told("js-scan --search foo")
    _, refused = code.line("js-edit --file lib.py --locate foo")
    write(code.root, "lib.py", "")
    os.remove(code.root / "lib.py")
    empty = code.told("js-scan --search foo")

    assert "1 Python source was left out: use `handrail code search`" in told["message"]
    assert "is Python" in refused["message"]
    assert "`handrail code explain`" in refused["recovery"]["suggestion"]
    assert empty["message"] == "No source is in this folder."


@pytest.mark.parametrize(
    "named", ["app.js", "./app.js", "../sub/app.js", "sub/app.js", "sub/../sub/app.js", "/"]
)
def test_a_file_is_found_from_a_folder_of_the_project(code: CodeProject, named: str) -> None:
    path = str(code.root / "sub/app.js") if named == "/" else named

    assert code.told(f"js-edit --file '{path}' --locate inner")["location"]["file"] == "sub/app.js"
    assert code.told(f"js-scan --outline '{path}'")["file"] == "sub/app.js"


def test_new_module_lies_beside_the_named_file(code: CodeProject) -> None:
    told = code.told("js-edit --file app.js --move inner --to-module other.js")

    assert [one["file"] for one in told["changes"]] == ["sub/app.js", "sub/other.js"]


def test_name_of_two_files_is_reported(code: CodeProject) -> None:
    write(code.root.parent, "out.js", "export function inner() {}\n")

    _, twice = code.line("js-edit --file a.js --locate here")
    outside = [
        code.line(f"js-edit --file {path} --locate inner")[1]["code"] for path in ("../../out.js", "/out.js")
    ]

    assert twice["details"]["valid"] == [str(code.root / "a.js"), str(code.root / "sub/a.js")]
    assert code.told(f"js-edit --file '{code.root}/a.js' --locate here")["location"]["file"] == "a.js"
    assert outside == ["E_NOT_FOUND", "E_NOT_FOUND"]


def test_a_field_of_a_row_leads_to_its_whole_name(code: CodeProject) -> None:
    _, refused = code.line("js-scan --outline sub/app.js --fields id,line")

    assert refused["details"]["valid"][:2] == ["results.id", "results.line"]


@pytest.mark.parametrize("lost", [1, 2, 3, 4, 15])
def test_a_token_without_its_end_offers_the_query_again(code: CodeProject, lost: int) -> None:
    told = code.told("js-edit --file sub/app.js --rename inner --to outer --ai-mode")

    _, refused = code.line(f"js-edit --continuation {told['continuation_tokens']['apply'][:-lost]} --fix")
    again = code.told(f"js-edit --continuation {refused['recovery']['recovery_token']}")

    assert refused["code"] == "INVALID_TOKEN"
    assert again["status"] == "preview"


def test_places_of_a_batch_are_named_once(code: CodeProject) -> None:
    write(code.root, "changes.json", '[{"rename": "inner", "to": "x"}, {"rename": "rest", "to": "y"}]')
    write(code.root, "sub/user.js", "import * as app from './app.js';\nf(app);\n")

    told = code.told(f"js-edit --changes '{code.root}/changes.json'")

    places = [(one["code"], one["file"], one["line"]) for one in told["reasons"]]
    assert places.count(("whole_module_used", "sub/user.js", 2)) == 1
    assert told["reason_count"] == len(set(places))


def test_a_read_only_file_is_not_edited(code: CodeProject) -> None:
    before = code.texts()
    (code.root / "sub/app.js").chmod(0o444)

    _, refused = code.line("js-edit --file sub/app.js --rename inner --to outer")

    assert (refused["code"], refused["details"]["reason"]) == ("EDIT_REFUSED", "read_only")
    assert code.texts() == before
