"""`js-scan` and `js-edit` as CONT prints them: the lines of its sections 6 and 7, and its rules."""

from __future__ import annotations

import json
import os
import shlex
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec
import pytest

from handrail.contract.tokens.continuation import LENGTH_LIMIT, frame, parse, token_digest
from tests.journeys.code_project import CodeProject
from tests.surfaces.cli.here import run_here
from tests.worktree.project import write

RENAMED = ["src/app.js", "src/main.js", "test/app.test.js"]


@pytest.fixture
def code(tmp_path: Path) -> CodeProject:
    return CodeProject(tmp_path)


@pytest.mark.promise("code.cont.menu")
def test_search_offers_tokens_that_answer_alone(code: CodeProject) -> None:
    found = code.told('js-scan --search "myFunc" --ai-mode --json')
    tokens = found["continuation_tokens"]

    analyzed = code.told("js-scan --continuation TOKEN_A --json", TOKEN_A=tokens["analyze:0"])

    assert found["results"][0]["name"] == "myFunc"
    assert {"analyze:0", "trace:0", "ripple:0"} <= set(tokens)
    assert analyzed["symbol"] == {
        key: value for key, value in found["results"][0].items() if key in analyzed["symbol"]
    }
    assert [caller["name"] for caller in analyzed["callers"]] == ["twice", "", ""]
    assert set(analyzed["continuation_tokens"]) == {"trace", "ripple", "locate", "back"}


@pytest.mark.promise("code.cont.preview-then-apply")
def test_an_edit_is_located_shown_and_then_applied(code: CodeProject) -> None:
    before = code.texts()

    located = code.told("js-edit --file src/app.js --locate myFunc --ai-mode --json")
    preview = code.told(
        "js-edit --continuation TOKEN_RENAME_PREVIEW --to fetchData --json",
        TOKEN_RENAME_PREVIEW=located["continuation_tokens"]["rename_preview"],
    )
    unchanged = code.texts()
    applied = code.told(
        "js-edit --continuation TOKEN_APPLY --fix --json", TOKEN_APPLY=preview["continuation_tokens"]["apply"]
    )

    assert located["location"]["file"] == "src/app.js"
    assert preview["status"] == "preview"
    assert [change["file"] for change in preview["changes"]] == [
        "src/app.js",
        "src/main.js",
        "test/app.test.js",
    ]
    assert {"apply", "cancel"} <= set(preview["continuation_tokens"])
    assert unchanged == before
    assert (applied["status"], applied["files_modified"]) == (
        "success",
        RENAMED,
    )
    assert code.text("src/main.js") == (
        "import { fetchData as run } from './app.js';\n"
        "import * as app from './app.js';\n\n"
        "console.log(run('a'), app.fetchData('b'));\n"
    )


@pytest.mark.promise("code.cont.preview-then-apply")
def test_an_extraction_runs_by_the_lines_that_cont_prints(code: CodeProject) -> None:
    before = code.texts()

    located = code.told("js-edit --file src/app.js --locate myFunc --ai-mode --json")
    preview = code.told(
        "js-edit --continuation TOKEN_EXTRACT_PREVIEW --json",
        TOKEN_EXTRACT_PREVIEW=located["continuation_tokens"]["extract_preview"],
    )
    unchanged = code.texts()
    applied = code.told(
        "js-edit --continuation TOKEN_APPLY --fix --json", TOKEN_APPLY=preview["continuation_tokens"]["apply"]
    )

    assert list(located["continuation_tokens"]) == [
        "extract_preview",
        "replace_preview",
        "rename_preview",
        "move_preview",
        "context",
    ]
    assert preview["status"] == "preview"
    assert [change["file"] for change in preview["changes"]] == ["src/app.js", "src/my-func.js"]
    assert unchanged == before
    assert (applied["status"], applied["files_modified"]) == ("success", ["src/app.js", "src/my-func.js"])
    assert code.text("src/my-func.js") == (
        "import { helper } from './util.js';\n\n"
        "/** Fetches what is there. */\n"
        "export function myFunc(name) {\n"
        "  if (!name) return helper('nobody');\n"
        "  return helper(name);\n"
        "}\n"
    )
    assert code.text("src/app.js") == (
        "import { myFunc } from './my-func.js';\n"
        "export { myFunc } from './my-func.js';\n\n"
        "export const twice = (name) => myFunc(name) + myFunc(name);\n"
    )


def test_move_changes_imports_and_its_token_needs_the_module(code: CodeProject) -> None:
    write(code.root, "src/target.js", "export const there = 1;\n")
    located = code.told("js-edit --file src/app.js --locate myFunc --ai-mode --json")

    status, refused = code.line(
        "js-edit --continuation MOVE", MOVE=located["continuation_tokens"]["move_preview"]
    )
    preview = code.told(
        "js-edit --continuation MOVE --to-module src/target.js",
        MOVE=located["continuation_tokens"]["move_preview"],
    )
    by_hand = code.told("js-edit --move myFunc --to-module ./src/target.js")
    shown = code.told("js-edit --continuation T", T=preview["continuation_tokens"]["show_diff"])
    applied = code.told("js-edit --continuation T --fix", T=preview["continuation_tokens"]["apply"])

    assert (status, refused["code"]) == (2, "E_USAGE")
    assert "--to-module FILE" in refused["recovery"]["suggestion"]
    assert preview["changes"] == by_hand["changes"]
    assert "+++ b/src/target.js\n" in shown["diff"]
    assert applied["files_modified"] == ["src/app.js", "src/main.js", "src/target.js", "test/app.test.js"]
    assert code.text("test/app.test.js") == "import { myFunc } from '../src/target.js';\n\nmyFunc('t');\n"
    assert code.text("src/main.js") == (
        "import { myFunc as run } from './target.js';\n"
        "import { myFunc } from './target.js';\n\n"
        "console.log(run('a'), myFunc('b'));\n"
    )


def test_replacement_comes_from_a_file_and_names_the_unknown(code: CodeProject) -> None:
    text = write(code.root.parent, "new.js", "export function helper(name) {\n  return greet(name);\n}\n")
    located = code.told("js-edit --file src/util.js --locate helper --ai-mode")

    preview = code.told(
        f"js-edit --continuation T --with-file '{text}'", T=located["continuation_tokens"]["replace_preview"]
    )
    text.unlink()
    applied = code.told("js-edit --continuation T --fix", T=preview["continuation_tokens"]["apply"])
    write(code.root.parent, "new.js", "export function other() {}\n")
    status, refused = code.line(f"js-edit --replace helper --with-file '{text}'")

    assert preview["items"][0]["unresolved"] == ["greet"]
    assert applied["files_modified"] == ["src/util.js"]
    assert code.text("src/util.js") == "export function helper(name) {\n  return greet(name);\n}\n"
    assert (status, refused["code"], refused["details"]["reason"]) == (2, "EDIT_REFUSED", "not_found")


def test_what_a_moved_declaration_needs_is_exported_on_request(code: CodeProject) -> None:
    write(code.root, "src/own.js", "const secret = 1;\n\nexport function tell() {\n  return secret;\n}\n")

    status, refused = code.line("js-edit --move tell --to-module src/util.js")
    _, *line = shlex.split(refused["recovery"]["next_command"])
    preview = json.loads(run_here(code.runtime, line).out)["data"]
    code.told("js-edit --continuation T --fix", T=preview["continuation_tokens"]["apply"])

    assert (status, refused["details"]["reason"]) == (2, "not_exported")
    assert "--export-needs" in refused["recovery"]["suggestion"]
    assert code.text("src/own.js") == "export const secret = 1;\n"
    assert code.text("src/util.js").startswith("import { secret } from './own.js';\n")


def test_what_needs_each_other_is_moved_together(code: CodeProject) -> None:
    own = "const even = (n) => n === 0 || odd(n - 1);\nexport const odd = (n) => n !== 0 && even(n - 1);\n"
    write(code.root, "src/own.js", own)
    changes = write(code.root.parent, "changes.json", '[{"move": "odd", "toModule": "src/util.js"}]')

    _, refused = code.line("js-edit --extract odd")
    _, in_batch = code.line(f"js-edit --changes '{changes}'")
    _, _, named = refused["recovery"]["suggestion"].rpartition("--names ")
    located = code.told(f"js-edit --names {named.rstrip('.')} --ai-mode")
    moved = code.told(
        "js-edit --continuation T --to-module src/util.js", T=located["continuation_tokens"]["move_preview"]
    )

    assert in_batch["recovery"]["suggestion"] == 'Add "exportNeeds": true to this edit.'
    assert "next_command" not in in_batch["recovery"]
    assert [item["id"].partition("@")[0] for item in moved["items"]] == ["src/own.js#even", "src/own.js#odd"]


def test_a_preview_says_which_public_name_it_keeps(tmp_path: Path) -> None:
    files = {"a.js": "function f() {}\nmodule.exports = { f };\n", "b.js": "require('./a').f();\n"}
    code = CodeProject(tmp_path, files)
    words = ["code", "rename", "f", "--to", "g", "--file", "a.js"]

    kept = code.told("js-edit --rename f --to g --file a.js")
    followed = json.loads(run_here(code.runtime, [*words, "--public", "follow"]).out)["data"]

    assert [one["file"] for one in kept["changes"]] == ["a.js"]
    assert "f stays the name at a.js:2:20" in kept["items"][0]["note"]
    assert [one["file"] for one in followed["changes"]] == ["a.js", "b.js"]
    assert followed["items"][0]["note"].startswith("Others have to call it g too")


MEMBER = {"a.js": "class A {\n  $go() {}\n}\nx.$go();\ny.$go();\n"}
RENAME_GO = ["code", "rename", "$go", "--to", "run"]


def test_the_line_that_leaves_every_place_can_be_run_as_it_is(tmp_path: Path) -> None:
    code = CodeProject(tmp_path, MEMBER)
    _, told = code.line("js-edit --rename $go --to run")

    program, *words = shlex.split(told["recovery"]["suggestion"].partition("`")[2].rstrip("`."))
    ran = run_here(code.runtime, words)

    assert (program, ran.status) == ("handrail", 0)
    shown = json.loads(ran.out)["data"]
    assert shown["items"][0]["note"] == "Left as it is, not proven: a.js:4:3, a.js:5:3."
    assert shown["complete"] is False


def test_each_unproven_place_is_answered_and_then_written(tmp_path: Path) -> None:
    code = CodeProject(tmp_path, MEMBER)
    refused = run_here(code.runtime, RENAME_GO)
    details = json.loads(refused.out)["error"]["details"]
    assert details["places"] == ["a.js:4:3", "a.js:5:3"]

    answers = ["--also", "./a.js:4:3", "--not", "a.js:5:3", "--ai-mode"]
    shown = json.loads(run_here(code.runtime, [*RENAME_GO, *answers]).out)["data"]
    applied = code.told("js-edit --continuation T --fix", T=shown["continuation_tokens"]["apply"])

    assert shown["items"][0]["note"] == (
        "Renamed too, not proven: a.js:4:3. Left as it is, not proven: a.js:5:3."
    )
    assert applied["files_modified"] == ["a.js"]
    assert code.text("a.js") == "class A {\n  run() {}\n}\nx.run();\ny.$go();\n"


def test_a_batch_takes_the_answers_of_each_rename(tmp_path: Path) -> None:
    code = CodeProject(tmp_path, MEMBER)
    change = {"rename": "$go", "to": "run", "also": ["a.js:5:3"], "not": ["a.js:4:3"]}

    changes = tmp_path / "changes.json"
    changes.write_text(json.dumps([change]), encoding="utf-8")

    shown = code.told(f"js-edit --changes '{changes}'")

    assert [(one["added"], one["removed"]) for one in shown["changes"]] == [(2, 2)]


def test_a_person_sees_a_preview_as_a_diff(tmp_path: Path) -> None:
    code = CodeProject(tmp_path, {"a.js": "export function f() {}\n"})
    words = ["code", "rename", "f", "--to", "g", "--file", "a.js", "--human"]

    shown = [line.strip() for line in run_here(code.runtime, words).out.decode().splitlines()]

    assert shown[shown.index("--- a/a.js") :][:5] == [
        "--- a/a.js",
        "+++ b/a.js",
        "@@ -1 +1 @@",
        "-export function f() {}",
        "+export function g() {}",
    ]


@pytest.mark.promise("code.cont.cancel")
def test_a_preview_can_be_looked_at_in_full_or_left(code: CodeProject) -> None:
    before = code.texts()
    tokens = code.preview("myFunc", "fetchData")["continuation_tokens"]

    diff = code.told("js-edit --continuation T", T=tokens["show_diff"])
    cancelled = code.told("js-edit --continuation T", T=tokens["cancel"])

    assert "-export function myFunc(name) {\n+export function fetchData(name) {\n" in diff["diff"]
    assert cancelled["status"] == "cancelled"
    assert code.texts() == before


@pytest.mark.promise("code.cont.invalid-token")
@pytest.mark.promise("code.cont.foreign-token")
def test_token_of_another_checkout_repeats_only_the_query(code: CodeProject, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    other = CodeProject(tmp_path / "other")
    foreign = other.told("js-scan --search myFunc --ai-mode")["continuation_tokens"]["analyze:0"]

    status, told = code.line("js-scan --continuation T", T=foreign)
    again = code.told("js-scan --continuation T", T=told["recovery"]["recovery_token"])

    assert (status, told["code"], told["details"]["status"]) == (6, "INVALID_TOKEN", 401)
    assert told["recovery"]["suggestion"] == "Get a new token by running: js-scan --search 'myFunc' --ai-mode"
    assert again["results"][0]["name"] == "myFunc"


@pytest.mark.promise("code.cont.expired-token")
def test_an_expired_token_of_a_read_is_refreshed(code: CodeProject) -> None:
    token = code.told("js-scan --search myFunc --ai-mode")["continuation_tokens"]["analyze:0"]
    code.clock.seconds += 7_200

    status, told = code.line('js-scan --continuation "expired_token" --json', expired_token=token)
    refreshed = code.told("js-scan --continuation T", T=told["recovery"]["refresh_token"])
    at_once = code.told("js-scan --continuation T --refresh", T=token)

    assert status == 6
    assert (told["status"], told["code"]) == ("error", "TOKEN_EXPIRED")
    assert told["recovery"]["can_refresh"] is True
    assert told["details"]["status"] == 410
    assert refreshed["symbol"] == at_once["symbol"]


def test_expired_apply_token_stays_refused(
    code: CodeProject,
) -> None:
    before = code.texts()
    token = code.preview("myFunc", "fetchData")["continuation_tokens"]["apply"]
    code.clock.seconds += 3_600

    for line in ("js-edit --continuation T --fix", "js-edit --continuation T --fix --refresh"):
        status, told = code.line(line, T=token)
        assert (status, told["code"]) == (6, "TOKEN_EXPIRED")
        assert told["recovery"]["can_refresh"] is False
        assert "refresh_token" not in told["recovery"]
    code.clock.seconds -= 3_600
    status, told = code.line("js-edit --continuation T --fix", T=token)
    assert (status, told["code"]) == (6, "TOKEN_EXPIRED")
    assert code.texts() == before


@pytest.mark.promise("code.cont.stale-write")
def test_a_write_is_refused_when_the_source_changed(code: CodeProject) -> None:
    token = code.preview("myFunc", "fetchData")["continuation_tokens"]["apply"]
    (code.root / "src/main.js").write_text(
        "import { myFunc } from './app.js';\nmyFunc();\n", encoding="utf-8"
    )
    before = code.texts()

    status, told = code.line('js-edit --continuation "token_extract" --fix --json', token_extract=token)
    reissued = code.told("js-edit --continuation T", T=told["recovery"]["reissue_token"])

    assert status == 6
    assert (told["status"], told["code"]) == ("warning", "RESULTS_STALE")
    assert set(told["digest_mismatch"]) == {"expected", "actual"}
    assert told["digest_mismatch"]["expected"] != told["digest_mismatch"]["actual"]
    assert told["recovery"]["suggestion"]
    assert told["details"]["status"] == 409
    assert code.texts() == before
    assert reissued["status"] == "preview"


@pytest.mark.promise("code.cont.stale-read")
def test_read_answers_with_the_present_and_says_so(code: CodeProject) -> None:
    token = code.told("js-scan --search myFunc --ai-mode")["continuation_tokens"]["analyze:0"]
    (code.root / "src/more.js").write_text(
        "import { myFunc } from './app.js';\nmyFunc();\n", encoding="utf-8"
    )

    told = code.told("js-scan --continuation T", T=token)
    again = code.told("js-scan --continuation T", T=told["recovery"]["reissue_token"])

    assert (told["status"], told["code"]) == ("warning", "RESULTS_STALE")
    assert told["warnings"][0]["status"] == 202
    assert told["digest_mismatch"]["expected"] != told["digest_mismatch"]["actual"]
    assert "src/more.js" in [caller["file"] for caller in told["callers"]]
    assert again["status"] == "success"


@pytest.mark.promise("code.cont.gone")
def test_what_a_token_names_may_be_gone(code: CodeProject) -> None:
    found = code.told("js-scan --search helper --ai-mode")["continuation_tokens"]
    (code.root / "src/util.js").unlink()

    for script, token in (("js-scan", found["trace:0"]), ("js-edit", found["locate:0"])):
        status, told = code.line(f"{script} --continuation T", T=token)
        assert (status, told["code"]) == (3, "E_NOT_FOUND")
        assert told["details"]["status"] == 404
        assert told["recovery"]["suggestion"].startswith("Search again: js-scan --search 'helper'")


@pytest.mark.promise("code.cont.one-action")
def test_a_token_allows_its_action_in_its_tool_and_nothing_else(code: CodeProject) -> None:
    token = code.told("js-scan --search myFunc --ai-mode")["continuation_tokens"]["analyze:0"]

    status, told = code.line("js-edit --continuation T", T=token)

    assert (status, told["code"]) == (2, "ACTION_NOT_ALLOWED")
    assert told["details"]["allowed"] == ["analyze:0"]
    assert told["details"]["status"] == 400


@pytest.mark.promise("code.cont.payload")
def test_a_token_is_small_readable_and_names_its_parent(code: CodeProject) -> None:
    parent = code.told("js-scan --search myFunc --scope src --limit 5 --ai-mode")["continuation_tokens"][
        "analyze:0"
    ]
    child = code.told("js-scan --continuation T", T=parent)["continuation_tokens"]["trace"]

    held = [_payload(token) for token in (parent, child)]

    assert max(len(token) for token in (parent, child)) <= 160 < LENGTH_LIMIT
    assert set(held[0]) == {
        "version",
        "issued_at",
        "expires_at",
        "command",
        "action",
        "context",
        "parameters",
        "next_actions",
        "metadata",
    }
    assert held[0]["command"] == "js-scan"
    assert held[0]["action"] == "search"
    assert {key: held[0]["parameters"][key] for key in ("search", "scope", "limit")} == {
        "search": "myFunc",
        "scope": "src",
        "limit": 5,
    }
    assert held[0]["expires_at"] - held[0]["issued_at"] == held[0]["metadata"]["ttl_seconds"] == 3600
    assert [action["id"] for action in held[0]["next_actions"]] == ["analyze:0"]
    assert held[1]["context"]["source_token"] == token_digest(parent)[: len("sha256:") + 16]
    assert len(held[1]["context"]["results_digest"]) == len("sha256:") + 32


@pytest.mark.promise("code.cont.guard")
def test_only_a_guarded_token_with_fix_writes(code: CodeProject) -> None:
    before = code.texts()
    preview = code.preview("myFunc", "fetchData")
    tokens = preview["continuation_tokens"]

    without_fix = code.line("js-edit --continuation T", T=tokens["apply"])
    without_token = code.line("js-edit --rename myFunc --to fetchData --fix")
    with_other = code.line("js-edit --continuation T --fix", T=tokens["show_diff"])

    assert {action["id"]: action["guard"] for action in preview["next_actions"]} == {
        "apply": True,
        "show_diff": False,
        "cancel": False,
    }
    assert (without_fix[0], without_fix[1]["code"]) == (5, "E_CONFIRMATION_REQUIRED")
    assert (without_token[0], without_token[1]["code"]) == (5, "E_CONFIRMATION_REQUIRED")
    assert (with_other[0], with_other[1]["code"]) == (2, "E_USAGE")
    assert code.texts() == before
    assert _payload(tokens["apply"])["metadata"] == {
        "file_safe": True,
        "idempotent": False,
        "replayable": False,
        "ttl_seconds": 3600,
    }


def test_an_apply_token_works_once(code: CodeProject) -> None:
    """Even when the files are brought back to what the preview saw."""
    before = code.texts()
    token = code.preview("myFunc", "fetchData")["continuation_tokens"]["apply"]
    code.told("js-edit --continuation T --fix", T=token)
    _, at_once = code.line("js-edit --continuation T --fix", T=token)
    for name, content in before.items():
        (code.root / name).write_bytes(content)

    status, told = code.line("js-edit --continuation T --fix", T=token)

    assert (status, told["code"]) == (6, "RESULTS_STALE")
    assert "was used" in told["message"]
    assert at_once["message"] == told["message"]
    assert code.texts() == before


@pytest.mark.parametrize(("at", "seconds"), [("preview", 0), ("preview", 5), ("diff", 5)])
def test_cancel_ends_the_tokens_of_a_preview(code: CodeProject, at: str, seconds: int) -> None:
    before = code.texts()
    preview = code.preview("myFunc", "fetchData")["continuation_tokens"]
    code.clock.seconds += seconds
    diff = code.told("js-edit --continuation T", T=preview["show_diff"])["continuation_tokens"]
    code.clock.seconds += seconds
    code.told("js-edit --continuation T", T={"preview": preview, "diff": diff}[at]["cancel"])

    for tokens in (preview, diff):
        status, told = code.line("js-edit --continuation T --fix", T=tokens["apply"])
        assert (status, told["code"]) == (6, "RESULTS_STALE")
        assert "was cancelled, so nothing was written" in told["message"]
    assert code.texts() == before
    again = code.preview("myFunc", "fetchData")["continuation_tokens"]["apply"]
    assert code.told("js-edit --continuation T --fix", T=again)["status"] == "success"


@pytest.mark.promise("code.cont.refetch")
def test_parameters_that_do_not_fit_a_token_are_given_again(code: CodeProject) -> None:
    names = ["n" + sha256(bytes([one])).hexdigest() for one in range(60)]
    asked = [{"rename": name, "file": "src/many.js", "to": f"x{name}"} for name in names]
    content = "".join(f"export const {name} = 1;\n" for name in names)
    write(code.root, "src/many.js", content)
    changes = code.root.parent / "changes.json"
    changes.write_text(json.dumps(asked), encoding="utf-8")

    preview = code.told(f"js-edit --changes '{changes}' --ai-mode")
    token = preview["continuation_tokens"]["apply"]
    refused = code.line("js-edit --continuation T --fix", T=token)
    applied = code.told(f"js-edit --continuation T --fix --refetch --changes '{changes}'", T=token)

    assert len(preview["items"]) == 60
    assert len(token) <= LENGTH_LIMIT
    assert (refused[0], refused[1]["code"]) == (2, "E_USAGE")
    assert "--refetch" in refused[1]["recovery"]["suggestion"]
    assert applied["files_modified"] == ["src/many.js"]
    assert code.text("src/many.js") == content.replace("const n", "const xn")


def test_scan_and_edit_wrap_the_same_document(code: CodeProject) -> None:
    bare = code.told("js-scan --search myFunc")
    wrapped = json.loads(run_here(code.runtime, ["js-scan", "--search", "myFunc"]).out)
    lafs = json.loads(run_here(code.runtime, ["js-scan", "--search", "myFunc", "--envelope", "lafs"]).out)
    refused = json.loads(run_here(code.runtime, ["js-edit", "--continuation", "x"]).out)
    elsewhere = json.loads(run_here(code.runtime, ["context", "--envelope", "cont"]).out)

    assert wrapped["data"] == bare
    assert lafs["result"] == bare
    assert refused["error"]["code"] == "E_CONFLICT"
    assert refused["error"]["details"]["domain_code"] == "INVALID_TOKEN"
    assert set(refused["error"]["details"]) >= {"status", "recovery"}
    assert elsewhere["code"] == "E_USAGE"


def _payload(token: str) -> dict[str, Any]:
    framed = frame(token)
    assert framed is not None
    held = parse(framed[0])
    assert held is not None
    payload: dict[str, Any] = msgspec.to_builtins(held)
    return payload


def test_the_same_text_twice_in_a_file_has_two_ids(tmp_path: Path) -> None:
    twice = "function f() { let i = 0; return i }\nfunction g() { let i = 0; return i }\n"
    code = CodeProject(tmp_path, {"a.js": twice})
    status, told = code.line("js-edit --file a.js --locate i")
    first, second = told["details"]["valid"]

    preview = code.told(f"js-edit --file a.js --rename {second} --to zz --ai-mode")
    code.told("js-edit --continuation T --fix", T=preview["continuation_tokens"]["apply"])

    assert (status, first == second) == (2, False)
    assert code.texts()["a.js"].decode().splitlines()[1] == "function g() { let zz = 0; return zz }"


def test_file_with_a_name_that_is_no_text_is_counted(tmp_path: Path) -> None:
    code = CodeProject(tmp_path, {"a.js": "export const foo = 1;\n"})
    Path(os.fsdecode(os.fsencode(code.root) + b"/inv\xff.js")).write_bytes(b"import { foo } from './a.js';\n")

    found = code.told("js-scan --search foo")
    preview = code.told("js-edit --file a.js --rename foo --to bar")

    assert (found["count"], found["skipped"]) == (1, {"name_not_utf8": 1})
    assert (preview["complete"], preview["reasons"][0]["file"]) == (False, "inv\\xff.js")
