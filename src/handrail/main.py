"""The entry point: it picks an interface and imports only what the command needs.

Only the interpreter's own modules are imported at the top: `handrail --version` pays for nothing else.
"""

# ruff: noqa: PLC0415 - the entry point imports only what the command needs

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any, NoReturn

    from handrail.contract.outcome import Notice, Outcome
    from handrail.contract.redaction import Secrets
    from handrail.runtime.runtime import Due, Runtime
    from handrail.surfaces.cli.process import Process
    from handrail.surfaces.cli.reading.parse import Parsed
    from handrail.surfaces.cli.run import CommandParts
    from handrail.surfaces.mcp.adapter import Adapter

_OBJECTS_BEFORE_COLLECTING = 100_000
"""Threshold of the collector while a command runs: loading creates tens of thousands of objects that stay,
and collecting among them finds nothing.
"""
_OBJECTS_BEFORE_COLLECTING_IN_A_SERVER = 2_000
"""Threshold of the collector in a server, which lives long enough to create garbage: the default of
CPython.
"""


def console(script: str = "", *added: str) -> "NoReturn":
    """Run the console script. It ends at once, because a signal during the shutdown of the interpreter
    would overwrite the exit status.
    """
    try:
        status = main(script, *added)
    except KeyboardInterrupt:  # only before a handler is set; from then on a signal gets an answer
        from handrail.contract.catalogue import E_INTERRUPTED

        os.write(2, b"handrail: a signal ended the call before it began; nothing was changed.\n")
        os._exit(E_INTERRUPTED.exit_status)
    except MemoryError:  # too little to build a document
        sys.exit("handrail: there is not enough memory; free some, then send the same call again.")
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:  # closed at the start
                stream.flush()
        except (OSError, ValueError):
            continue  # full or closed; what matters was written to the descriptor itself
    os._exit(status)


def main(script: str = "", *added: str) -> int:
    """Answer one command line and return the exit status. `script` and `added` are words that a script puts
    before its arguments.
    """
    _require_utf8()
    arguments = [script, *added, *sys.argv[1:]] if script else sys.argv[1:]
    if arguments == ["--version"] and _print_version():
        return 0
    import gc

    gc.set_threshold(_OBJECTS_BEFORE_COLLECTING)
    if arguments[:1] == ["hook"] and not any(argument.startswith("-") for argument in arguments):
        return _hook(*arguments[1:3])
    from handrail.surfaces.cli.process import Process

    process = Process()
    process.take_over()  # before the larger imports: from here on every signal gets an answer
    _import_msgspec()
    from handrail.contract.redaction import Secrets
    from handrail.surfaces.cli.run import run

    secrets = Secrets()
    process.redact = secrets.redact
    return run(process, arguments, os.environ, _command_parts(secrets), "cont" if script else "cli")


def _require_utf8() -> None:
    """Restart in UTF-8 mode if the locale would refuse names that are not ASCII."""
    if sys.getfilesystemencoding() == "utf-8" or sys.flags.utf8_mode:
        return
    try:
        # This program itself, with the same words.
        os.execv(sys.executable, [sys.executable, "-X", "utf8", *sys.orig_argv[1:]])  # noqa: S606
    except OSError:
        return  # then only names that are not ASCII fail


def _import_msgspec() -> None:
    """Import msgspec without typing_extensions, which takes as long to load as the interpreter."""
    name = "typing_extensions"
    if name in sys.modules:
        return
    sys.modules[name] = None  # type: ignore[assignment]  # how the import system spells "not there"
    import msgspec

    del msgspec, sys.modules[name]


def _print_version() -> bool:
    """Write the version. Return False if stdout refuses it, so that the usual path reports why."""
    from handrail.version import __version__

    try:
        os.write(1, f"handrail {__version__}\n".encode())
    except OSError:
        return False
    return True


def _command_parts(secrets: "Secrets") -> "CommandParts":
    from functools import cache

    from handrail.surfaces.cli.run import CommandParts

    @cache
    def runtime() -> "Runtime":
        from handrail.wiring import build_runtime

        return build_runtime(os.environ, secrets=secrets)

    return CommandParts(
        runtime=runtime,
        serve=lambda parsed: _serve(parsed, secrets),
        demo=_demo,
        load_the_rest=_load_the_rest,
        take_trees=lambda process: _take_trees(runtime(), process),
        notices=_notices,
    )


def _take_trees(runtime: "Runtime", process: "Process") -> None:
    from handrail.operations.kept_trees import take_for_command
    from handrail.runtime.runtime import NoticeDue

    for due in process.trees_due:
        if isinstance(due, NoticeDue):
            from handrail.runtime.outward import notify_people

            why = notify_people(runtime, due)
            line = f"notify: {why}"
        else:
            why = take_for_command(runtime, due, process.seconds_so_far())
            line = f"tree: skipped ({why})"
        if why:
            process.write_error(f"handrail: {line}\n".encode(errors="backslashreplace"))


def _take_tree_for_server(runtime: "Runtime", due: "Due") -> None:
    from handrail.operations.kept_trees import SERVER_SECONDS, take_due_tree
    from handrail.runtime.runtime import NoticeDue

    if isinstance(due, NoticeDue):
        from handrail.runtime.outward import notify_people

        notify_people(runtime, due)
        return
    take_due_tree(runtime, due, SERVER_SECONDS)


def _load_the_rest() -> None:
    """Load what an answer may still need before an update replaces the files of this program."""
    import handrail.contract.disclosure.budget
    import handrail.contract.disclosure.estimate
    import handrail.contract.disclosure.named_fields
    import handrail.contract.envelopes.lafs
    import handrail.surfaces.cli.rendering.gate
    import handrail.surfaces.cli.rendering.human  # noqa: F401 - loaded for later, all of them


def _notices(operation: str) -> "Sequence[Notice]":
    from handrail.wiring import notices

    return notices(os.environ, operation)


def _serve(parsed: "Parsed", secrets: "Secrets") -> int:
    assert parsed.command is not None, "only a command is served"
    if parsed.command["path"] == "hook":
        given = {param["name"]: str(value) for param, value in parsed.values}
        passed_over = "; ".join(f"{problem.param} {problem.problem}" for problem in parsed.problems)
        project = str(parsed.options.get("project", ""))
        return _hook(given.get("event", ""), given.get("client", ""), project, passed_over)
    return _serve_mcp(parsed, secrets) if parsed.command["path"] == "mcp" else _serve_http(parsed, secrets)


def _hook(event: str = "", client: str = "", project: str = "", passed_over: str = "") -> int:
    """Answer an agent's hook. Always return 0: what a hook returns can stop its host.

    `passed_over` names what was ignored in the line; the rest is still done. The guard is here and not with
    the rest of the hook, because a signal may come while that is imported.
    """
    from handrail.contract.hook_events import RETIRED_HOOKS

    if event in RETIRED_HOOKS:
        return 0
    import signal

    def stop(number: int, _: object) -> "NoReturn":
        raise TimeoutError(f"signal {number}")

    try:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGALRM):
            signal.signal(number, stop)
        from handrail.surfaces.cli.hook import SECONDS

        signal.setitimer(signal.ITIMER_REAL, SECONDS - 0.5)
        out, note = _hook_answer(event, client, project)
    except TimeoutError:
        out, note = "", "was stopped before it finished; nothing is half done"
    except Exception as defect:  # noqa: BLE001 - a hook never fails its host, whatever happens
        out, note = "", f"met an error that it does not know ({type(defect).__name__})"
    notes = "; ".join(filter(None, (note, passed_over)))
    try:
        signal.setitimer(signal.ITIMER_REAL, 0)
        os.write(1, out.encode(errors="replace"))
        if notes:
            os.write(2, f"handrail hook: {notes.removesuffix('.')}.\n".encode(errors="replace"))
    except OSError:
        return 0  # nobody reads it any more
    return 0


def _hook_answer(event: str, client: str, project: str) -> "tuple[str, str]":
    """Return what goes to stdout and to stderr, without any secret that this process has read."""
    from handrail.contract.redaction import Secrets
    from handrail.host.programs import count_changed_files
    from handrail.surfaces.cli.hook import answer_hook, receive_message
    from handrail.wiring import build_runtime

    content = receive_message()
    environment = _environment_of(project)
    secrets = Secrets()
    answer = answer_hook(
        lambda: build_runtime(environment, secrets=secrets),
        event,
        content,
        lambda project: count_changed_files(project, os.environ),
        client,
    )
    return secrets.redact(answer.out.encode()).decode(), secrets.redact(answer.note.encode()).decode()


def _environment_of(project: str) -> "Mapping[str, str]":
    """Return the environment of this process, with the project that the line names."""
    return {**os.environ, "HANDRAIL_PROJECT": project} if project else os.environ


def _serve_mcp(parsed: "Parsed", secrets: "Secrets") -> int:
    """Serve MCP until stdin closes. The project comes from the environment, not from a call."""
    import gc

    from handrail.runtime.permission import Caller, announce_process, write_server_start_line
    from handrail.surfaces.mcp.calls_in_progress import ServerParts
    from handrail.surfaces.mcp.messages import WORKFLOW_SET
    from handrail.surfaces.mcp.stdio import serve_stdio
    from handrail.wiring import build_runtime, give_back_memory, home_directory, registry

    environment = _environment_of(str(parsed.options.get("project", "")))
    options: dict[str, Any] = {param["name"]: value for param, value in parsed.values}
    named = options.pop("set", WORKFLOW_SET.name)
    tool_set = WORKFLOW_SET if named == WORKFLOW_SET.name else registry().tool_set(named)
    options["tool_set"] = tool_set
    if "mvi" in parsed.options:
        options["mvi"] = parsed.options["mvi"]
    runtime = build_runtime(environment, secrets=secrets, is_server=True)
    write_server_start_line(runtime, Caller(tool="handrail mcp", command="mcp"))
    gc.freeze()  # what is loaded stays; only newer objects are collected
    gc.set_threshold(_OBJECTS_BEFORE_COLLECTING_IN_A_SERVER)

    def offer() -> "Adapter":
        gc.set_threshold(_OBJECTS_BEFORE_COLLECTING)
        from handrail.surfaces.mcp.adapter import Adapter

        adapter = Adapter(runtime, **options)
        announce_process(runtime, "stdio", tuple(adapter.tools))
        gc.freeze()
        gc.set_threshold(_OBJECTS_BEFORE_COLLECTING_IN_A_SERVER)
        return adapter

    serve_stdio(
        runtime,
        ServerParts(
            offer=offer,
            give_back_memory=give_back_memory,
            tool_set=tool_set,
            take_tree=lambda due: _take_tree_for_server(runtime, due),
        ),
        home_directory(environment),
    )
    runtime.mcp_processes().withdraw()
    return 0


def _serve_http(parsed: "Parsed", secrets: "Secrets") -> int:
    """Run `serve` or `console`, which a part outside the core provides."""
    from handrail.wiring import registry

    assert parsed.command is not None, "only a command is served"
    environment = _environment_of(str(parsed.options.get("project", "")))
    given = {param["name"]: value for param, value in parsed.values}
    mvi = parsed.options.get("mvi", "standard")
    serve: Callable[..., int] = registry().adapter("serve")
    return serve(
        parsed.command["path"], given, environment, secrets, mvi=mvi, take_tree=_take_tree_for_server
    )


def _demo(parsed: "Parsed") -> "Outcome | int":
    """Run the demo. It writes for people, so text is its default format."""
    from handrail.demo.main import main as demo

    keep = next((str(value) for _, value in parsed.values), "")
    return demo(keep, is_text="json" not in parsed.formats)


if __name__ == "__main__":
    console()
