"""Markdown workflows: headings, front matter and two fences are the constructs, everything else is text."""

from __future__ import annotations

from typing import Any

import pytest

from handrail.workflows.spellings.decoded import has_workflow_id
from handrail.workflows.spellings.markdown import decode_markdown
from handrail.workflows.spellings.spelling import write_document
from handrail.workflows.text_edits import apply_edit
from tests.cases import every_case

HIDDEN = "This stands inside HTML, where no page shows it."
FRONT = "---\nid: project.x\nname: X\n---\n"


def steps_of(body: str) -> Any:
    decoded = decode_markdown(FRONT + body)

    assert decoded.problems == ()
    return decoded.document["steps"]


def check_steps(body: str, *expected: dict[str, Any]) -> None:
    assert steps_of(body) == list(expected)


def test_a_heading_is_a_step_and_its_text_is_the_prompt() -> None:
    check_steps(
        "\n## Look around {#look}\n\nRead it.\n\n- a\n- b  \n\n## Write {#write}\nDo it.\n\n\n",
        {"id": "look", "title": "Look around", "prompt": "Read it.\n\n- a\n- b  "},
        {"id": "write", "title": "Write", "prompt": "Do it."},
    )


def test_block_headings_make_blocks_after_the_goal() -> None:
    """Block headings make prompt blocks and the text before them is the goal."""
    check_steps(
        "## T {#t}\nThe goal.\n### Procedure\n1. One\n   more of it\n\n   and more\n2. Two\n"
        "### Constraints\n* [small steps](wr.refs.small_steps)\n- No.\n"
        "### Deliver\n- notes: What: where.\n- artifact: [x](wr.refs.y)\n### Verify\nIt holds.\n",
        {
            "id": "t",
            "title": "T",
            "promptBlocks": {
                "goal": "The goal.",
                "procedure": ["One\nmore of it\n\nand more", "Two"],
                "constraints": [{"kind": "ref", "refId": "wr.refs.small_steps"}, "No."],
                "outputRequired": {
                    "notes": "What: where.",
                    "artifact": {"kind": "ref", "refId": "wr.refs.y"},
                },
                "verify": "It holds.",
            },
        },
    )


def test_step_fence_holds_keys_and_loops_nest_by_heading() -> None:
    check_steps(
        "## Again {#again}\n```step\ntype: loop\ncount: 2\nmaxIterations: 2\n```\n"
        "### In {#in}\nDo it.\n#### Verify\n- Done.\n"
        "### Which {#which}\n~~~step\ntype: choice\n~~~\nChoose.\n"
        "## After {#after}\nEnd.\n",
        {
            "id": "again",
            "title": "Again",
            "type": "loop",
            "count": 2,
            "maxIterations": 2,
            "body": [
                {"id": "in", "title": "In", "promptBlocks": {"goal": "Do it.", "verify": ["Done."]}},
                {"id": "which", "title": "Which", "type": "choice", "prompt": "Choose."},
            ],
        },
        {"id": "after", "title": "After", "prompt": "End."},
    )


@every_case(
    ("body", "prompt"),
    [
        ("```prompt\n# Mine\n\n## Own {#own}\n```", "# Mine\n\n## Own {#own}"),
        ("```prompt\n\n  x\n\n```", "\n  x\n"),
        ("````prompt\n```step\nid: x\n```\n````", "```step\nid: x\n```"),
        ("```prompt\n```", ""),
        ("```prompt\na\r\nb\n```", "a\r\nb"),
        ("```python\n# no heading\n## nor this {#x}\n```", "```python\n# no heading\n## nor this {#x}\n```"),
        (
            "Text\n---\n#tag and <!-- words -->\n  ## indented",
            "Text\n---\n#tag and <!-- words -->\n  ## indented",
        ),
        ("<!--\n# Note\n```\n-->\n<pre>\n## b\n</PRE>", "<!--\n# Note\n```\n-->\n<pre>\n## b\n</PRE>"),
        ("a {#b}\n\n---\n> c {#d}\n---", "a {#b}\n\n---\n> c {#d}\n---"),
        ("a\r\n\r\nb\r\n", "a\n\nb"),
        ("[x](wr.refs.y)", "[x](wr.refs.y)"),
        ("when: you are done, stop", "when: you are done, stop"),
        ("First.\n\nwhen: x", "First.\n\nwhen: x"),
        ("\ttab\n    code", "\ttab\n    code"),
        ("a\x0bb\x1cc\u2028d\u0085e", "a\x0bb\x1cc\u2028d\u0085e"),
    ],
)
def test_everything_else_is_text_and_stays_as_it_is(body: str, prompt: str) -> None:
    check_steps(f"## T {{#t}}\n{body}\n", {"id": "t", "title": "T", "prompt": prompt})


def test_template_call_needs_no_id_and_a_loop_may_have_one() -> None:
    check_steps(
        "##\n```step\ntype: template_call\ntemplateId: wr.templates.x\n```\n"
        "## {#a}\n```step\ntitle: ' A'\n```\nT\n",
        {"type": "template_call", "templateId": "wr.templates.x"},
        {"id": "a", "title": " A", "prompt": "T"},
    )


@every_case(
    ("text", "place", "message"),
    [
        ("# Page\n", (1, 1), "The file has no front matter."),
        ("---\nid: x\n", (1, 1), "The file has no front matter."),
        ("---\n- a\n---\n", (2, 1), "The front matter is no mapping."),
        ("---\nid: *x\n---\n", (2, 5), "Aliases are not read."),
        ("---\nid: x\nsteps: []\n---\n", (3, 1), "Steps do not stand in the front matter."),
        (FRONT + "\nHello\n", (6, 1), "This text belongs to no step."),
        (FRONT + "```step\na: 1\n```\n", (5, 1), "This fence belongs to no step."),
        (FRONT + "# X\n", (5, 1), "A heading of level 1 cannot stand here."),
        (FRONT + "### X {#x}\n", (5, 1), "A heading of level 3 cannot stand here."),
        (FRONT + "## X {#x}\nT\n#### Y {#y}\n", (7, 1), "A heading of level 4 cannot stand here."),
        (FRONT + "## X {#x}\nT\n### Y {#y}\n", (7, 1), '"y" stands inside a step that is no loop.'),
        (FRONT + "## X {#x}\nT\n### Procedures\n", (7, 1), '"Procedures" is no block of a prompt.'),
        (
            FRONT + "## X {#x}\n### Verify\n- a\n### Verify\n- b\n",
            (8, 1),
            "Verify is there twice in this step.",
        ),
        (FRONT + "## X\nT\n", (5, 1), "This heading has no id."),
        *(
            (FRONT + f"## X {{#x}}\nT\n\n{html}\n\n{hidden}\n{end}\n", (10, 1), HIDDEN)
            for html, end in (("<!--", "-->"), ("  <!-- off", "x --> y"), ("<pre class='a'>", "</pre>"))
            for hidden in ("## Y {#y}\nU", "### Verify\n- a", "```step\nwhen: a\n```", "~~~prompt\nU\n~~~")
        ),
        (FRONT + "## X {#x}\n<!-- on\n\n## Y {#y}\nU\n", (6, 1), "This HTML is not closed."),
        (FRONT + "## X {#x}\nT\n  ## Y {#y}\nU\n", (7, 1), "This heading is indented."),
        (FRONT + "## X {#x}\nT\n   ### Verify\n- a\n", (7, 1), "This heading is indented."),
        (FRONT + "## X {#x}\nT\n##Y {#y}\nU\n", (7, 1), "This heading has no space."),
        (FRONT + "## X {#x}\nT\n\nA y {#y}\n---\nU\n", (8, 1), "This heading is underlined."),
        (FRONT + "## X {#x}\nT\n\n Y {#y}\r\n==\r\nU\n", (8, 1), "This heading is underlined."),
        (FRONT + "## X {#x}\n```python\nT\n", (6, 1), "This fence is not closed."),
        (
            FRONT + "## X {#x}\n```step\nT: 1\n```\n```step\n```\nT\n",
            (9, 1),
            "This is the second fence `step` of this step.",
        ),
        (FRONT + "## X {#x}\n```step\n- 1\n```\nT\n", (6, 1), "This fence `step` is no mapping."),
        (
            FRONT + "## X {#x}\n```step\na: 1\nb: [\n```\nT\n",
            (9, 1),
            "A bracket is not closed.",
        ),
        (
            FRONT + "## X {#x}\n```step\nwhen: a\n  id: b\n```\nT\n",
            (8, 1),
            "A colon stands here where no key can be.",
        ),
        (
            FRONT + "## X {#x}\n```step\nwhen: a\nid: b\n```\nT\n",
            (8, 1),
            "id does not stand in a fence `step`.",
        ),
        (
            FRONT + "## X {#x}\n```step\nprompt: a\n```\nT\n",
            (7, 1),
            "prompt does not stand in a fence `step`.",
        ),
        (FRONT + "## X {#x}\n```steps\na: 1\n```\nT\n", (6, 1), '"```steps" is no fence of a workflow.'),
        (FRONT + "## X {#x}\n```stepp\na: 1\n```\nT\n", (6, 1), '"```stepp" is no fence of a workflow.'),
        (FRONT + "## X {#x}\n```md step\na: 1\n```\nT\n", (6, 1), '"```md step" is no fence of a workflow.'),
        (FRONT + "## X {#x}\n```Prompt\nT\n```\n", (6, 1), '"```Prompt" is no fence of a workflow.'),
        (FRONT + "## X {#x}\n```step when\nT\n```\n", (6, 1), '"```step when" is no fence of a workflow.'),
        (FRONT + "## X {#x}\nT\n```prompt\nU\n```\n", (6, 1), "This text stands beside a fence `prompt`."),
        (
            FRONT + "## X {#x}\n```prompt\nU\n```\n```prompt\nU\n```\n",
            (9, 1),
            "This is the second fence `prompt` in one place.",
        ),
        (
            FRONT + "## X {#x}\n### Procedure\n1. a\nb\n",
            (8, 1),
            "This line stands between the items of a list and belongs to none.",
        ),
        (FRONT + "## X {#x}\n### Deliver\n- a\n", (7, 1), "An item of Deliver has a name."),
        (FRONT + "## X {#x}\n### Deliver\n- a: b\n- a: c\n", (8, 1), "This name is there twice."),
        (FRONT + "## X {#x}\n### Deliver\nWords\n", (6, 1), "Deliver has no list."),
        (FRONT + "## X {#x}\n### Verify\n", (6, 1), "This block has no text."),
        (
            FRONT + "## X {#x}\n```step\npromptBlocks: {goal: a}\n```\nT\n",
            (7, 1),
            "The prompt is there twice.",
        ),
        (
            FRONT + "## X {#x}\n```step\ntype: loop\nbody: [a]\n```\n### Y {#y}\nT\n",
            (10, 1),
            "The body is there twice.",
        ),
    ],
)
def test_unknown_construct_is_an_error_at_its_place(text: str, place: tuple[int, int], message: str) -> None:
    problem = decode_markdown(text).problems[0]

    assert ((problem.line, problem.column), problem.message) == (place, message)
    assert problem.fix


@pytest.mark.parametrize("lost", ["  ## Y {#y}", "##Y {#y}", "Y {#y}\n----", "Y {#y}  \r\n==="])
def test_a_heading_that_would_be_text_is_one_after_its_edit(lost: str) -> None:
    text = FRONT + f"## X {{#x}}\nT\n\n{lost}\n\nU\n"
    (problem,) = decode_markdown(text).problems

    decoded = decode_markdown(apply_edit(text, "md", problem.edit))

    assert decoded.document["steps"] == [
        {"id": "x", "title": "X", "prompt": "T"},
        {"id": "y", "title": "Y", "prompt": "U"},
    ]


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ("requireConfirmation: true", {"requireConfirmation": True}),
        ("when: {kind: always_true}\noutput:\n  contractRef: wr.contracts.plan", None),
        ("type: choice\noptions:\n- {id: a, label: A B}\n- {id: b, label: B}", None),
        ("type: choice\nnonAssumable: scope_boundary\noptions:\n  - {id: a, label: It is: so}", None),
    ],
)
def test_keys_without_their_fence_are_no_text(keys: str, expected: dict[str, Any] | None) -> None:
    text = FRONT + f"## X {{#x}}\n\n{keys}\n\nDelete it.\n"

    problem = decode_markdown(text).problems[0]
    repaired = apply_edit(text, "md", problem.edit)

    assert ((problem.line, problem.column), problem.message) == (
        (7, 1),
        "These are keys of a step, and would be its text.",
    )
    assert repaired == FRONT + f"## X {{#x}}\n\n```step\n{keys}\n```\n\nDelete it.\n"
    if expected is not None:
        check_steps(
            repaired.removeprefix(FRONT), {"id": "x", "title": "X", "prompt": "Delete it."} | expected
        )


@every_case(
    "prompt",
    [
        "when: is_large",
        "requireConfirmation: true\nDelete it.",
        "type: choice\noptions:\n- a",
        "when: the user agrees, go on",
        "Note: this\nwhen: x",
        "output: the table, and nothing beside it",
        "type: choice",
    ],
)
def test_prompt_that_begins_like_keys_is_read_back(prompt: str) -> None:
    """A prompt that begins like keys is written so that it is read back."""
    document = {"id": "project.x", "steps": [{"id": "a", "title": "A", "prompt": prompt}]}

    assert decode_markdown(write_document(document, "md", {})).document == document


@every_case(
    ("heading", "fix", "is_sure"),
    [
        ("## Two {#two} ##", "## Two {#two}", True),
        ("## {#two} Two", "## Two {#two}", True),
        ("## Two {#two} of them", "## Two of them {#two}", True),
        ("## Two { #two }", "## Two {#two}", True),
        ("## Two {two}", "## Two {#two}", True),
        ("## Take stock {survey}", "## Take stock {#survey}", False),
        ("## Two {#two} <!-- who -->", "## Two {#two}", False),
    ],
)
def test_the_fix_of_a_heading_has_the_id_that_stands_in_it(heading: str, fix: str, is_sure: bool) -> None:
    text = f"{FRONT}{heading}\nT\n"
    (problem,) = decode_markdown(text).problems

    assert problem.fix == f"Write `{fix}`."
    assert (apply_edit(text, "md", problem.edit) == f"{FRONT}{fix}\nT\n") is is_sure


def test_all_errors_of_the_form_are_reported_at_once() -> None:
    text = FRONT + "## X\nT\n## Y {#y}\n### Foo\n```step\na: *b\n```\n"

    assert [problem.line for problem in decode_markdown(text).problems] == [5, 8, 10]


def test_everything_in_a_step_has_its_place() -> None:
    decoded = decode_markdown(
        FRONT + "\n## Title here {#x}\n```step\nwhen: is_it\n```\n\nGoal.\n\n### Procedure\n\n1. a\n2. b\n"
    )

    values, keys = decoded.values, decoded.keys
    assert (values["/id"], values["/steps"], values["/steps/0"]) == ((2, 5), (6, 1), (6, 1))
    assert (values["/steps/0/title"], values["/steps/0/id"]) == ((6, 4), (6, 15))
    assert (keys["/steps/0/when"], values["/steps/0/when"]) == ((8, 1), (8, 7))
    assert values["/steps/0/promptBlocks/goal"] == (11, 1)
    assert keys["/steps/0/promptBlocks/procedure"] == (13, 1)
    assert values["/steps/0/promptBlocks/procedure/1"] == (16, 1)


@every_case(
    ("content", "expected"),
    [
        (b"---\nid: x\n---\n", True),
        (b"---\r\nname: x\r\n'id': y\r\n---\r\n", True),
        (b"---\nname: x\n---\nid: y\n", False),
        (b"---\nname: x\n  id: y\n---\n", False),
        (b"id: x\n", False),
        (b"---\nid: x\n", True),  # meant to be one; the missing end is its problem
        (b"\xef\xbb\xbf---\nid: x\n---\n", False),
        (b"", False),
    ],
)
def test_markdown_is_a_workflow_if_its_front_matter_has_an_id(content: bytes, expected: bool) -> None:
    assert has_workflow_id(content) is expected
