"""Runs a command on a terminal of its own, copies what it shows, and types Ctrl-C once a word is shown."""

from __future__ import annotations

import os
import pty
import sys

CTRL_C = b"\x03"


def main(until: str, command: list[str]) -> int:
    process, terminal = pty.fork()
    if process == 0:
        os.execv(command[0], command)
    shown, is_typed = b"", False
    while True:
        try:
            new = os.read(terminal, 4096)
        except OSError:  # the terminal is closed when the command has ended
            break
        if not new:
            break
        sys.stdout.buffer.write(new)
        sys.stdout.buffer.flush()
        shown += new
        if not is_typed and until.encode() in shown:
            is_typed = True
            os.write(terminal, CTRL_C)
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


sys.exit(main(sys.argv[1], sys.argv[2:]))
