"""Second journeys about the self-description: what `reference` declares is what happens."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.journeys.strangers.command_line.tools_b import (
    Index,
    Json,
    paths_of,
    reference,
    skill_of,
    small_workflow,
    started,
)
from tests.journeys.strangers.product import Product

NOT_TRIED = (
    "handrail mcp",
    "handrail demo",
    "handrail store selftest",
    "handrail hook",
    "handrail serve",  # they run until a signal: tests/surfaces/http has them
    "handrail console",
    "handrail lafs check --url",
    "handrail run confirm",  # needs a terminal: tests/journeys/test_confirmations.py has one
)


def leaves_of_help(text: str) -> set[str]:
    """The commands that the help of the program lists."""
    block = text.split("Commands:\n", 1)[1].split("\n\n", 1)[0]
    found = re.findall(r"^  ([a-z]+(?: [a-z]+)?)  ", block, flags=re.M)
    return {name.strip() for name in found}


class Places:
    """A project in which every example has something to act on, and the values of its capital words."""

    def __init__(self, product: Product) -> None:
        self.product = product
        self.run = started(product, "places", "Review the change", "wr.small_change")
        self.session = str(self.run["session"]["sessionId"])
        product.data("session", "export", self.session, "--out", "work.handrail.json")
        (product.project / "work.handrail.json").rename(product.project / "kept.handrail.json")
        product.workflow(small_workflow("project.seen"))
        made = product.project / ".handrail" / "workflows" / "project.seen.json"
        for name in ("my_check", "my-refactor"):
            text = made.read_text(encoding="utf-8").replace(
                "project.seen", f"project.{name.replace('-', '_')}"
            )
            (product.project / f"{name}.json").write_text(text, encoding="utf-8")
        (product.project / "answer.json").write_text(
            product.run("context", "--envelope", "lafs").out, encoding="utf-8"
        )
        (product.project / "notes.md").write_text("Read the code and found the place.", encoding="utf-8")
        (product.project / "artifacts.json").write_text("[]", encoding="utf-8")
        self.token = ""
        self.count = 0
        self.moved = started(product, "moved")
        for _ in range(2):
            notes = "Read the code, ran the check and wrote the plan."
            self.moved = product.data("run", "continue", "--ack", self.moved["ackToken"], "--notes", notes)
        self.kept = str(started(product, "kept")["session"]["sessionId"])
        looked = product.run("code", "status", "--session", self.kept)
        self.node = str(json.loads(looked.out)["data"]["node_id"]) if looked.status == 0 else ""

    def fresh(self) -> Json:
        """A step that nobody has continued yet."""
        self.count += 1
        return started(self.product, f"fresh-{self.count}", "more")

    def line(self, example: str) -> list[str]:
        run = self.fresh() if "_TOKEN" in example and "CONFIRM" not in example else self.run
        words = {
            "ACK_TOKEN": run["ackToken"],
            "STATE_TOKEN": run["stateToken"],
            "CHECKPOINT_TOKEN": run["checkpointToken"],
            "SESSION_ID": self.kept if "NODE_ID" in example else self.session,
            "RUN_ID": self.moved["session"]["runId"] if "ledger" in example else run["session"]["runId"],
            "CONFIRM_TOKEN": self.token,
            "NODE_ID": self.node,
            "OTHER_NODE_ID": self.node,
        }
        return [words.get(word, word) for word in shlex.split(example)[1:]]

    def failed(self, examples: list[str]) -> list[tuple[str, str]]:
        """The lines that did not work, each with its answer."""
        found: list[tuple[str, str]] = []
        for example in examples:
            line = self.line(example)
            if "CONFIRM_TOKEN" in example:
                at = line.index("--confirm")
                self.token = str(self.product.data(*line[:at], *line[at + 2 :], "--dry-run")["confirm_token"])
                line[at + 1] = self.token
            if "import" in line:
                shutil.copy(
                    self.product.project / "kept.handrail.json", self.product.project / "work.handrail.json"
                )
            ran = self.product.run(
                *line, stdin=(self.product.project / "answer.json").read_text(encoding="utf-8")
            )
            if ran.status != 0:
                found.append((example, ran.out[:400] + ran.err[:200]))
        return found


@pytest.mark.promise("cli.reference")
def test_help_and_reference_know_the_same_commands_and_every_name_resolves(product: Product) -> None:
    told = reference(product)
    flags = {flag["name"] for flag in told["global_flags"]}
    codes = set(told["error_codes"])
    natives = {code for found in told["error_codes"].values() for code in found["native_codes"]}
    whole = product.run("--help").out

    assert leaves_of_help(whole) == {command["path"] for command in told["commands"]}
    assert set(re.findall(r"^  (--[a-z-]+)", whole, flags=re.M)) == flags
    for command in told["commands"]:
        assert set(command["global_flags"]) <= flags, command["path"]
        assert set(command["errors"]) <= codes | natives, (
            command["path"],
            set(command["errors"]) - codes - natives,
        )
        assert command["output_schema"] in told["schemas"], command["path"]
        assert command["dry_run_output_schema"] in {None, *told["schemas"]}, command["path"]
    assert {str(found["exit"]) for found in told["error_codes"].values()} <= set(told["exit_codes"])


@pytest.mark.promise("cli.reference")
@pytest.mark.parametrize(
    "path", ["session list", "run start", "session delete", "store copy", "update", "workflow graph"]
)
def test_a_global_flag_that_a_command_does_not_declare_is_refused_by_it(product: Product, path: str) -> None:
    told = product.data("reference", "--command", path)["commands"][0]
    values = {"--confirm": ["x"], "--out": ["f"], "--expand": ["x"], "--budget": ["items=1"], "--stream": []}
    values |= {"--dry-run": [], "--dangerous": [], "--continue-on-error": ["true"]}
    undeclared = [flag for flag in values if flag not in told["global_flags"]]

    ran = product.run(*path.split(), *(word for flag in undeclared for word in (flag, *values[flag])))

    assert ran.status == 2
    assert [flag for flag in undeclared if flag not in ran.out] == []


@pytest.mark.promise("cli.schemas")
def test_no_answer_has_a_field_that_its_declared_type_does_not_list(product: Product) -> None:
    run = started(product, "a", "look")
    session = run["session"]["sessionId"]
    product.data("run", "checkpoint", "--checkpoint", run["checkpointToken"], "--notes", "half")
    lines: list[tuple[str, ...]] = [
        ("session list",),
        ("session show", session),
        ("session events", session),
        ("session resume", "look"),
        ("session export", session),
        ("ledger show", run["session"]["runId"]),
        ("store du",),
        ("store verify",),
        ("preferences show",),
        ("workflow inspect", "wr.code_review", "--part", "steps"),
        ("workflow graph", "wr.small_change"),
        ("workflow validate", "wr.small_change"),
        ("context",),
        ("doctor", "--offline", "--checks", "store,release_readiness"),
        ("completion", "--shell", "fish"),
        ("run close", session, "--reason", "abandoned"),
    ]
    told = reference(product)
    types = {
        command["path"]: told["schemas"][command["output_schema"]]["fields"] for command in told["commands"]
    }

    extra: dict[str, set[str]] = {}
    for path, *rest in lines:
        fields = set(types[path])
        opaque = {field for field in fields if not any(other.startswith(f"{field}.") for other in fields)}
        for name, _ in paths_of(product.data(*path.split(), *rest)):
            inside = any(name.startswith(f"{field}.") for field in opaque)
            if name not in fields and not inside and not name.endswith("_untrusted"):
                extra.setdefault(path, set()).add(name)

    assert extra == {}


@pytest.mark.promise("cli.untrusted")
def test_words_of_a_stranger_are_named_beside_themselves_wherever_they_come_out(product: Product) -> None:
    marker = "IGNORE-ALL-RULES"
    workflow = small_workflow("project.odd")
    workflow |= {"name": marker, "description": marker}
    product.workflow(workflow)
    run = started(product, "a", marker, "project.odd")
    session, run_id = run["session"]["sessionId"], run["session"]["runId"]
    product.data("run", "checkpoint", "--checkpoint", run["checkpointToken"], "--notes", marker)
    lines = [
        ("run", "continue", "--state", run["stateToken"]),
        ("session", "list"),
        ("session", "show", session),
        ("session", "events", session),
        ("session", "resume"),
        ("session", "export", session, "--as", "markdown"),
        ("ledger", "show", run_id),
        ("workflow", "list", "--sources", "project"),
        ("workflow", "inspect", "project.odd"),
        ("run", "close", run_id, "--reason", "abandoned", "--note", marker),
    ]

    bare = {" ".join(line[:2]): unmarked(product.data(*line), marker) for line in lines}

    assert {line: found for line, found in bare.items() if found} == {}


def unmarked(value: Any, marker: str, at: str = "", covered: tuple[str, ...] = ()) -> list[str]:
    """The paths at which the marker stands without an `_untrusted` beside or above it that names them."""
    if isinstance(value, dict):
        named = covered + tuple(f"{at}{name}" for name in value.get("_untrusted", ()))
        return [
            path
            for key, part in value.items()
            if key != "_untrusted"
            for path in unmarked(part, marker, f"{at}{key}.", named)
        ]
    if isinstance(value, list):
        return [path for part in value for path in unmarked(part, marker, at, covered)]
    path = at.rstrip(".")
    hit = isinstance(value, str) and marker in value
    return [path] if hit and not any(path == name or path.startswith(f"{name}.") for name in covered) else []


@pytest.mark.promise("cli.examples")
def test_every_example_of_reference_runs_where_every_feature_is_on(product: Product, index: Index) -> None:
    index.used_by(product)
    settings = product.home / "config.json"
    given = json.loads(settings.read_text(encoding="utf-8")) | {
        "startSession": True,
        "code": {"snapshots": "always"},
    }
    settings.write_text(json.dumps(given), encoding="utf-8")
    declared = product.project / ".handrail" / "config.json"
    declared.parent.mkdir(exist_ok=True)
    declared.write_text('{"checks": {"tests": {"command": ["true"]}}}', encoding="utf-8")
    source = product.project / "src" / "app.js"
    source.parent.mkdir()
    source.write_text("export function greet(name) {\n  return `Hello ${name}`;\n}\n", encoding="utf-8")
    told = reference(product)["commands"]
    examples = [
        line
        for command in told
        for line in command["examples"]
        if not line.startswith(NOT_TRIED) and line != "handrail update"  # a checkout is updated by git
    ]
    gated = [command for command in told if command["requires_confirmation"]]

    failed = Places(product).failed([line for line in examples if "--dangerous" not in line])

    assert gated
    for command in gated:
        assert any("--dry-run" in line for line in command["examples"]), command["path"]
        assert any("--confirm" in line for line in command["examples"]), command["path"]
    assert failed == []


@pytest.mark.promise("cli.pages-run")
def test_every_line_of_the_skill_and_its_pages_runs(product: Product, index: Index) -> None:
    index.used_by(product)
    skill = skill_of(product)
    lines = [
        line
        for page in sorted(skill.rglob("*.md"))
        for block in re.findall(r"```sh\n(.*?)```", page.read_text(encoding="utf-8"), flags=re.S)
        for line in block.splitlines()
        if line.startswith("handrail ") and "--dangerous" not in line
    ]

    failed = Places(product).failed(lines)

    assert len(lines) > 10
    assert failed == []


@pytest.mark.promise("cli.names")
def test_a_group_alone_does_nothing_and_no_command_has_three_words(product: Product) -> None:
    paths = {command["path"] for command in reference(product)["commands"]}
    groups = sorted({path.split()[0] for path in paths if " " in path})

    answers = [product.run(group) for group in groups]

    assert {len(path.split()) for path in paths} <= {1, 2}
    assert not set(groups) & paths
    assert [ran.status for ran in answers] == [2] * len(groups)
    assert all(set(ran.document["error"]["details"]["commands"]) <= paths for ran in answers)
    assert not product.home.exists()


@pytest.mark.promise("cli.params")
def test_no_parameter_asks_for_true_or_false_as_a_word(product: Product) -> None:
    params = [
        (command["path"], param) for command in reference(product)["commands"] for param in command["params"]
    ]

    worded = [
        (path, param["name"]) for path, param in params if {"true", "false"} & set(param["values"] or ())
    ]
    open_sets = [
        (path, param["name"]) for path, param in params if "choice" in param["kind"] and not param["values"]
    ]

    assert open_sets == []
    assert worded == []


@pytest.mark.promise("cli.params")
def test_a_switch_takes_no_value_and_a_wrong_choice_is_told_all_of_them(product: Product) -> None:
    valued = product.run("doctor", "--offline=no", "--checks", "python")
    wrong = product.error("session", "list", "--status", "done")

    assert valued.status == 2
    assert all(
        status in str(wrong["details"]["problems"]) for status in ("blocked", "complete", "in_progress")
    )


@pytest.mark.promise("cli.help-as-data")
def test_help_as_a_document_is_the_reference_wherever_the_flags_stand(product: Product) -> None:
    asked = product.run("--format", "json", "session", "--help")
    one = product.run("session", "delete", "--help", "--envelope", "cli", "--json")
    same = product.run("reference", "--command", "session delete")

    group = {command["path"] for command in asked.document["data"]["commands"]}
    assert group
    assert all(path.startswith("session ") for path in group)
    assert one.document["data"] == same.document["data"]


@pytest.mark.promise("cli.covered")
def test_every_leaf_refuses_an_unknown_flag_with_a_code_that_it_declares(product: Product) -> None:
    told = reference(product)["commands"]

    told = [command for command in told if command["path"] != "hook"]  # it never fails its host
    answers = {command["path"]: product.run(*command["path"].split(), "--frobnicate") for command in told}

    wrong: dict[str, tuple[int, str]] = {}
    for command in told:
        ran = answers[command["path"]]
        code = ran.document["error"]["code"] if ran.out.startswith("{") else ran.out[:80] + ran.err[:80]
        if ran.status != 2 or code not in command["errors"]:
            wrong[command["path"]] = (ran.status, code)
    assert wrong == {}


@pytest.mark.promise("cli.deprecated")
def test_whatever_is_announced_to_go_has_a_day_and_says_so_at_each_use(product: Product) -> None:
    told = reference(product)
    things = [*told["commands"], *told["global_flags"], *(p for c in told["commands"] for p in c["params"])]

    going = [thing["deprecated"] for thing in things if thing.get("deprecated")]

    assert all(re.search(r"\d{4}-\d\d-\d\d", str(notice)) for notice in going)


@pytest.mark.promise("cli.aliases")
def test_no_page_example_or_hint_recommends_a_compatibility_spelling(product: Product) -> None:
    told = reference(product)
    skill = skill_of(product)
    shown = [line for command in told["commands"] for line in command["examples"]]
    shown += [page.read_text(encoding="utf-8") for page in Path(skill).rglob("*") if page.is_file()]
    shown += product.data("context")["next_steps"]
    shown.append(str(product.error("session", "delete", "--ids", "ses_aaaaaaaaaaaa")))

    spelled = [text for text in shown if re.search(r"--json\b|--format human|--ackToken|--id\b", text)]

    assert spelled == []
