"""One walk over the syntax tree of a Python file: which visitor reads which node. Pure.

Nothing here calls itself: nodes wait on a stack, so that deep nesting costs memory and never the program.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TypeAlias

from handrail_code.facts.model import NONE
from handrail_code.languages.grammars import Node, kind_names
from handrail_code.languages.python import declarations, expressions, imports, targets, type_syntax
from handrail_code.languages.python.draft import Draft, DraftScope

BRANCHES = frozenset(
    {"if_statement", "try_statement", "for_statement", "while_statement", "with_statement", "match_statement"}
)
MAX_SCOPE_DEPTH = 400
MAX_STACK = 2_000_000

Visit: TypeAlias = Callable[[Draft, Node, int, int], None]


def skip(draft: Draft, node: Node, scope: int, definition: int) -> None:
    """Nothing in it is a name."""


VISITS: dict[str, Visit] = {
    "identifier": expressions.visit_identifier,
    "attribute": expressions.visit_chain,
    "call": expressions.visit_call,
    "subscript": expressions.visit_subscript,
    "type": type_syntax.visit_type,
    "string": expressions.visit_string,
    "comment": type_syntax.visit_comment,
    "decorated_definition": declarations.visit_decorated,
    "function_definition": declarations.visit_function,
    "class_definition": declarations.visit_class,
    "lambda": declarations.visit_lambda,
    "type_alias_statement": declarations.visit_type_alias,
    **dict.fromkeys(declarations.COMPREHENSIONS, declarations.visit_comprehension),
    "assignment": targets.visit_assignment,
    "augmented_assignment": targets.visit_augmented,
    "named_expression": targets.visit_walrus,
    "for_statement": targets.visit_for,
    "as_pattern": targets.visit_as,
    "delete_statement": targets.visit_delete,
    "global_statement": targets.visit_declared,
    "nonlocal_statement": targets.visit_declared,
    "case_clause": targets.visit_case,
    "dotted_name": targets.visit_dotted,
    **dict.fromkeys(
        (
            *("if_statement", "elif_clause", "while_statement", "except_clause", "conditional_expression"),
            *("boolean_operator", "if_clause"),
        ),
        targets.visit_branch,
    ),
    "import_statement": imports.visit_import,
    "import_from_statement": imports.visit_from,
    "future_import_statement": imports.visit_from,
    **dict.fromkeys(
        (
            *("integer", "float", "true", "false", "none", "ellipsis", "pass_statement"),
            *("break_statement", "continue_statement", "string_content", "line_continuation"),
        ),
        skip,
    ),
}


@cache
def visits_by_number() -> tuple[Visit | None, ...]:
    return tuple(VISITS.get(name) for name in kind_names("python"))


@cache
def branches_by_number() -> frozenset[int]:
    return frozenset(number for number, name in enumerate(kind_names("python")) if name in BRANCHES)


def _note_branch(around: DraftScope, node: Node) -> None:
    if around.kind in ("module", "class") and (
        not around.branches or around.branches[-1][1] <= node.start_byte
    ):
        around.branches.append((node.start_byte, node.end_byte))


def walk(root: Node, text: bytes) -> Draft | None:
    """Everything the tree says, or None where scopes nest deeper than anyone writes."""
    visits = visits_by_number()
    unread = len(visits)
    branches = branches_by_number()
    draft = Draft(text)
    top = draft.open_scope("module", root, NONE)
    depths = [0]
    draft.push(root.named_children, top, NONE)
    stack, scopes = draft.stack, draft.scopes
    while stack:
        node, scope, definition = stack.pop()
        number = node.kind_id
        visit = visits[number] if number < unread else None
        if number in branches:
            _note_branch(scopes[scope], node)
        if visit is None:
            children = node.named_children
            if children:
                children.reverse()
                stack.extend([(child, scope, definition) for child in children])
        else:
            visit(draft, node, scope, definition)
        if len(scopes) > len(depths):
            for new in scopes[len(depths) :]:
                depths.append(depths[new.parent] + 1)
            if depths[-1] > MAX_SCOPE_DEPTH:
                return None
        if len(stack) > MAX_STACK:
            return None
    return draft
