//! One line: which variables it sets.

use crate::prefix::body;

/// A variable and its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Assignment<'a> {
    pub name: &'a str,
    pub value: &'a str,
    /// Where the name stands, in bytes.
    pub offset: usize,
}

/// Families of variables that are about communication.
const FAMILIES: [&str; 9] =
    ["NCCL_", "RCCL_", "OFI_NCCL_", "TORCH_NCCL_", "FI_", "UCX_", "GLOO_", "HSA_", "MSCCL_"];

/// Single ones.
const SINGLE: [&str; 4] =
    ["CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "CUDA_DEVICE_MAX_CONNECTIONS"];

/// What shells, containers and launchers write before an assignment.
const WORDS: [&str; 6] = ["export ", "declare -x ", "set ", "ENV ", "env ", "setenv "];

/// Whether the line may set one of ours: a test that costs next to nothing for all others.
pub(super) fn matters(text: &str) -> bool {
    let setting = text.contains('=') || text.contains("setenv ");
    setting
        && (text.contains("CCL_")
            || text.contains("FI_")
            || text.contains("UCX_")
            || text.contains("GLOO_")
            || text.contains("HSA_")
            || text.contains("_VISIBLE_DEVICES")
            || text.contains("CUDA_DEVICE_MAX_CONNECTIONS"))
}

/// `text` without what launchers and shells put before it.
pub(super) fn unprefixed(text: &str) -> &str {
    let text = body(text).text;
    // A prompt, and what `set -x` writes.
    let text = text.strip_prefix("$ ").or_else(|| text.strip_prefix("+ ")).unwrap_or(text);
    WORDS.iter().find_map(|word| text.strip_prefix(word)).unwrap_or(text).trim_start()
}

/// Whether `text` is `NAME=…`.
pub(super) fn is_variable(text: &str) -> bool {
    text.split_once('=').is_some_and(|(name, _)| is_name(name))
}

fn is_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

fn is_ours(name: &str) -> bool {
    FAMILIES.iter().any(|family| name.starts_with(family) && name.len() > family.len())
        || SINGLE.contains(&name)
}

/// The variables of ours that a line sets, in order; empty for all other lines.
pub(super) fn assignments(line: &str) -> Vec<Assignment<'_>> {
    let mut found = Vec::new();
    if !matters(line) || line.contains("NCCL INFO") {
        return found;
    }
    let text = unprefixed(line);
    let start = line.len() - text.len();
    if let Some((name, value)) = text.split_once('=').filter(|(name, _)| is_name(name)) {
        // Alone on its line the value may hold blanks, as in the output of `env`; before a command it ends at one.
        let more = words(value).skip(1).any(|(word, _)| is_command(word) || is_assignment(word));
        if !more {
            let value = unquoted(value.trim().trim_end_matches(['\\', ';']).trim_end());
            found.extend(is_ours(name).then_some(Assignment { name, value, offset: start }));
            return found;
        }
        for (word, offset) in words(text).take_while(|(word, _)| is_assignment(word)) {
            found.extend(assignment(word, start + offset));
        }
        return found;
    }
    if let Some((name, value)) =
        text.split_once(' ').filter(|(name, _)| line.contains("setenv ") && is_ours(name))
    {
        found.push(Assignment { name, value: unquoted(value.trim()), offset: start });
        return found;
    }
    // `mpirun -x NCCL_DEBUG=INFO`, `--env NCCL_DEBUG=INFO`, `-genv`.
    let mut before = "";
    for (word, offset) in words(text) {
        if ["-x", "--env", "-e", "-genv", "--export"].contains(&before) && is_assignment(word) {
            found.extend(assignment(word, start + offset));
        }
        before = word;
    }
    found
}

fn is_assignment(word: &str) -> bool {
    is_variable(word)
}

fn is_command(word: &str) -> bool {
    word.starts_with("./")
        || word.starts_with('/')
        || word.ends_with("_perf")
        || word.starts_with("python")
        || matches!(word, "mpirun" | "srun" | "torchrun" | "bash")
}

fn assignment(word: &str, offset: usize) -> Option<Assignment<'_>> {
    let (name, value) = word.split_once('=')?;
    is_ours(name).then(|| Assignment { name, value: unquoted(value), offset })
}

/// Words with where they begin; blanks inside quotes do not part them.
fn words(text: &str) -> impl Iterator<Item = (&str, usize)> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let rest = text.get(at..)?;
        let start = at + (rest.len() - rest.trim_start().len());
        let mut quote = None;
        let mut end = text.len();
        for (index, c) in text.get(start..)?.char_indices() {
            match quote {
                Some(open) if c == open => quote = None,
                Some(_) => {}
                None if matches!(c, '"' | '\'') => quote = Some(c),
                None if c.is_whitespace() => {
                    end = start + index;
                    break;
                }
                None => {}
            }
        }
        at = end;
        (start < end).then(|| (&text[start..end], start))
    })
}

fn unquoted(value: &str) -> &str {
    let inside = |mark: char| value.strip_prefix(mark).and_then(|rest| rest.strip_suffix(mark));
    inside('"').or_else(|| inside('\'')).unwrap_or(value)
}
