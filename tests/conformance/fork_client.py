"""One command line for the fork server, on the descriptors of this process; it ends as the command ends.

    python -IS tests/conformance/fork_client.py SOCKET WORD...

Started instead of the tool where a shell runs its lines: the start of this file is all that is paid for.
"""

from __future__ import annotations

import base64
import json
import os
import socket
import sys


def main(path: str, words: list[str]) -> int:
    request = {
        "arguments": [base64.b64encode(os.fsencode(word)).decode() for word in words],
        "environment": dict(os.environ),
        "directory": os.getcwd(),
        "plant": "",
    }
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as door, door.makefile("rb") as stream:
        door.connect(path)
        line = json.dumps(request).encode() + b"\n"
        sent = socket.send_fds(door, [line], [0, 1, 2])
        door.sendall(line[sent:])
        stream.readline()  # the number of its process
        return int(stream.readline())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
