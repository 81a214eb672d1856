//! What can be wrong with an execution trace.

use weft_base::Code;

/// Nodes of a trace that do not fit together.
pub const TRACE_GRAPH: Code = Code {
    name: "trace-graph",
    explanation: "The nodes of an execution trace contradict each other: two have one id, one waits for a node that \
                  is not in the trace, or some wait for each other in a circle. A replay of it would hang.",
};

/// A trace that breaks off.
pub const TRACE_DAMAGED: Code = Code {
    name: "trace-damaged",
    explanation: "An execution trace ends in the middle of a node, or holds bytes that are none. What stands before \
                  was read; the file was probably cut while it was written or copied.",
};

/// A collective that Chakra does not know.
pub const TRACE_COLLECTIVE: Code = Code {
    name: "trace-collective",
    explanation: "A node of an execution trace is a collective, but does not say which: its `comm_type` is missing or is no \
        number of Chakra's list (0 all-reduce, 1 reduce, 2 all-gather, 3 gather, 4 scatter, 5 broadcast, 6 all-to-all, \
        7 reduce-scatter, 8 reduce-scatter-block, 9 barrier), and its name holds none either. How long it takes cannot be said.",
};
