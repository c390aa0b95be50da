"""The bundled workflows: clean, evidence-based, walkable to every end, and described by their pages."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest

from bench.run_costs import cheapest_run, say_cost
from bench.tokens import WHOLE_RUNS
from handrail.contract.disclosure.estimate import estimate_tokens
from handrail.engine.facts import first_facts
from handrail.engine.judge.report_frame import AT_START, list_asks, make_frame, steering_values
from handrail.engine.navigate import Complete, Running, first_move, next_move
from handrail.engine.simulation.report import ALL_MODES, Coverage
from handrail.workflows.builtins.placement import routine_template_id
from handrail.workflows.checking.linter import check as lint
from handrail.workflows.compiled import Choice, CompiledWorkflow, Loop, Step, walk_parts
from handrail.workflows.compiling.compilation import Compilation, Surroundings
from handrail.workflows.compiling.compiler import compile_workflow
from handrail.workflows.conditions import Facts, comparisons
from handrail.workflows.model import SourceWorkflow
from handrail.workflows.part_contents import strings_in
from handrail.workflows.reading.reader import Reading, read_workflow
from handrail.workflows.spellings.spelling import decode_document
from tests.cases import every_case
from tests.engine.simulation.simulated import simulate
from tests.house.markdown import fenced_blocks, links, slug, table_rows
from tests.house.tree import ROOT

FOLDER = os.path.join(ROOT, "src", "handrail", "host", "bundled")
PAGES = os.path.join(ROOT, "docs", "workflows")
FILES = sorted(os.listdir(FOLDER))
IDS = [name.removesuffix(".md") for name in FILES]
ROUTINES = [name for name in IDS if name.startswith("wr.routine_")]
ROUTINES_THAT_READ = ("wr.feature_delivery",)
"""They call a routine that reads the rules of the project, which may also run alone."""

PROMPT_TOKENS = 600
PROMPT_BYTES = 2_500
"""What an author may write for one step; refs, examples and features come on top."""
VERIFICATION = "wr.contracts.verification_report"
LOOP_CONTROL = "wr.contracts.loop_control"
BLOCKS = {"goal", "procedure"}
SOFT = re.compile(
    r"\b(?:if|where|when) (?:possible|appropriate|needed|necessary|applicable)\b"
    r"|\bas (?:appropriate|needed)\b|\btry to\b|\bideally\b|\bfeel free\b"
    r"|\bbest effort\b|\bsimply\b|\betc\b|!",
    re.IGNORECASE,
)
every = every_case("workflow_id", IDS)


def content(workflow_id: str) -> bytes:
    with open(os.path.join(FOLDER, workflow_id + ".md"), "rb") as file:
        return file.read()


@cache
def document(workflow_id: str) -> dict[str, Any]:
    decoded = decode_document(content(workflow_id), "md")
    assert isinstance(decoded, dict)
    return decoded


@cache
def reading(workflow_id: str) -> Reading:
    return read_workflow(content(workflow_id), "md")


def source(workflow_id: str) -> SourceWorkflow:
    workflow = reading(workflow_id).workflow
    assert workflow is not None, reading(workflow_id).problems
    return workflow


@cache
def compilation(workflow_id: str) -> Compilation:
    routines = tuple(source(name) for name in ROUTINES)
    return compile_workflow(source(workflow_id), Surroundings(routines=routines))


def compiled(workflow_id: str) -> CompiledWorkflow:
    pinned = compilation(workflow_id).pinned
    assert pinned is not None, compilation(workflow_id).problems
    return pinned.workflow


def authored(parts: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Every part an author wrote, loops before their bodies; a slot is none until somebody fills it."""
    for part in parts:
        if "slot" in part:
            continue
        yield part
        yield from authored(part.get("body", []))


def parts_of(workflow_id: str) -> list[dict[str, Any]]:
    return list(authored(document(workflow_id)["steps"]))


def name_of(part: dict[str, Any]) -> str:
    name: str = part.get("loopId") or part["id"]
    return name


def test_there_are_at_least_ten_workflows_and_five_routines() -> None:
    kinds = {name: document(name)["kind"] for name in IDS}

    assert sum(kind == "workflow" for kind in kinds.values()) >= 10
    assert sum(kind == "routine" for kind in kinds.values()) >= 5
    assert {name for name, kind in kinds.items() if kind == "routine"} == set(ROUTINES)


@every
def test_a_file_is_named_after_its_id(workflow_id: str) -> None:
    assert document(workflow_id)["id"] == workflow_id


@every
def test_bundled_workflow_compiles_without_a_hint(
    workflow_id: str,
) -> None:
    """A bundled workflow reads and compiles without a problem, a warning or a hint."""
    found = compilation(workflow_id)

    assert reading(workflow_id).problems == ()
    assert found.problems == ()
    assert lint(source(workflow_id), found) == ()


@every
def test_every_input_is_described_and_can_be_filled(workflow_id: str) -> None:
    """Every input is described and has a value or is required or asked for."""
    inputs = document(workflow_id)["inputs"]
    steering = steering_values(compiled(workflow_id))
    asked = {name for name, held in steering.items() if held.asked_at and AT_START not in held.asked_at}

    assert inputs
    for name, spec in inputs.items():
        assert spec.get("description", "").endswith("."), name
        assert spec.get("type") in ("string", "integer", "array"), name
        is_asked_for = name in asked and "default" not in spec and not spec.get("required")
        assert ("default" in spec) + spec.get("required", False) + is_asked_for == 1, name


@every
def test_nothing_is_used_that_is_not_declared(workflow_id: str) -> None:
    assert [name for name, spec in compiled(workflow_id).inputs.items() if spec.implicit] == []


@every
def test_the_work_is_verified_by_evidence(workflow_id: str) -> None:
    contracts = [part.contract for part in walk_parts(compiled(workflow_id).steps) if isinstance(part, Step)]

    assert VERIFICATION in contracts


@every
def test_every_step_says_its_goal_what_to_do_and_what_to_hand_in(workflow_id: str) -> None:
    steps = [part for part in parts_of(workflow_id) if part.get("type", "step") == "step"]
    steps = [part for part in steps if "delegate" not in part]  # nobody does such a step itself

    for part in steps:
        blocks = set(part.get("promptBlocks", {}))
        assert blocks >= BLOCKS, part["id"]
        assert "output" in part or "outputRequired" in blocks, part["id"]


@every
def test_project_rules_are_read_once_and_user_told_at_end(workflow_id: str) -> None:
    texts = [step.prompt for step in walk_parts(compiled(workflow_id).steps) if isinstance(step, Step)]

    if workflow_id in ROUTINES:
        return
    assert sum("AGENTS.md, CLAUDE.md" in text for text in texts) == 1 + (workflow_id in ROUTINES_THAT_READ)
    assert any("notes: What to tell the user" in text or "Markdown, " in text for text in texts)


@every
def test_prompt_over_600_tokens_has_a_reason_on_its_page(workflow_id: str) -> None:
    steps = [part for part in walk_parts(compiled(workflow_id).steps) if isinstance(part, Step)]
    long = [part.id for part in steps if (estimate_tokens(part.prompt) or 0) > PROMPT_TOKENS]

    reasons = section(page_for(workflow_id), "Long prompts")
    assert [name for name in long if f"`{name}`" not in reasons] == []
    assert bool(long) == bool(reasons)


@every
def test_a_prompt_stays_short(workflow_id: str) -> None:
    for part in parts_of(workflow_id):
        written = [part.get(key) for key in ("prompt", "promptBlocks", "promptFragments", "guidance")]
        size = sum(len(text.encode()) for text in strings_in(written))
        assert size <= PROMPT_BYTES, (name_of(part), size)


@every
def test_no_word_lets_the_agent_off(workflow_id: str) -> None:
    found = [text for text in strings_in(document(workflow_id)) if SOFT.search(text)]

    assert found == []


@every
def test_loop_ends_with_what_decides_it(workflow_id: str) -> None:
    """A loop ends with the step that decides or with the report that does."""
    for loop in (part for part in parts_of(workflow_id) if "while" in part):
        condition = compiled(workflow_id).conditions[loop["while"]["conditionId"]]
        read = {one.artifact.replace("wr.", "wr.contracts.") for one in comparisons(condition)} - {""}
        assert {loop["body"][-1]["output"]["contractRef"]} == (read or {LOOP_CONTROL}), name_of(loop)
        assert 2 <= loop["maxIterations"] <= 30, name_of(loop)


def test_a_choice_that_belongs_to_the_user_says_so() -> None:
    for workflow_id in IDS:
        for part in parts_of(workflow_id):
            if "nonAssumable" in part:
                assert "the user" in part["prompt"].lower(), (workflow_id, part["id"])
                assert all(option["description"] and option["set"] for option in part["options"]), part["id"]


def test_every_routine_is_called_by_a_workflow() -> None:
    called = {part["templateId"] for name in IDS for part in parts_of(name) if "templateId" in part}

    assert {routine_template_id(name) for name in ROUTINES} <= called


def test_bug_investigation_begins_with_a_reproduction() -> None:
    """The first pages show this beginning."""
    beginning = compiled("wr.bug_investigation").steps[:3]

    assert [part.id for part in beginning] == ["reproduce", "locate", "explain"]
    contracts = [part.contract for part in beginning if isinstance(part, Step) and not part.when]
    assert contracts == ["wr.contracts.reproduction", "", "wr.contracts.cause"]


def test_a_small_feature_is_four_steps() -> None:
    walked = walk_steps(compiled("wr.feature_delivery"), {"request": "CSV export", "size": "small"})

    assert walked == ["acceptance", "build", "verify", "hand_over"]


def walk_steps(workflow: CompiledWorkflow, values: dict[str, Any]) -> list[str]:
    """The steps of a run in which every report passes."""
    facts = Facts(values=values, artifacts={"wr.verification_report": {"verdict": "passed"}})
    state, walked = first_move(workflow, facts).state, []
    while isinstance(state, Running):
        walked.append(state.step_id)
        state = next_move(workflow, state, facts).state
    return walked


def test_small_change_is_three_steps_and_a_repair_loop() -> None:
    steps = compiled("wr.small_change").steps

    assert [part.id for part in steps] == ["plan", "change", "verify", "repair"]
    assert all(isinstance(part, Step) and not part.when for part in steps[:3])


@pytest.mark.parametrize("workflow_id", ["wr.bug_investigation", "wr.code_review", "wr.small_change"])
def test_the_everyday_workflows_start_without_any_input(workflow_id: str) -> None:
    assert not any(spec.required for spec in compiled(workflow_id).inputs.values())


@every
def test_conditions_ask_only_for_values_that_can_occur(workflow_id: str) -> None:
    workflow = compiled(workflow_id)
    kinds = {contract.artifact_kind: contract.schema for contract in workflow.contracts.values()}
    choices = [part for part in walk_parts(workflow.steps) if isinstance(part, Choice)]

    for one in (found for condition in workflow.conditions.values() for found in comparisons(condition)):
        if one.artifact:
            possible = kinds[one.artifact]["properties"][one.field]["enum"]
        elif one.input in workflow.inputs:
            possible = workflow.inputs[one.input].enum or (one.value,)
        else:
            possible = [
                option.sets[one.input]
                for part in choices
                for option in part.options
                if one.input in option.sets
            ]
        wanted = one.value if one.op == "in" else [one.value]
        assert set(wanted) <= set(possible), one
        assert not (one.artifact and {"passed", "approve"} & set(wanted)), (
            "only what is not good yet needs more work"
        )


NOTES_BY_PATTERN = {"wr.discovery": ["frame"], "wr.feature_delivery": ["acceptance"]}
"""Steps whose notes must match a pattern: a simulation makes up no text for it, and says so."""


@pytest.mark.thorough
@every
def test_every_branch_simulates_to_its_end_in_every_mode(workflow_id: str) -> None:
    report = simulate(compiled(workflow_id))

    everything = Coverage(reached=report.coverage.total, total=report.coverage.total)
    assert report.dead_steps == []
    assert report.by_mode == dict.fromkeys(ALL_MODES, everything)
    assert report.unproven == NOTES_BY_PATTERN.get(workflow_id, [])
    assert (report.problems, report.truncated) == ([], False)
    assert report.completed >= len(ALL_MODES)


@every
def test_every_loop_ends_even_when_each_round_wants_another(workflow_id: str) -> None:
    workflow = compiled(workflow_id)
    values = {
        name: ["one"] * 40 if spec.type == "array" else spec.default for name, spec in workflow.inputs.items()
    }
    limits = [part.max_iterations for part in walk_parts(workflow.steps) if isinstance(part, Loop)]

    state = first_move(workflow, Facts(values=values)).state
    for _ in range(100 + 5 * sum(limits)):
        if isinstance(state, Running):
            decided = {frame.loop_id: "continue" for frame in state.loops}
            state = next_move(workflow, state, Facts(values=values, loop_decisions=decided)).state

    assert state == Complete()


def page_name(workflow_id: str) -> str:
    name = workflow_id.removeprefix("wr.").replace("_", "-")
    part = name.removeprefix("routine-")
    return f"sub-workflows.md#{part}" if workflow_id in ROUTINES else f"{name}.md"


def page_for(workflow_id: str) -> str:
    """The page of a workflow; of a sub-workflow its section, with the headings that a page of its own has."""
    name, _, part = page_name(workflow_id).partition("#")
    if not part:
        return page(name)
    sections = re.split(r"(?m)^(?=## )", page(name))
    own = next(one for one in sections if one.startswith(f"## {document(workflow_id)['name']}\n"))
    assert slug(document(workflow_id)["name"]) == part
    return re.sub(r"(?m)^#", "", own)


def page(name: str) -> str:
    with open(os.path.join(PAGES, name), encoding="utf-8") as file:
        return file.read()


def section(text: str, heading: str) -> str:
    """What stands below a heading, up to the next one of the same level."""
    return text.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]


def test_bundled_workflows_and_pages_match() -> None:
    """Every bundled workflow has a page and every page a workflow."""
    assert set(os.listdir(PAGES)) == {"index.md", *(page_name(one).partition("#")[0] for one in IDS)}


def test_the_index_leads_to_every_page_with_its_description() -> None:
    index = page("index.md")

    assert {target for _, target in links(index)} == {"sub-workflows.md", *map(page_name, IDS)}
    for workflow_id in IDS:
        cells = [f"[`{workflow_id}`]({page_name(workflow_id)})", document(workflow_id)["description"]]
        assert cells in [row[:2] for row in table_rows(index)], workflow_id


@every
def test_page_says_when_to_use_its_workflow_and_how_it_ends(workflow_id: str) -> None:
    text = page_for(workflow_id)
    own = document(workflow_id)

    assert text.startswith(f"# {own['name']}\n\n{own['description']}\nIts id is `{workflow_id}`.\n")
    assert f"handrail run start {workflow_id} " in section(text, "When to use it")
    assert section(text, "How it ends").strip()


@every
def test_the_call_on_a_page_gives_what_the_workflow_takes(workflow_id: str) -> None:
    command = re.search(r"--context '([^']*)'", page_for(workflow_id))
    assert command is not None
    given = json.loads(command[1])
    inputs = document(workflow_id)["inputs"]

    assert set(given) <= set(inputs)
    needed = {name for name, spec in inputs.items() if spec.get("required") and not spec.get("fromGoal")}
    assert needed <= set(given)
    assert all(value in inputs[name].get("enum", [value]) for name, value in given.items())


@every
def test_a_page_and_the_index_say_what_the_cheapest_run_costs(workflow_id: str) -> None:
    if any("delegate" in part for part in parts_of(workflow_id)):
        return  # what it costs depends on who does the work
    told = re.search(r"The cheapest run: ([0-9]+) steps?, about ([0-9 ]+) tokens", page_for(workflow_id))

    assert told is not None
    cells = [f"[`{workflow_id}`]({page_name(workflow_id)})", document(workflow_id)["description"]]
    assert [*cells, *told.groups()] in list(table_rows(page("index.md")))


@pytest.mark.thorough
@pytest.mark.parametrize(("workflow_id", "bound"), [(name, most) for name, _, most in WHOLE_RUNS])
def test_everyday_runs_cost_what_their_pages_say(workflow_id: str, bound: int) -> None:
    """The everyday runs stay within their bounds and cost what their pages say."""
    cost = cheapest_run(workflow_id)

    assert cost.tokens <= bound
    assert say_cost(cost) in page_for(workflow_id)


@every
def test_the_inputs_on_a_page_are_those_of_the_file(workflow_id: str) -> None:
    rows = list(table_rows(section(page_for(workflow_id), "Inputs")))[1:]

    assert [(name, meaning) for name, _, _, meaning in rows] == [
        (f"`{name}`", spec["description"]) for name, spec in document(workflow_id)["inputs"].items()
    ]
    for (_, shown_type, shown_default, _), spec in zip(
        rows, document(workflow_id)["inputs"].values(), strict=True
    ):
        assert re.findall(r"`([^`]+)`", shown_type) == spec.get("enum", [])
        shown = shown_default.strip("`")
        default = spec.get("default", "required" if spec.get("required") else "asked for")
        assert shown == (default if isinstance(default, str) else json.dumps(default))


@every
def test_steps_on_a_page_are_those_of_the_file(workflow_id: str) -> None:
    """The steps on a page are those of the file with what they deliver."""
    listed = section(page_for(workflow_id), "Steps")
    shown = re.findall(r"^ *[0-9]+\. \*\*(.+?)\*\* \((?:loop |choice )?`([^`]+)`\)", listed, re.MULTILINE)
    parts = parts_of(workflow_id)

    assert shown == [(part["title"], name_of(part)) for part in parts]
    delivered = re.findall(r"^ *- `wr\.([a-z_]+)`: ", listed, re.MULTILINE)
    assert delivered == [kind for part in parts for kind in _delivered(part)]


def _delivered(part: dict[str, Any]) -> list[str]:
    """The kinds of artifact that a part asks for, in the order in which a page lists them."""
    if part.get("templateId") == "wr.templates.handoff_summary":
        return ["handoff"]
    contract = part.get("output", {}).get("contractRef", "").removeprefix("wr.contracts.")
    answer = ["user_input"] if "userOnly" in part else []
    return [kind for kind in (contract, *answer, *("assessment" for _ in part.get("gates", []))) if kind]


@every_case("workflow_id", ROUTINES)
def test_the_page_of_a_routine_shows_how_workflows_call_it(workflow_id: str) -> None:
    block = next(block for block in fenced_blocks(page_for(workflow_id)) if block.language == "json")
    call = json.loads("\n".join(block.lines))

    assert call["templateId"] == routine_template_id(workflow_id)
    assert set(call["args"]) == {
        name for name, spec in document(workflow_id)["inputs"].items() if spec.get("required")
    }


def test_the_call_of_a_step_brings_the_list_that_it_delivers() -> None:
    """Its default is in force, so nothing else would remind of it; once it is sent, it is not asked again."""
    workflow = compiled("wr.test_generation")
    leaf = next(one for one in workflow.steps if isinstance(one, Step) and one.id == "cases")

    asked = list_asks(workflow, leaf, first_facts(workflow, {}))
    later = list_asks(workflow, leaf, first_facts(workflow, {"groups": ["a", "b"]}))

    assert ("groups", "") in [(ask.name, ask.allowed) for ask in asked], "its own text says what it is"
    assert "groups" in make_frame(workflow, leaf, "", asked, "guided")["context"]
    assert "groups" not in [ask.name for ask in later]


@pytest.mark.parametrize(
    ("workflow_id", "step_id", "names"),
    [
        ("wr.small_change", "plan", {"checkCommand"}),
        ("wr.performance", "measure", {"checkCommand", "measureCommand"}),
        ("wr.review_feedback", "collect", {"checkCommand"}),
    ],
)
def test_call_of_a_step_brings_its_text_until_sent(workflow_id: str, step_id: str, names: set[str]) -> None:
    """The call of a step brings the text that it delivers until it is sent."""
    workflow = compiled(workflow_id)
    leaf = next(one for one in workflow.steps if isinstance(one, Step) and one.id == step_id)

    asked = list_asks(workflow, leaf, first_facts(workflow, {}))
    later = list_asks(workflow, leaf, first_facts(workflow, dict.fromkeys(names, "make check")))

    context = make_frame(workflow, leaf, "", asked, "guided")["context"]
    assert {name: context.get(name) for name in names} == dict.fromkeys(names, "…")
    assert names.isdisjoint(ask.name for ask in later)
