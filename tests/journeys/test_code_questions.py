"""What `js-scan` and `js-edit` answer: ranked, in pages, honest, the same from a cold or warm store."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import msgspec
import pytest

from handrail.ports.worktree import NothingKept
from tests.journeys.code_project import CodeProject
from tests.quick_set import all_but_thorough
from tests.worktree.project import write

LINES = (
    "js-scan --search myFunc",
    "js-scan --search Func --text",
    "js-scan --search name --kind variable --limit 3",
    "js-scan --analyze helper",
    "js-scan --trace helper --depth 4",
    "js-scan --trace twice --down",
    "js-scan --ripple helper",
    "js-scan --outline src/app.js",
    "js-scan --deps src/app.js",
    "js-edit --file src/app.js --locate myFunc",
    "js-edit --file src/app.js --context twice",
    "js-edit --file src/app.js --rename myFunc --to other",
)


@pytest.fixture
def code(tmp_path: Path) -> CodeProject:
    return CodeProject(tmp_path)


@pytest.mark.parametrize("line", all_but_thorough(LINES, step=4))
def test_no_answer_depends_on_what_is_kept(code: CodeProject, line: str) -> None:
    kept = code.runtime
    bare = msgspec.structs.replace(kept, facts=NothingKept)

    cold = code.told(line)
    warm = code.told(line)
    for other in LINES:
        code.told(other)
    full = code.told(line)
    code.runtime = bare
    without = code.told(line)
    shutil.rmtree(code.home)
    code.runtime = code.make_runtime()
    deleted = code.told(line)

    assert cold == warm == full == without == deleted


def test_definitions_come_before_uses_and_exact_names_first(code: CodeProject) -> None:
    write(code.root, "src/zero.js", "export const myFuncs = 1;\nlet myFunc2 = 2;\nmyFunc2 += 1;\n")

    found = code.told("js-scan --search myFunc")
    names = [(one["name"], one["match"]) for one in found["results"] if one["file"] != "test/app.test.js"]

    assert names[:3] == [
        ("myFunc", "definition"),
        ("myFuncs", "definition"),
        ("myFunc2", "definition"),
    ]
    assert all(match != "definition" for _, match in names[3:])
    assert found["total"] == found["count"] == len(found["results"])


def test_pages_joined_are_the_whole_list(code: CodeProject) -> None:
    whole = code.told("js-scan --search name")["results"]
    joined = []
    page = code.told("js-scan --search name --limit 2 --ai-mode")
    while True:
        joined += page["results"]
        if not page["has_more"]:
            break
        page = code.told("js-scan --continuation T", T=page["continuation_tokens"]["more"])

    assert joined == whole
    assert len(whole) > 4


def test_scope_kind_hash_and_exported_narrow_a_search(code: CodeProject) -> None:
    every = code.told("js-scan --search myFunc")["results"]
    by_hash = code.told(f"js-scan --search myFunc --hash {every[0]['hash'][:12]}")["results"]

    assert {one["file"] for one in code.told("js-scan --search myFunc --scope test")["results"]} == {
        "test/app.test.js"
    }
    assert [one["name"] for one in code.told("js-scan --search t --exported --kind function")["results"]] == [
        "twice"
    ]
    assert [one["id"] for one in by_hash] == [every[0]["id"]]


@pytest.mark.parametrize("scope", ["nope", "../..", "/etc"])
def test_a_scope_without_sources_is_refused_with_what_to_do(code: CodeProject, scope: str) -> None:
    status, document = code.line(f"js-scan --search myFunc --scope {scope}")

    assert (status == 0, document["code"]) == (False, "E_NOT_FOUND")
    assert "relative to the root" in document["recovery"]["suggestion"]


def test_the_key_of_an_object_is_found(code: CodeProject) -> None:
    write(code.root, "src/keys.js", "export const options = { someKey: 1 };\n")

    found = code.told("js-scan --search someKey --scope ./src/")

    assert [(one["name"], one["match"]) for one in found["results"]] == [("someKey", "declaration")]


def test_a_trace_follows_callers_and_callees(code: CodeProject) -> None:
    up = code.told("js-scan --trace helper")
    down = code.told("js-scan --trace twice --down")

    assert [(one["name"], one["parent"], one["depth"]) for one in up["tree"]][:2] == [
        ("myFunc", -1, 1),
        ("twice", 0, 2),
    ]
    assert [(one["name"], one["depth"]) for one in down["tree"]] == [("myFunc", 1), ("helper", 2)]


def test_ripple_names_layers_entries_tests_and_its_score(code: CodeProject) -> None:
    told = code.told("js-scan --ripple helper")

    assert [layer["files"] for layer in told["layers"]] == [
        ["src/app.js"],
        ["src/main.js", "test/app.test.js"],
    ]
    assert told["entry_points"] == ["src/main.js"]
    assert told["tests"] == ["test/app.test.js"]
    assert told["score"] == 10 + 20 + 3 * 1 + 2 * 1
    assert told["risk"] == "medium"


def test_a_ripple_of_a_name_with_several_definitions_asks_which(code: CodeProject) -> None:
    write(code.root, "src/other.js", "export function helper() {}\n")

    told = code.told("js-scan --ripple helper")

    assert [one["file"] for one in told["results"]] == ["src/other.js", "src/util.js"]
    assert "risk" not in told


def test_what_is_not_certain_is_said(code: CodeProject) -> None:
    write(
        code.root, "src/odd.js", "const part = 'x';\nimport(`./${part}.js`);\nsomebody.myFunc();\n// myFunc\n"
    )
    write(code.root, "src/broken.js", "import { myFunc } from './app.js'; myFunc((;\n")
    write(code.root, "dist/app.js", "export function myFunc() {}\n")

    told = code.told("js-scan --analyze myFunc")

    assert told["complete"] is False
    assert {reason["code"] for reason in told["reasons"]} >= {"dynamic_import", "parse_error", "skipped_file"}
    assert {(one["code"], one["file"], one["line"]) for one in told["unsure"]} >= {
        ("member", "src/odd.js", 3),
        ("possible", "src/odd.js", 4),
    }
    assert told["skipped"] == {"generated": 1}


def test_files_are_skipped_by_whole_segments_and_counted(code: CodeProject) -> None:
    skipped = {
        "dist/a.js": "generated",
        "packages/x/bower_components/b/c.js": "installed",
        "lib/jquery.min.js": "minified",
        "src/client.js": "generated",
        "src/one-line.js": "minified",
        "src/huge.js": "too_large",
    }
    looked_at = ["dialogs/a.js", "distance/b.js", "src/distribute.js", "admin.js", "src/min.js"]
    for name in (*skipped, *looked_at):
        write(code.root, name, "export const needle = 1;\n")
    write(code.root, "src/client.js", "// Code generated by a tool. DO NOT EDIT.\nexport const needle = 1;\n")
    write(code.root, "src/one-line.js", "export const needle = 1;" + "x();" * 5_000)
    write(code.root, "src/huge.js", "export const needle = 1;\n" + "// a comment\n" * 200_000)

    told = code.told("js-scan --search needle")

    assert sorted(one["file"] for one in told["results"]) == sorted(looked_at)
    assert told["skipped"] == {"generated": 2, "installed": 1, "minified": 2, "too_large": 1}


def test_a_name_with_several_definitions_offers_them(code: CodeProject) -> None:
    write(code.root, "src/other.js", "export function helper() { return 2; }\n")

    chosen = code.told("js-scan --analyze helper --ai-mode")
    one = code.told("js-scan --continuation T", T=chosen["continuation_tokens"]["analyze:1"])
    by_id = code.told(f"js-scan --analyze '{chosen['results'][1]['id']}'")
    status, refused = code.line("js-edit --rename helper --to aid")

    assert [result["file"] for result in chosen["results"]] == ["src/other.js", "src/util.js"]
    assert chosen["message"]
    assert one["symbol"] == by_id["symbol"]
    assert one["symbol"]["file"] == "src/util.js"
    assert (status, refused["code"]) == (2, "E_VALIDATION")
    assert refused["details"]["valid"] == [result["id"] for result in chosen["results"]]


def test_what_require_brings_is_no_second_definition(code: CodeProject) -> None:
    write(code.root, "lib/one.js", "function only() {}\n\nmodule.exports = { only };\n")
    write(code.root, "lib/two.js", "const { only } = require('./one');\n\nonly();\n")

    assert code.told("js-edit --locate only")["location"]["file"] == "lib/one.js"
    assert code.told("js-scan --analyze only")["symbol"]["file"] == "lib/one.js"


def test_several_names_or_hashes_are_located_at_once(code: CodeProject) -> None:
    names = code.told("js-edit --file src/app.js --names myFunc,twice")["locations"]
    hashes = ",".join(one["hash"] for one in names)

    by_hash = code.told(f"js-edit --hash {hashes} --ai-mode")
    preview = code.told(
        "js-edit --continuation T --to-module src/both.js", T=by_hash["continuation_tokens"]["move_preview"]
    )
    applied = code.told("js-edit --continuation T --fix", T=preview["continuation_tokens"]["apply"])

    assert [one["name"] for one in names] == ["myFunc", "twice"]
    assert by_hash["locations"] == names
    assert set(by_hash["continuation_tokens"]) == {"extract_preview", "move_preview"}
    assert [(item["action"], item["to"]) for item in preview["items"]] == [("move", "src/both.js")] * 2
    assert set(applied["continuation_tokens"]) == {"locate:0", "locate:1"}
    assert not (code.root / "src/app.js").exists()
    assert code.text("test/app.test.js") == "import { myFunc } from '../src/both.js';\n\nmyFunc('t');\n"


def test_several_definitions_move_in_the_order_that_works(code: CodeProject) -> None:
    lines = ["const one = () => 1;", "const two = () => one();", "export const three = () => two();"]
    write(code.root, "src/chain.js", "\n\n".join(lines) + "\n")
    located = code.told("js-edit --names three,two,one --ai-mode")

    preview = code.told(
        "js-edit --continuation T --to-module src/moved.js", T=located["continuation_tokens"]["move_preview"]
    )
    code.told("js-edit --continuation T --fix", T=preview["continuation_tokens"]["apply"])
    write(
        code.root, "src/round.js", "export const a = () => b();\nconst b = () => a() + c();\nconst c = 1;\n"
    )
    located = code.told("js-edit --names a,b --ai-mode")
    status, refused = code.line(
        "js-edit --continuation T --to-module src/moved.js", T=located["continuation_tokens"]["move_preview"]
    )

    assert [item["id"].split("#")[1][:3] for item in preview["items"]] == ["one", "two", "thr"]
    assert code.text("src/moved.js") == f"export {lines[0]}\n\nexport {lines[1]}\n\n{lines[2]}\n"
    assert not (code.root / "src/chain.js").exists()
    assert (status, refused["details"]["reason"]) == (2, "not_exported")


def test_batch_is_one_preview_and_written_whole_or_not(code: CodeProject) -> None:
    before = code.texts()
    changes = code.root.parent / "changes.json"
    asked = [
        {"rename": "myFunc", "file": "src/app.js", "to": "fetchData"},
        {"rename": "helper", "to": "greet"},
    ]
    changes.write_text(json.dumps(asked), encoding="utf-8")

    preview = code.told(f"js-edit --changes '{changes}' --ai-mode")
    applied = code.told("js-edit --continuation T --fix", T=preview["continuation_tokens"]["apply"])
    changes.write_text(json.dumps([asked[0], {"rename": "greet", "to": "greet"}]), encoding="utf-8")
    status, refused = code.line(f"js-edit --changes '{changes}'")

    assert [(item["action"], item["to"]) for item in preview["items"]] == [
        ("rename", "fetchData"),
        ("rename", "greet"),
    ]
    assert applied["files_modified"] == ["src/app.js", "src/main.js", "src/util.js", "test/app.test.js"]
    assert code.texts() == {
        name: text.replace(b"myFunc", b"fetchData").replace(b"helper", b"greet")
        for name, text in before.items()
    }
    assert (status, refused["code"]) == (3, "E_NOT_FOUND")


def test_edits_of_a_batch_build_on_each_other(code: CodeProject) -> None:
    asked = [
        {"rename": "helper", "to": "greet"},
        {"move": "greet", "toModule": "src/words.js"},
        {"extract": "myFunc"},
        {"replace": "twice", "withText": "export const twice = (name) => [myFunc(name), myFunc(name)];"},
        {"rename": "myFunc", "file": "src/my-func.js", "to": "fetchData"},
    ]
    changes = code.root.parent / "changes.json"
    changes.write_text(json.dumps(asked), encoding="utf-8")

    preview = code.told(f"js-edit --changes '{changes}' --ai-mode")
    applied = code.told("js-edit --continuation T --fix", T=preview["continuation_tokens"]["apply"])
    refusals = []
    for wrong in ({"move": "both", "toModule": "../x.js"}, {"rename": "both", "move": "both"}, {}):
        changes.write_text(json.dumps([{"rename": "twice", "to": "both"}, wrong]), encoding="utf-8")
        refusals.append(code.line(f"js-edit --changes '{changes}'"))

    assert [(item["action"], item["to"]) for item in preview["items"]] == [
        ("rename", "greet"),
        ("move", "src/words.js"),
        ("extract", "src/my-func.js"),
        ("replace", ""),
        ("rename", "fetchData"),
    ]
    assert "src/words.js" in applied["files_modified"]
    assert code.text("src/my-func.js").startswith("import { greet } from './words.js';\n")
    assert code.text("src/app.js") == (
        "import { fetchData } from './my-func.js';\n"
        "export { fetchData as myFunc } from './my-func.js';\n\n"
        "export const twice = (name) => [fetchData(name), fetchData(name)];\n"
    )
    assert [(status, told["code"]) for status, told in refusals] == [
        (2, "EDIT_REFUSED"),
        (2, "E_USAGE"),
        (2, "E_USAGE"),
    ]
    assert refusals[0][1]["details"]["item"] == 1


ODD = "\ufeff#!/usr/bin/env node\r\nexport function odd(x) {\r\n  return 'Grüße 😀' + x;\r\n}\r\nodd(1);"


@pytest.mark.parametrize(
    ("there", "back"),
    [
        ("--rename odd --to even", "--rename even --to odd"),
        ("--rename helper --to greet", "--rename greet --to helper"),
        ("--move twice --to-module lib/deep/twice.js", "--move twice --to-module src/app.js"),
        ("--move helper --to-module src/words.js", "--move helper --to-module src/util.js"),
    ],
)
def test_line_ends_modes_and_every_byte_come_back(code: CodeProject, there: str, back: str) -> None:
    path = write(code.root, "bin/tool.js", ODD.encode())
    path.chmod(0o750)
    before = code.texts()

    token = code.told(f"js-edit {there} --ai-mode")["continuation_tokens"]["apply"]
    applied = code.told("js-edit --continuation T --fix", T=token)
    between = code.texts()
    again = code.told("js-edit --continuation T", T=applied["continuation_tokens"]["locate"])
    token = code.told(f"js-edit {back} --ai-mode")["continuation_tokens"]["apply"]
    code.told("js-edit --continuation T --fix", T=token)

    assert (applied["status"], again["status"]) == ("success", "success")
    assert between != before
    assert code.texts() == before
    assert path.stat().st_mode & 0o777 == 0o750


def test_edit_that_changes_a_meaning_is_refused_by_place(code: CodeProject) -> None:
    before = code.texts()

    status, told = code.line("js-edit --file src/app.js --rename myFunc --to helper")

    assert (status, told["code"]) == (2, "EDIT_REFUSED")
    assert told["details"]["reason"] in ("collision", "captured", "shadowed")
    assert told["details"]["file"] == "src/app.js"
    assert told["details"]["line"] >= 1
    assert code.texts() == before


@pytest.mark.parametrize(
    "path",
    ["../out.js", "/tmp/out.js", "src/../../out.js", "link/x.js", "dist/x.js", "src/x.txt", "src/hid.js"],
)
def test_no_edit_makes_a_file_outside_of_what_the_tools_see(code: CodeProject, path: str) -> None:
    (code.root / "link").symlink_to(code.root.parent)
    write(code.root, ".gitignore", "src/hid.js\n")
    write(code.root, "src/hid.js", "export const hidden = 1;\n")
    before = code.texts()

    for action in ("move", "extract"):
        status, told = code.line(f"js-edit --{action} myFunc --to-module '{path}' --ai-mode")
        assert (status, told["code"], told["details"]["reason"]) == (2, "EDIT_REFUSED", "invalid_path")
    assert code.texts() == before


@pytest.mark.parametrize(
    "path", ["../outside.js", "/etc/passwd.js", "src/../../outside.js", "link/x.js", "no\u0000.js"]
)
def test_no_path_leads_out_of_the_project(code: CodeProject, path: str) -> None:
    write(code.root.parent, "outside.js", "export function myFunc() {}\n")
    write(code.root.parent, "elsewhere/x.js", "export function myFunc() {}\n")
    (code.root / "link").symlink_to(code.root.parent / "elsewhere")
    changes = code.root.parent / "changes.json"
    changes.write_text(json.dumps([{"rename": "myFunc", "file": path, "to": "other"}]), encoding="utf-8")
    before = code.texts()
    lines = [f"js-edit --changes '{changes}'"]
    if "\0" not in path:
        lines += [
            f"js-edit --file '{path}' --locate myFunc",
            f"js-scan --outline '{path}'",
            f"js-scan --deps '{path}'",
        ]

    for line in lines:
        status, told = code.line(line)
        assert (status, told["code"]) == (3, "E_NOT_FOUND"), told
    assert code.texts() == before


@pytest.mark.thorough
def test_odd_files_never_stop_an_answer(code: CodeProject) -> None:
    write(code.root, "src/binary.js", b"\0\1\2myFunc\xff\xfe")
    write(code.root, "src/latin.js", b"// caf\xe9\nmyFunc();\n")
    write(code.root, "src/deep.js", "(\n" * 20_000 + "myFunc" + ")\n" * 20_000)
    write(code.root, "src/long.js", b"myFunc(" + b"'" + b"x" * 50_000_000 + b"')\n")
    write(code.root, "src/empty.js", "")
    write(code.root, "src/cut.js", "export function myFunc(")
    (code.root / "loop.js").symlink_to("loop.js")
    (code.root / "src/around").symlink_to(".")

    for line in LINES:
        status, told = code.line(line)
        assert status in (0, 2), told
        assert told.get("code", "") in ("", "EDIT_REFUSED")
    assert code.told("js-scan --search myFunc")["skipped"] == {"too_large": 1}


def test_a_line_that_imports_a_name_is_no_definition_of_it(code: CodeProject) -> None:
    found = code.told("js-scan --search helper --ai-mode")["results"]

    assert [(one["file"], one["match"]) for one in found if one["match"] in ("definition", "import")] == [
        ("src/util.js", "definition"),
        ("src/app.js", "import"),
    ]
