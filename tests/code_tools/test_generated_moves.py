"""Laws of moves on generated programs: there and back gives the same bytes, and nothing is ever a crash.

The way back puts a declaration at the end of its module and its imports behind the others. So these come back
byte by byte: exported declarations at the end of their module, one blank line below the rest, whose imports
stand last and serve nothing else, and whose importers take them alone.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from handrail_code.edit.plan import Plan, Refusal
from handrail_code.facts.join import Project
from tests.code_tools.planning import plan_extract, plan_move, plan_replace, texts_after, texts_of
from tests.code_tools.programs import PROGRAMS, PROJECTS
from tests.code_tools.reading import list_found, project_of
from tests.code_tools.test_generated_programs import symbols

pytestmark = pytest.mark.thorough

SAME_EACH_TIME = settings(derandomize=True)

BODIES = st.sampled_from(
    ["", "return 1;", "return a;", "return x;", "return kept(x, other);", "const b = `\n`;"]
)
MOVABLE = st.one_of(
    BODIES.map(lambda body: f"export function a() {{ {body} }}"),
    BODIES.map(lambda body: f"/** Says. */\nexport const a = () => {{ {body} }};"),
    BODIES.map(lambda body: f"// why\nexport class a {{\n  m() {{ {body} }}\n}}"),
    st.just("export let a = 1, b = 2;".replace(", b = 2", "")),
)
KEPT = st.lists(
    st.sampled_from(["export const kept = 1;", "function inner() {}", "export class Other {}", "f();"]),
    unique=True,
)
IMPORTER = st.sampled_from(
    [
        "import { a } from './m.js';\na();\n",
        "import {a as b} from './m.js'\nb()\n",
        "export { a } from './m.js';\n",
        'export {\n  a as b,\n} from "./m.js";\n',
        "const { a } = await import('./m.js');\n",
        "f();\n",
    ]
)


def shifted(
    project: Project, path: str, to_module: str, make: Callable[..., Plan | Refusal] = plan_move
) -> dict[str, str] | Refusal:
    facts = project.facts(path)
    assert facts is not None
    index = next(at for at, each in enumerate(facts.definitions) if each.name == "a")
    symbol = project.symbol_of(path, index)
    assert symbol is not None
    return texts_after(project, texts_of(project), make(project, symbol, to_module))


@SAME_EACH_TIME
@given(
    movable=MOVABLE,
    kept=KEPT,
    importer=IMPORTER,
    eol=st.sampled_from(["\n", "\r\n"]),
    has_newline=st.booleans(),
    mark=st.sampled_from(["", "\ufeff"]),
    target=st.sampled_from(["t.js", "new.js", "d/new.js"]),
)
def test_a_move_there_and_back_gives_the_same_bytes(
    movable: str, kept: list[str], importer: str, eol: str, has_newline: bool, mark: str, target: str
) -> None:
    head = ["import { y } from './y.js';", *(["import { x } from './x.js';"] if "x" in movable else [])]
    text = "\n".join(head) + "\n\n" + "\n\n".join(["y();", *kept, movable]) + "\n" * has_newline
    files = {
        "m.js": mark + text.replace("\n", eol),
        "t.js": "import { y } from './y.js';\n\nexport const there = y;\n",
        "n.js": importer,
    }
    there = shifted(project_of(files), "m.js", target)
    assume(isinstance(there, dict))
    assert isinstance(there, dict)

    back = shifted(project_of(there), target, "m.js")

    assert back == files


@SAME_EACH_TIME
@given(
    movable=MOVABLE,
    kept=KEPT,
    importer=IMPORTER,
    eol=st.sampled_from(["\n", "\r\n"]),
    is_used=st.booleans(),
)
def test_an_extraction_moved_back_gives_the_same_bytes(
    movable: str, kept: list[str], importer: str, eol: str, is_used: bool
) -> None:
    head = ["import { y } from './y.js';", *(["import { x } from './x.js';"] if "x" in movable else [])]
    body = ["y();", *kept, *(["export const use = () => a;"] if is_used else []), movable]
    text = "\n".join(head) + "\n\n" + "\n\n".join(body) + "\n"
    files = {"m.js": text.replace("\n", eol), "n.js": importer}
    there = shifted(project_of(files), "m.js", "t.js", plan_extract)
    assume(isinstance(there, dict))
    assert isinstance(there, dict)

    back = shifted(project_of(there), "t.js", "m.js")

    assert there["n.js"] == importer
    assert back == files


@SAME_EACH_TIME
@given(
    files=PROJECTS,
    pick=st.integers(min_value=0),
    to_module=st.sampled_from(["n.js", "m.js", "o.js", "d/o.ts"]),
)
def test_edits_of_generated_programs_are_refused_or_read_again(
    files: dict[str, str], pick: int, to_module: str
) -> None:
    project = project_of(files)
    places = symbols(project)
    assume(places)
    symbol = places[pick % len(places)][2]

    for plan in (
        plan_move(project, symbol, to_module),
        plan_extract(project, symbol, to_module, is_exporting=True),
        *(
            plan_replace(project, found, f"function {symbol.name}() {{}}")
            for found in list_found(project)
            if found.definition.name == symbol.name
        ),
    ):
        after = texts_after(project, texts_of(project), plan)
        if isinstance(after, dict):
            again = project_of(after)
            assert all(
                facts is not None and not facts.troubles for facts in map(again.facts, again.source.files())
            )


BROKEN = st.text(alphabet="{}()[];,=:`'\"/*a b\n\\export import from constfunction", max_size=60)


@SAME_EACH_TIME
@example(text="export const a = `${", junk="")
@given(text=PROGRAMS, junk=BROKEN)
def test_broken_programs_are_refused_and_never_a_crash(text: str, junk: str) -> None:
    project = project_of(
        {"m.js": f"import {{x}} from './n';\n{text}\n{junk}\nexport function a() {{ x }}\n", "n.js": junk}
    )
    for _, _, symbol in symbols(project)[:6]:
        for target in ("n.js", "t.js"):
            plan_move(project, symbol, target)
            plan_extract(project, symbol, target)
    for found in list_found(project)[:6]:
        plan_replace(project, found, junk)
