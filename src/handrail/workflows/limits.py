"""Limits of the workflow language, and rules for file names and workflow ids. Pure.

A value over a limit is a problem with a fix, never a cut.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Literal, TypeAlias

from handrail.contract.catalogue import WORK_LIMIT_EXCEEDED
from handrail.contract.outcome import Fault
from handrail.contract.wording import quote

MAX_SOURCE_BYTES = 1_000_000
MAX_JSON_DEPTH = 64
"""Nested arrays and objects in one source file."""
MAX_YAML_BYTES = 256_000
"""Bytes of a YAML file, or of one YAML part of a Markdown file: its parser is slower than that of JSON."""
MAX_YAML_VALUES = 20_000
MAX_PROBLEMS = 200
"""Problems listed for one file; a last one says that there are more."""

MAX_PARTS = 1_000
"""Steps, choices, actions, calls and loops of one workflow, before and after templates are expanded."""
MAX_LOOP_DEPTH = 8
MAX_ITERATIONS = 1_000
MAX_INPUTS = 50
MAX_CONDITIONS = 200
MIN_OPTIONS = 2
MAX_OPTIONS = 32
MAX_CHILDREN = 16
"""Child runs of one step."""
MAX_RUN_CHILDREN = 64
"""Child runs that all steps of one run delegate together."""
MAX_CHILD_DEPTH = 3
"""Levels of child runs below a run."""
MAX_CHILD_TRIES = 3
"""How often a child that was closed is delegated again."""
MAX_BRIEF_TOKENS = 60
"""Tokens of the brief that a helper gets."""
MOST_ACTIONS = 25
"""Actions that one call runs; the reply then shows the next one, and its ack token continues."""

MAX_PROMPT_BYTES = 32_768
"""Bytes of one step's prompt, authored and rendered."""
MAX_CONTRACT_SCHEMA_BYTES = 16_384

MAX_WORKFLOW_ID_CHARACTERS = 128
MAX_ID_CHARACTERS = 64
MAX_NAME_CHARACTERS = 64
"""Characters of names of inputs, loop variables and functions."""
MAX_TITLE_CHARACTERS = 200
MAX_VERSION_CHARACTERS = 32
MAX_DESCRIPTION_CHARACTERS = 2_000
MAX_TEXT_CHARACTERS = 8_000
"""Characters of every other text: guidance, functions, examples."""
MAX_LIST_ITEMS = 200
"""Items of every list and map that has no limit of its own."""

MAX_PATTERN_CHARACTERS = 500
MAX_PATTERN_COUNT = 1_000
"""Repetitions in braces, because the compiled pattern grows with them."""
MAX_PATTERN_SIZE = 1_048_576
"""Bytes of a compiled pattern; the time of a match grows with it."""
MAX_NOTES_CHARACTERS = 65_536
"""Characters that a run stores of one step's notes; a rule cannot ask for more."""

# Limits of work that is counted while it is done (`Effort`), or before a library starts that cannot be
# stopped
MAX_MOVE_PLACES = 100_000
"""Parts, iterations and comparisons between two steps of a run."""
MAX_COMPARISONS = 200
"""Comparisons of one condition."""
MAX_READ_COMPARISONS = 20_000
"""Comparisons of all conditions of a workflow, each counted as often as it is named."""
MAX_SCHEMA_PLACES = 5_000
"""Values inside a schema, with every reference followed."""
MAX_CONTRACT_PLACES = 200_000
"""Values in all contracts of one workflow together, because each is prepared and tried on its own."""
MAX_CHECK_WORK = 20_000_000
"""Places of a schema times values of the document that is checked against it."""
MAX_LISTED_WORK = 4_000_000
"""The same product, up to which every violation is reported; above it only the first one is."""
MAX_MATCH_WORK = 200_000_000
"""For the patterns of one step: what each may try, times the characters of the notes."""
MAX_RULES = 1_000
"""Patterns and schemas in the rules of one workflow; each is prepared on its own."""
MAX_FILLED_BYTES = 65_536
"""Bytes of all values that are inserted into one prompt."""
MAX_SIMULATION_WORK = 1_000_000
"""Places that all walks of one simulation read together, and values that it tries for them."""
MAX_TRIED_COMPARISONS = 500_000
"""Comparisons of all conditions of a workflow together, to find out whether they can hold."""


# File names: one rule for every reader of folders

FileKind: TypeAlias = Literal["workflow", "contract", "misnamed", ""]
Spelling: TypeAlias = Literal["json", "yaml", "md"]

SPELLINGS: dict[str, Spelling] = {".json": "json", ".yaml": "yaml", ".yml": "yaml", ".md": "md"}
"""Spellings, by the ending of a workflow file."""
CONTRACT_FOLDER = "contracts"
_ENDING = ".json"
_LIKE_JSON = (".jsonc", ".json5")
_LIKE_MARKDOWN = (".md", ".markdown")
_SETTINGS = (".handrail", "config.json")


def spelling_of(name: str, content: bytes = b"") -> Spelling:
    """Return the spelling of a file by its name, or by its content if the name does not decide it."""
    known = SPELLINGS.get(_ending(name).lower())
    if known is None:
        return "md" if content.startswith(b"---") else "json"
    return known


def file_kind(path: str) -> FileKind:
    """Return whether a file is a workflow, a contract, one that is meant to be one, or neither.

    A file directly in a folder `contracts`, or anywhere below `.handrail/contracts`, is a contract,
    which is JSON. A file with an ending such as .JSON, .jsonc or .Yaml is reported as misnamed,
    because its author would miss it. The project's settings are neither.
    """
    *folders, name = path.replace("\\", "/").split("/")
    if explain_misnaming(path) is not None:
        return "misnamed"
    ending = _ending(name)
    if ending not in SPELLINGS or (*folders[-1:], name) == _SETTINGS:
        return ""
    if ending != _ENDING and (name.startswith(".") or _is_contract(path)):
        return ""  # another tool's, or a page about contracts
    return "contract" if _is_contract(path) else "workflow"


def explain_misnaming(path: str) -> tuple[str, str] | None:
    """Explain why a file is not found under its name, and what to do; None if the name is fine."""
    name = path.replace("\\", "/").rpartition("/")[2]
    ending = _ending(name)
    folded = ending.lower()
    stem = name.removesuffix(ending)
    wanted = quote(f"{stem}{_ENDING}")
    if name.startswith(".") or ending == _ENDING:
        return None  # a hidden file is another tool's
    if SPELLINGS.get(folded) == "yaml" and _is_contract(path):
        return f"{quote(name)} is YAML; contracts are JSON.", f"Write the same as JSON into {wanted}."
    if ending in SPELLINGS:
        return None
    why = f"{quote(name)} is not read: only names that end in {', '.join(SPELLINGS)} are."
    if folded in SPELLINGS or folded in _LIKE_MARKDOWN:
        return why, f"Rename it to {quote(stem + (folded if folded in SPELLINGS else '.md'))}."
    if folded in _LIKE_JSON:
        return why, f"Rename it to {wanted}, and take out comments and trailing commas."
    return None


def is_page(path: str) -> bool:
    """Whether it is Markdown, most of which is no workflow."""
    return _ending(path).lower() in _LIKE_MARKDOWN


def kind_if_renamed(path: str) -> FileKind:
    """Return what a file would be if its name were right."""
    return file_kind(f"{path.rpartition('.')[0]}{_ENDING}" if explain_misnaming(path) else path)


def _ending(path: str) -> str:
    _, dot, ending = path.rpartition("/")[2].rpartition(".")
    return f"{dot}{ending}"


def _is_contract(path: str) -> bool:
    """Whether a file of this path would be a contract."""
    folders = path.replace("\\", "/").split("/")[:-1]
    is_below = (_SETTINGS[0], CONTRACT_FOLDER) in pairwise(folders)
    return folders[-1:] == [CONTRACT_FOLDER] or is_below


def is_looked_into(folder: str) -> bool:
    """Whether a subfolder is read; those of version control systems are not."""
    return folder not in (".git", ".hg", ".svn")


# Workflow ids

WorkflowKind: TypeAlias = Literal["workflow", "routine"]
RESERVED_NAMESPACE = "wr."
"""Prefix that bundled workflows have and others cannot have."""
IdStatus: TypeAlias = Literal["namespaced", "legacy"]


def id_status(workflow_id: str) -> IdStatus:
    """Return the status of an id. One without a dot is older than namespaces; it runs, with a warning."""
    return "namespaced" if "." in workflow_id else "legacy"


def rename_namespace(workflow_id: str, namespaces: Mapping[str, str]) -> str:
    """Return the id under the user's namespace for a source; an id without a namespace has the empty one."""
    namespace, _, name = workflow_id.rpartition(".")
    renamed = namespaces.get(namespace, namespace)
    return f"{renamed}.{name}" if renamed else name


# Work is counted while it is done, and stops when it is too much
#
# Counted, never timed: the same input stops at the same place on every machine and in every replay.


class Effort:
    """Limit of one computation, in its own unit: places, values or characters."""

    __slots__ = ("advice", "left", "limit", "trouble", "where")

    def __init__(self, limit: int, trouble: str, advice: str) -> None:
        self.limit = limit
        self.left = limit
        self.trouble = trouble
        """A sentence that says what is too large; it includes the limit."""
        self.advice = advice
        self.where = ""
        """The place that is being computed, for an author who has to make something smaller."""

    def affords(self, amount: int = 1) -> bool:
        """Spend that much if it is left, and return whether it was. After a refusal nothing is left, even
        for less.
        """
        self.left -= amount
        if self.left < 0:
            self.left = -1
        return self.left >= 0

    def spend(self, amount: int = 1) -> None:
        """Spend that much. Raises Fault WORK_LIMIT_EXCEEDED if less is left."""
        self.left -= amount
        if self.left < 0:
            raise self.fault()

    def fault(self) -> Fault:
        place = f" It is in {self.where}." if self.where else ""
        details = {"limit": self.limit, "where": self.where}
        return Fault(WORK_LIMIT_EXCEEDED, f"{self.trouble}{place}", details=details, hint=self.advice)
