"""One walk over the syntax tree of a Python file: which visitor reads which node. Pure."""

from __future__ import annotations

from handrail_code.facts.model import NONE
from handrail_code.languages.draft import Visit, skip, walk_tree
from handrail_code.languages.grammars import Node
from handrail_code.languages.python import declarations, expressions, targets, type_syntax
from handrail_code.languages.python.draft import Draft

VISITS: dict[str, Visit[Draft]] = {
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
        (*("elif_clause", "except_clause", "conditional_expression", "boolean_operator", "if_clause"),),
        targets.visit_decision,
    ),
    **dict.fromkeys(("if_statement", "while_statement"), targets.visit_branch),
    **dict.fromkeys(("try_statement", "with_statement", "match_statement"), targets.visit_perhaps),
    "import_statement": targets.visit_import,
    "import_from_statement": targets.visit_from,
    "future_import_statement": targets.visit_from,
    **dict.fromkeys(
        (
            *("integer", "float", "true", "false", "none", "ellipsis", "pass_statement"),
            *("break_statement", "continue_statement", "string_content", "line_continuation"),
        ),
        skip,
    ),
}


def walk(root: Node, text: bytes) -> Draft | None:
    """Everything the tree says, or None where scopes nest deeper than anyone writes."""
    draft = Draft(text)
    draft.push(root.named_children, draft.open_scope("module", root, NONE), NONE)
    return walk_tree(draft, "python", VISITS)
