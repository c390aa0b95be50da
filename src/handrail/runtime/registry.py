"""The operation registry: every operation by name, loaded one at a time.

A command line runs one operation, so only that one's module and structs are paid for.
"""

from __future__ import annotations

import importlib

from handrail.runtime.operation import Operation

_MODULES = {
    "workflow.list": "handrail.runtime.list_workflows",
    "workflow.inspect": "handrail.runtime.inspect_workflow",
    "workflow.validate": "handrail.runtime.validate_workflows",
    "workflow.graph": "handrail.runtime.graph_workflow",
    "workflow.simulate": "handrail.runtime.simulate_workflow",
    "workflow.builtins": "handrail.runtime.list_builtins",
    "workflow.schema": "handrail.runtime.workflow_schema",
    "workflow.new": "handrail.runtime.new_workflow",
    "run.start": "handrail.runtime.start_run",
    "run.continue": "handrail.runtime.continue_run",
    "run.checkpoint": "handrail.runtime.checkpoint_run",
    "run.close": "handrail.runtime.close_run",
    "session.list": "handrail.runtime.list_sessions",
    "session.show": "handrail.runtime.show_session",
    "session.resume": "handrail.runtime.resume_session",
    "session.start": "handrail.runtime.start_session",
    "session.delete": "handrail.runtime.delete_sessions",
    "preferences.show": "handrail.runtime.show_preferences",
    "preferences.set": "handrail.runtime.set_preferences",
    "keys.rotate": "handrail.runtime.rotate_keys",
    "store.verify": "handrail.runtime.verify_store",
    "store.du": "handrail.runtime.store_usage",
    "store.selftest": "handrail.runtime.selftest_store",
    "session.events": "handrail.runtime.list_events",
    "store.gc": "handrail.runtime.collect_garbage",
    "store.copy": "handrail.runtime.copy_store",
    "session.export": "handrail.runtime.export_session",
    "session.import": "handrail.runtime.import_session",
    "ledger.show": "handrail.runtime.show_ledger",
    "lafs.check": "handrail.runtime.check_lafs",
    "clients.setup": "handrail.runtime.set_up_clients",
    "program.update": "handrail.runtime.update_program",
    "self.context": "handrail.runtime.show_context",
    "self.doctor": "handrail.runtime.examine_installation",
}

OPERATION_NAMES: tuple[str, ...] = tuple(_MODULES)


def operation(name: str) -> Operation:
    """One operation. Its module is imported here, late, because each costs its structs at start-up."""
    loaded = importlib.import_module(_MODULES[name]).OPERATION
    assert isinstance(loaded, Operation), f"{_MODULES[name]} must define OPERATION"
    return loaded


def all_operations() -> tuple[Operation, ...]:
    """Every operation, in the order of the table."""
    return tuple(operation(name) for name in OPERATION_NAMES)
