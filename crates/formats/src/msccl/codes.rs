use weft_base::Code;

/// What MSCCL's reader stops at.
pub const MSCCL_REFUSES: Code = Code {
    name: "msccl-refuses",
    explanation: "MSCCL does not take this algorithm: a step lacks an attribute or has a type that it does not know, a \
                  thread block sends or receives without a peer, two have the same number, or a limit of its \
                  interpreter is passed (256 steps in a thread block, counts below 72). It then runs NCCL's own \
                  algorithm instead. `weft check` calls this an error.",
};

/// A plan that does not do what it says.
pub const MSCCL_WRONG: Code = Code {
    name: "msccl-wrong",
    explanation: "The algorithm was run symbolically, chunk by chunk, in every order of events that its thread blocks, \
                  messages and dependencies allow, and does not do what its collective promises: a chunk is read \
                  before it is written, two thread blocks use one without a dependency between them, messages do not \
                  match, thread blocks wait for each other, or a GPU ends with something else than it should. The \
                  line is that of the step. Thread blocks are counted in the order of their numbers, steps and \
                  chunks from 0. `weft check` calls this an error.",
};

/// A plan that is proved.
pub const MSCCL_PROVED: Code = Code {
    name: "msccl-proved",
    explanation: "The algorithm was run symbolically, chunk by chunk, and does what its collective promises in every \
                  order of events that its thread blocks, messages and dependencies allow: each contribution arrives \
                  exactly once, nothing is read before it is written, and nobody waits for ever. What it sends is \
                  beside the least that any algorithm must send.",
};

/// A plan of which nothing can be said.
pub const MSCCL_UNCHECKED: Code = Code {
    name: "msccl-unchecked",
    explanation: "The algorithm was read, but not proved: its collective is one for which nothing is promised \
                  (`custom`), or one that is not known here, or it has more steps than are checked while a file is \
                  read.",
};
