use weft_base::Code;

/// What NCCL's reader stops at.
pub const NCCL_REFUSES: Code = Code {
    name: "nccl-refuses",
    explanation: "NCCL does not read this file: its own small XML reader, or what it does with the elements, stops \
                  here with an error, and with it the whole communicator. It knows neither declarations nor text \
                  between tags nor tabs nor line breaks inside a tag, and asks for the attributes it cannot do \
                  without. What the file means was read nevertheless. `weft check` calls this an error.",
};

/// What NCCL reads over.
pub const NCCL_IGNORES: Code = Code {
    name: "nccl-ignores",
    explanation: "NCCL reads over this element or attribute, so that it has no effect: an element that it does not \
                  know, links of AMD GPUs (which RCCL reads), a network device without a number.",
};

/// What NCCL puts in place of a value.
pub const NCCL_ASSUMES: Code = Code {
    name: "nccl-assumes",
    explanation: "NCCL does not understand this value and takes one of its own without saying so: 8 GT/s for a link \
                  speed in a spelling that it does not know, 16 lanes for none, 10 Gb/s for a port without a speed, \
                  a bridge for an unknown PCI class. It then searches its channels for another machine than yours.",
};

/// A file that contradicts itself.
pub const NCCL_CONTRADICTION: Code = Code {
    name: "nccl-contradiction",
    explanation: "The file says two things that cannot both be true: two devices with one address or number, links \
                  that one end counts and the other does not, CPUs that belong to two NUMA nodes, a link to a device \
                  that is not there. NCCL takes what it meets first.",
};

/// What is allowed, and probably not meant.
pub const NCCL_DOUBTFUL: Code = Code {
    name: "nccl-doubtful",
    explanation: "NCCL reads this and believes it, but it is probably not what was meant: an address in another \
                  spelling than the kernel's (NCCL compares the text, finds no such device and leaves the element \
                  out), a speed in the wrong unit, a switch whose way up is slower than one device below it, \
                  GPUDirect turned off.",
};
