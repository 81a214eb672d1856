//! How far each published table can be trusted.

/// How a table was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Trust {
    /// The vendor's or authors' own table, with the whole configuration.
    A,
    /// Good, but something has to be inferred.
    B,
    /// Quoted, plotted, or a single report.
    C,
}

impl Trust {
    /// The letter used in text and JSON.
    pub fn letter(self) -> &'static str {
        match self {
            Self::A => "A",
            Self::B => "B",
            Self::C => "C",
        }
    }
}

/// By what a file's name contains; those with experts of the same file where they differ.
const TRUST: &[(&str, Trust, Trust)] = &[
    ("dgxc_benchmarking", Trust::A, Trust::A),
    ("nemo_megatron_bridge", Trust::A, Trust::B),
    ("llmfoundry", Trust::A, Trust::A),
    ("megatron_sc21", Trust::A, Trust::A),
    ("megatron_2020", Trust::A, Trust::A),
    ("megatron_core", Trust::A, Trust::A),
    ("korthikanti", Trust::A, Trust::A),
    ("bloom", Trust::A, Trust::A),
    ("nemo_long_sequence", Trust::A, Trust::A),
    ("internevo", Trust::A, Trust::A),
    ("torchtitan", Trust::A, Trust::A),
    ("headline", Trust::C, Trust::C),
];

/// Of a file's rows with or without experts; of files that are not listed, B.
pub fn trust(file: &str, kind: super::StepKind) -> Trust {
    let found = TRUST.iter().find(|(part, ..)| file.contains(part));
    let (_, dense, experts) = found.copied().unwrap_or(("", Trust::B, Trust::B));
    match kind {
        super::StepKind::Dense => dense,
        super::StepKind::Experts => experts,
    }
}
