"""`js-tools` as CONT prints it, and actions that Handrail runs itself on every surface."""

from __future__ import annotations

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import msgspec
import pytest

from handrail.host.process import SystemRandomness
from handrail.operations.runs import own_actions
from tests.conftest import library_of, settings_of
from tests.journeys.at_a_terminal import Person, seat
from tests.journeys.code_project import CodeProject
from tests.journeys.interfaces import command, events_of, of_kind, tool_call
from tests.surfaces.cli.here import run_here
from tests.worktree.project import write

FIND = {
    "type": "action",
    "id": "find",
    "title": "Find it",
    "operation": "code.scan",
    "params": {"search": "myFunc"},
    "saveAs": "found",
}
PREVIEW = {
    "type": "action",
    "id": "preview",
    "title": "Preview the rename",
    "operation": "code.edit",
    "params": {"rename": "{{found.first.id}}", "to": "fetchData"},
    "saveAs": "shown",
}
DECIDE = {
    "type": "choice",
    "id": "decide",
    "title": "Apply the rename?",
    "prompt": "Edits: {{shown.edit_count}}. Files: {{shown.file_count}}. Apply them?",
    "options": [
        {"id": "yes", "label": "Apply it", "set": {"apply": True}},
        {"id": "no", "label": "Leave everything as it is", "set": {"apply": False}},
    ],
}
WRITE = {
    "type": "action",
    "id": "write",
    "title": "Apply the rename",
    "operation": "code.edit",
    "params": {"continuation": "{{shown.plan}}", "fix": True},
    "saveAs": "applied",
    "when": "wanted",
}
REFACTOR: dict[str, Any] = {
    "id": "project.my_refactor",
    "kind": "workflow",
    "name": "Rename with a look first",
    "description": "Finds a function, previews its rename and applies it once somebody said yes.",
    "version": "1.0.0",
    "conditions": [{"id": "wanted", "kind": "compare", "input": "apply", "op": "equals", "value": True}],
    "steps": [FIND, PREVIEW, DECIDE, WRITE],
}
RENAMED = ["src/app.js", "src/main.js", "test/app.test.js"]


@pytest.fixture
def code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CodeProject:
    project = CodeProject(tmp_path)
    put(project, REFACTOR)
    monkeypatch.chdir(project.root)
    return project


def put(code: CodeProject, workflow: dict[str, Any], *steps: dict[str, Any]) -> None:
    whole = workflow | ({"steps": list(steps)} if steps else {})
    if not any("when" in step for step in whole["steps"]):
        whole = whole | {"conditions": []}
    write(code.root, "my-refactor.json", json.dumps(whole))


def start(code: CodeProject, *steps: dict[str, Any], **params: Any) -> dict[str, Any]:
    """The first reply over MCP, of the same workflow in the library."""
    put(code, REFACTOR, *steps)
    library_of(code.runtime).add(code.text("my-refactor.json").encode(), "my-refactor.json")
    return tool_call(code.runtime, "start_workflow", workflowId="project.my_refactor", **params).structured


@pytest.mark.promise("code.workflow.choice")
def test_file_runs_to_its_choice_and_an_option_goes_on(code: CodeProject) -> None:
    before = code.texts()

    told = code.told("js-tools --workflow my-refactor.json --json")
    unchanged = code.texts()
    done = code.told("js-tools --workflow-resume TOKEN_YES --json", TOKEN_YES=_token(told, "choice:yes"))

    assert (told["current_step"], told["awaiting_input"]) == ("decide", True)
    assert {"choice:yes", "choice:no"} <= set(told["continuation_tokens"])
    assert told["prompt"].startswith("Edits: 7. Files: 3.")
    assert [one["step"] for one in told["ran"]] == ["find", "preview"]
    assert unchanged == before
    assert (done["current_step"], done["awaiting_input"], done["continuation_tokens"]) == (None, False, {})
    assert done["result"]["files_modified"] == RENAMED
    assert "function fetchData(name)" in code.text("src/app.js")


@pytest.mark.promise("code.workflow.choice")
def test_an_option_that_declines_leaves_every_file_as_it_is(code: CodeProject) -> None:
    before = code.texts()
    told = code.told("js-tools --workflow my-refactor.json")

    done = code.told("js-tools --workflow-resume T", T=_token(told, "choice:no"))

    assert (done["current_step"], done["ran"], code.texts()) == (None, [], before)


@pytest.mark.promise("code.workflow.checkpoints")
def test_checkpoint_mode_stops_after_each_step(code: CodeProject) -> None:
    line = "js-tools --workflow my-refactor.json --checkpoint-mode --json"
    put(code, REFACTOR, FIND, DECIDE | {"prompt": "{{found.count}} found. Go on?"}, PREVIEW)

    first = code.told(line)
    second = code.told("js-tools --workflow-resume TOKEN_YES --json", TOKEN_YES=_token(first, "choice:yes"))
    put(code, REFACTOR)
    paused = code.told(line)
    resumed = code.told("js-tools --workflow-resume T", T=_token(paused, "continue"))
    again = code.told("js-tools --workflow-resume T", T=_token(paused, "continue"))

    assert (first["current_step"], first["awaiting_input"]) == ("decide", True)
    assert (second["current_step"], [one["step"] for one in second["ran"]]) == (None, ["preview"])
    assert (paused["current_step"], paused["awaiting_input"]) == ("preview", False)
    assert (resumed["current_step"], resumed["awaiting_input"]) == ("decide", True)
    assert again == resumed


def test_the_run_is_an_ordinary_one(code: CodeProject) -> None:
    told = code.told("js-tools --workflow my-refactor.json")

    _, listed = command(code.runtime, "session", "list")
    _, shown = command(code.runtime, "session", "show", told["session_id"])
    _, read = command(code.runtime, "run", "continue", "--state", told["state_token"])
    choice = read["data"]["pending"]["choices"][0]
    _, done = command(code.runtime, "run", "continue", "--ack", choice["token"])

    assert [one["id"] for one in listed["data"]["items"]] == [told["session_id"]]
    assert "project.my_refactor" in json.dumps(shown)
    assert (choice["id"], done["data"]["isComplete"]) == ("yes", True)
    assert [one["stepId"] for one in done["data"]["ran"]] == ["write"]
    assert "function fetchData(name)" in code.text("src/app.js")


def test_an_agent_without_a_shell_has_actions_run_for_it(code: CodeProject) -> None:
    runtime = code.runtime

    began = start(code)
    taken = began["pending"]["choices"][0]["token"]
    done, again = (tool_call(runtime, "continue_workflow", ackToken=taken) for _ in range(2))
    events = events_of(runtime, began)

    assert (began["pending"]["stepId"], [one["stepId"] for one in began["ran"]]) == (
        "decide",
        ["find", "preview"],
    )
    assert began["ran"][0]["result"] == 'code.scan search "myFunc": found 7 of 7.'
    assert done.structured["isComplete"] is True
    assert "- Handrail ran write: code.edit: wrote 3 files: " in done.text
    assert again == done
    saved = [name for event in of_kind(events, "context_set") for name in event["data"]["context"]]
    assert saved == ["found", "shown", "apply", "applied"]
    assert events[-1]["index"] == events_of(runtime, began)[-1]["index"]


def test_other_operations_are_asked_of_the_agent(code: CodeProject) -> None:
    put(code, REFACTOR, {"type": "action", "id": "list", "operation": "workflow.list", "saveAs": "known"})

    told = code.told("js-tools --workflow my-refactor.json")
    done = code.told("js-tools --workflow-resume T --context '{\"known\": []}'", T=_token(told, "continue"))

    assert (told["current_step"], told["awaiting_input"], told["ran"]) == ("list", True, [])
    assert done["current_step"] is None


@pytest.mark.promise("code.workflow.guard")
def test_an_action_that_writes_waits_where_no_choice_was_made(code: CodeProject) -> None:
    write(code.root, "src/tool.py", "def myFunc():\n    pass\n")
    narrow = PREVIEW | {"params": {"rename": "myFunc", "to": "fetchData", "languages": ["javascript"]}}
    put(code, REFACTOR, narrow, {name: value for name, value in WRITE.items() if name != "when"})
    before = code.texts()

    told = code.told("js-tools --workflow my-refactor.json")
    token = _token(told, "apply")
    status, refused = code.line("js-tools --workflow-resume T", T=token)
    unchanged = code.texts()
    done = code.told("js-tools --workflow-resume T --fix", T=token)

    assert (told["current_step"], told["awaiting_input"]) == ("write", True)
    assert {one["id"]: one["guard"] for one in told["next_actions"]} == {"apply": True, "show": False}
    assert (status, refused["code"], unchanged == before) == (5, "E_CONFIRMATION_REQUIRED", True)
    assert done["result"]["files_modified"] == RENAMED


@pytest.mark.promise("code.workflow.guard")
def test_a_choice_before_the_preview_does_not_approve_it(code: CodeProject) -> None:
    put(code, REFACTOR, DECIDE | {"prompt": "Shall we?"}, FIND, PREVIEW, WRITE)
    before = code.texts()
    told = code.told("js-tools --workflow my-refactor.json")

    waiting = code.told("js-tools --workflow-resume T", T=_token(told, "choice:yes"))

    assert (waiting["current_step"], waiting["awaiting_input"]) == ("write", True)
    assert code.texts() == before


def test_a_repeat_finishes_what_a_killed_call_began(code: CodeProject) -> None:
    """Killed after the choice was recorded, and killed after the files were written."""
    told = code.told("js-tools --workflow my-refactor.json")
    line, token = "js-tools --workflow-resume T", _token(told, "choice:yes")
    _kill_at(code, "perform_action", line, token)
    chosen, unwritten = _count_events(code, told), code.texts()
    _kill_at(code, "decide_advance", line, token)
    written, unrecorded = code.texts(), _count_events(code, told)
    code.runtime = msgspec.structs.replace(code.make_runtime(), log=code.runtime.log)

    done = code.told(line, T=token)
    recorded = _count_events(code, told)
    again = code.told(line, T=token)

    assert "fetchData" not in unwritten["src/app.js"].decode()
    assert (written != unwritten, unrecorded) == (True, chosen)
    assert (done["result"]["already_applied"], done["result"]["files_modified"]) == (True, RENAMED)
    assert (again, _count_events(code, told), code.texts()) == (done, recorded, written)


def test_two_calls_with_one_token_write_once_and_get_one_answer(
    code: CodeProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both are at the action that writes before either of them has written."""
    told = code.told("js-tools --workflow my-refactor.json")
    both_here = threading.Barrier(2)
    perform = own_actions.perform_action

    def perform_together(*given: Any) -> Any:
        both_here.wait(timeout=60)
        return perform(*given)

    monkeypatch.setattr(own_actions, "perform_action", perform_together)
    words = ["js-tools", "--workflow-resume", _token(told, "choice:yes")]
    chance = SystemRandomness()
    runtimes = [
        msgspec.structs.replace(code.make_runtime(), log=code.runtime.log, randomness=chance)
        for _ in range(2)
    ]
    with ThreadPoolExecutor(2) as pool:
        ran = list(pool.map(lambda rt: run_here(rt, words, envelope="cont"), runtimes))

    first, second = (json.loads(one.out) for one in ran)
    assert [one.status for one in ran] == [0, 0]
    assert first == second
    assert first["blockers"] == []
    assert first["result"]["files_modified"] == RENAMED
    assert code.text("src/app.js").count("fetchData") == 3
    assert not list(code.root.rglob("*.tmp"))


def test_later_of_two_choices_hears_that_the_first_counts(code: CodeProject) -> None:
    before = code.texts()
    told = code.told("js-tools --workflow my-refactor.json")

    code.told("js-tools --workflow-resume T", T=_token(told, "choice:no"))
    late = code.told("js-tools --workflow-resume T", T=_token(told, "choice:yes"))

    assert late["warnings"][0]["code"] == "REPLAY_INPUT_MISMATCH"
    assert (late["ran"], code.texts()) == ([], before)


def test_one_call_runs_a_bounded_number_of_actions(code: CodeProject) -> None:
    loop = {"type": "loop", "loopId": "all", "count": 40, "maxIterations": 40, "body": [FIND]}
    steps = (loop, DECIDE | {"prompt": "Found: {{found.count}}. Go on?"})
    began = start(code, *steps, requestId="key")
    ack = began["ackToken"]

    second, again = (tool_call(code.runtime, "continue_workflow", ackToken=ack).structured for _ in range(2))
    read = tool_call(code.runtime, "continue_workflow", stateToken=began["stateToken"]).structured

    assert (len(began["ran"]), began["pending"]["stepId"]) == (25, "all@25::find")
    assert began["pending"]["prompt"].endswith("when this step is acknowledged.")
    assert (len(second["ran"]), second["pending"]["stepId"]) == (15, "decide")
    assert again == second
    assert start(code, *steps, requestId="key") == began
    assert read["pending"]["stepId"] == "all@25::find"


def test_a_run_that_must_not_stop_goes_on_with_a_gap(code: CodeProject) -> None:
    began = start(
        code,
        FIND | {"params": {"trace": "nobody_has_this_name"}},
        DECIDE | {"prompt": "Go on?"},
        preferences={"autonomy": "full_auto_never_stop"},
    )

    assert began["pending"]["stepId"] == "decide"
    assert "code.scan was not carried out: E_NOT_FOUND" in json.dumps(began["warnings"])


@pytest.mark.promise("code.workflow.stale")
def test_a_plan_is_not_applied_to_files_that_changed_since(code: CodeProject) -> None:
    told = code.told("js-tools --workflow my-refactor.json")
    write(code.root, "src/app.js", code.text("src/app.js") + "\nmyFunc('later');\n")
    changed = code.texts()

    stopped = code.told("js-tools --workflow-resume T", T=_token(told, "choice:yes"))
    unwritten = code.texts()
    retried = code.told("js-tools --workflow-resume T --fix", T=_token(stopped, "retry"))
    shown = code.told("js-tools --workflow-resume T", T=stopped["recovery"]["reissue_token"])
    done = code.told("js-tools --workflow-resume T", T=_token(shown, "choice:yes"))

    assert (stopped["status"], stopped["current_step"]) == ("blocked", "write")
    assert "RESULTS_STALE" in stopped["blockers"][0]["message"]
    assert (unwritten, retried["status"]) == (changed, "blocked")
    assert (shown["current_step"], shown["prompt"]) == ("decide", "Edits: 8. Files: 3. Apply them?")
    assert done["result"]["files_modified"] == RENAMED
    assert "myFunc" not in code.text("src/app.js")


@pytest.mark.promise("code.workflow.stale")
def test_an_agent_is_led_back_to_the_preview(code: CodeProject) -> None:
    runtime = code.runtime
    began = start(code)
    write(code.root, "src/app.js", code.text("src/app.js") + "\nmyFunc('later');\n")

    token = began["pending"]["choices"][0]["token"]
    stopped = tool_call(runtime, "continue_workflow", ackToken=token).structured
    again = tool_call(runtime, "continue_workflow", ackToken=token).structured
    (warning,) = stopped["warnings"]
    back = tool_call(runtime, warning["nextCall"]["tool"], **warning["nextCall"]["params"]).structured
    shown = tool_call(runtime, back["nextCall"]["tool"], **back["nextCall"]["params"]).structured

    assert (stopped["kind"], warning["code"], again) == ("blocked", "FILES_DIFFER", stopped)
    assert back["pending"]["stepId"] == "preview"
    assert (shown["pending"]["stepId"], shown["pending"]["prompt"][:9]) == ("decide", "Edits: 8.")


@pytest.mark.promise("code.workflow.guard")
@pytest.mark.parametrize(("said", "is_written"), [("yes", True), ("no", False)])
def test_action_that_wants_a_person_writes_nothing_without(
    code: CodeProject, said: str, is_written: bool
) -> None:
    settings = settings_of(code.runtime)
    settings.settings = msgspec.structs.replace(settings.settings, confirmations="person")
    told = code.told("js-tools --workflow my-refactor.json")
    before = code.texts()

    stopped = code.told("js-tools --workflow-resume T", T=_token(told, "choice:yes"))
    unwritten = code.texts()
    seated = seat(code.runtime, Person(said))
    run_here(seated, ["run", "answer", "--state", stopped["state_token"]])
    last = code.told("js-tools --workflow-resume T --fix", T=_token(stopped, "retry"))

    assert (stopped["blockers"][0]["code"], unwritten) == ("USER_ONLY_DEPENDENCY", before)
    assert (last["current_step"] is None, code.texts() != before) == (is_written, is_written)


def test_an_action_that_cannot_be_carried_out_says_why(code: CodeProject) -> None:
    named = PREVIEW | {"params": {"rename": "myFunc", "file": "src/app.js", "to": "{{name}}"}}
    inputs = {"name": {"type": "string", "description": "The new name."}}
    put(code, REFACTOR | {"inputs": inputs}, named, DECIDE)

    missing = code.told("js-tools --workflow my-refactor.json")
    clash = code.told(
        'js-tools --workflow-resume T --context \'{"name": "helper"}\'', T=_token(missing, "retry")
    )
    shown = code.told(
        'js-tools --workflow-resume T --context \'{"name": "fetchData"}\'', T=_token(clash, "retry")
    )

    assert (missing["status"], missing["current_step"]) == ("blocked", "preview")
    assert "It needs name" in missing["blockers"][0]["message"]
    assert "EDIT_REFUSED" in clash["blockers"][0]["message"]
    assert (shown["status"], shown["current_step"]) == ("success", "decide")


@pytest.mark.promise("code.workflow.tokens")
def test_a_resume_token_that_is_not_accepted_says_what_to_do(code: CodeProject, tmp_path: Path) -> None:
    told = code.told("js-tools --workflow my-refactor.json")
    token = _token(told, "choice:yes")
    scanned = code.told("js-scan --search myFunc --ai-mode")["continuation_tokens"]["analyze:0"]
    other_folder = tmp_path / "other"
    other_folder.mkdir()
    other = CodeProject(other_folder)

    refused = {
        name: project.line("js-tools --workflow-resume T", T=text)[1]
        for name, project, text in (
            ("damaged", code, token[:40] + "x" + token[41:]),
            ("garbage", code, "TOKEN_YES"),
            ("foreign", other, token),
            ("scan", code, scanned),
        )
    }
    code.clock.seconds += 3_600
    status, expired = code.line("js-tools --workflow-resume T", T=token)
    refreshed = code.told("js-tools --workflow-resume T", T=expired["recovery"]["refresh_token"])

    codes = {name: document["code"] for name, document in refused.items()}
    assert codes == dict.fromkeys(("damaged", "garbage", "foreign"), "INVALID_TOKEN") | {
        "scan": "ACTION_NOT_ALLOWED"
    }
    assert "handrail session list" in refused["garbage"]["recovery"]["suggestion"]
    assert (expired["code"], status != 0) == ("TOKEN_EXPIRED", True)
    assert refreshed["result"]["files_modified"] == RENAMED


@pytest.mark.parametrize(
    ("step", "says"),
    [
        (FIND | {"operation": "code.scn"}, "There is no operation code.scn"),
        (
            FIND | {"operation": "code.grep"},
            "Use one of code.diff, code.edit, code.restore, code.scan, code.status",
        ),
        (
            FIND | {"operation": "grep"},
            "Use one of code.diff, code.edit, code.restore, code.scan, code.status",
        ),
        (FIND | {"params": {"serch": "x"}}, "code.scan does not take"),
        (FIND | {"params": {"search": 1}}, "code.scan refuses this"),
        (FIND | {"when": "nobody"}, "nobody"),
        (FIND | {"operation": "code.edit", "params": {"rename": "a", "to": "b", "fix": True}}, "names none"),
    ],
)
def test_a_wrong_file_is_refused_with_its_problems(
    code: CodeProject, step: dict[str, Any], says: str
) -> None:
    put(code, REFACTOR, step, PREVIEW, DECIDE, WRITE)

    status, told = code.line("js-tools --workflow my-refactor.json")
    missing = code.line("js-tools --workflow nowhere.json")[1]

    assert (status, told["code"]) == (2, "WORKFLOW_INVALID")
    assert says in json.dumps(told["details"]["problems"])
    assert missing["code"] == "WORKFLOW_NOT_FOUND"


def test_nobody_else_sets_what_an_action_saves(code: CodeProject) -> None:
    told = code.told("js-tools --workflow my-refactor.json")
    forged = {"shown": {"plan": "sha256:0", "planned": {}}}

    refused = [
        code.line(f"{line} --context '{json.dumps(forged)}'", T=_token(told, "choice:yes"))[1]
        for line in ("js-tools --workflow my-refactor.json", "js-tools --workflow-resume T")
    ]

    assert {one["code"] for one in refused} == {"VALIDATION_ERROR"}
    assert {one["details"]["problems"][0]["problem"] for one in refused} == {
        "is what the action preview saves"
    }


@pytest.mark.promise("code.workflow.tokens")
def test_other_answer_to_a_choice_has_a_token_for_a_branch(code: CodeProject) -> None:
    told = code.told("js-tools --workflow my-refactor.json")
    code.told("js-tools --workflow-resume T", T=_token(told, "choice:no"))

    late = code.told("js-tools --workflow-resume T", T=_token(told, "choice:yes"))
    forked = code.told("js-tools --workflow-resume T", T=_token(late, "fork"))

    (warning, *_) = late["warnings"]
    assert (warning["code"], "nextCall" in warning) == ("REPLAY_INPUT_MISMATCH", False)
    assert "send the token fork" in warning["message"]
    assert late["skipped"] == []  # the option that was taken made the write superfluous
    assert [one["step"] for one in forked["ran"]] == [WRITE["id"]]


class _Killed(BaseException):
    """The process ends here."""


def _kill_at(code: CodeProject, place: str, line: str, token: str) -> None:
    """The line, in a process that ends where it would call this function."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(own_actions, place, _die)
        with pytest.raises(_Killed):
            code.line(line, T=token)


def _die(*_: object, **__: object) -> None:
    raise _Killed


def _count_events(code: CodeProject, told: dict[str, Any]) -> int:
    loaded = code.runtime.log.load(told["session_id"])
    assert loaded is not None
    return len(loaded.records)


def _token(told: dict[str, Any], name: str) -> str:
    token: str = told["continuation_tokens"][name]
    return token
