"""Run as a file: runs a command and prints its time and its peak of resident memory.

The system counts towards a child's peak what its parent held when it was started: only a small parent, such as this one, does
not hide it.
"""

import json
import os
import sys
from time import perf_counter


def main() -> None:
    start = perf_counter()
    child = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ)
    _, status, usage = os.wait4(child, 0)
    unit = 1 if sys.platform == "darwin" else 1024
    seconds = perf_counter() - start
    figures = {"status": os.waitstatus_to_exitcode(status), "seconds": seconds, "peak": usage.ru_maxrss * unit}
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
