"""What the code tools bring to the program."""

from __future__ import annotations

from handrail.runtime.operation import Part

PART = Part(
    package="handrail_code",
    operations={
        "code.scan": "handrail.operations.code.tools.scan_code",
        "code.edit": "handrail.operations.code.tools.edit_code",
        "code.workflow": "handrail.operations.runs.run_file",
    },
    commands="handrail_code.commands",
    tool_sets={"code": "handrail.surfaces.mcp.code.instructions"},
    adapters={"actions": "handrail.operations.code.tools.actions:CodeAction"},
)
