"""An agent's day: one refactoring of a real package, with tokens from answers, in a batch, with grep and sed.

`python -m tests.referees.code_oracle.day` takes three functions of `qs` out of a large module, renames one of
them, and gives a fourth a module of its own. With tokens, no path and no name is typed twice. It prints calls
and tokens of each way; `--record` keeps them beside the judges. It fails when the package's own tests
do not pass after each way.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import msgspec

from handrail.contract.disclosure.estimate import estimate_tokens
from tests.referees.code_oracle import own_tests
from tests.referees.code_oracle.packages import fetch
from tests.referees.equipment import NotAvailable

PACKAGE = "qs@6.17.1"
RECORD = os.path.join(os.path.dirname(os.path.abspath(__file__)), "day.json")
CALL_SECONDS = 60
Said: TypeAlias = list[tuple[str, str]]
"""Each line that the agent writes, and the answer to it."""
Go: TypeAlias = Callable[[str, str], Said]

TOKENS = (
    "js-edit --names setProperty,arrayToObject,maxNumericIndex --ai-mode",
    "js-edit --continuation {move_preview} --to-module lib/containers.js",
    "js-edit --continuation {apply} --fix",
    "js-edit --continuation {locate:0}",
    "js-edit --continuation {rename_preview} --to defineValue",
    "js-edit --continuation {apply} --fix",
    "js-scan --search parseArrayValue --ai-mode",
    "js-scan --continuation {ripple:0}",
    "js-edit --continuation {locate}",
    "js-edit --continuation {extract_preview}",
    "js-edit --continuation {apply} --fix",
)
"""Braces hold the name of a token in the answer before; the agent writes the token itself."""

BATCH = (
    {"move": "setProperty", "toModule": "lib/containers.js"},
    {"move": "arrayToObject", "toModule": "lib/containers.js"},
    {"move": "maxNumericIndex", "toModule": "lib/containers.js"},
    {"rename": "setProperty", "file": "lib/containers.js", "to": "defineValue"},
    {"extract": "parseArrayValue"},
)
"""The same as one batch, for an agent that knows from the start what it wants."""

SHELL = (
    "grep -rnwE 'setProperty|arrayToObject|maxNumericIndex' lib test",
    "sed -n '1,10p;74,113p' lib/utils.js",
    "grep -nw defineProperty lib/utils.js",
    """{ printf "'use strict';\\n\\nvar defineProperty = require('es-define-property');\\n\\n"; """
    """sed -n '76,112p' lib/utils.js; printf 'module.exports = {\\n    arrayToObject: arrayToObject,\\n"""
    """    maxNumericIndex: maxNumericIndex,\\n    setProperty: setProperty\\n};\\n'; } """
    "> lib/containers.js",
    """sed -i -e '76,112d' -e '/^    arrayToObject: arrayToObject,$/d' """
    """-e '/^    setProperty: setProperty,$/d' """
    """-e "s/^var defineProperty = .*/var containers = require('.\\/containers');/" """
    """-e 's/\\b\\(arrayToObject\\|maxNumericIndex\\|setProperty\\)(/containers.\\1(/' lib/utils.js""",
    """sed -i -e "s/^var utils = .*/&\\nvar containers = require('.\\/containers');/" """
    """-e 's/utils\\.setProperty(/containers.setProperty(/' lib/parse.js""",
    "grep -rnwE 'setProperty|arrayToObject|maxNumericIndex|defineProperty' lib",
    "sed -i -e 's/^var setProperty = /var defineValue = /' "
    "-e 's/setProperty: setProperty/setProperty: defineValue/' lib/containers.js",
    "grep -nw -e setProperty -e defineValue lib/containers.js",
    "grep -rnw parseArrayValue lib test",
    "sed -n '94,128p' lib/parse.js",
    """{ printf "'use strict';\\n\\n"; sed -n '98,124p' lib/parse.js; """
    """printf '\\nmodule.exports = { parseArrayValue: parseArrayValue };\\n'; } > lib/parse-array-value.js""",
    """sed -i -e '98,125d' -e "s/^var utils = .*/&\\nvar parseArrayValue = """
    """require('.\\/parse-array-value').parseArrayValue;/" lib/parse.js""",
    """grep -rnw parseArrayValue lib; node -e "require('./lib')" """,
)
"""What a careful agent types to the same end; it reads each answer before the next line."""


class Way(msgspec.Struct, frozen=True, kw_only=True):
    """What one way cost, by the estimator of the contract."""

    name: str
    calls: int
    written: int
    """Tokens that the agent writes."""
    read: int
    """Tokens that it reads."""
    of_tokens: int
    """Of both, what continuation tokens take."""
    good_before: int
    good_after: int


def main(arguments: Sequence[str]) -> int:
    try:
        ways = [_measure(name, go) for name, go in WAYS.items()]
    except NotAvailable as trouble:
        print(f"Skipped: {trouble}.")
        return 0
    for way in ways:
        print(msgspec.json.encode(way).decode())
    if "--record" in arguments:
        with open(RECORD, "wb") as file:
            file.write(msgspec.json.format(msgspec.json.encode(ways), indent=1) + b"\n")
    return 0 if all(way.good_after == way.good_before > 0 for way in ways) else 1


def _measure(name: str, go: Go) -> Way:
    tested = next(each for each in own_tests.TESTED if each.name == PACKAGE)
    with tempfile.TemporaryDirectory(prefix="handrail-day-") as folder:
        place = os.path.join(folder, "package")
        shutil.copytree(fetch(PACKAGE), place)
        os.symlink(own_tests.install(tested.name, tested.needs), os.path.join(place, "node_modules"))
        before = own_tests.run_tests(tested, place)
        said = go(place, folder)
        after = own_tests.run_tests(tested, place)
    held = [token for _, answer in said for token in _held(answer)]
    passed_back = [word for line, _ in said for word in line.split() if word in held]
    of_tokens = sum(_count(token) for token in (*held, *passed_back))
    return Way(
        name=name,
        calls=len(said),
        written=sum(_count(line) for line, _ in said),
        read=sum(_count(answer) for _, answer in said),
        of_tokens=of_tokens,
        good_before=len(before),
        good_after=len(before & after),
    )


def _go_with_tokens(place: str, home: str) -> Said:
    """Every line with the answer to it. Typed paths and names are told apart from tokens and flags."""
    typed: list[str] = []
    said: Said = []
    tokens: dict[str, str] = {}
    for line in TOKENS:
        words = shlex.split(line)
        typed += [part for word in words[1:] if not word.startswith(("-", "{")) for part in word.split(",")]
        filled = [tokens[word[1:-1]] if word.startswith("{") else word for word in words]
        answer, tokens = _ask(filled, place, home)
        said.append((" ".join(filled), answer))
    assert len(typed) == len(set(typed)), typed
    return said


def _go_with_batch(place: str, home: str) -> Said:
    changes = json.dumps(BATCH)
    preview, tokens = _ask(["js-edit", "--changes", "-", "--ai-mode"], place, home, changes)
    line = ["js-edit", "--continuation", tokens["apply"], "--fix"]
    applied, _ = _ask(line, place, home)
    return [(f"js-edit --changes - --ai-mode <<'E'\n{changes}\nE", preview), (" ".join(line), applied)]


def _go_with_shell(place: str, home: str) -> Said:
    del home
    return [(line, _run(["bash", "-c", line], place, {})) for line in SHELL]


WAYS: dict[str, Go] = {
    "tokens": _go_with_tokens,
    "one batch": _go_with_batch,
    "grep and sed": _go_with_shell,
}


def _ask(words: Sequence[str], place: str, home: str, text: str = "") -> tuple[str, dict[str, str]]:
    script = words[0].replace("-", "_")
    answer = _run(
        [sys.executable, "-c", f"from handrail.main import {script}; {script}()", *words[1:]],
        place,
        {"HANDRAIL_HOME": os.path.join(home, "home"), "HANDRAIL_COMPACT": "1"},
        text,
    )
    document: dict[str, Any] = json.loads(answer)
    assert document["status"] in ("success", "preview"), answer[:500]
    return answer, document["continuation_tokens"]


def _run(command: Sequence[str], place: str, environment: dict[str, str], text: str = "") -> str:
    done = subprocess.run(
        command,
        cwd=place,
        env={**os.environ, **environment},
        input=text,
        capture_output=True,
        check=False,
        encoding="utf-8",
        timeout=CALL_SECONDS,
    )
    assert done.returncode == 0, (command[-1], done.stdout[:500], done.stderr[:500])
    return done.stdout


def _held(answer: str) -> list[str]:
    if not answer.startswith("{"):
        return []
    tokens: dict[str, str] = json.loads(answer)["continuation_tokens"]
    return list(tokens.values())


def _count(text: str) -> int:
    return estimate_tokens(text) or 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
