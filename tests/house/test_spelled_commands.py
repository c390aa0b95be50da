"""Every command line that the program spells in a text is one that its parser takes."""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Iterator, Sequence

from handrail.surfaces.cli.reading.command_table import COMMANDS, GLOBALS
from handrail.surfaces.cli.reading.parse import parse
from tests.cases import every_case
from tests.house.tree import Source, check, check_planted, docstrings, nodes, plant, python_files

FILLED_IN = "filled_in_1"
"""Stands where a message puts a value; the parser is not asked whether it is a good one."""
_LINE = re.compile(rf"\bhandrail ((?:{'|'.join(sorted({path.split()[0] for path in COMMANDS}))})\b[^`\n]*)")
_PROSE = re.compile(r"[a-z]+|[A-Z][a-z]+")
_SENTENCE_ENDS = ".,;:)"
_PATHS = {" ".join(path.split()[:n]) for path in COMMANDS for n in (1, 2)}
_TAKE_A_VALUE = {
    param["flag"]
    for params in (GLOBALS, *(command["params"] for command in COMMANDS.values()))
    for param in params
    if param["kind"] != "switch"
}


def refused_commands(sources: Sequence[Source]) -> list[str]:
    """Command lines in the texts of these sources that the command line would refuse."""
    return [
        f"{source.path}:{line}: `handrail {told}`: {trouble}; spell it as the command line takes it"
        for source in sources
        for line, text in _texts(source)
        for told in _LINE.findall(text)
        if (trouble := trouble_of(words_of(told)))
    ]


def trouble_of(words: Sequence[str]) -> str:
    """What the parser finds wrong with the names and shape of a line; a bare name only names a command."""
    if " ".join(words) in COMMANDS:
        return ""
    problems = [problem for problem in parse(words).problems if problem.is_usage]
    return "; ".join(f"{problem.param} {problem.problem}" for problem in problems)


def words_of(told: str) -> list[str]:
    """The words of a command that stands in a sentence: up to a word of prose, or the end of the sentence."""
    lexer = shlex.shlex(told, posix=True, punctuation_chars="")
    lexer.whitespace_split, lexer.commenters, lexer.quotes = True, "", "'\""
    words: list[str] = []
    try:
        for spelled in lexer:
            word = spelled.rstrip(_SENTENCE_ENDS)
            is_value = bool(words) and words[-1] in _TAKE_A_VALUE
            is_path = " ".join([*words, word]) in _PATHS
            is_over = word in (">", ">>", "|") or word.startswith("[") or _PROSE.fullmatch(word)
            if is_over and not is_path and not is_value:
                break
            if word not in ("", f"--{FILLED_IN}"):
                words.append(word)
            if word != spelled:
                break
    except ValueError:  # a quote that the sentence opened, not the command
        pass
    return words


def _texts(source: Source) -> Iterator[tuple[int, str]]:
    walked = nodes(source)
    inside = {part for node in walked if isinstance(node, ast.JoinedStr) for part in node.values}
    left_out = {*docstrings(source), *inside}
    for node in walked:
        if isinstance(node, ast.JoinedStr):
            parts = [part.value if isinstance(part, ast.Constant) else FILLED_IN for part in node.values]
            yield node.lineno, "".join(map(str, parts))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in left_out:
            yield node.lineno, node.value


def test_every_command_in_a_text_is_one_the_program_takes() -> None:
    check(refused_commands(python_files("src/handrail/")))


@every_case(
    ("text", "expected"),
    [
        (
            'told = f"Ask the user to run handrail store verify {session_id} --report-only, and wait."',
            "too many",
        ),
        ('told = f"Run handrail store verify --ids {session_id} --report-only, and wait."', ""),
        ('told = "Run handrail session exprot ID."', "command is missing"),
        ('told = "`handrail store gc --all` removes them."', "--all is not a flag"),
        ('told = "Run handrail mcp in a terminal and read what it says."', ""),
    ],
)
def test_a_planted_command_is_parsed_as_a_person_would_copy_it(text: str, expected: str) -> None:
    check_planted(refused_commands, plant("src/handrail/runtime/planted.py", text), expected)
