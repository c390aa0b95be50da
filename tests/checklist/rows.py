"""The rules that the command line keeps, each with the tests that show it: a number, a sentence, test ids."""

from __future__ import annotations

import msgspec

CLI = "tests/surfaces/cli"
CONFORMANCE = "tests/conformance/test_every_declaration.py"
GATE = f"{CLI}/test_gate_by_process.py"
STREAMS = f"{CLI}/test_streams.py"
CONFIRM = "tests/contract/tokens/test_confirm.py"


class Rule(msgspec.Struct, frozen=True, kw_only=True):
    """One row; `later` says what of it does not exist yet, and then it does not count as kept."""

    number: int
    says: str
    tests: tuple[str, ...] = ()
    later: str = ""


def rule(number: int, says: str, *tests: str, later: str = "") -> Rule:
    return Rule(number=number, says=says, tests=tests, later=later)


RULES = (
    rule(
        1,
        "one JSON document by default, errors too",
        f"{CLI}/test_output.py::test_json_in_the_cli_dialect_is_the_default",
        f"{CONFORMANCE}::test_its_lines_succeed_and_keep_the_declared_schema",
    ),
    rule(2, "exact keys, both outcomes", f"{CONFORMANCE}::test_each_code_that_it_declares_comes_out"),
    rule(3, "quiet means empty stderr", f"{CLI}/test_formats.py::test_quiet_silences_notices_but_no_errors"),
    rule(
        4,
        "UTF-8, LF, no BOM, no ESC, any locale, also on a terminal",
        f"{STREAMS}::test_the_locale_changes_no_byte",
        f"{STREAMS}::test_a_terminal_and_a_pipe_get_the_same_bytes",
        f"{STREAMS}::test_arguments_are_utf8_under_any_locale",
    ),
    rule(
        5,
        "deterministic",
        f"{CLI}/test_formats.py::test_a_read_gives_the_same_answer_twice",
        f"{CLI}/test_self_description.py::test_two_answers_differ_in_nothing_but_time",
    ),
    rule(
        6,
        "code, exit and retryable agree with the independent table",
        f"{CONFORMANCE}::test_each_code_that_it_declares_comes_out",
        "tests/contract/test_cli_contract.py",
    ),
    rule(
        7,
        "formats; flags that do not apply",
        f"{CONFORMANCE}::test_a_flag_that_it_does_not_offer_is_refused",
        f"{CLI}/test_output.py::test_two_different_formats_conflict",
    ),
    rule(
        8,
        "unknown or shortened flag, before any work",
        f"{CLI}/test_parse.py::test_an_unknown_name_or_shape_is_a_usage_problem",
        f"{CLI}/test_parse.py::test_the_nearest_name_is_told_and_not_executed",
        f"{GATE}::test_a_flag_that_does_not_apply_is_refused_before_anything_runs",
    ),
    rule(
        9,
        "global flags before and after",
        f"{CLI}/test_parse.py::test_global_flags_stand_anywhere_and_equal_repeats_pass",
        f"{CLI}/test_formats.py::test_compact_is_the_same_document_on_one_line",
    ),
    rule(
        10,
        "repeats, strict integers",
        f"{CLI}/test_parse.py::test_an_integer_is_ascii_digits_within_its_range",
        f"{CLI}/test_parse.py::test_global_flags_stand_anywhere_and_equal_repeats_pass",
    ),
    rule(
        11,
        "all problems at once, with a way out",
        f"{CLI}/test_formats.py::test_every_problem_is_told_at_once",
        f"{CLI}/test_formats.py::test_a_next_command_runs_as_it_stands",
    ),
    rule(
        12,
        "never waits",
        "tests/conformance/test_fuzzed_lines.py::test_any_line_does_as_a_process_of_its_own",
        f"{STREAMS}::test_a_terminal_on_stdin_is_refused_at_once",
    ),
    rule(
        13,
        "stdin only on `-`, bounded",
        f"{CLI}/test_params.py::test_stdin_is_left_alone_when_it_is_not_named",
        f"{STREAMS}::test_a_silent_stdin_ends_with_the_timeout",
        f"{STREAMS}::test_a_terminal_on_stdin_is_refused_at_once",
    ),
    rule(14, "signals at each stage of a write", f"{CLI}/test_signals_at_stages.py"),
    rule(
        15,
        "closed, full, gone stdout",
        f"{STREAMS}::test_a_change_whose_reply_nobody_can_read_is_not_made",
        f"{STREAMS}::test_a_full_disk_is_told_on_stderr_and_by_the_exit_status",
        f"{STREAMS}::test_a_reader_that_went_away_is_no_trouble",
    ),
    rule(
        16,
        "bare write, made-up token",
        f"{CONFORMANCE}::test_a_write_is_refused_bare_shown_confirmed_and_refused_again",
        f"{GATE}::test_a_bare_write_and_a_made_up_token_change_nothing",
    ),
    rule(
        17,
        "dry run is pure",
        f"{CONFORMANCE}::test_a_write_is_refused_bare_shown_confirmed_and_refused_again",
        f"{GATE}::test_a_dry_run_changes_nothing_and_its_token_does_it_once",
    ),
    rule(
        18,
        "scope, and spelling is not scope",
        f"{GATE}::test_how_ids_are_spelled_does_not_matter_to_the_token",
        f"{GATE}::test_a_token_means_nothing_elsewhere",
        f"{CONFIRM}::test_another_call_has_other_arguments",
        f"{CONFIRM}::test_other_targets_or_versions_are_a_changed_target",
    ),
    rule(
        19,
        "expiry, canonical form",
        f"{CONFIRM}::test_a_token_expires_after_15_minutes",
        f"{CONFIRM}::test_anything_but_the_token_itself_is_not_from_this_machine",
    ),
    rule(
        20,
        "single use across processes",
        "tests/host/test_confirmed_tokens.py::test_of_eight_processes_with_one_token_one_wins",
    ),
    rule(
        21,
        "crash after the claim; claim not storable",
        f"{CLI}/test_signals_at_stages.py::test_before_the_write_nothing_is_changed_and_a_claim_is_never_torn",
        "tests/host/test_confirmed_tokens.py::test_a_disk_that_takes_no_new_claim_still_knows_the_old_ones",
    ),
    rule(
        22,
        "dangerous; permission ceiling",
        "tests/runtime/test_delete_sessions.py::test_a_token_without_the_word_stays_good",
        f"{GATE}::test_the_environment_lowers_the_ceiling_and_never_raises_it",
    ),
    rule(
        23,
        "create keys",
        f"{CONFORMANCE}::test_a_creation_needs_its_key_and_a_repeat_gets_the_recorded_reply",
        f"{CLI}/test_formats.py::test_a_create_without_a_key_leads_to_the_command_that_has_one",
    ),
    rule(24, "ack", f"{CONFORMANCE}::test_an_acknowledgement_may_be_repeated"),
    rule(
        25,
        "batch",
        "tests/runtime/test_batch.py",
        "tests/runtime/test_delete_sessions.py::test_a_dangerous_batch_stops_at_the_first_failure_by_default",
    ),
    rule(26, "paging", f"{CLI}/test_formats.py::test_pages_joined_are_the_whole_list"),
    rule(
        27,
        "fields",
        "tests/contract/test_disclosure.py::test_fields_project_each_item_and_keep_id_and_paging",
        "tests/contract/test_disclosure.py::test_only_unknown_names_are_refused_with_the_valid_set",
    ),
    rule(
        28,
        "untrusted text is named, per item",
        "tests/contract/test_disclosure.py"
        "::test_untrusted_names_stand_per_item_and_only_while_the_field_is_there",
        f"{CLI}/test_canaries.py::test_notes_come_out_as_untrusted_data_only_and_never_in_the_audit",
    ),
    rule(29, "secrets", f"{CLI}/test_canaries.py"),
    rule(
        30,
        "paths and children",
        f"{CLI}/test_params.py::test_a_file_that_cannot_be_used_is_refused",
        "tests/house/test_no_network.py",
    ),
    rule(
        31,
        "audit",
        f"{GATE}::test_every_write_leaves_one_private_audit_line_also_when_quiet",
        "tests/host/test_audit.py",
    ),
    rule(
        32,
        "reference: every leaf with schema, fields and examples that run; slices are small",
        f"{CLI}/test_reference.py::test_every_leaf_names_a_schema_with_fields_and_an_example",
        f"{CLI}/test_reference.py::test_a_slice_is_small_and_holds_what_its_command_needs",
        f"{CLI}/test_help.py::test_an_example_runs",
    ),
    rule(
        33,
        "self-description needs nothing",
        f"{CLI}/test_self_description.py::test_nothing_that_is_broken_keeps_them_from_answering",
        f"{CLI}/test_reference.py::test_it_needs_no_store_no_keys_and_no_settings",
    ),
    rule(
        34,
        "versions",
        f"{CLI}/test_self_description.py::test_every_place_tells_the_same_version",
        f"{CLI}/test_changelog.py::test_since_is_strictly_newer_and_by_number",
    ),
    rule(
        35,
        "update",
        "tests/updates/test_update.py",
        "tests/updates/test_discovery.py",
        "tests/updates/test_managers.py",
        "tests/updates/test_notices.py",
        "tests/updates/test_signals.py",
    ),
    rule(
        36,
        "imports and cold start",
        f"{CLI}/test_cold_start.py",
        later="the ratios of a cold start are measured by bench/cold_start.py, not judged here",
    ),
    rule(
        37,
        "readiness is backed",
        "tests/host/test_installation.py::test_the_digest_is_stable_and_leaves_the_record_out",
        "tests/runtime/test_release_readiness.py::test_without_a_record_of_these_bytes_everything_is_unknown",
    ),
    rule(
        38,
        "generated, skill, compat",
        "tests/surfaces/test_generated.py::test_every_generated_file_is_current",
        "tests/house/test_skill.py",
        later="js-scan, js-edit and js-tools belong to the code tools, which do not exist yet",
    ),
)
