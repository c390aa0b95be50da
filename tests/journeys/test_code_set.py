"""An agent without a shell works on code through the five tools of `handrail mcp --set code`."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from handrail.contract.disclosure.estimate import estimate_tokens
from handrail.contract.fence import flatten_text
from handrail.contract.tokens.continuation import NextAction
from handrail.surfaces.mcp.adapter import Adapter
from handrail.surfaces.mcp.messages import METHOD_NOT_FOUND
from handrail.surfaces.mcp.results import Rendered, answer_call
from handrail_code.mcp.instructions import TOOL_SET as CODE_SET
from handrail_code.mcp.tool_set import code_tool_definitions, tools
from handrail_code.operations.continuing import TokenDesk
from tests.journeys.code_project import CodeProject
from tests.surfaces.mcp.conversations import enveloped, opening, request
from tests.surfaces.mcp.pipes import connected
from tests.worktree.project import write

NAMES = ["code_search", "code_explain", "code_trace", "code_ripple", "code_edit"]
BUDGET_TOKENS = 1_200
TOOLS = tools()


@pytest.fixture
def code(tmp_path: Path) -> CodeProject:
    return CodeProject(tmp_path)


def call(code: CodeProject, tool: str, **params: Any) -> Rendered:
    return answer_call(code.runtime, TOOLS, TOOLS[tool], params, "standard")


def told(code: CodeProject, tool: str, **params: Any) -> dict[str, Any]:
    answered = call(code, tool, **params)
    assert not answered.is_error, answered.text
    return answered.structured


def next_call(answered: dict[str, Any], action: str) -> tuple[str, dict[str, Any]]:
    """The tool and the arguments of an offered action, from the structured copy alone."""
    (offered,) = [one for one in answered["next_actions"] if one["id"] == action]
    return offered["tool"], {"continuation": answered["continuation_tokens"][action]}


@pytest.mark.parametrize("era", ["handshake", "stateless"])
def test_the_set_is_five_tools_and_nothing_else_in_both_eras(code: CodeProject, era: str) -> None:
    is_older = era == "handshake"
    wrap = (lambda params: params) if is_older else enveloped

    with connected(Adapter(code.runtime, tool_set=CODE_SET)) as client:
        if is_older:
            hello, ready = opening()
            assert isinstance(hello, dict)
            assert isinstance(ready, dict)
            told_first = client.ask(hello)["result"]
            client.send(ready)
        else:
            told_first = client.ask(request(1, "server/discover", wrap({})))["result"]
        listed = client.ask(request(2, "tools/list", wrap({})))["result"]["tools"]
        search = {"name": "code_search", "arguments": {"search": "myFunc"}}
        found = client.ask(request(3, "tools/call", wrap(search)))["result"]
        foreign = client.ask(request(4, "tools/call", wrap({"name": "list_workflows"})))["error"]
        refused = [
            client.ask(request(5, method, wrap({})))["error"]["code"]
            for method in ("prompts/list", "resources/list", "resources/templates/list")
        ]

    assert told_first["capabilities"] == {"tools": {"listChanged": False}}
    assert told_first["instructions"] == CODE_SET.instructions
    assert [tool["name"] for tool in listed] == NAMES
    assert [
        {key: tool[key] for key in sent} for tool, sent in zip(listed, code_tool_definitions(), strict=True)
    ] == (code_tool_definitions())
    assert found["structuredContent"]["results"][0]["id"].startswith("src/app.js#myFunc@")
    assert "code_search" in foreign["message"]
    assert refused == [METHOD_NOT_FOUND] * 3


def test_the_definitions_are_small_and_closed() -> None:
    definitions = code_tool_definitions()
    estimated = estimate_tokens(definitions)

    assert [definition["name"] for definition in definitions] == NAMES
    assert estimated is not None
    assert estimated <= BUDGET_TOKENS
    assert len(CODE_SET.instructions) <= 1_500
    for definition in definitions:
        assert definition["inputSchema"]["additionalProperties"] is False
        assert definition["description"].endswith(".")
        is_edit = definition["name"] == "code_edit"
        assert definition["annotations"] == {
            "readOnlyHint": not is_edit,
            "destructiveHint": is_edit,
            "idempotentHint": True,
            "openWorldHint": False,
        }


def test_from_a_search_to_written_files_with_tokens_alone(code: CodeProject) -> None:
    found = told(code, "code_search", search="myFunc")

    tool, params = next_call(found, "analyze:0")
    explained = told(code, tool, **params)
    tool, params = next_call(explained, "ripple")
    ripple = told(code, tool, **params)
    tool, params = next_call(ripple, "locate")
    located = told(code, tool, **params)
    tool, params = next_call(located, "rename_preview")
    preview = told(code, tool, **params, to="fetchData")
    tool, params = next_call(preview, "apply")
    applied = told(code, tool, **params, fix=True)

    assert [one["tool"] for one in found["next_actions"][:1]] == ["code_explain"]
    assert explained["symbol"]["name"] == "myFunc"
    assert (ripple["risk"], preview["status"]) == ("medium", "preview")
    assert (tool, applied["files_modified"]) == (
        "code_edit",
        ["src/app.js", "src/main.js", "test/app.test.js"],
    )
    assert "export function fetchData(name) {" in code.text("src/app.js")


def test_every_call_in_the_text_of_an_answer_can_be_made(code: CodeProject) -> None:
    answered = call(code, "code_search", search="myFunc")
    lines = [line for line in answered.text.splitlines() if '{"continuation":' in line]

    made = []
    for line in lines:
        tool, _, params = line.rpartition(": ")[2].partition(" ")
        made.append((tool, call(code, tool, **json.loads(params)).is_error))

    assert made == [
        *[("code_explain", False)] * 2,
        ("code_trace", False),
        ("code_ripple", False),
        ("code_edit", False),
    ]


def test_write_needs_fix_and_the_token_of_a_preview(code: CodeProject) -> None:
    before = code.texts()
    preview = told(code, "code_edit", rename="myFunc", to="fetchData")
    apply = preview["continuation_tokens"]["apply"]

    bare = call(code, "code_edit", continuation=apply)
    fixed = call(code, "code_edit", rename="myFunc", to="fetchData", fix=True)
    elsewhere = call(code, "code_search", continuation=apply)

    assert [answer.structured["code"] for answer in (bare, fixed, elsewhere)] == [
        "E_CONFIRMATION_REQUIRED",
        "E_CONFIRMATION_REQUIRED",
        "ACTION_NOT_ALLOWED",
    ]
    assert "needs `fix` as well" in bare.text
    assert code.texts() == before
    assert told(code, "code_edit", continuation=apply, fix=True)["status"] == "success"
    assert call(code, "code_edit", continuation=apply, fix=True).structured["code"] == "RESULTS_STALE"


@pytest.mark.parametrize(
    ("tool", "params"),
    [
        ("code_search", {"search": "myFunc"}),
        ("code_search", {"search": "nowhereAtAll"}),
        ("code_explain", {"analyze": "myFunc"}),
        ("code_explain", {"outline": "src/app.js"}),
        ("code_explain", {"deps": "src/app.js"}),
        ("code_trace", {"trace": "myFunc"}),
        ("code_trace", {"trace": "twice", "down": True}),
        ("code_ripple", {"ripple": "helper"}),
        ("code_edit", {"locate": "myFunc"}),
        ("code_edit", {"context": "myFunc"}),
        ("code_edit", {"rename": "myFunc", "to": "fetchData"}),
        ("code_edit", {"extract": "myFunc"}),
        ("code_edit", {"move": "myFunc", "toModule": "src/moved.js"}),
        (
            "code_edit",
            {"replace": "helper", "withText": "export function helper(name) {\n  return gone(name);\n}"},
        ),
    ],
)
def test_each_channel_is_complete_alone(code: CodeProject, tool: str, params: dict[str, Any]) -> None:
    write(
        code.root,
        "src/odd.js",
        "const name = 'myFunc';\nimport(name + '.js');\nexport const { helper: } = {};\n",
    )

    answered = call(code, tool, **params)

    seen = flatten_text(answered.text)
    lacking = [leaf for leaf in leaves(answered.structured) if flatten_text(leaf) not in seen]
    assert not answered.is_error
    assert lacking == []
    assert re.findall(r"(?<!\S)--[a-z]+|\bjs-(?:scan|edit)\b", answered.text) == []


def leaves(value: Any, above: str = "") -> list[str]:
    """Every piece of text and number; what an action is called and which is false is told in other ways."""
    if isinstance(value, dict):
        return [
            leaf
            for key, held in value.items()
            if key not in ("_untrusted", "id" if above == "next_actions" else "")
            for leaf in leaves(held, key)
        ]
    if isinstance(value, list):
        return [leaf for held in value for leaf in leaves(held, above)]
    return [] if isinstance(value, bool) else [str(value)]


@pytest.mark.parametrize(
    ("tool", "params", "meant"),
    [
        ("code_search", {"query": "my"}, ("code_search", {"search": "my"})),
        (
            "code_search",
            {"search": "my", "kind": "class"},
            ("code_search", {"search": "my", "kind": ["class"]}),
        ),
        ("code_search", {"q": "my", "directory": "src"}, ("code_search", {"search": "my", "scope": "src"})),
        ("code_explain", {"symbol": "myFunc"}, ("code_explain", {"analyze": "myFunc"})),
        ("code_explain", {"file": "src/app.js"}, ("code_explain", {"outline": "src/app.js"})),
        ("code_trace", {"name": "myFunc", "maxDepth": 2}, ("code_trace", {"trace": "myFunc", "depth": 2})),
        ("code_ripple", {"target": "myFunc"}, ("code_ripple", {"ripple": "myFunc"})),
        (
            "code_edit",
            {"rename": "myFunc", "newName": "run"},
            ("code_edit", {"rename": "myFunc", "to": "run"}),
        ),
        ("code_explain", {"analyze": "nosuchname"}, ("code_search", {"search": "nosuchname"})),
    ],
)
def test_a_wrong_argument_is_refused_with_the_corrected_call(
    code: CodeProject, tool: str, params: dict[str, Any], meant: tuple[str, dict[str, Any]]
) -> None:
    refused = call(code, tool, **params)

    assert refused.is_error
    offered = refused.structured["details"]["next_call"]
    assert (offered["tool"], offered["params"]) == meant
    assert refused.text.splitlines()[-1].startswith(f"{meant[0]} {{")


def test_wrong_token_comes_with_the_call_that_helps(code: CodeProject) -> None:
    tokens = told(code, "code_search", search="myFunc")["continuation_tokens"]

    misplaced = call(code, "code_search", continuation=tokens["locate:0"])
    code.clock.seconds += 2 * 3600
    expired = call(code, "code_trace", continuation=tokens["trace:0"])

    assert misplaced.structured["details"]["next_call"] == {
        "tool": "code_edit",
        "params": {"continuation": tokens["locate:0"]},
    }
    offered = expired.structured["details"]["next_call"]
    assert (expired.structured["code"], offered["tool"]) == ("TOKEN_EXPIRED", "code_trace")
    assert told(code, offered["tool"], **offered["params"])["symbol"]["name"] == "myFunc"


def test_a_call_about_nothing_is_told_what_its_tool_takes(code: CodeProject) -> None:
    said = {tool: call(code, tool).structured["message"] for tool in NAMES}

    assert said["code_ripple"] == "code_ripple needs one of ripple, continuation."
    assert said["code_search"] == "code_search needs one of search, continuation."
    assert said["code_edit"].startswith("code_edit needs one of locate, context, rename, ")


@pytest.mark.parametrize("path", ["../outside.js", "/etc/passwd.js", "src/../../outside.js", "link/x.js"])
def test_no_argument_and_no_token_leads_out_of_the_project(code: CodeProject, path: str) -> None:
    """Even a token that our own key signed, as if a minting rule had let the path in."""
    write(code.root.parent, "outside.js", "export function myFunc() {}\n")
    write(code.root.parent, "elsewhere/x.js", "export function myFunc() {}\n")
    (code.root / "link").symlink_to(code.root.parent / "elsewhere")
    before, outside = code.texts(), (code.root.parent / "outside.js").read_bytes()
    target = {"file": path, "rename": "myFunc", "target": f"{path}#myFunc@00", "to": "other"}
    desk = TokenDesk(code.runtime, str(code.root), "js-edit")
    actions = [
        NextAction(id="rename_preview", label="Preview"),
        NextAction(id="apply", label="Write", guard=True),
    ]
    tokens = {one.id: desk.mint("rename_preview", target, "sha256:" + "0" * 64, one, None) for one in actions}

    refused = [
        call(code, "code_edit", continuation=tokens["rename_preview"]),
        call(code, "code_edit", continuation=tokens["apply"], fix=True),
        call(code, "code_edit", file=path, rename="myFunc", to="other"),
        call(code, "code_edit", changes=[{"rename": "myFunc", "file": path, "to": "other"}]),
        call(code, "code_edit", move="myFunc", toModule=path),
        call(code, "code_explain", outline=path),
    ]

    assert [answer.structured["code"] for answer in refused] == [
        *("E_NOT_FOUND", "RESULTS_STALE", "E_NOT_FOUND", "E_NOT_FOUND"),
        *("EDIT_REFUSED", "E_NOT_FOUND"),
    ]
    assert (code.texts(), (code.root.parent / "outside.js").read_bytes()) == (before, outside)


def test_move_that_needs_a_neighbour_offers_to_take_it(code: CodeProject) -> None:
    write(code.root, "src/own.js", "const secret = 1;\n\nexport const tell = () => secret;\n")

    refused = call(code, "code_edit", move="tell", toModule="src/util.js")
    offered = refused.structured["details"]["next_call"]

    assert refused.is_error
    assert offered["tool"] == "code_edit"
    assert told(code, offered["tool"], **offered["params"])["status"] == "preview"
    assert "`names` tell,secret" in refused.text
