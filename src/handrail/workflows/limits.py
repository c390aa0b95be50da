"""Every limit of the workflow language, in one place. Pure.

Over a limit is a problem with a fix, never a cut.
"""

from __future__ import annotations

MAX_SOURCE_BYTES = 1_000_000
MAX_JSON_DEPTH = 64
"""Arrays and objects inside each other in one source file."""
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

MAX_PROMPT_BYTES = 32_768
"""Of one step, authored and rendered."""
MAX_REF_BYTES = 4_096
MAX_CONTRACT_SCHEMA_BYTES = 16_384

MAX_WORKFLOW_ID_CHARACTERS = 128
MAX_ID_CHARACTERS = 64
MAX_NAME_CHARACTERS = 64
"""Of inputs, loop variables and functions."""
MAX_TITLE_CHARACTERS = 200
MAX_VERSION_CHARACTERS = 32
MAX_DESCRIPTION_CHARACTERS = 2_000
MAX_TEXT_CHARACTERS = 8_000
"""Of every other text: guidance, functions, examples."""
MAX_LIST_ITEMS = 200
"""Of every list and map that has no limit of its own."""

MAX_PATTERN_CHARACTERS = 500
MAX_PATTERN_REPETITIONS = 20
MAX_PATTERN_COUNT = 1_000
"""In braces: the compiled pattern grows with it."""
MAX_PATTERN_SIZE = 1_048_576
"""Bytes of a compiled pattern; the time of a match grows with it."""
MAX_PATTERN_WAYS = 1_000
"""Of the repetitions of a pattern that is matched by trying."""
MAX_NOTES_CHARACTERS = 65_536
"""What a run stores of one step's notes; a rule cannot ask for more."""
