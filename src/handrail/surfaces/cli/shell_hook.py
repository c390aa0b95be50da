"""What a client's hook tells after its shell ran a command: the line, and its status where it is given. Pure.

Clients differ. Claude Code and Codex send `tool_input.command`; Claude Code has an event for a success, which
names no status, and one with an error text for a failure. Gemini CLI uses another tool name, and Cursor sends
`command` alone.
"""

from __future__ import annotations

import os
import re
from typing import Any

from handrail.contract.json.strict import decode_json
from handrail.contract.outcome import Fault, Json

MOST_INPUT_BYTES = 4_194_304
"""The part of a message that is kept; the rest is read and dropped, so that the client can finish writing."""
SHELL_TOOLS = ("Bash", "Shell", "shell", "local_shell", "exec_command", "run_shell_command")
_STATUS_NAMES = ("exit_code", "exitCode", "return_code", "returnCode")
_FAILED = r"(?:Error: )?(?:Exit code|Command exited with non-zero status code) ([1-9][0-9]{0,2})\b"
"""How a failure begins; what the program printed comes after it."""
_RAN_NOTHING = r"(?m)^Ran 0 tests in "
"""With which unittest ends where it found none; its status is that of a success."""
_DIRECTORY_NAMES = ("workdir", "cwd", "directory", "dir_path")
"""Where a shell tool is told to start: Codex, Cursor, Gemini CLI before and after its renaming."""
_LONGEST_DIRECTORY = 4_096
_OWN = "handrail"
_MOST_MS = 10**12


def params_after_shell(content: bytes) -> dict[str, Json] | None:
    """The input of `check.note`; None when the message tells of no shell command, or of one of ours."""
    message = read_object(content)
    if message.get("tool_name", "Bash") not in SHELL_TOOLS:
        return None
    argv = _argv(_object(message.get("tool_input")).get("command", message.get("command")))
    if not argv or _is_own(argv):
        return None
    params: dict[str, Json] = {"argv": argv}
    status = _status(message)
    if status is not None:
        params["status"] = status
    duration: Any = message.get("duration")
    if _is_number(duration) and 0 <= duration <= _MOST_MS:
        params["durationMs"] = int(duration)
    directory = _directory(message)
    if directory:
        params["directory"] = directory
    call_id = message.get("tool_use_id")
    if isinstance(call_id, str) and call_id:
        params["callId"] = call_id[:200]
    return params


def _argv(command: Any) -> list[str]:
    if isinstance(command, str) and command.strip():
        return [command]
    if isinstance(command, list) and command and all(isinstance(word, str) for word in command):
        return list(command)
    return []


def _directory(message: dict[str, Any]) -> str:
    """Where the shell was: the directory of the call, as seen from that of the client; empty: not told."""
    base = message.get("cwd")
    base = base if isinstance(base, str) else ""
    asked = _object(message.get("tool_input"))
    named = next((asked[name] for name in _DIRECTORY_NAMES if isinstance(asked.get(name), str)), "")
    found = os.path.join(base, named) if named else base
    return found if os.path.isabs(found) and len(found) <= _LONGEST_DIRECTORY else ""


def _is_own(argv: list[str]) -> bool:
    """Our own calls record themselves."""
    words = argv[0].split() if len(argv) == 1 else argv
    return os.path.basename(words[0]) == _OWN


def _status(message: dict[str, Any]) -> int | None:
    """The exit status, if the client says it in so many words."""
    answered = _object(message.get("tool_response"))
    if any(re.search(_RAN_NOTHING, str(answered.get(stream, ""))) for stream in ("stdout", "stderr")):
        return None
    for place in (message, answered, _object(answered.get("metadata"))):
        for name in _STATUS_NAMES:
            if _is_integer(place.get(name)):
                return int(place[name])
    error = message.get("error", message.get("error_message"))
    found = re.match(_FAILED, error) if isinstance(error, str) else None
    if found is not None:
        return int(found[1])
    return 0 if error is None and _tells_success(message, answered) else None


def _tells_success(message: dict[str, Any], answered: dict[str, Any]) -> bool:
    """Claude Code sends this event only after a success; what runs on in the background has not ended."""
    is_its_own = message.get("hook_event_name") == "PostToolUse" and isinstance(answered.get("stdout"), str)
    is_running = _object(message.get("tool_input")).get("run_in_background") or "backgroundTaskId" in answered
    return is_its_own and answered.get("interrupted") is False and not is_running


def _object(value: Any) -> dict[str, Any]:
    """An object, also where it is sent as a text."""
    return read_object(value) if isinstance(value, str) else value if isinstance(value, dict) else {}


def read_object(content: bytes | str) -> dict[str, Any]:
    """The object that a client sends. What two readers could take differently, such as a key that is there
    twice, tells nothing."""
    try:
        value = decode_json(content, max_bytes=MOST_INPUT_BYTES)
    except Fault:
        return {}
    return value if isinstance(value, dict) else {}


def _is_integer(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and -(2**31) <= value < 2**31


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
