"""Runs the programs of the benchmark in turn and makes a table of what they print and take; run-peer calls it."""

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
from fractions import Fraction

from tables import show, table

TOLERANCE = 1e-6
PEER, OURS = "simgrid", "weft"


# Rings with a closed form: bytes per second and latency in seconds of their slowest flow, and the GPUs that it takes
# for that flow to exist.
RINGS = {
    "ring": (50 * 10**9, Fraction(16, 10**7), 32),
    "ring-slow": (25 * 10**9, Fraction(16, 10**7), 96),
    "ring-fat-tree": (50 * 10**9, Fraction(20, 10**7), 32),
}


def exact_s(work, gpus):
    """The simulated time that follows from the work's definition, where there is a closed form; README.md has them."""
    if work in RINGS:
        bytes_per_s, latency_s, more_than = RINGS[work]
        return 2 * (gpus - 1) * (Fraction(2**30 // gpus, bytes_per_s) + latency_s) if gpus > more_than else None
    if work == "a2a" and gpus > 32:
        return Fraction((gpus - 8) * 2**26, 50 * 10**9) + Fraction(1, 10**6)
    return None


def relative(value, reference):
    """The difference of two times as a share of the second; None where one is missing."""
    return None if value is None or reference is None else float((Fraction(value) - reference) / Fraction(reference))


def run(program, work, gpus):
    """The line of a run, its CPU seconds as the system counts them for the whole process."""
    arguments = [program, work, str(gpus)]
    if sys.stderr.isatty():
        print(f"\r\x1b[K{' '.join([os.path.basename(program), *arguments[1:]])}", end="\r", file=sys.stderr, flush=True)
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True) as child:
        line = child.stdout.read()
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        sys.exit(f"failed to run `{' '.join(arguments)}`: it ended with {child.returncode}")
    return {**json.loads(line), "cpu_s": used.ru_utime + used.ru_stime}


class Side:
    """All runs of one tool on one work."""

    def __init__(self, lines):
        times = {line["simulated_s"] for line in lines}
        self.same = len(times) <= 1
        self.simulated_s = min(times, default=None)
        self.cpu_s = [line["cpu_s"] for line in lines]
        self.mebibytes = max((line["max_rss_mib"] for line in lines), default=None)

    def least(self):
        return min(self.cpu_s, default=None)

    def median(self):
        return statistics.median(self.cpu_s) if self.cpu_s else None


class Row:
    """One work on one number of GPUs."""

    def __init__(self, work, gpus, lines):
        self.work, self.gpus = work, gpus
        self.flows = {line["flows"] for line in lines}
        self.peer, self.ours = (Side([line for line in lines if line["tool"] == tool]) for tool in (PEER, OURS))
        self.apart = relative(self.ours.simulated_s, self.peer.simulated_s)
        exact = exact_s(work, gpus)
        self.errors = [relative(side.simulated_s, exact) for side in (self.peer, self.ours)]

    def complaints(self):
        if len(self.flows) > 1:
            yield f"the numbers of flows differ: {sorted(self.flows)}"
        if not (self.peer.same and self.ours.same):
            yield "two runs of one program gave different simulated times"
        for name, difference in (("each other", self.apart), ("SimGrid and the exact answer", self.errors[0]),
                                 ("ours and the exact answer", self.errors[1])):
            if difference is not None and abs(difference) > TOLERANCE:
                yield f"simulated times differ by {difference:.1e}: {name}"

    def cells(self):
        ratio = self.peer.median() / max(self.ours.median(), 1e-6) if self.peer.cpu_s and self.ours.cpu_s else None
        return [
            self.work, str(self.gpus), str(max(self.flows)),
            show(self.peer.simulated_s, ".12g"), show(self.ours.simulated_s, ".12g"), show(self.apart, ".1e"),
            *(show(error, ".1e") for error in self.errors),
            *(f"{show(side.least(), '.3f')} / {show(side.median(), '.3f')}" for side in (self.peer, self.ours)),
            show(ratio, ".1f"), show(self.peer.mebibytes, ".0f"), show(self.ours.mebibytes, ".0f"),
        ]


HEAD = ["work", "gpus", "flows", "SimGrid s", "weft s", "apart", "SimGrid-exact", "weft-exact",
        "SimGrid CPU s min/median", "weft CPU s min/median", "ratio", "SimGrid MiB", "weft MiB"]


def exponent(points):
    """The slope of the line of least squares through (log flows, log CPU seconds)."""
    logs = [(math.log(flows), math.log(cpu_s)) for flows, cpu_s in points]
    mean_x, mean_y = (statistics.fmean(axis) for axis in zip(*logs))
    spread = sum((x - mean_x) ** 2 for x, _ in logs)
    return sum((x - mean_x) * (y - mean_y) for x, y in logs) / spread


def growth(rows):
    """A table of our times, and the exponent of their growth."""
    yield from table([["work", "gpus", "flows", "CPU s min", "CPU s median", "ns per flow", "MiB"]] + [
        [row.work, str(row.gpus), str(max(row.flows)), show(row.ours.least(), ".3f"), show(row.ours.median(), ".3f"),
         show(row.ours.least() / max(row.flows) * 1e9, ".0f"), show(row.ours.mebibytes, ".0f")] for row in rows])
    points = [(max(row.flows), row.ours.least()) for row in rows]
    if len({flows for flows, _ in points}) < 2 or min(cpu_s for _, cpu_s in points) <= 0:
        yield "no fit: it needs two sizes that take measurable time"
    else:
        yield f"least CPU seconds grow as flows^{exponent(points):.3f}, fitted over {len(points)} sizes"


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("mode", choices=["compare", "growth"])
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--program", action="append", required=True, help="what is run in turn with the others")
    parser.add_argument("work")
    parser.add_argument("gpus", type=int, nargs="+")
    return parser.parse_args()


def main():
    asked = arguments()
    rows = []
    for gpus in asked.gpus:
        turns = [program for _ in range(asked.runs) for program in asked.program]
        rows.append(Row(asked.work, gpus, [run(program, asked.work, gpus) for program in turns]))
    lines = growth(rows) if asked.mode == "growth" else table([HEAD, *(row.cells() for row in rows)])
    print("\n".join(lines))
    complaints = [f"{row.work} {row.gpus}: {complaint}" for row in rows for complaint in row.complaints()]
    for complaint in complaints:
        print(complaint, file=sys.stderr)
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
