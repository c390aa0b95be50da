"""Types into a real shell on a terminal of its own, and sees what the Tab key makes of the line."""

from __future__ import annotations

import os
import pty
import re
import select
import signal
import time
from collections.abc import Mapping, Sequence

PATIENCE_SECONDS = 60
SHOW_LINE = b"\x18\x10"
"""Ctrl-X Ctrl-P, which the shells are told to answer with the line as it stands, and to clear it."""


class Typist:
    """One interactive shell for many lines."""

    def __init__(
        self, command: Sequence[str], prepare: str, folder: str, environment: Mapping[str, str]
    ) -> None:
        self._seen = b""
        self._pid, self._terminal = pty.fork()
        if self._pid == 0:
            os.chdir(folder)
            os.execvpe(
                command[0], list(command), {**environment, "TERM": "dumb", "PS1": "", "LC_ALL": "C.UTF-8"}
            )
        os.write(self._terminal, f"{prepare}; echo REA''DY\n".encode())
        self._until(b"READY\r\n")

    def after_tab(self, line: str) -> str:
        """The line after one Tab at its end."""
        return self._typed(line, b"\t")[1]

    def listed(self, line: str) -> set[str]:
        """The words that Tab shows when several fit."""
        return set(self._typed(line, b"\t\t")[0].split())

    def close(self) -> None:
        os.kill(self._pid, signal.SIGKILL)
        os.waitpid(self._pid, 0)
        os.close(self._terminal)

    def _typed(self, line: str, keys: bytes) -> tuple[str, str]:
        os.write(self._terminal, line.encode() + keys + SHOW_LINE)
        shown = self._until(b">END\r\n").decode()
        found = re.search("^(.*)LINE<(.*)>END", shown, re.DOTALL)
        assert found is not None, shown
        return found[1], found[2]

    def _until(self, mark: bytes) -> bytes:
        ends_at = time.monotonic() + PATIENCE_SECONDS
        while mark not in self._seen:
            ready, _, _ = select.select([self._terminal], [], [], max(0.0, ends_at - time.monotonic()))
            assert ready, f"the shell said only {self._seen!r}"
            self._seen += os.read(self._terminal, 65_536)
        end = self._seen.index(mark) + len(mark)
        told, self._seen = self._seen[:end], self._seen[end:]
        return told


def bash_typist(script: str, folder: str, environment: Mapping[str, str]) -> Typist:
    shown = r"""bind -x '"\C-x\C-p": printf "LINE<%s>END\n" "$READLINE_LINE"; READLINE_LINE='"""
    quiet = "bind 'set bell-style none'; bind 'set completion-query-items 0'; bind 'set page-completions off'"
    prepare = f"stty -echo; {quiet}; source '{script}'; {shown}"
    return Typist(["bash", "--norc", "--noprofile", "-i"], prepare, folder, environment)


def zsh_typist(script: str, folder: str, environment: Mapping[str, str]) -> Typist:
    """The script stands where `compinit` looks for it, as the install line puts it."""
    prepare = (
        "PS1=; stty -echo; unset zle_bracketed_paste; setopt no_beep; "
        f"fpath=('{os.path.dirname(script)}' $fpath); "
        "autoload -Uz compinit; compinit -u -D; LISTMAX=1000; zstyle ':completion:*' list-prompt ''; "
        'told() { print -r -- "LINE<$BUFFER>END"; BUFFER= }; '
        "zle -N told; bindkey '^X^P' told"
    )
    return Typist(["zsh", "-f", "-i"], prepare, folder, environment)
