//! Diagnostic codes: each has a name that users can look up and a paragraph that explains it.

/// A kind of diagnostic. Declared as a constant next to the code that emits it and listed in that
/// crate's `CODES`; `xtask tidy` checks that each is documented and tested.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Code {
    /// Kebab-case name, unique in the program, stable once released.
    pub name: &'static str,
    /// What it means, why it matters and what to do, in one to four sentences.
    pub explanation: &'static str,
}
