"""A process that compiles for another one, into the cache on disk.

It is started as `python -m rotting.engines.compiler_process`. It reads pieces of work from standard input, each a pickled
callable after its length, and answers each with one byte. It ends when standard input ends or its parent does, even in the
middle of its work: so it never outlives the process that started it.
"""

import os
import pickle
import signal
import struct
import sys
import threading
from queue import SimpleQueue
from typing import IO

from rotting.common.child_process import end_with_parent, take_standard_input

DONE, FAILED = b"d", b"f"
_LENGTH = struct.Struct("<Q")


def framed(work: bytes) -> bytes:
    """Return a piece of work as it is sent: its length, and the work."""
    return _LENGTH.pack(len(work)) + work


def _read(source: IO[bytes], waiting: "SimpleQueue[bytes]") -> None:
    """Queue the work that comes in, and end the process when nothing more can come."""
    while len(header := source.read(_LENGTH.size)) == _LENGTH.size:
        waiting.put(source.read(_LENGTH.unpack(header)[0]))
    os._exit(0)


def main() -> None:
    """Do all work that comes in."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent
    source = take_standard_input()
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb", buffering=0)
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # whatever is printed must not be taken for an answer
    waiting: SimpleQueue[bytes] = SimpleQueue()
    threading.Thread(target=_read, args=(source, waiting), daemon=True).start()
    end_with_parent()
    while True:
        try:
            pickle.loads(waiting.get())()  # noqa: S301 (what the parent wrote)
        except Exception:  # noqa: BLE001 (the parent compiles it again, and reports the error)
            answers.write(FAILED)
        else:
            answers.write(DONE)


if __name__ == "__main__":
    main()
