//! Diagnostic codes of this crate, and of all crates together.

use weft_base::Code;

/// What was asked cannot be advised on.
pub const NO_ADVICE: Code = Code {
    name: "no-advice",
    explanation: "What was asked of `weft advise` names something that is not there: a GPU model, a candidate, a kind of link, \
        or a price of nothing that is bought. `weft explain` knows the names of the catalogue.",
};

/// A source that is no file, or cannot be read.
pub const FILE_UNREADABLE: Code = Code {
    name: "file-unreadable",
    explanation: "A source looks like a path, but there is no such file, or it cannot be opened. A source is a file, a \
        folder, `-` for standard input, a machine in one line, or the name of a system.",
};

/// A step of training that has no price.
pub const NO_STEP: Code = Code {
    name: "no-step",
    explanation: "A step of training or of inference cannot be priced: the model, the program or the layout is not known or \
        cannot be, or the machine is too small for it. The message says which, and the hint what to change.",
};

/// Frames that no cards share.
pub const NO_FRAMES: Code = Code {
    name: "no-frames",
    explanation: "Frames cannot be shared: the machine has one GPU, or no link joins the first two. Name a machine with two \
        or more cards, such as `2 gtx-1080 @ pcie3x8 + sli-hb`.",
};

/// Traces that no replay can be made of.
pub const NO_REPLAY: Code = Code {
    name: "no-replay",
    explanation: "Traces cannot be played: none of the files is one, a file's name does not say of which rank it is, two are \
        of one rank, or the machine has no GPU that is known. A trace is called `NAME.RANK.et`, or `NAME.RANK.json`.",
};

/// A layout whose GPUs would keep more than their memory.
pub const DOES_NOT_FIT: Code = Code {
    name: "does-not-fit",
    explanation: "One GPU of the layout would keep more than its memory holds: weights, gradients, the optimizer's state, and \
        activations until their backward pass; of a model that is served, weights and the KV cache. The message says \
        by how much and what takes most. Sharing more \
        (`--zero 3`, `--tp`, `--pp`), computing activations again (`--recompute full`) or smaller micro-batches need less.",
};

/// A source larger than any topology.
pub const FILE_TOO_LARGE: Code = Code {
    name: "file-too-large",
    explanation: "A source holds more than 1 GiB, more than any output that is worth reading whole. Cut the part out that \
        describes the machine.",
};

/// An archive that ends early or whose sums do not hold.
pub const ARCHIVE_DAMAGED: Code = Code {
    name: "archive-damaged",
    explanation: "An archive ends too early or does not unpack. The files before the damage were read. Copies made in text \
        mode and transfers that broke off do this.",
};

/// An archive that would unpack to too much.
pub const ARCHIVE_TOO_LARGE: Code = Code {
    name: "archive-too-large",
    explanation: "An archive holds more than is unpacked into memory. What came first was read. Unpack it and give the files \
        that matter.",
};

/// An archive, and no file to write it to.
pub const OUTPUT_IS_TERMINAL: Code = Code {
    name: "output-is-terminal",
    explanation: "The command writes an archive, which no one can read on a terminal. Send it to a file: \
        `weft gather > case.tar.gz`.",
};

/// What a file says that messages cost cannot be read.
pub const CALIBRATION: Code = Code {
    name: "calibration",
    explanation: "A file of what messages and local work cost, as `weft bench --calibrate --save FILE` writes it, has a \
        key, a value or a version that is not known. Times have units (`us`), rates too (`GB/s`). Measure again, or mend \
        the line that is named.",
};

/// A file that cannot be written.
pub const FILE_UNWRITABLE: Code = Code {
    name: "file-unwritable",
    explanation: "A file that an option names cannot be written: its folder does not exist, or may not be written to.",
};

/// A variable's value that the library would not take.
pub const NO_SETTING: Code = Code {
    name: "no-such-setting",
    explanation: "A value given with `--env` is none that the variable can have, so that NCCL would ignore it or refuse to \
        start. The message says what it can be.",
};

/// What the input says of the library.
pub const SETTINGS_TAKEN: Code = Code {
    name: "settings-taken",
    explanation: "The input holds variables of NCCL or RCCL, or a log that names its version. The prediction is for that \
        version with these settings; options replace them one by one.",
};

/// A variable that changes nothing here.
pub const SETTING_WITHOUT_EFFECT: Code = Code {
    name: "setting-without-effect",
    explanation: "A variable given with `--env` does not act on what is predicted: the model has nothing that it would \
        change, or the library does not know it.",
};

/// A scenario that says what cannot be understood.
pub const SCENARIO: Code = Code {
    name: "scenario",
    explanation: "A scenario file has a key, a value or a name that is not known. A scenario is TOML: `cluster`, one table \
        `[[job]]` for each job and `[[fault]]` for each fault; quantities carry their units. `docs/reference/scenario.md` \
        lists all keys.",
};

/// A job that the cluster cannot play.
pub const UNPLAYABLE: Code = Code {
    name: "unplayable",
    explanation: "A job cannot be played: no path joins its ranks, no algorithm suits it on these GPUs, or its plan asks \
        switches for what they cannot do. Rails that no switch joins need an algorithm whose messages stay on their rail.",
};

/// Bytes that are no UTF-8.
pub const INVALID_UTF8: Code = Code {
    name: "invalid-utf8",
    explanation: "The text holds bytes that are not UTF-8, as after a bad copy or in an old encoding. They were read as \
        unknown characters; device names and classes are plain ASCII, so usually nothing is lost.",
};

/// A file of a folder that holds no machine.
pub const FILE_UNUSED: Code = Code {
    name: "file-unused",
    explanation: "A file of the folder holds nothing that can be read, so it was left out. Give the files that matter one \
        by one to leave the others unread.",
};

/// Evidence, but no machine.
pub const NO_MACHINE: Code = Code {
    name: "no-machine",
    explanation: "The input was read, but it describes no machine: it holds measurements, a log or settings, and the \
        question is about a machine. Give the description of the machine beside it; `weft show` prints what was read.",
};

/// A predictor's refusal.
pub const NO_PREDICTION: Code = Code {
    name: "no-prediction",
    explanation: "The machine was understood, but no time can be predicted for it: the model does not cover it yet, or \
        something that it needs is unknown. The message says what; naming GPUs with `--gpu` often helps.",
};

/// A collective over GPUs that the machine does not have.
pub const NO_SUCH_GPU: Code = Code {
    name: "no-such-gpu",
    explanation: "`--gpus` names a GPU that the machine does not have. It takes a number of GPUs (`4`) or a list of them (`0,2,4-6`, or names of the input such as `GPU0,GPU1`).",
};

/// An algorithm by a name that none has.
pub const NO_SUCH_ALGORITHM: Code = Code {
    name: "no-such-algorithm",
    explanation: "`--algorithm` names an algorithm that there is not. `weft show --list algorithms` lists them; \
        `weft plan` shows which of them suit a collective on a machine.",
};

/// A plan that a runtime's format cannot hold.
pub const NOT_WRITTEN: Code = Code {
    name: "not-written",
    explanation: "A plan is right, but cannot be written for MSCCL: its format has no sums and copies in switches, holds 256 \
        steps of a thread block, and knows neither barriers nor single sends. Another algorithm or fewer chunks may fit.",
};

/// A term that nothing in the catalogue or the codes matches.
pub const NOTHING_TO_EXPLAIN: Code = Code {
    name: "nothing-to-explain",
    explanation: "`weft explain` takes a diagnostic code, or the name of a link, GPU, NIC, switch, CPU, retimer, channel \
        part, system, library or source of the catalogue.",
};

/// A measurement that cannot be made as it was asked for.
pub const NOT_MEASURED: Code = Code {
    name: "not-measured",
    explanation: "`weft bench` does not know a collective, a type of elements, a reduction, an algorithm or a rank that was \
        asked for, or the algorithm does not suit. `weft bench --help` lists them; `weft show --list algorithms` names the \
        algorithms.",
};

/// A rank that ended a measurement.
pub const MEASURING_FAILED: Code = Code {
    name: "measuring-failed",
    explanation: "`weft bench` stopped because one of its processes died, was stopped, could not be reached or lacked \
        something, or was started with other options than the rest. The message names the rank and what was seen of it.",
};

/// A host on which ranks did not run.
pub const HOST_FAILED: Code = Code {
    name: "host-failed",
    explanation: "`weft bench --ssh` could not start ranks on a host, or they ended there in a way in which they do not end by \
        themselves. The message holds what ssh, or what was given as `--remote-shell`, has said. Ranks of all other hosts \
        were ended.",
};

/// A host that is slow with all others.
pub const SLOW_HOST: Code = Code {
    name: "slow-host",
    explanation: "In a matrix of rates a host stays below the others with nearly all its peers, so what limits it is its own: \
        its adapter or the slot of that, its cable to the switch, its memory, or other work. If it only sends or only \
        receives slowly, look at one direction of its cable and at its flow control. From where on a host counts as slow, \
        and why, stands below the matrix.",
};

/// A pair that is slower than its hosts are with others.
pub const SLOW_PAIR: Code = Code {
    name: "slow-pair",
    explanation: "In a matrix of rates two hosts are slower with each other than both are with others, so what limits them \
        lies between them: a link or a switch that other pairs do not use, or a route that takes it. Several such pairs \
        that cross the same place name that place.",
};

/// A policy of that name is not known.
pub const NO_SUCH_POLICY: Code = Code {
    name: "no-such-policy",
    explanation: "The scheduler has no policy of that name. `weft schedule --help` says what is played; every report \
        ends with what each of its policies does.",
};

/// A job of that name is not in the scenario.
pub const NO_SUCH_JOB: Code = Code {
    name: "no-such-job",
    explanation: "The scenario has no job of that name. Several jobs of one row have numbers behind its name, from 0 on: \
        `train-0`, `train-1`. `weft schedule SCENARIO --format csv` lists all jobs.",
};

/// Options of the scheduler that do not go together.
pub const SCHEDULE_OPTIONS: Code = Code {
    name: "schedule-options",
    explanation: "The sources or options of `weft schedule` do not go together: a scenario is one file in TOML and perhaps \
        tables of its jobs in CSV, a study takes one trace and is printed as text or JSON.",
};

/// Codes of this crate.
pub const CODES: &[Code] = &[
    NO_ADVICE,
    FILE_UNREADABLE,
    FILE_UNWRITABLE,
    SCENARIO,
    NO_SETTING,
    SETTINGS_TAKEN,
    SETTING_WITHOUT_EFFECT,
    UNPLAYABLE,
    FILE_TOO_LARGE,
    NO_STEP,
    NO_FRAMES,
    NO_REPLAY,
    DOES_NOT_FIT,
    ARCHIVE_DAMAGED,
    ARCHIVE_TOO_LARGE,
    OUTPUT_IS_TERMINAL,
    INVALID_UTF8,
    FILE_UNUSED,
    NO_MACHINE,
    NO_PREDICTION,
    NO_SUCH_GPU,
    NO_SUCH_ALGORITHM,
    NO_SUCH_POLICY,
    NO_SUCH_JOB,
    SCHEDULE_OPTIONS,
    NOT_WRITTEN,
    NOTHING_TO_EXPLAIN,
    NOT_MEASURED,
    MEASURING_FAILED,
    HOST_FAILED,
    SLOW_HOST,
    SLOW_PAIR,
    CALIBRATION,
];

/// Codes of all crates, floor by floor.
pub fn all() -> impl Iterator<Item = &'static Code> {
    [
        weft_topology::CODES,
        weft_formats::CODES,
        weft_probe::CODES,
        weft_predictor::CODES,
        weft_advisor::CODES,
        weft_scheduler::CODES,
        CODES,
    ]
    .into_iter()
    .flatten()
}
