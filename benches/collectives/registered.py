"""Runs `weft bench` with private and with registered buffers in turn, size by size; run-runtime calls it."""

import argparse
import json
import os
import statistics
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from compare import output  # noqa: E402 (beside the other benchmarks)
from tables import show, table  # noqa: E402

SIZES = "4096 16384 65536 262144 1048576 4194304 16777216 67108864 268435456"


def times(asked, size, registered):
    """Seconds out of place and in place, and how the call was played."""
    command = [asked.program, "bench", asked.collective, "--ranks", str(asked.ranks), "--min", f"{size}B", "--max",
               f"{size}B", "--repeats", "1", "--format", "json", *(["--registered"] if registered else [])]
    rows = json.loads(output(command))["rows"]
    by_place = {row["in_place"]: row for row in rows}
    both = [by_place.get(place, rows[0]) for place in (False, True)]
    return [row["time_s"] for row in both], both[0]["algorithm"]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True)
    parser.add_argument("collective", nargs="?", default="all-reduce")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--sizes", default=SIZES)
    asked = parser.parse_args()
    rows = [["bytes", "private us", "registered us", "ratio", "in place: private us", "registered us", "ratio",
             "algorithm, registered"]]
    for size in (int(size) for size in asked.sizes.split()):
        rounds, algorithms = {False: [], True: []}, set()
        for _ in range(asked.rounds):
            for registered in (False, True):
                taken, algorithm = times(asked, size, registered)
                rounds[registered].append(taken)
                algorithms.update([algorithm] if registered else [])
        cells = []
        for place in (0, 1):
            private, registered = (statistics.median(taken[place] for taken in rounds[of]) * 1e6
                                   for of in (False, True))
            cells += [show(private, ".2f"), show(registered, ".2f"), show(private / registered, ".2f")]
        rows.append([str(size), *cells, ", ".join(sorted(algorithms))])
    print("\n".join(table(rows)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
