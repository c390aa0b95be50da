"""Hook events that nothing listens to any more. Installed clients keep calling them."""

RETIRED_HOOKS = ("PostToolUse", "PostToolUseFailure", "AfterTool", "afterShellExecution")
"""After a shell command: Handrail records only commands that it ran itself."""
