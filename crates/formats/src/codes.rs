//! The diagnostic codes of this crate.

use weft_base::Code;

use crate::msccl::codes as msccl;
use crate::nccl_lint::codes as nccl_lint;

use crate::measured_codes::{
    BENCHMARK_FACTOR, BENCHMARK_RATE, BENCHMARK_ROW_CUT, COLLECTIVE_INFERRED, PEER_ACCESS_REFUSED,
    PEER_ACCESS_USELESS, RANK_ALONE, RANKS_SEPARATE, TEST_FAILED, TEST_WAIVED, UNIT_ASSUMED,
};

/// All codes of this crate, for `weft explain` and the reference.
pub const CODES: &[Code] = &[
    EMPTY_INPUT,
    NOT_TEXT,
    HOST_LIST,
    crate::host_names::HOST_TWICE,
    HIERARCHY_NAME_TWICE,
    HIERARCHY_UNDEFINED,
    HIERARCHY_CYCLE,
    HIERARCHY_HOST_TWICE,
    HIERARCHY_EMPTY,
    HIERARCHY_KEY,
    BLOCK_SIZES,
    DOCUMENT_SYNTAX,
    INFRASTRUCTURE_UNDEFINED,
    INFRASTRUCTURE_SLICE,
    crate::chakra::TRACE_GRAPH,
    crate::chakra::TRACE_DAMAGED,
    crate::chakra::TRACE_COLLECTIVE,
    crate::traces::TRACE_MALFORMED,
    NO_DEVICE,
    LINES_UNUSED,
    UNKNOWN_FORMAT,
    CANNOT_WRITE,
    BENCHMARK_ROW_CUT,
    BENCHMARK_RATE,
    BENCHMARK_FACTOR,
    RANKS_SEPARATE,
    RANK_ALONE,
    COLLECTIVE_INFERRED,
    PEER_ACCESS_REFUSED,
    PEER_ACCESS_USELESS,
    TEST_FAILED,
    TEST_WAIVED,
    UNIT_ASSUMED,
    FABRIC_PARTIAL,
    FABRIC_ONE_SIDED,
    FABRIC_PORT_TWICE,
    FABRIC_GUID_TWICE,
    FABRIC_ENDS_DIFFER,
    FABRIC_LINK_SLOW,
    FABRIC_PORT_DOWN,
    FORWARDING_CUT,
    MULTICAST_TABLE,
    CELL_UNKNOWN,
    CELL_MISSING,
    ROW_CUT,
    CELLS_SURPLUS,
    CELLS_FUSED,
    HEADER_GLUED,
    HEADER_MISSING,
    ROWS_MISSING,
    NIC_ROWS_MISSING,
    COLUMNS_MISSING,
    HOSTS_OF_ONE,
    ROW_REPEATED,
    PAIR_ASYMMETRIC,
    NVLINK_COUNT,
    IMPOSSIBLE_NVLINK,
    NVLINK_UNEVEN,
    MACHINE_FILE,
    MATRIX_SURPLUS,
    MACHINE_SURPLUS,
    MATRIX_INCONSISTENT,
    DISTANCES_HIDDEN,
    REGISTERS_HIDDEN,
    LINK_UNREADABLE,
    TREE_BROKEN,
    NUMA_CONTRADICTION,
    GDR_UNPROVEN,
    GDR_ONE_SIDED,
    LINK_SPEED_HIDDEN,
    SETTING_UNKNOWN,
    SETTING_VALUE,
    SETTINGS_LEFT_OUT,
    COMMAND_REFUSED,
    PORT_NOT_ACTIVE,
    DOCUMENT_DAMAGED,
    OVERRIDE_UNUSED,
    LINK_DEGRADED,
    CLASSES_CONTRADICTED,
    NVLINK_DOWN,
    XML_DAMAGED,
    nccl_lint::NCCL_REFUSES,
    nccl_lint::NCCL_IGNORES,
    nccl_lint::NCCL_ASSUMES,
    nccl_lint::NCCL_CONTRADICTION,
    nccl_lint::NCCL_DOUBTFUL,
    msccl::MSCCL_REFUSES,
    msccl::MSCCL_WRONG,
    msccl::MSCCL_PROVED,
    msccl::MSCCL_UNCHECKED,
];

/// A list of hosts that cannot be read.
pub const HOST_LIST: Code = Code {
    name: "host-list",
    explanation: "A list of hosts or switches is written as Slurm writes it: names between commas, numbers in \
                  brackets as `n[001-016,20]`. An item that does not read so is left out. One file may name a \
                  million hosts; a range beyond that is refused, since it is nearly always a slip of the finger.",
};

/// A switch or a block defined twice.
pub const HIERARCHY_NAME_TWICE: Code = Code {
    name: "hierarchy-name-twice",
    explanation: "A switch or a block is defined twice in one topology. The first definition counts, as it does in \
                  Slurm where it does not refuse the file.",
};

/// A switch that is named and not defined.
pub const HIERARCHY_UNDEFINED: Code = Code {
    name: "hierarchy-undefined",
    explanation: "A switch stands below another, but no line says what is below it. Slurm refuses such a file. The \
                  name was left out; often a line was cut off or a name was misspelt.",
};

/// Switches above each other.
pub const HIERARCHY_CYCLE: Code = Code {
    name: "hierarchy-cycle",
    explanation: "Following the switches downwards leads back to where one came from, so that they are no \
                  hierarchy. One of the ways down was left out.",
};

/// A host in two places.
pub const HIERARCHY_HOST_TWICE: Code = Code {
    name: "hierarchy-host-twice",
    explanation: "A host stands under two leaf switches, or in two blocks. Slurm can only use one of them. A host \
                  with a port on each rail does hang under several leaves: then name the group of leaves that \
                  belong together, not each leaf.",
};

/// Nothing below a switch.
pub const HIERARCHY_EMPTY: Code = Code {
    name: "hierarchy-empty",
    explanation: "A switch or a block has no host and no switch below it. It does no harm, but usually a list was \
                  forgotten or was cut off.",
};

/// A key that nobody knows.
pub const HIERARCHY_KEY: Code = Code {
    name: "hierarchy-key",
    explanation: "A key of a topology file is not one that the scheduler knows, or its value is not what it takes. \
                  It was left out; the scheduler itself may refuse the whole file for it.",
};

/// Block sizes that do not go together.
pub const BLOCK_SIZES: Code = Code {
    name: "block-sizes",
    explanation: "Slurm places jobs in blocks of the first of the block sizes, and in groups of such blocks. Each \
                  size is the one before times a power of two, and the first is not larger than the smallest \
                  block; else hosts stay unused or jobs never start.",
};

/// A document that ends or breaks in the middle.
pub const DOCUMENT_SYNTAX: Code = Code {
    name: "document-syntax",
    explanation: "A YAML or JSON document breaks off or is malformed at this place. What stands before it was read.",
};

/// A name of an infrastructure that is not defined.
pub const INFRASTRUCTURE_UNDEFINED: Code = Code {
    name: "infrastructure-undefined",
    explanation: "A description of a cluster names a device, an instance, a component or a link that it does not \
                  define. What depends on it counts nothing; nearly always a name was misspelt.",
};

/// A slice that cannot be.
pub const INFRASTRUCTURE_SLICE: Code = Code {
    name: "infrastructure-slice",
    explanation: "An edge of a description of a cluster picks more instances or components than there are, or does so \
                  in a form that cannot be read. That edge makes no link.",
};

/// Nothing was given.
pub const EMPTY_INPUT: Code = Code {
    name: "empty-input",
    explanation: "The input holds no text at all. A command that failed often prints its reason elsewhere, so \
                  that a pipe carries nothing: run `nvidia-smi topo -m` by itself and look at what it says.",
};

/// Bytes of something else.
pub const NOT_TEXT: Code = Code {
    name: "not-text",
    explanation: "The input is binary, or text in an encoding other than UTF-8. Files that PowerShell wrote with \
                  `>` are UTF-16: save them as UTF-8. Pictures of a terminal cannot be read: copy the text.",
};

/// Text without a machine in it.
pub const NO_DEVICE: Code = Code {
    name: "no-device",
    explanation: "No GPU and no NIC could be found in the input. What can be read is the output of the commands \
                  that `weft show --help` lists, a machine file, the name of a system, or a one-liner such as \
                  `2 rtx-3090 @ pcie4x8`.",
};

/// Lines that no reader took.
pub const LINES_UNUSED: Code = Code {
    name: "lines-unused",
    explanation: "These lines belong to nothing that was read: a comment, a prompt, the output of another \
                  command. Nothing is dropped silently, so they are named; there is nothing to do if they do not \
                  matter.",
};

/// `--as` names no format.
pub const UNKNOWN_FORMAT: Code = Code {
    name: "unknown-format",
    explanation: "The format asked for does not exist. `weft show --help` lists the formats; without asking for \
                  one, the format is found by looking at the input.",
};

/// A writer without its matter.
pub const CANNOT_WRITE: Code = Code {
    name: "cannot-write",
    explanation: "The input lacks what `weft convert` was asked to write, or holds something that the other program \
                  does not know, such as a network of a generation that is too new for it. The message says which.",
};

/// Nodes without a record.
pub const FABRIC_PARTIAL: Code = Code {
    name: "fabric-partial",
    explanation: "Some switches or adapters of a subnet are named only as the far end of others' cables: their own \
                  records are not in the input, so that their other cables are unknown. Tiers and oversubscription \
                  count only what is there.",
};

/// A cable that one end does not know.
pub const FABRIC_ONE_SIDED: Code = Code {
    name: "fabric-one-sided",
    explanation: "One port says which port it reaches, but that one does not say so. Discovery walks the fabric and \
                  sees each cable from both ends, so that the text was cut or edited, or a link went down meanwhile. \
                  The cable is counted.",
};

/// A port with two cables.
pub const FABRIC_PORT_TWICE: Code = Code {
    name: "fabric-port-twice",
    explanation: "A port of a switch or an adapter is listed with two different far ends. A port has one cable; the \
                  text joins two discoveries, or two nodes with one GUID. Both cables are counted.",
};

/// Two of one name.
pub const FABRIC_GUID_TWICE: Code = Code {
    name: "fabric-guid-twice",
    explanation: "Two nodes or ports have the same GUID, or a node is listed twice. GUIDs are burnt in and must be \
                  unique: a subnet manager refuses or confuses doubled ones. If the same output was pasted twice, \
                  the second is not used.",
};

/// Ends that contradict each other.
pub const FABRIC_ENDS_DIFFER: Code = Code {
    name: "fabric-ends-differ",
    explanation: "The two ends of a cable report different widths or generations. Both ends of a link run alike, so \
                  that it was retraining while it was looked at, which is a fault in itself, or the text was edited. \
                  The slower report is used.",
};

/// A slow cable.
pub const FABRIC_LINK_SLOW: Code = Code {
    name: "fabric-link-slow",
    explanation: "A cable runs fewer lanes or an older generation than the like cables of its switch, or than both \
                  ends could run. A link that trains at 1x carries a quarter or less, and all routes over it are as \
                  slow. Dirty or damaged cables and transceivers are the usual cause.",
};

/// An adapter alone.
pub const FABRIC_PORT_DOWN: Code = Code {
    name: "fabric-port-down",
    explanation: "An adapter has no cable to anything in the input. Run on a host whose port is down, \
                  `ibnetdiscover` sees that host alone. `ibstat` says whether the port is polling for a partner \
                  (cable or switch) or disabled.",
};

/// A table that ends early.
pub const FORWARDING_CUT: Code = Code {
    name: "forwarding-cut",
    explanation: "A forwarding table holds another number of entries than its last line counts, or that line is \
                  missing: the text was cut. Destinations without an entry count as dropped.",
};

/// A table of another kind.
pub const MULTICAST_TABLE: Code = Code {
    name: "multicast-table",
    explanation: "Multicast forwarding tables are not read: they say nothing of the routes between pairs of \
                  adapters. `dump_fts` without `-M`, or `ibroute` without it, prints the unicast tables.",
};

/// A cell that is no word of the format.
pub const CELL_UNKNOWN: Code = Code {
    name: "cell-unknown",
    explanation: "A cell of a matrix holds something that the command never prints. The cell counts as unknown; \
                  where the matrix also has the cell of the same pair the other way round, that one is used.",
};

/// A cell that is not there, with later ones present.
pub const CELL_MISSING: Code = Code {
    name: "cell-missing",
    explanation: "A row has fewer cells than the header has devices, and by its separators, its `X` or its \
                  alignment this one is missing. The cell counts as unknown.",
};

/// A row that ends early.
pub const ROW_CUT: Code = Code {
    name: "row-cut",
    explanation: "A row ends before the last device of the header, as where a terminal or a form cut long lines. \
                  The cells behind the cut count as unknown. Paste the whole output, for instance from a file.",
};

/// More cells than columns.
pub const CELLS_SURPLUS: Code = Code {
    name: "cells-surplus",
    explanation: "A row has more cells than the header has devices, so that some belong to no known device. They \
                  are left out. Usually the header was cut, or wrapped in a way that hides its second half.",
};

/// Several cells in one word.
pub const CELLS_FUSED: Code = Code {
    name: "cells-fused",
    explanation: "Two or more cells stand without a blank between them, such as `NODENODE`: damage done by \
                  copying. They were taken apart where that is clear; compare with the original if in doubt.",
};

/// A header without separators.
pub const HEADER_GLUED: Code = Code {
    name: "header-glued",
    explanation: "The labels of the header stand without blanks between them (`GPU0GPU1GPU2`), as some terminals \
                  copy tabs. They were taken apart at the names of the devices.",
};

/// No header.
pub const HEADER_MISSING: Code = Code {
    name: "header-missing",
    explanation: "The rows of a matrix are there, its header is not. Columns were taken to be in the order of the \
                  rows, which is what the command prints when nothing was cut.",
};

/// GPUs of the header that have no row.
pub const ROWS_MISSING: Code = Code {
    name: "rows-missing",
    explanation: "The header names GPUs that have no row of their own: the paste was cut. They exist, and what \
                  other rows say of them is used; what only their own rows could say stays unknown.",
};

/// NICs of the header that have no row.
pub const NIC_ROWS_MISSING: Code = Code {
    name: "nic-rows-missing",
    explanation: "The header names NICs that have no row of their own, which happens when only the rows of the \
                  GPUs are copied. Nothing is lost but how NICs lie to each other.",
};

/// Devices with a row, but without a column.
pub const COLUMNS_MISSING: Code = Code {
    name: "columns-missing",
    explanation: "The matrix has rows of devices that its header does not name: all lines were cut at the same \
                  column, or a column was left out. The devices exist; what only the missing cells could say \
                  stays unknown.",
};

/// `8 x t4`: hosts where cards may have been meant.
pub const HOSTS_OF_ONE: Code = Code {
    name: "hosts-of-one",
    explanation: "`8 x t4` is a cluster: eight hosts with one card each, since the number before `x` counts \
                  hosts. Eight cards in one server are `8 t4`.",
};

/// The same row twice.
pub const ROW_REPEATED: Code = Code {
    name: "row-repeated",
    explanation: "A matrix has two rows of one device. The first one counts. If the outputs of several hosts are \
                  mixed line by line, give each host its own file.",
};

/// (a, b) and (b, a) differ.
pub const PAIR_ASYMMETRIC: Code = Code {
    name: "pair-asymmetric",
    explanation: "The matrix says one thing of a pair in one direction and another in the other, which no hardware \
                  does. Both cells are kept as given; where one answer is needed, that of the row that comes \
                  first in the pair is used.",
};

/// More NVLinks than any GPU has.
pub const NVLINK_COUNT: Code = Code {
    name: "nvlink-count",
    explanation: "A cell names more NVLinks than any known GPU has. The cell counts as unknown; often a digit was \
                  doubled, or the cell was glued to its neighbour.",
};

/// More NVLinks than this GPU has.
pub const IMPOSSIBLE_NVLINK: Code = Code {
    name: "impossible-nvlink",
    explanation: "The matrix shows more NVLinks between two GPUs than the named GPU model has, or NVLinks on a \
                  model without any. Either the model is wrong or the matrix is of another machine, so nothing \
                  that depends on them can be said.",
};

/// Fewer NVLinks than the neighbours.
pub const NVLINK_UNEVEN: Code = Code {
    name: "nvlink-uneven",
    explanation: "GPUs that hang off the same NVSwitches report different numbers of NVLinks, so that some links \
                  seem to be down. The machine was built with the full number; look at `nvidia-smi nvlink -s` and \
                  the fabric manager's log.",
};

/// A machine file that does not hold.
pub const MACHINE_FILE: Code = Code {
    name: "machine-file",
    explanation: "A machine file is not valid: not TOML, a key that does not exist, a value of the wrong kind, or \
                  devices that do not fit together. The files of `catalogue/systems` are examples of the same form.",
};

/// A second matrix.
pub const MATRIX_SURPLUS: Code = Code {
    name: "matrix-surplus",
    explanation: "The input holds several matrices of one kind. The first one is used. A machine is described by \
                  one; to look at another host, give its output alone.",
};

/// A second machine.
pub const MACHINE_SURPLUS: Code = Code {
    name: "machine-surplus",
    explanation: "The input describes the machine twice: by a machine file or a one-liner, and again. The first \
                  description is used.",
};

/// Classes that fit no tree.
pub const MATRIX_INCONSISTENT: Code = Code {
    name: "matrix-inconsistent",
    explanation: "PCIe is a tree, and no tree gives the classes that the matrix reports: a device cannot share a \
                  switch with two others that do not share it. The machine was built from the nearest relations; \
                  the cells named here are shown as reported, but the drawing and the routes differ from them.",
};

/// A virtual machine that hides PCIe.
pub const DISTANCES_HIDDEN: Code = Code {
    name: "distances-hidden",
    explanation: "All pairs of GPUs are of one PCIe class, as virtual machines and containers show them when they \
                  hide switches and sockets, and the NUMA nodes beside them do not bear it out. The distances carry \
                  no meaning: GPUs may in truth share a switch or sit on different sockets. Read the matrix on the \
                  host, or give NCCL a topology file.",
};

/// Capabilities of PCI functions that only root may read.
pub const REGISTERS_HIDDEN: Code = Code {
    name: "registers-hidden",
    explanation: "The speed, the width and the access control of PCI functions stand in registers that only root \
                  may read, and the input was made without those rights. What a function is and where it hangs is \
                  known all the same.",
};

/// A speed or a width that is none.
pub const LINK_UNREADABLE: Code = Code {
    name: "link-unreadable",
    explanation: "The speed or the width of a link is written in a way that no tool prints. It counts as unknown.",
};

/// A tree whose columns do not fit.
pub const TREE_BROKEN: Code = Code {
    name: "tree-broken",
    explanation: "In a drawn tree the column of a branch says what it hangs on. Blanks at the start of some lines \
                  were lost or added, so that those lines cannot be placed; the rest of the tree is kept.",
};

/// `use ring PXN 0 GDR 1` without a connection that has it.
pub const GDR_UNPROVEN: Code = Code {
    name: "gdr-unproven",
    explanation: "A line of NCCL's log ends in `use ring PXN 0 GDR 1`, which says what rings may use, not what they \
                  do use. GPUDirect RDMA is in use where a connection is named `…/GDRDMA`; this log has no such \
                  connection.",
};

/// The two ends of a connection disagree.
pub const GDR_ONE_SIDED: Code = Code {
    name: "gdr-one-sided",
    explanation: "One end of a connection between hosts lets its adapter reach GPU memory (`GDRDMA`), the other goes \
                  through the host's memory, which limits both. The hosts differ in drivers, in settings, or in how \
                  near GPU and adapter are.",
};

/// `could not find value of '' in dictionary`.
pub const LINK_SPEED_HIDDEN: Code = Code {
    name: "link-speed-hidden",
    explanation: "NCCL read an empty speed of a PCIe link and went on with a default. So it is in virtual machines \
                  that hide the links, and the channels that NCCL chooses then rest on wrong bandwidths. A topology \
                  file with the true speeds (NCCL_TOPO_FILE) mends it.",
};

/// A variable that NCCL does not have, near one that it has.
pub const SETTING_UNKNOWN: Code = Code {
    name: "setting-unknown",
    explanation: "A variable looks like one of NCCL's but for a slip in its name. NCCL takes no notice of names that \
                  it does not know, so that the setting has no effect.",
};

/// A value that the variable cannot have.
pub const SETTING_VALUE: Code = Code {
    name: "setting-value",
    explanation: "A variable of NCCL's has a value that it cannot take. NCCL then uses its default, and says so only \
                  with NCCL_DEBUG=INFO, or refuses to start.",
};

/// Variables of an environment that are not about communication.
pub const SETTINGS_LEFT_OUT: Code = Code {
    name: "settings-left-out",
    explanation: "The output of `env` holds variables that have nothing to do with communication. They are left out \
                  and not shown, since they may hold passwords and tokens.",
};

/// SYS inside a NUMA node.
pub const NUMA_CONTRADICTION: Code = Code {
    name: "numa-contradiction",
    explanation: "The matrix calls two devices SYS, across NUMA nodes, but lists the same NUMA node for both. \
                  Firmware that does not tell where a slot hangs, and virtual machines, do this. The classes were \
                  believed.",
};

/// What a command says that it cannot tell.
pub const COMMAND_REFUSED: Code = Code {
    name: "command-refused",
    explanation: "The command itself printed that it could not read something: for want of rights, because the driver or \
                  firmware does not support it, or in a mode that hides it. What else it printed was used.",
};

/// A port of an adapter or a switch that carries nothing.
pub const PORT_NOT_ACTIVE: Code = Code {
    name: "port-not-active",
    explanation: "A port is down, or its link is up but no subnet manager has configured it (`Initialize`). Nothing can be \
                  sent over it. Ports without a cable are down as well: there is nothing to do for those.",
};

/// JSON or the like that cannot be taken in.
pub const DOCUMENT_DAMAGED: Code = Code {
    name: "document-damaged",
    explanation: "A document that a tool prints for other programs (JSON) is cut, mangled, or not of the shape that the \
                  tool gives it. Such documents can only be read whole: paste all of it.",
};

/// An option that has nothing to apply to.
pub const OVERRIDE_UNUSED: Code = Code {
    name: "override-unused",
    explanation: "A model was given with an option, but the input has no device of that kind, or names its model \
                  itself. The option changes nothing.",
};

/// Fewer lanes or links than there could be.
pub const LINK_DEGRADED: Code = Code {
    name: "link-degraded",
    explanation: "A device runs on fewer PCIe lanes, or has fewer links to other GPUs up, than it and its slot have. All \
                  answers count only what is up. Cards that are not fully seated, bent contacts, damaged risers and \
                  retimers that failed to train are the usual causes; the kernel's log often names the port.",
};

/// Links of a GPU that are down.
pub const NVLINK_DOWN: Code = Code {
    name: "nvlink-down",
    explanation: "A GPU has fewer links to other GPUs up than the machine is built with or the matrix shows. All answers \
                  count only what is up. A bridge that is not fully seated, a failed link (Xid 74 in the kernel's log) \
                  or a fabric manager that does not run are the usual causes.",
};

/// XML that is not well-formed.
pub const XML_DAMAGED: Code = Code {
    name: "xml-damaged",
    explanation: "A document is not well-formed XML: it is cut, a tag is not closed, an attribute stands twice or \
                  has no quotes. What is clear was mended and read: open elements are closed where the text ends, \
                  tags that close nothing are left out. The program that the file is for would refuse it.",
};

/// Two outputs that give one pair two classes.
pub const CLASSES_CONTRADICTED: Code = Code {
    name: "classes-contradicted",
    explanation: "A matrix and a list of PCI devices (a topology file, hwloc, lspci, this machine) are of hosts with as many \
                  GPUs, but give a pair different classes. Either they are of two machines, or one of them was made where \
                  switches or sockets are hidden: a guest lists the buses that its hypervisor made up, while the driver may \
                  know more, or less. NCCL goes by the list; where that is the guest's, give it the host's tree by \
                  NCCL_TOPO_FILE. Here the matrix was believed; the list still tells models and lanes.",
};
