"""What the code tools bring to the program."""

from __future__ import annotations

from handrail.runtime.operation import Part

PART = Part(
    package="handrail_code",
    operations={
        "code.scan": "handrail_code.operations.scan_code",
        "code.edit": "handrail_code.operations.edit_code",
        "code.workflow": "handrail_code.operations.run_file",
    },
    tool_sets={"code": "handrail_code.mcp.instructions"},
    adapters={"actions": "handrail_code.operations.actions:CodeAction"},
)
