"""Every command in success and failure, as a process: exact keys, right code, right exit, empty stderr.

One line of each kind is a process that was started; the others are forked: the same but for the start.
"""

from __future__ import annotations

import json
import os
from typing import Any

import pytest

from handrail.contract.catalogue import KINDS
from handrail.contract.conformance.check import check
from handrail.surfaces.cli.reading import _table
from handrail.surfaces.cli.self_description import _catalog
from tests.conftest import THREE_STEPS
from tests.surfaces.cli.tool import CORE_CODES, Tool, checked_document, strict_json

BAD_TOKEN = "ak1" + "0" * 53
CASES: list[tuple[list[str], str, str]] = [
    # line, native code ("" for success), domain code
    (["workflow", "list"], "", ""),
    (["workflow", "list", "--query", "review", "--kind", "workflow", "--limit", "1"], "", ""),
    (["workflow", "list", "--fields", "items.id"], "", ""),
    (["workflow", "list", "--fields", "id,colour"], "", ""),
    (["workflow", "list", "--budget", "items=1"], "", ""),
    (["workflow", "list", "--mvi", "minimal"], "", ""),
    (["workflow", "inspect", "wr.small_change"], "", ""),
    (["workflow", "inspect", "wr.small_change", "--part", "steps"], "", ""),
    (["workflow", "inspect", "wr.small_change", "--part", "source"], "", ""),
    (["workflow", "inspect", "wr.small_change", "--part", "compiled"], "", ""),
    (["workflow", "list", "--sources", "bundled,user"], "", ""),
    (["workflow", "inspect", "wr.small_change", "--part", "inputs"], "", ""),
    (["workflow", "inspect", "wr.small_change", "--part", "diff", "--run", "SESSION"], "", ""),
    (["workflow", "validate", "wr.small_change"], "", ""),
    (["workflow", "validate", "FLOW", "wr.small_change", "--min-severity", "error"], "", ""),
    (["workflow", "validate", "BROKEN", "--report-only"], "", ""),
    (["workflow", "graph", "wr.small_change"], "", ""),
    (["workflow", "graph", "FLOW", "--as", "json"], "", ""),
    (["workflow", "simulate", "wr.small_change", "--mode", "guided", "--max-paths", "50"], "", ""),
    (["workflow", "simulate", "--record", "SESSION"], "", ""),
    (["workflow", "builtins", "--kind", "contract", "--limit", "2"], "", ""),
    (["workflow", "builtins", "--fields", "items.id,items.schema"], "", ""),
    (["workflow", "schema"], "", ""),
    (["workflow", "new", "project.case", "--template", "loop", "--dry-run"], "", ""),
    (["run", "start", "wr.code_review", "--request-id", "case"], "", ""),
    (["run", "continue", "--state", "STATE"], "", ""),
    (["run", "continue", "--input", '{"stateToken":"STATE"}'], "", ""),
    (["run", "checkpoint", "--checkpoint", "CHECKPOINT", "--notes", "half"], "", ""),
    (["run", "continue", "--ack", "ACK", "--notes", "done"], "", ""),
    (["check", "list"], "", ""),
    (["check", "run", "--state", "STATE", "--quiet", "--input", '{"argv":["true"]}'], "", ""),
    (["session", "list"], "", ""),
    (["session", "list", "--status", "complete", "--workflow", "wr.none", "--limit", "500"], "", ""),
    (["run", "close", "SESSION", "--reason", "abandoned"], "", ""),
    (["run", "graph", "SESSION"], "", ""),
    (["run", "graph", "ses_000000000000"], "E_NOT_FOUND", "SESSION_NOT_FOUND"),
    (["run", "node", "SESSION", "nod_000000000000"], "E_NOT_FOUND", "NODE_NOT_FOUND"),
    (["run", "compare", "SESSION", "nod_000000000000", "nod_000000000000"], "E_NOT_FOUND", "NODE_NOT_FOUND"),
    (["session", "needs"], "", ""),
    (["session", "needs", "--limit", "0"], "E_VALIDATION", ""),
    (["session", "search", "done"], "", ""),
    (["session", "search"], "E_USAGE", ""),
    (["session", "timeline", "SESSION"], "", ""),
    (["session", "timeline", "ses_000000000000"], "E_NOT_FOUND", "SESSION_NOT_FOUND"),
    (["tools"], "E_USAGE", ""),
    (["session", "gaps"], "", ""),
    (["session", "gaps", "--only", "odd"], "E_VALIDATION", ""),
    (["session", "show", "SESSION"], "", ""),
    (["session", "export", "SESSION"], "", ""),
    (["session", "import", "BUNDLE", "--as-new", "--dry-run"], "", ""),
    (["session", "resume"], "", ""),
    (["session", "resume", "SESSION"], "", ""),
    (["session", "resume", "nothing matches this"], "", ""),
    (["session", "events", "SESSION", "--limit", "2"], "", ""),
    (["session", "delete", "--ids", "SESSION,ses_000000000000", "--dangerous", "--dry-run"], "", ""),
    (["ledger", "show", "RUN", "--mode", "summary"], "", ""),
    (["preferences", "show"], "", ""),
    (["preferences", "show", "--session", "SESSION"], "", ""),
    (["preferences", "set", "--autonomy", "guided", "--dry-run"], "", ""),
    (["keys", "rotate", "--dry-run"], "", ""),
    (["run", "start", "wr.small_change", "--dry-run"], "", ""),
    (["run", "continue", "--ack", "ACK", "--dry-run"], "", ""),
    (["run", "checkpoint", "--checkpoint", "CHECKPOINT", "--notes", "half", "--dry-run"], "", ""),
    (["store", "verify"], "", ""),
    (["store", "verify", "--ids", "SESSION", "--report-only"], "", ""),
    (["store", "du"], "", ""),
    (["store", "gc", "--dangerous", "--dry-run"], "", ""),
    (["store", "copy", "--to", "elsewhere", "--ids", "SESSION", "--dry-run"], "", ""),
    (["lafs", "check", "GOOD"], "", ""),
    (["lafs", "check", "BAD", "--report-only"], "", ""),
    (["lafs", "check", "GOOD", "--kind", "lafs", "--tier", "core", "--ndjson"], "", ""),
    (["session", "delete", "--ids", "SESSION", "--dangerous", "--dry-run"], "", ""),
    (["ledger", "show", "RUN"], "", ""),
    (["reference"], "", ""),
    (["reference", "--command", "run continue"], "", ""),
    (["reference", "--domain", "session"], "", ""),
    (["reference", "--schema", "dry_run"], "", ""),
    (["context"], "", ""),
    (["doctor"], "", ""),
    (["doctor", "--offline", "--checks", "keyring,store"], "", ""),
    (["changelog"], "", ""),
    (["changelog", "--since", "99.0"], "", ""),
    (["completion", "--shell", "bash"], "", ""),
    ([], "E_USAGE", ""),
    (["nope"], "E_USAGE", ""),
    (["session", "events", "ses_000000000000"], "E_NOT_FOUND", "SESSION_NOT_FOUND"),
    (["session", "delete", "--ids", "ses_000000000000", "--dangerous", "--dry-run"], "", ""),
    (["session", "delete", "--ids", "SESSION", "--dry-run"], "E_CONFIRMATION_REQUIRED", ""),
    (["ledger", "show", "run_000000000000"], "E_NOT_FOUND", "RUN_NOT_FOUND"),
    (["preferences", "show", "--session", "ses_000000000000"], "E_NOT_FOUND", "SESSION_NOT_FOUND"),
    (["preferences", "set", "--autonomy", "guided"], "E_CONFIRMATION_REQUIRED", ""),
    (["settings", "show"], "", ""),
    (["settings", "show", "--bogus"], "E_USAGE", ""),
    (["keys", "rotate"], "E_CONFIRMATION_REQUIRED", ""),
    (["session", "start", "--request-id", "case"], "E_CONFIG", "FEATURE_DISABLED"),
    (["reference", "--command", "run contniue"], "E_NOT_FOUND", ""),
    (["reference", "--domain", "a", "--schema", "b"], "E_USAGE", ""),
    (["context", "--input", '{"colour":1}'], "E_VALIDATION", "VALIDATION_ERROR"),
    (["doctor", "--checks", "weather"], "E_VALIDATION", ""),
    (["changelog", "--since", "newest"], "E_VALIDATION", "VALIDATION_ERROR"),
    (["completion"], "E_USAGE", ""),
    (["completion", "--shell", "tcsh"], "E_VALIDATION", ""),
    (["check", "list", "--bogus"], "E_USAGE", ""),
    (["code", "status", "--bogus"], "E_USAGE", ""),
    (["code", "diff"], "E_USAGE", ""),
    (["code", "restore"], "E_USAGE", ""),
    (["scan", "--search", "nothing"], "", ""),
    (["scan"], "E_USAGE", ""),
    (["scan", "--continuation", "nonsense"], "E_CONFLICT", "INVALID_TOKEN"),
    (["edit"], "E_USAGE", ""),
    (["edit", "--locate", "nothing"], "E_NOT_FOUND", ""),
    (["edit", "--locate", "nothing", "--fix"], "E_CONFIRMATION_REQUIRED", ""),
    (["check", "run", "nope", "--session", "SESSION"], "E_VALIDATION", "VALIDATION_ERROR"),
    (["workflow"], "E_USAGE", ""),
    (["workflow", "list", "--bogus"], "E_USAGE", ""),
    (["workflow", "list", "--format", "yaml"], "E_USAGE", ""),
    (["workflow", "list", "--json", "--human"], "E_USAGE", "FORMAT_CONFLICT"),
    (["workflow", "list", "--field", "id", "--fields", "id"], "E_USAGE", "FIELD_CONFLICT"),
    (["workflow", "list", "--dry-run"], "E_USAGE", ""),
    (["workflow", "list", "--format", "raw", "--json"], "E_USAGE", "FORMAT_CONFLICT"),
    (["workflow", "list", "--limit", "0"], "E_VALIDATION", ""),
    (["workflow", "list", "--fields", "nope"], "E_VALIDATION", "FIELD_UNKNOWN"),
    (["workflow", "list", "--field", "nope"], "E_VALIDATION", "FIELD_UNKNOWN"),
    (["workflow", "list", "--budget", "tokens=1"], "E_VALIDATION", "BUDGET_EXCEEDED"),
    (["workflow", "list", "--input", '{"colour":1}'], "E_VALIDATION", "VALIDATION_ERROR"),
    (["workflow", "list", "--cursor", "cu1nonsense"], "E_CONFLICT", "INVALID_TOKEN"),
    (["workflow", "list", "--schema-version", "2"], "E_CONFIG", "VERSION_UNSUPPORTED"),
    (["workflow", "inspect", "wr.nope"], "E_NOT_FOUND", "WORKFLOW_NOT_FOUND"),
    (["workflow", "inspect"], "E_USAGE", ""),
    (["workflow", "list", "--sources", "bundled,cellar"], "E_VALIDATION", ""),
    (["workflow", "inspect", "wr.small_change", "--part", "diff"], "E_VALIDATION", "VALIDATION_ERROR"),
    (["workflow", "validate"], "E_USAGE", ""),
    (["workflow", "validate", "BROKEN"], "E_VALIDATION", "WORKFLOW_INVALID"),
    (["workflow", "validate", "wr.nope"], "E_NOT_FOUND", "WORKFLOW_NOT_FOUND"),
    (["workflow", "validate", "absent.json"], "E_NOT_FOUND", "WORKFLOW_NOT_FOUND"),
    (["workflow", "graph", "BROKEN"], "E_VALIDATION", "WORKFLOW_INVALID"),
    (["workflow", "graph", "wr.small_change", "--as", "oil"], "E_VALIDATION", ""),
    (["workflow", "simulate", "--record", "run_000000000000"], "E_NOT_FOUND", "SESSION_NOT_FOUND"),
    (["workflow", "simulate"], "E_VALIDATION", "VALIDATION_ERROR"),
    (["workflow", "simulate", "wr.small_change", "--replay", "TEXT"], "E_VALIDATION", ""),
    (["workflow", "builtins", "--kind", "spell"], "E_VALIDATION", ""),
    (["workflow", "schema", "wr.small_change"], "E_USAGE", ""),
    (["workflow", "new", "project.case"], "E_CONFIRMATION_REQUIRED", ""),
    (["workflow", "new", "project.case", "--confirm", "ct_fabricated_0000"], "E_CONFLICT", ""),
    (["workflow", "new", "project.case", "--dry-run", "--confirm", "ct_x.y"], "E_USAGE", ""),
    (["workflow", "new", "wr.case", "--dry-run"], "E_VALIDATION", "WORKFLOW_ID_RESERVED"),
    (["workflow", "new", "case", "--dry-run"], "E_VALIDATION", "WORKFLOW_ID_LEGACY"),
    (["workflow", "new", "No.Id", "--dry-run"], "E_VALIDATION", "VALIDATION_ERROR"),
    (["workflow", "save", "FLOW", "--file", "flow.json", "--dry-run"], "", ""),
    (["workflow", "save", "BROKEN", "--dry-run"], "E_VALIDATION", "WORKFLOW_INVALID"),
    (["run", "start", "wr.small_change"], "E_CONFIRMATION_REQUIRED", ""),
    (["run", "start", "wr.nope", "--request-id", "k"], "E_NOT_FOUND", "WORKFLOW_NOT_FOUND"),
    (["run", "start", "wr.small_change", "--request-id", "not a key"], "E_VALIDATION", "VALIDATION_ERROR"),
    (["run", "start", "wr.small_change", "--request-id", "k" * 129], "E_VALIDATION", "VALIDATION_ERROR"),
    (["run", "start", "wr.small_change", "--context", "{"], "E_VALIDATION", ""),
    (
        ["run", "start", "wr.small_change", "--request-id", "k", "--session", "ses_000000000000"],
        "E_NOT_FOUND",
        "SESSION_NOT_FOUND",
    ),
    (["run", "continue"], "E_VALIDATION", "CONTEXT_MISSING"),
    (["run", "continue", "--ack", BAD_TOKEN], "E_CONFLICT", "TOKEN_BAD_SIGNATURE"),
    (["run", "continue", "--ack", "nonsense"], "E_CONFLICT", "TOKEN_INVALID_FORMAT"),
    (["run", "continue", "--ack", "STATE"], "E_CONFLICT", "TOKEN_SCOPE_MISMATCH"),
    (["run", "continue", "--state", "STATE", "--notes", "x"], "E_VALIDATION", "VALIDATION_ERROR"),
    (["run", "continue", "--input", '{"ackToken":7}'], "E_VALIDATION", "VALIDATION_ERROR"),
    (["run", "continue", "--notes-file", "absent.md"], "E_NOT_FOUND", ""),
    (["run", "checkpoint"], "E_USAGE", ""),
    (["run", "close"], "E_USAGE", ""),
    (
        ["run", "checkpoint", "--checkpoint", "ck1nonsense", "--notes", "x"],
        "E_CONFLICT",
        "TOKEN_INVALID_FORMAT",
    ),
    (["session", "list", "--status", "odd"], "E_VALIDATION", ""),
    (["session", "show", "ses_000000000000"], "E_NOT_FOUND", "SESSION_NOT_FOUND"),
    (["run", "confirm", "--session", "ses_000000000000"], "E_NOT_FOUND", "SESSION_NOT_FOUND"),
    (["session", "export", "ses_000000000000"], "E_NOT_FOUND", "SESSION_NOT_FOUND"),
    (["session", "import", "BUNDLE"], "E_CONFIRMATION_REQUIRED", ""),
    (["session", "show", "SESSION", "--field", "nope"], "E_VALIDATION", "FIELD_UNKNOWN"),
    (["session", "resume", "a", "b"], "E_USAGE", ""),
    (["store", "verify", "--ids", "ses_000000000000"], "E_NOT_FOUND", "SESSION_NOT_FOUND"),
    (["session", "delete", "--dangerous", "--dry-run"], "E_USAGE", ""),
    (["session", "delete", "--dangerous", "--dry-run", "--input", '{"ids":[]}'], "E_VALIDATION", ""),
    (["session", "delete", "--ids", "a,,b", "--dangerous", "--dry-run"], "E_VALIDATION", ""),
    (["preferences", "set", "--dry-run"], "E_VALIDATION", ""),
    (["preferences", "set", "--autonomy", "wild", "--dry-run"], "E_VALIDATION", ""),
    (["run", "continue", "--state", "STATE", "--dry-run"], "E_USAGE", ""),
    (["store", "du", "--bogus"], "E_USAGE", ""),
    (["store", "gc", "--dry-run"], "E_CONFIRMATION_REQUIRED", ""),
    (["store", "gc", "--dangerous"], "E_CONFIRMATION_REQUIRED", ""),
    (["store", "copy", "--dry-run"], "E_VALIDATION", ""),
    (["store", "copy", "--to", "elsewhere", "--ids", "ses_000000000000", "--dry-run"], "E_NOT_FOUND", ""),
    (["store", "selftest", "--kills", "0"], "E_VALIDATION", ""),
    (["store", "selftest", "--quick", "--full"], "E_VALIDATION", "VALIDATION_ERROR"),
    (["store", "selftest", "--dir", "nowhere"], "E_VALIDATION", ""),
    (["lafs", "check", "BAD"], "E_VALIDATION", "NOT_CONFORMANT"),
    (["lafs", "check", "GOOD", "BAD"], "E_VALIDATION", "NOT_CONFORMANT"),
    (["lafs", "check", "TEXT"], "E_VALIDATION", ""),
    (["lafs", "check", "absent.json"], "E_NOT_FOUND", ""),
    (["mcp", "--bogus"], "E_USAGE", ""),
    (["serve", "--bogus"], "E_USAGE", ""),
    (["console", "--bogus"], "E_USAGE", ""),
    (["demo", "--compact"], "E_USAGE", ""),
]


@pytest.fixture(scope="module")
def names(tool: Tool, started: Any, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What the words in capitals of a case stand for."""
    folder = tmp_path_factory.mktemp("documents")
    good, bad, text = folder / "good.json", folder / "bad.json", folder / "text.json"
    good.write_bytes(tool.run("workflow", "list", "--envelope", "lafs", "--compact").out)
    bad.write_bytes(good.read_bytes().replace(b'"success":true', b'"success":"yes"'))
    text.write_bytes(b"not JSON")
    flow, broken = folder / "flow.json", folder / "broken.json"
    flow.write_bytes(THREE_STEPS)
    broken.write_bytes(THREE_STEPS.replace(b'"title"', b'"titel"'))
    bundle = folder / "bundle.json"
    bundle.write_bytes(tool.run("session", "export", started["session"]["sessionId"], "--format", "raw").out)
    return {
        "BUNDLE": str(bundle),
        "RUN": started["session"]["runId"],
        "HOME": tool.home,
        "ELSEWHERE": str(folder / "elsewhere"),
        "STATE": started["stateToken"],
        "ACK": started["ackToken"],
        "CHECKPOINT": started["checkpointToken"],
        "SESSION": started["session"]["sessionId"],
        "SESSION,ses_000000000000": started["session"]["sessionId"] + ",ses_000000000000",
        "GOOD": str(good),
        "BAD": str(bad),
        "TEXT": str(text),
        "FLOW": str(flow),
        "BROKEN": str(broken),
    }


def spelt(line: list[str], names: dict[str, str]) -> list[str]:
    spelt_line = [names.get(word, word) for word in line]
    return [word.replace('"STATE"', json.dumps(names["STATE"])) for word in spelt_line]


def path_of(line: list[str]) -> str:
    return next((path for path in _table.COMMANDS if line[: len(path.split())] == path.split()), "")


def _first_lines() -> list[list[str]]:
    """The first success and the first failure of every command."""
    found: dict[tuple[str, bool], list[str]] = {}
    for line, code, _ in CASES:
        found.setdefault((path_of(line), code == ""), line)
    return list(found.values())


STARTED = _first_lines()
"""What a process needs at its start is the same for every line of a command: one that is started shows it."""


def label(case: Any) -> str:
    return " ".join(case)[:60] if isinstance(case, list) else ""


@pytest.mark.promise("cli.one-document")
@pytest.mark.parametrize(("line", "code", "domain_code"), CASES, ids=label)
def test_the_document_keeps_the_contract(
    tool: Tool, names: dict[str, str], line: list[str], code: str, domain_code: str
) -> None:
    cold = Tool(os.path.dirname(tool.project)) if line in STARTED else tool

    document = checked_document(cold.run(*spelt(line, names)))

    error = document.get("error", {"code": "", "details": {}})
    assert (error["code"], error["details"].get("domain_code", "")) == (code, domain_code)


@pytest.mark.parametrize(("line", "code", "domain_code"), CASES, ids=label)
def test_the_lafs_dialect_conforms_at_the_complete_tier(
    tool: Tool, names: dict[str, str], line: list[str], code: str, domain_code: str
) -> None:
    ran = tool.run(*spelt(line, names), "--envelope", "lafs")

    document = strict_json(ran.out)
    if "--mvi" in line:  # the one rendering that is not schema-complete, on request only (LAFS 9.1)
        assert "$schema" not in document
        return
    report = check(document, kind="lafs", tier="complete")
    assert report.ok, (report.failed, report.schema_errors)
    assert ran.err == b""
    assert document["success"] is (code == "")
    assert ran.status == (CORE_CODES[code][0] if code else 0)
    if code:
        details = document["error"]["details"]
        assert (details["native_code"], details.get("domain_code", "")) == (code, domain_code)


def test_every_command_has_a_success_and_a_failure_here() -> None:
    """Servers, `hook` and `demo` have no document on success, a self-test takes long, a session without a run
    needs a setting, `code` a tree, `edit` and `tools` a file, `run confirm` a person, `run node` a node,
    `setup` clients and `update` an index; a hook never fails its client. Their own tests show them."""
    seen: dict[bool, set[str]] = {True: set(), False: set()}
    for line, code, _ in CASES:
        seen[code == ""].add(path_of(line))

    assert set(_table.COMMANDS) - seen[True] == {
        *("mcp", "serve", "console", "demo", "hook", "store selftest", "session start", "setup", "update"),
        *("code status", "code diff", "code restore", "edit", "tools", "run confirm"),
        *("run node", "run compare"),
    }
    assert set(_table.COMMANDS) - seen[False] == {"hook", "setup", "update"}


def test_errors_that_a_command_declares_are_in_the_catalogue() -> None:
    declared = {code for entry in _catalog.COMMANDS.values() for code in entry["errors"]}

    assert declared - set(KINDS) == set()
