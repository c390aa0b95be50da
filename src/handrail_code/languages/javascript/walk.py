"""One walk over the syntax tree of a JavaScript or TypeScript file: which visitor reads which node. Pure."""

from __future__ import annotations

from handrail_code.facts.model import NONE, TYPE, Language
from handrail_code.languages.draft import Visit, skip, walk_tree
from handrail_code.languages.grammars import Node
from handrail_code.languages.javascript import (
    declarations,
    expressions,
    loading,
    modules,
    statements,
    type_syntax,
)
from handrail_code.languages.javascript.draft import MODULE, Draft

VISITS: dict[str, Visit[Draft]] = {
    "identifier": expressions.read_as("read"),
    "shorthand_property_identifier": expressions.read_as("shorthand"),
    # `({a} = x)`: in a declaration the pattern takes it before this is reached.
    "shorthand_property_identifier_pattern": expressions.read_as("pattern"),
    "private_property_identifier": expressions.read_as("read"),
    "property_identifier": expressions.visit_stray_property,
    "this": expressions.visit_this,
    "string": loading.visit_string,
    "template_string": loading.visit_template,
    "pair_pattern": expressions.visit_target,
    "member_expression": expressions.visit_chain,
    "subscript_expression": expressions.visit_chain,
    "nested_identifier": expressions.visit_chain,
    "call_expression": expressions.visit_call,
    "new_expression": expressions.visit_call,
    "assignment_expression": expressions.visit_assignment,
    "augmented_assignment_expression": expressions.visit_changed,
    "update_expression": expressions.visit_changed,
    "object": expressions.visit_object,
    "jsx_opening_element": expressions.visit_jsx_name,
    "jsx_closing_element": expressions.visit_jsx_name,
    "jsx_self_closing_element": expressions.visit_jsx_name,
    "jsx_attribute": expressions.visit_jsx_attribute,
    "function_declaration": declarations.visit_function_declaration,
    "generator_function_declaration": declarations.visit_function_declaration,
    "function_signature": declarations.visit_function_declaration,
    "function_expression": declarations.visit_function_expression,
    "generator_function": declarations.visit_function_expression,
    "arrow_function": declarations.visit_signature,
    "class_declaration": declarations.visit_class,
    "abstract_class_declaration": declarations.visit_class,
    "class": declarations.visit_class,
    "class_static_block": declarations.visit_static_block,
    "method_definition": declarations.visit_method,
    "field_definition": declarations.visit_field,
    "public_field_definition": declarations.visit_field,
    "pair": declarations.visit_pair,
    "enum_declaration": declarations.declare_enum,
    "variable_declaration": statements.visit_variables,
    "lexical_declaration": statements.visit_variables,
    "using_declaration": statements.visit_variables,
    "statement_block": statements.visit_block,
    "switch_body": statements.visit_block,
    "expression_statement": statements.visit_expression_statement,
    "for_statement": statements.visit_decision,
    "for_in_statement": statements.visit_decision,
    "catch_clause": statements.visit_decision,
    "if_statement": statements.visit_decision,
    "while_statement": statements.visit_decision,
    "do_statement": statements.visit_decision,
    "switch_case": statements.visit_decision,
    "ternary_expression": statements.visit_decision,
    "binary_expression": statements.visit_binary,
    "labeled_statement": statements.visit_labeled,
    "break_statement": statements.visit_jump,
    "continue_statement": statements.visit_jump,
    "with_statement": statements.visit_with,
    "comment": statements.visit_comment,
    "import_statement": modules.visit_import,
    "import_alias": modules.visit_import_alias,
    "export_statement": modules.visit_export,
    "type_identifier": expressions.read_as("type", TYPE),
    "nested_type_identifier": type_syntax.visit_nested_type_name,
    "lookup_type": type_syntax.visit_lookup_type,
    "type_alias_declaration": type_syntax.visit_type_alias,
    "interface_declaration": type_syntax.visit_interface,
    "property_signature": type_syntax.visit_property_signature,
    "method_signature": declarations.visit_method,
    "abstract_method_signature": declarations.visit_method,
    "call_signature": declarations.visit_signature,
    "construct_signature": declarations.visit_signature,
    "function_type": declarations.visit_signature,
    "constructor_type": declarations.visit_signature,
    "index_signature": type_syntax.visit_index_signature,
    "conditional_type": type_syntax.visit_conditional_type,
    "infer_type": type_syntax.visit_infer,
    "required_parameter": type_syntax.visit_tuple_member,
    "optional_parameter": type_syntax.visit_tuple_member,
    "ambient_declaration": type_syntax.visit_ambient,
    "internal_module": type_syntax.visit_namespace,
    "module": type_syntax.visit_namespace,
    **dict.fromkeys(
        (
            *("number", "regex", "true", "false", "null", "undefined", "super", "jsx_text"),
            *("predefined_type", "hash_bang_line", "empty_statement", "debugger_statement", "import"),
            *("meta_property", "this_type", "accessibility_modifier", "override_modifier", "optional_chain"),
            *("string_fragment", "escape_sequence", "html_character_reference", "existential_type"),
        ),
        skip,
    ),
}


def walk(language: Language, root: Node, text: bytes, is_strict: bool) -> Draft | None:
    """Everything the tree says, or None where scopes nest deeper than anyone writes."""
    draft = Draft(text)
    top = draft.open_scope("module", root, NONE)
    draft.scopes[top].is_strict, draft.scopes[top].this = is_strict, MODULE
    declarations.visit_body(draft, root, top, NONE)
    return walk_tree(draft, language, VISITS, modules.record_exported)
