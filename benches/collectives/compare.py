"""Runs `weft bench` and its peers in turn, size by size, and makes a table of their medians; run-collectives calls it."""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from tables import show, table  # noqa: E402 (beside the other benchmarks)

SIZES = "8 4096 32768 262144 1048576 4194304 16777216 67108864 268435456"
COLLECTIVES = ["all-reduce", "all-gather", "reduce-scatter", "broadcast", "reduce", "all-to-all"]
# What a run may take; a peer that hangs is left out of that round.
PATIENCE_S = 120
# Our buffers lie in large pages, so those of the peers are to.
LARGE_PAGES = {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}


def ours(program, asked, size):
    command = [program, "bench", asked.collective, "--ranks", str(asked.ranks), "--min", f"{size}B", "--max", f"{size}B",
               "--repeats", "1", "--format", "json", *(["--tcp"] if asked.tcp else []), *asked.weft]
    rows = json.loads(output(command))["rows"]
    chosen = [row for row in rows if row["in_place"] == asked.in_place] or rows
    return chosen[0]["time_s"], chosen[0]["algorithm"]


def placing(asked):
    return "in-place" if asked.in_place else "out-of-place"


def openmpi(home, asked, size):
    btl = ["self,tcp", "--mca", "btl_tcp_if_include", "lo"] if asked.tcp else ["self,sm"]
    command = [f"{home}/bin/mpirun", "--allow-run-as-root", "--bind-to", "none", "--map-by", ":OVERSUBSCRIBE",
               "--mca", "pml", "ob1", "--mca", "btl", *btl, "-n", str(asked.ranks),
               f"{home}/collective", asked.collective, str(size), placing(asked)]
    return json.loads(output(command))["time_s"], ""


def mpich(home, asked, size):
    # Left to itself MPICH takes shared memory on one host. UCX knows no loopback device: it takes the address of a
    # network interface, which the kernel loops back all the same.
    settings = {"MPIR_CVAR_NOLOCAL": "1", "UCX_TLS": "tcp,self"} if asked.tcp else {}
    command = [f"{home}/bin/mpirun", "-n", str(asked.ranks),
               f"{home}/collective", asked.collective, str(size), placing(asked)]
    return json.loads(output(command, settings))["time_s"], ""


def gloo(program, asked, size):
    with tempfile.TemporaryDirectory() as folder:
        ranks = [subprocess.Popen([program, str(rank), str(asked.ranks), folder, asked.collective, str(size),
                                   placing(asked)], env={**os.environ, **LARGE_PAGES}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
                 for rank in range(asked.ranks)]
        try:
            return json.loads(ranks[0].communicate(timeout=PATIENCE_S)[0])["time_s"], ""
        finally:
            for rank in ranks:
                rank.kill()
                rank.wait()


PEERS = {"openmpi": openmpi, "mpich": mpich, "gloo": gloo}


def output(command, settings=None):
    ran = subprocess.run(command, env={**os.environ, **LARGE_PAGES, **(settings or {})}, timeout=PATIENCE_S, check=False,
                         stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if ran.returncode != 0:
        raise ValueError(f"`{' '.join(command)}` ended with {ran.returncode}: {ran.stderr.strip()[-300:]}")
    return ran.stdout


class Size:
    """All rounds of all tools on one size."""

    def __init__(self, size):
        self.size, self.times, self.chosen = size, {}, set()

    def add(self, name, time_s, algorithm):
        self.times.setdefault(name, []).append(time_s)
        self.chosen.update([algorithm] if algorithm else [])

    def median(self, name):
        return statistics.median(self.times[name]) if self.times.get(name) else None

    def cell(self, name):
        """The median with the range of the rounds: microseconds up to 4 KiB, then GB/s of algorithm bandwidth."""
        times = self.times.get(name)
        if not times:
            return "-"
        scale = (lambda s: s * 1e6) if self.size <= 4096 else (lambda s: self.size / s / 1e9)
        low, high = sorted([scale(min(times)), scale(max(times))])
        return f"{scale(self.median(name)):.2f} ({low:.2f}-{high:.2f})"

    def ratio(self, peers):
        """How many times the best peer's time is ours."""
        best = min((self.median(name) for name in peers if self.times.get(name)), default=None)
        return best / self.median("weft") if best and self.times.get("weft") else None

    def cells(self, peers):
        unit = "us" if self.size <= 4096 else "GB/s"
        return [str(self.size), unit, *(self.cell(name) for name in ["weft", *peers]), show(self.ratio(peers), ".2f"),
                ", ".join(sorted(self.chosen))]


def measure(asked, tools):
    """Every round measures every size with every tool, one right after the other."""
    sizes = [Size(int(size)) for size in asked.sizes.split()]
    complained = set()
    for turn in range(asked.rounds):
        for size in sizes:
            for name, tool in tools:
                if sys.stderr.isatty():
                    print(f"\r\x1b[Kround {turn + 1}: {size.size} B, {name}", end="", file=sys.stderr, flush=True)
                try:
                    size.add(name, *tool(size.size))
                except (ValueError, KeyError, IndexError, OSError, subprocess.TimeoutExpired) as error:
                    if name not in complained:
                        print(f"\r{name} failed on {size.size} B: {error}", file=sys.stderr)
                    complained.add(name)
    return sizes


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True)
    parser.add_argument("--peer", action="append", default=[], metavar="NAME=PLACE")
    parser.add_argument("collective", nargs="?", default="all-reduce", choices=COLLECTIVES)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--tcp", action="store_true")
    parser.add_argument("--in-place", action="store_true")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--sizes", default=SIZES)
    parser.add_argument("--weft", nargs="+", default=[], help="more options of `weft bench`, written with =")
    return parser.parse_args()


def main():
    asked = arguments()
    tools = [("weft", lambda size: ours(asked.program, asked, size))]
    for name, place in (peer.split("=", 1) for peer in asked.peer):
        # Gloo has no shared memory; beside it only TCP is the same work.
        if name != "gloo" or asked.tcp:
            tools.append((name, lambda size, tool=PEERS[name], place=place: tool(place, asked, size)))
    begun = os.getloadavg()[0]
    sizes = measure(asked, tools)
    peers = [name for name, _ in tools[1:]]
    print(f"{asked.collective}, {asked.ranks} ranks, {'TCP loopback' if asked.tcp else 'shared memory'}, "
          f"{placing(asked)}, float sum, medians of {asked.rounds} rounds (least-most); "
          f"load {begun:.1f} before, {os.getloadavg()[0]:.1f} after")
    head = ["bytes", "unit", "weft", *peers, "best peer / weft", "algorithm"]
    print("\n".join(table([head, *(size.cells(peers) for size in sizes)])))
    return 0 if all(size.times.get("weft") for size in sizes) else 1


if __name__ == "__main__":
    sys.exit(main())
