//! The diagnostic codes of readers of measurements.

use weft_base::Code;

/// A row of figures that ends early.
pub const BENCHMARK_ROW_CUT: Code = Code {
    name: "benchmark-row-cut",
    explanation: "A row of a benchmark's table ends before its last column. The last row of a job that hung looks \
                  so, as does a paste that was cut, or a row into which another process wrote its line. The \
                  figures that are there are used.",
};

/// algbw is not size by time.
pub const BENCHMARK_RATE: Code = Code {
    name: "benchmark-rate-odd",
    explanation: "algbw is the size divided by the time, and this row's figures do not agree beyond rounding. A \
                  column was moved or a figure was mistyped on the way; the row is kept as it stands.",
};

/// busbw is not that of the collective.
pub const BENCHMARK_FACTOR: Code = Code {
    name: "bus-factor-odd",
    explanation: "busbw is algbw times a factor that depends only on the collective and the number of ranks: 2 (n \
                  - 1) / n of an all-reduce, for instance. These figures have another factor, so that the list of \
                  ranks, the name of the program or the figures are of another run.",
};

/// Several jobs instead of one.
pub const RANKS_SEPARATE: Code = Code {
    name: "ranks-separate",
    explanation: "The list of ranks names one rank several times, of different processes. A program that was built \
                  without MPI ignores the others that mpirun or srun starts, so that each runs a job of its own. \
                  Build it with `make MPI=1`; until then the figures say nothing of the links between processes.",
};

/// A job of one rank.
pub const RANK_ALONE: Code = Code {
    name: "rank-alone",
    explanation: "With one rank nothing is sent, and busbw is 0 by its formula. This happens where a program that \
                  was built without MPI is started on many hosts, or where `-g` was left out.",
};

/// The name of the collective was worked out.
pub const COLLECTIVE_INFERRED: Code = Code {
    name: "collective-inferred",
    explanation: "A table of nccl-tests does not name its collective; the program's name is often not in the paste. \
                  It was told from the columns that the table has, from the elements per rank, and from busbw / \
                  algbw, which is 2 (n - 1) / n of an all-reduce over n ranks. Where no list of ranks is there, \
                  their number follows from the same figures.",
};

/// Figures of "P2P enabled" without P2P.
pub const PEER_ACCESS_REFUSED: Code = Code {
    name: "peer-access-refused",
    explanation: "The test says that these GPUs cannot access each other directly, and still prints figures under \
                  `P2P=Enabled`: it falls back to copies through the memory of the CPU. They measure that way, not \
                  a direct one. Why access is refused tells `nvidia-smi topo -p2p r`; GeForce cards of recent \
                  generations never allow it.",
};

/// P2P that changes nothing.
pub const PEER_ACCESS_USELESS: Code = Code {
    name: "peer-access-without-effect",
    explanation: "The rates under `P2P=Enabled` are those under `P2P=Disabled`. Either direct access between these \
                  GPUs is refused, and the test falls back to copies through the memory of the CPU, or the way \
                  through PCIe is as narrow with it as without. `nvidia-smi topo -p2p r` tells which.",
};

/// A test that ended in an error.
pub const TEST_FAILED: Code = Code {
    name: "test-failed",
    explanation: "The tool stopped with an error of its own: wrong data after a copy, an assertion, a call of CUDA \
                  that failed. The figures before it are used. Wrong data after copies between GPUs is what an \
                  IOMMU or ACS between them does; look at both before any other cause.",
};

/// A test that the tool did not run.
pub const TEST_WAIVED: Code = Code {
    name: "test-waived",
    explanation: "The tool left out tests that this machine cannot run: copies between GPUs where there is one GPU, \
                  or where they cannot access each other. Nothing is wrong if that is as expected.",
};

/// Rates without a unit.
pub const UNIT_ASSUMED: Code = Code {
    name: "unit-assumed",
    explanation: "A list of pairs and figures names no unit. The figures were taken as GB/s of busbw, which is what \
                  such lists hold as a rule; eight times less is meant where they are Gb/s. Write the unit behind \
                  the figures or in a comment above to be sure.",
};
