"""Mistakes that authors make, what they must be told, and whether it is certain what was meant."""

from __future__ import annotations

from tests.operations.intended_files import (
    GONE,
    INTENDED,
    OVERLAY,
    Mistake,
    instead,
    meant,
    misspelt,
    unsure,
    written,
)
from tests.operations.planted_pages import PAGES

KEYS = (
    misspelt("/steps/0", "title", "titel"),
    misspelt("/steps/0", "prompt", "promt"),
    misspelt("/steps/0", "id", "Id"),
    misspelt("", "agentRole", "agent_role"),
    misspelt("", "description", "descripton"),
    misspelt("/steps/2", "maxIterations", "max_iterations"),
    misspelt("/steps/2", "body", "steps", '"steps": [\n        {\n          "id": "read"'),
    misspelt("/steps/2/forEach", "as", "item"),
    misspelt("/steps/0", "prompt", "instructions"),
    misspelt("/steps/8", "when", "if"),
    misspelt("/inputs/size", "enum", "values"),
    misspelt("/inputs/size", "default", "defaultValue"),
    misspelt("/conditions/0", "op", "operator"),
    misspelt("/conditions/0", "input", "var"),
    misspelt("/steps/3/options/0", "set", "sets"),
    misspelt("/steps/3/options/0", "label", "title", '"title": "Left"'),
    misspelt("/steps/6", "params", "parameters"),
    misspelt("/steps/7", "templateId", "template", '"template":'),
    misspelt("/steps/0/output", "contractRef", "contract_ref"),
    misspelt("", "guidance", "metaGuidance"),
    misspelt("", "questions", "clarificationPrompts"),
    misspelt("", "schema", "jsonSchema", base="contract"),
    misspelt("", "example", "exmaple", base="contract"),
    Mistake(
        "runCondition",
        "unknown_key",
        "/steps/8/runCondition",
        '"runCondition"',
        changes=(("/steps/8/when", GONE), ("/steps/8/runCondition", {"var": "size", "equals": "large"})),
        is_certain=False,
    ),
    Mistake(
        "outputContract",
        "unknown_key",
        "/steps/0/outputContract",
        '"outputContract"',
        changes=(
            ("/steps/0/output", GONE),
            ("/steps/0/outputContract", {"contractRef": "wr.contracts.plan"}),
        ),
    ),
    Mistake(
        "contract",
        "unknown_key",
        "/steps/0/contract",
        '"contract"',
        changes=(("/steps/0/output", GONE), ("/steps/0/contract", "wr.contracts.plan")),
        is_certain=False,
    ),
    Mistake(
        "conditions by name",
        "wrong_type",
        "/conditions",
        '"conditions"',
        changes=(
            (
                "/conditions",
                {
                    "is_large": {"input": "size", "op": "equals", "value": "large"},
                    "keep_going": {"kind": "loop_control"},
                },
            ),
        ),
    ),
    Mistake(
        "forEach in words",
        "wrong_type",
        "/steps/2/forEach",
        '"file in files"',
        changes=(("/steps/2/forEach", "file in files"), ("/steps/2/body/0/prompt", "Read {{file}}.")),
        meant=(
            ("/steps/2/forEach", {"input": "files", "as": "file"}),
            ("/steps/2/body/0/prompt", "Read {{file}}."),
        ),
    ),
    meant(
        instead("unknown_id", "/steps/1/requireConfirmation", "user"),
        ("/steps/1/requireConfirmation", True),
    ),
    unsure(instead("unknown_key", "/steps/3/options/0/goto", "report")),
    Mistake(
        "recommendedPreferences",
        "unknown_key",
        "/recommendedPreferences",
        '"recommendedPreferences"',
        changes=(
            ("/recommended", GONE),
            (
                "/recommendedPreferences",
                {"recommendedAutonomy": "guided", "recommendedRiskPolicy": "balanced"},
            ),
        ),
        is_certain=False,
    ),
    Mistake(
        "runCondition by name",
        "unknown_key",
        "/steps/8/runCondition",
        '"runCondition"',
        changes=(("/steps/8/when", GONE), ("/steps/8/runCondition", "is_large")),
        meant=(("/steps/8/when", "is_large"),),
    ),
    Mistake(
        "the item beside its list",
        "missing_key",
        "/steps/2/forEach",
        "",
        changes=(
            ("/steps/2/forEach", {"input": "files", "indexAs": "at"}),
            ("/steps/2/as", "file"),
        ),
        is_certain=False,
    ),
    Mistake(
        "forEach by name",
        "wrong_type",
        "/steps/2/forEach",
        '"forEach": "files"',
        changes=(
            ("/steps/2/forEach", "files"),
            ("/steps/2/as", "file"),
            ("/steps/2/body/0/prompt", "Read {{file}}."),
        ),
        meant=(
            ("/steps/2/forEach", {"input": "files", "as": "file"}),
            ("/steps/2/body/0/prompt", "Read {{file}}."),
        ),
        is_certain=False,
    ),
    instead("unknown_key", "/steps/0/titel", "Plan the work", '"titel"'),
    unsure(instead("unknown_key", "/steps/0/titel", "Other", '"titel"')),
    unsure(instead("unknown_key", "/steps/0/retryPolicy", 3, '"retryPolicy"')),
)

VALUES = (
    instead("bad_value", "/conditions/0/op", "=="),
    instead("bad_value", "/conditions/0/op", "eq"),
    instead("bad_value", "/conditions/0/op", "Equals"),
    unsure(instead("bad_value", "/conditions/0/op", "~=")),
    instead("bad_value", "/conditions/0/kind", "compre"),
    instead("bad_value", "/inputs/note/type", "str"),
    instead("bad_value", "/inputs/live/type", "bool"),
    instead("bad_value", "/recommended/autonomy", "Guided"),
    instead("bad_value", "/inputs/size/default", "smal"),
    instead("bad_value", "/inputs/live/default", "false"),
    instead("bad_value", "/inputs/retries/default", "3"),
    instead("wrong_type", "/guidance", "Say what you saw."),
    instead("wrong_type", "/steps/0/functionRefs", "verify_claim", '"functionRefs": "verify_claim"'),
    instead("wrong_type", "/steps/2/maxIterations", "5", '"maxIterations": "5"'),
    instead("wrong_type", "/steps/5/count", "3", '"count": "3"'),
    instead("wrong_type", "/steps/4/body/0/prompt", ["Work."], '"prompt": ['),
    instead("bad_value", "/steps/8/userOnly/choiceKind", "scope_boundary"),
    instead("bad_id", "/steps/8/id", "Report"),
    instead("bad_id", "/id", "Project.Intended"),
    instead("duplicate_id", "/steps/8/id", "plan", '"id": "plan",\n      "title": "Report"'),
    instead("missing_key", "/steps/8/when", {"var": "size", "equals": "large"}, '"var"'),
    Mistake(
        "repeated in the enum",
        "bad_value",
        "/inputs/size/enum/2",
        '"large"\n      ]',
        changes=(("/inputs/size/enum/-", "large"),),
    ),
    Mistake(
        "one value for in",
        "bad_value",
        "/conditions/0/value",
        '"value": "large"',
        changes=(("/conditions/0/op", "in"),),
        meant=(("/conditions/0/op", "in"), ("/conditions/0/value", ["large"])),
    ),
    Mistake(
        "crossed lengths",
        "bad_value",
        "/steps/0/validation/0/maximum",
        '"maximum": 10',
        changes=(("/steps/0/validation/0", {"type": "length", "minimum": 200, "maximum": 10}),),
    ),
    Mistake("no limit", "missing_key", "/steps/5", "", changes=(("/steps/5/maxIterations", GONE),)),
    Mistake("no title", "missing_key", "/steps/4/body/0", "", changes=(("/steps/4/body/0/title", GONE),)),
    Mistake("no id", "missing_key", "/steps/8", "", changes=(("/steps/8/id", GONE),)),
    Mistake("no type", "missing_key", "/steps/6", "", changes=(("/steps/6/type", GONE),)),
)

NAMES = (
    instead("undeclared_name", "/steps/0/prompt", "Plan {{nte}} for a {{size}} change."),
    instead("bad_placeholder", "/steps/0/prompt", "Plan ${note} for a {{size}} change."),
    meant(
        instead("bad_placeholder", "/steps/0/prompt", "Plan {{note|upper}} for a {{size}} change."),
        ("/steps/0/prompt", "Plan {{note}} (in upper case) for a {{size}} change."),
    ),
    instead("undeclared_name", "/steps/0/prompt", "Plan {{inputs.note}} for a {{size}} change."),
    instead("undeclared_name", "/steps/1/promptBlocks/goal", "The plan of {{noet}} is checked."),
    instead("undeclared_name", "/steps/2/body/0/prompt", "Read {{flie}}, number {{at}}."),
    meant(
        instead("undeclared_name", "/steps/8/prompt", "Report {{at}} {{found}} {{retries}}."),
        ("/steps/8/prompt", "Report [at] {{found}} {{retries}}."),
    ),
    instead("undeclared_name", "/steps/6/params/query", "{{ntoe}}"),
    instead("undeclared_name", "/steps/7/args/subject", "the change of {{noote}}"),
    meant(instead("bad_placeholder", "/steps/8/title", "Report {{note}}"), ("/steps/8/title", "Report note")),
    meant(
        instead("bad_placeholder", "/steps/8/prompt", "{{#if live}}Yes{{/if}} {{found}} {{retries}}."),
        ("/steps/8/prompt", "(only if live is true, and it is {{live}}: Yes) {{found}} {{retries}}."),
    ),
    instead("undeclared_name", "/conditions/0/input", "sise"),
    meant(
        instead("undeclared_name", "/steps/1/requireConfirmation/input", "production"),
        ("/inputs/production", {"type": "boolean"}),
        ("/steps/1/requireConfirmation/input", "production"),
    ),
    instead("undeclared_name", "/steps/2/forEach/input", "fiels"),
    unsure(instead("undeclared_name", "/steps/8/userOnly/input", "noets")),
    instead("bad_value", "/steps/3/options/1/set/size", "lagre"),
    instead("bad_value", "/steps/3/options/1/set/size", "Large"),
    instead("bad_value", "/conditions/0/value", "larg"),
    instead("bad_value", "/steps/1/requireConfirmation/value", "true"),
    Mistake(
        "no list",
        "not_a_list",
        "/steps/2/forEach/input",
        '"input": "files"',
        changes=(("/inputs/files/type", "string"),),
    ),
)

IDS = (
    instead("unknown_id", "/steps/5/when", "is_lagre"),
    instead("unknown_id", "/steps/0/output/contractRef", "wr.contracts.plann"),
    instead("unknown_id", "/steps/0/functionRefs/0", "verify_clam"),
    instead("unknown_id", "/steps/1/promptBlocks/procedure/1/refId", "wr.refs.note_first"),
    instead("unknown_id", "/steps/7/templateId", "wr.templates.verificaton_pass"),
    instead("unknown_id", "/features/0", "wr.features.mode_guidanc"),
    instead("unknown_id", "/steps/1/gates/0/assessmentId", "fitnes"),
    instead("unknown_id", "/steps/6/operation", "workflow.lst"),
    instead("read_too_early", "/steps/1/when/artifact", "wr.plna"),
    instead("undeclared_name", "/steps/1/when/field", "goall"),
    misspelt("/steps/7/args", "subject", "subjet")._replace(code="bad_argument"),
    misspelt("/steps/1/gates/0/followups", "severe", "sever")._replace(code="unknown_id"),
    Mistake(
        "impassable gate",
        "impassable_gate",
        "/steps/1/gates/0/followups",
        '"followups"',
        changes=(("/steps/1/gates/0/followups/minor", "Look."),),
        is_certain=False,
    ),
    Mistake(
        "read too early",
        "read_too_early",
        "/steps/1/when/artifact",
        '"artifact": "wr.handoff"',
        changes=(("/steps/1/when", {"kind": "compare", "artifact": "wr.handoff", "op": "exists"}),),
        is_certain=False,
    ),
)

TEXTS = (
    written("trailing comma", '"Say what you saw."', '"Say what you saw.",', '"Say what you saw.",'),
    written("line comment", '"name": "Intended",', '"name": "Intended", // the name', "// the name"),
    written("block comment", '"inputs": {', '/* all of them */ "inputs": {', "/* all"),
    written("hash comment", '"steps": [', '# steps\n  "steps": [', "# steps"),
    written("single quotes", '"Intended"', "'Intended'", "'Intended'"),
    written("curly quotes", '"Intended"', "“Intended”", "“Intended”"),
    written("True", '"required": true', '"required": True', "True"),
    written("bare key", '"name": "Intended"', 'name: "Intended"', "name:"),
    written("no comma", '"name": "Intended",', '"name": "Intended"', '"Intended"'),
    meant(
        written("raw line break", "{{note}} for", "{{note}}\nfor", '"Plan {{note}}'),
        ("/steps/0/prompt", "Plan {{note}}\nfor a {{size}} change."),
    ),
    written("byte order mark", "{", "\ufeff{", "\ufeff"),
    unsure(
        written(
            "cut off",
            '"needs_user_artifact",\n        "input": "note"\n      }\n    }\n  ]\n}',
            '"needs_user_artifact",',
            '"needs_user_artifact",',
        )
    ),
    written("trailing comma", '"One row."', '"One row.",', '"One row.",', base="contract"),
    written("trailing comma", '"Be careful."', '"Be careful.",', '"Be careful.",', base="foreign"),
    written("comment", '"metaGuidance"', '// why\n  "metaGuidance"', "// why", base="foreign"),
    written("single quotes", '"Elsewhere"', "'Elsewhere'", "'Elsewhere'", base="foreign"),
    written("True", "true", "True", "True", base="foreign"),
)

_SUMMARY = "/schema/properties/summary"
_ROWS = "/schema/properties/rows"
CONTRACTS = (
    instead("broken_contract", f"{_SUMMARY}/type", "strng", base="contract"),
    instead("broken_contract", f"{_SUMMARY}/type", "text", base="contract"),
    instead("broken_contract", f"{_ROWS}/items/$ref", "#/$defs/wor", base="contract"),
    instead("broken_contract", f"{_ROWS}/items/$ref", "#/definitions/row", base="contract"),
    misspelt(_SUMMARY, "minLength", "minLenght", base="contract")._replace(code="broken_contract"),
    instead("broken_contract", f"{_SUMMARY}/minLength", "3", base="contract"),
    instead("broken_contract", "/schema/required/1", "sumary", base="contract"),
    instead("broken_contract", "/example/summary", 3, '"summary": 3', base="contract")._replace(
        is_certain=False
    ),
    misspelt("/example", "summary", "sumary", base="contract")._replace(code="broken_contract"),
    instead("broken_contract", "/example/kind", "project.tabel", base="contract"),
    instead("bad_id", "/id", "wr.contracts.table", base="contract"),
    Mistake(
        "no kind",
        "broken_contract",
        "/schema",
        '"schema"',
        changes=(("/schema/properties/kind", GONE),),
        base="contract",
    ),
    Mistake(
        "no schema",
        "missing_key",
        "",
        "",
        changes=(("/schema", GONE),),
        base="contract",
        is_certain=False,
    ),
)

ELSEWHERE = (
    meant(
        instead("wrong_type", "/steps", "none", base="foreign"),
        ("/steps", [{"id": "first_step", "title": "First step", "prompt": "none"}]),
    ),
    Mistake("no name", "missing_key", "", "", changes=(("/name", GONE),), base="foreign"),
)

OVERLAYS = (
    misspelt("", "inputs", "input", base="overlay"),
    misspelt("/steps/plan", "append", "apend", base="overlay"),
    misspelt("/steps", "plan", "Plan", base="overlay")._replace(code="bad_name"),
    misspelt("/steps", "rounds~1work", "work", '"work": {', base="overlay")._replace(code="unknown_id"),
    misspelt("/inputs", "size", "Size", base="overlay")._replace(code="unknown_id"),
    instead("unknown_id", "/add/0/after", "way_", base="overlay"),
    instead("unknown_id", "/extends", "project.intendd", base="overlay"),
    instead("bad_value", "/inputs/size/default", "Large", base="overlay"),
    instead("bad_value", "/recommended/autonomy", "Guided", base="overlay"),
    misspelt("/steps/check/replace", "procedure", "procedur", base="overlay"),
    meant(
        instead("bad_value", "/steps/plan/replace", {"goal": "x"}, '"goal"', base="overlay")._replace(
            pointer="/steps/plan/replace/goal"
        ),
        ("/steps/plan/replace", {"prompt": "x"}),
    ),
    instead("undeclared_name", "/add/0/step/prompt", "Tell {{nte}}.", base="overlay"),
    meant(
        instead("undeclared_name", "/add/0/step/prompt", "Tell {{channel}}.", base="overlay"),
        ("/add/0/step/prompt", "Tell [channel]."),
    ),
    written("trailing comma", '"Slowly."', '"Slowly.",', '"Slowly.",', base="overlay"),
)

MARKDOWN = tuple(
    mistake._replace(base="markdown", name=f"markdown {mistake.name}")
    for mistake in (
        written("block", "### Procedure", "### Proceedure", "### Proceedure"),
        written("block in lower case", "### Procedure", "### procedure", "### procedure"),
        written("fence in the plural", "```step\nwhen", "```steps\nwhen", "```steps"),
        written("fence in capitals", "```step\nguidance", "```Step\nguidance", "```Step"),
        written("fence indented", "```step\nguidance", "  ```step\nguidance", "  ```step"),
        written("no id", "## Report {#report}", "## Report", "## Report"),
        written("level", "## Report {#report}", "#### Report {#report}", "#### Report"),
        written("other block", "### Procedure", "### Steps", "### Steps"),
        written(
            "markdown open fence",
            "  input: note\n```\n\nRep",
            "  input: note\n\nRep",
            "```step\nwhen:\n  kind: compare\n  input",
        ),
        meant(
            written("early text", "---\n\n## Plan", "---\n\nHello.\n\n## Plan", "Hello."),
            ("/guidance", ["Hello.", "Say what you saw."]),
        ),
        instead("unknown_key", "/steps/0/guidence", ["Short sentences."], "guidence")._replace(
            changes=(("/steps/0/guidance", GONE), ("/steps/0/guidence", ["Short sentences."]))
        ),
        instead("undeclared_name", "/steps/0/prompt", "Plan {{ntoe}} for a {{size}} change.", "{{ntoe}}"),
        instead("unknown_id", "/steps/0/output/contractRef", "wr.contracts.plann", "plann"),
        instead("bad_id", "/steps/8/id", "Report", "{#Report}"),
        instead("unknown_id", "/steps/1/promptBlocks/procedure/1/refId", "wr.refs.note_first", "note_first"),
        instead("wrong_type", "/guidance", "Say what you saw.", "Say what"),
    )
)

SPELLED_YAML = tuple(
    mistake._replace(base="yaml", name=f"yaml {mistake.name}")
    for mistake in (
        written("tab", "  size:", "\tsize:", "\tsize:"),
        written("anchor", "name: Intended", "name: &n Intended", "&n"),
        unsure(written("twice", "name: Intended", "name: Intended\nname: Other", "name: Other")),
        instead("bad_value", "/inputs/live/default", "no", 'default: "no"'),
        misspelt("/steps/0", "title", "titel", "titel:"),
        instead("bad_value", "/recommended/autonomy", "Guided", "Guided"),
        instead("unknown_id", "/steps/7/templateId", "wr.templates.verificaton_pass", "verificaton"),
        instead("undeclared_name", "/steps/2/forEach/input", "fiels", "fiels"),
    )
)

_ONE = {"type": "length", "minimum": 10, "maximum": 200}
_LIVE = {"kind": "compare", "input": "live", "op": "equals", "value": True}
_NAMED = [{"name": name, **spec} for name, spec in INTENDED["inputs"].items()]
FORMS = (
    instead("wrong_type", "/inputs", _NAMED, '"inputs"'),
    instead("wrong_type", "/features", "wr.features.mode_guidance", '"features"'),
    instead("wrong_type", "/steps/0/validation", _ONE, '"validation"'),
    instead("wrong_type", "/steps/0/output", "wr.contracts.plan", '"output"'),
    instead("wrong_type", "/steps/1/gates", INTENDED["steps"][1]["gates"][0], '"gates"'),
    instead("wrong_type", "/inputs/note/required", "true", '"required"'),
    unsure(instead("wrong_type", "/inputs/size/enum", {"small": 1}, '"enum"')),
    meant(
        instead("wrong_type", "/guidance/0", {"Note": "say what you saw."}, '{\n      "Note"'),
        ("/guidance/0", "Note: say what you saw."),
    ),
    meant(
        instead("wrong_type", "/guidance/0", {"text": "Say it."}, '{\n      "text"'),
        ("/guidance/0", "Say it."),
    ),
    meant(
        instead(
            "wrong_type", "/steps/1/promptBlocks/procedure/0", {"First": "read it."}, '{\n            "First"'
        ),
        ("/steps/1/promptBlocks/procedure/0", "First: read it."),
    ),
    instead("bad_value", "/steps/2/type", "forEach", '"forEach",'),
    instead("bad_value", "/steps/4/type", "while", '"while",'),
    instead("bad_value", "/inputs/note/type", "String"),
    instead("bad_value", "/recommended/riskPolicy", "balanced "),
    instead("bad_value", "/steps/8/userOnly/reason", "needs-user-artifact"),
    instead(
        "unknown_key", "/steps/0/validation/0", {"type": "length", "min": 10, "max": 200}, '"min"'
    )._replace(pointer="/steps/0/validation/0/min"),
    misspelt("/steps/6", "operation", "tool"),
    misspelt("/steps/6", "saveAs", "save_as"),
    misspelt("/steps/0", "title", "Title"),
    misspelt("/steps/0", "validation", "validations"),
    instead("bad_id", "/steps/5/when", "{{is_large}}"),
    instead("bad_id", "/steps/2/forEach/input", "{{files}}"),
    meant(instead("unknown_id", "/steps/5/when", "live", '"when": "live"'), ("/steps/5/when", _LIVE)),
    meant(
        instead("unknown_id", "/steps/1/requireConfirmation", "true", '"requireConfirmation"'),
        ("/steps/1/requireConfirmation", True),
    ),
    instead("unknown_id", "/steps/4/while", "keep-going"),
    instead("unknown_id", "/steps/0/output/contractRef", "plan", '"contractRef": "plan"'),
    instead("unknown_id", "/steps/7/templateId", "verification_pass"),
    instead("unknown_id", "/steps/1/promptBlocks/procedure/1/refId", "notes_first"),
    instead("unknown_id", "/features/0", "mode_guidance"),
    misspelt("", "extends", "extend", base="overlay"),
    instead("bad_id", "/add/0/after", "Way", base="overlay"),
    instead("wrong_type", "/add", OVERLAY["add"][0], '"add"', base="overlay"),
    instead("wrong_type", "/steps/plan/append", ["Read the rules first."], '"append"', base="overlay"),
    meant(
        instead("wrong_type", "/steps/plan", "Read the rules.", '"plan": "Read the rules."', base="overlay"),
        ("/steps/plan", {"append": "Read the rules."}),
    ),
    meant(
        instead("broken_contract", "/schema/required", "rows", '"required"', base="contract"),
        ("/schema/required", ["rows"]),
    ),
    instead("broken_contract", "/schema/type", "Object", base="contract"),
    instead("broken_contract", "/schema/additionalProperties", "false", base="contract"),
    instead("broken_contract", "/schema/properties/rows/minItems", "1", '"minItems"', base="contract"),
    misspelt("", "artifactKind", "artefactKind", base="contract"),
)
"""Mistakes in what kind of value stands where."""

MISTAKES: tuple[Mistake, ...] = (
    *FORMS,
    *PAGES,
    *KEYS,
    *VALUES,
    *NAMES,
    *IDS,
    *TEXTS,
    *CONTRACTS,
    *ELSEWHERE,
    *OVERLAYS,
    *MARKDOWN,
    *SPELLED_YAML,
)

UNCERTAIN: dict[str, str] = {
    "runCondition": "It is a key of another language; the advice names ours.",
    "contract": "It is a key of another language; the advice names ours.",
    "recommendedPreferences": "It is a key of another language.",
    "the item beside its list": "The advice shows where the name of the item goes.",
    "forEach by name": "The advice shows where the name of the item goes.",
    'workflow /steps/3/options/0/goto "report"': "The value that a later step compares is not in the file.",
    'workflow /steps/0/titel "Other"': "Two titles: only the author knows which one counts.",
    "workflow /steps/0/retryPolicy 3": "No key here says it; taking it away would hide a wish.",
    'workflow /conditions/0/op "~="': "A pattern, a rounded number or a slip.",
    'workflow /steps/8/userOnly/input "noets"': "It may be a new input, which only the user fills.",
    "impassable gate": "Which level may pass is the whole point of the gate.",
    "read too early": "Another kind, another step or another order may be meant.",
    "contract /example/summary 3": "What an agent is to copy, only the author knows.",
    "no schema": "What the members must hold is not in the file.",
    "workflow cut off": "What is missing is not in the file.",
    'workflow /inputs/size/enum {"small": 1}': "What the numbers are for is not in the file.",
    "yaml text condition in one line": "The rest of the condition is not in the file.",
    "yaml workflow twice": "Two values: only the author knows which one counts.",
}
"""Why a program is offered no edit, by mistake."""

WORDS_OF_OURS = (
    'workflow /steps/0/prompt "Plan {{note|upper}} for a {{size}} chan',
    'workflow /steps/8/prompt "Report {{at}} {{found}} {{retries}}."',
    'workflow /steps/8/title "Report {{note}}"',
    'workflow /steps/8/prompt "{{#if live}}Yes{{/if}} {{found}} {{retr',
    'foreign /steps "none"',
    'overlay /add/0/step/prompt "Tell {{channel}}."',
)
"""Repairs that put in what is not in the file: the result can be used, and its author has to read it."""
