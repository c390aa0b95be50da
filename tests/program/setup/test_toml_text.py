"""One table of a TOML file comes and goes; comments, order and every other byte stay."""

from __future__ import annotations

import tomllib

import pytest

from handrail.program.setup.edits import NotEditable, read_table, remove_table, write_table
from tests.cases import every_case

PATH = ("mcp_servers", "handrail")
ENTRY = {"command": "/bin/h", "args": ["mcp"]}
TEXTS = [
    "",
    "# mine\nmodel = 'x' # why\n",
    'model = "x"\n\n[mcp_servers.other]\ncommand = "o"\n',
    'model = "x"\n[a]\nb = 1',
    '[a]\ntext = """\n[mcp_servers.handrail]\n"""\n',
]


@every_case("text", TEXTS)
def test_the_table_is_added_at_the_end_and_the_parser_sees_nothing_else_change(text: str) -> None:
    changed = write_table(text, PATH, ENTRY)

    read = tomllib.loads(changed)
    assert changed.startswith(text)
    assert read["mcp_servers"].pop("handrail") == ENTRY
    expected = tomllib.loads(text)
    assert read == ({"mcp_servers": {}, **expected})


@pytest.mark.parametrize("text", [text for text in TEXTS if text.endswith("\n") and '"""' not in text])
def test_adding_and_taking_out_again_gives_the_same_bytes(text: str) -> None:
    assert remove_table(write_table(text, PATH, ENTRY), PATH) == text


def test_the_table_is_replaced_in_its_place_with_what_belongs_to_it() -> None:
    text = (
        '[mcp_servers.handrail] # ours\ncommand = "old"\n[mcp_servers.handrail.env]\nA = "1"\n'
        '\n# next\n[mcp_servers.other]\ncommand = "o"\n'
    )
    held = read_table(text, PATH)
    assert held is not None

    entry = {**ENTRY, "env": {"A": "1", "b c": "2"}}

    changed = write_table(text, PATH, entry)

    assert changed.endswith('[mcp_servers.other]\ncommand = "o"\n')
    assert tomllib.loads(changed)["mcp_servers"] == {
        "handrail": {**ENTRY, "env": {"A": "1", "b c": "2"}},
        "other": {"command": "o"},
    }
    assert held == {"command": "old", "env": {"A": "1"}}


@pytest.mark.parametrize(
    "text",
    [
        "not toml at all",
        'mcp_servers = {other = {command = "o"}}\n',
        'mcp_servers.handrail = {command = "x"}\n',
        "mcp_servers = 1\n",
    ],
)
def test_a_file_in_another_form_is_not_touched(text: str) -> None:
    with pytest.raises(NotEditable):
        write_table(text, PATH, ENTRY)
