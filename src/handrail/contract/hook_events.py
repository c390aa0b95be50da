"""Hook events that Handrail no longer handles. Installed clients still call them."""

RETIRED_HOOKS = ("PostToolUse", "PostToolUseFailure", "AfterTool", "afterShellExecution")
"""The hook after a shell command: Handrail records only commands that it ran itself."""
