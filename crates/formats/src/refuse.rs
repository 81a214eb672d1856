//! What to say when nothing could be read: what the input seems to be, and what would help.

use weft_base::{Diagnostic, Place};

use crate::codes;
use crate::format::{Line, Source};
use crate::grid::DEVICES_MAX;
use crate::ranges::short;
use crate::text::{is_binary, is_utf16};

/// Marks of inputs that are met often: the mark, what it is, what to do instead.
const KNOWN: &[(&str, &str, &str)] = &[
    (
        "NVIDIA-SMI has failed",
        "nvidia-smi says that it could not reach the driver",
        "load the driver on that machine (`nvidia-smi` alone must work), then paste `nvidia-smi topo -m`",
    ),
    (
        "No devices were found",
        "nvidia-smi found no GPU on that machine",
        "check `lspci | grep -i nvidia` and the driver, then paste `nvidia-smi topo -m`",
    ),
    (
        "nvidia-smi: command not found",
        "the shell found no nvidia-smi",
        "run `nvidia-smi topo -m` where the driver is installed",
    ),
    (
        "Failed to initialize NVML",
        "nvidia-smi could not reach the driver",
        "reboot or reload the driver, then try again",
    ),
    (
        "| NVIDIA-SMI ",
        "this is the table of `nvidia-smi`, which does not say how the GPUs are joined",
        "paste the output of `nvidia-smi topo -m`",
    ),
    (
        "ROCm System Management Interface",
        "this is output of rocm-smi, which does not say how the GPUs are joined",
        "paste the output of `rocm-smi --showtopo`",
    ),
    (
        "Legend:",
        "this is the legend of a matrix without the matrix",
        "paste the lines above it too, from the one with GPU0 on",
    ),
    ("<html", "this is a web page", "copy the text of the command's output, not the page"),
];

/// Whether `source` cannot hold anything: empty or binary.
pub(crate) fn unreadable(source: &Source) -> Option<Diagnostic> {
    let place = Place::new(&source.name, 1, 1, 0);
    if source.text.trim_matches(|c: char| c.is_whitespace() || c == '\u{feff}').is_empty() {
        let message = "the input is empty";
        let hint = "did the command fail? `nvidia-smi topo -m` prints at least two lines";
        return Some(Diagnostic::error(codes::EMPTY_INPUT, message).hint(hint).at(place));
    }
    if is_utf16(&source.text) {
        let message = "the input is UTF-16, not UTF-8";
        let hint = "save it as UTF-8; in PowerShell, `| Out-File -Encoding utf8 topo.txt` does that";
        return Some(Diagnostic::error(codes::NOT_TEXT, message).hint(hint).at(place));
    }
    is_binary(&source.text).then(|| {
        let message = "the input is binary, not text";
        let hint = "give the text that the command printed; a picture of it cannot be read";
        Diagnostic::error(codes::NOT_TEXT, message).hint(hint).at(place)
    })
}

/// Why no device was found in `lines`.
pub(crate) fn no_device(file: &str, lines: &[Line<'_>]) -> Diagnostic {
    for (mark, what, hint) in KNOWN {
        let found = lines.iter().find_map(|line| Some((line, line.text.find(mark)?)));
        if let Some((line, offset)) = found {
            let length = u32::try_from(mark.len()).unwrap_or(0);
            let place = Place::new(file, line.number, line.column(offset), length);
            return Diagnostic::error(codes::NO_DEVICE, format!("no GPU found: {what}"))
                .hint(*hint)
                .at(place);
        }
    }
    if let Some(finding) = lines.iter().find_map(|line| too_wide(file, line)) {
        return finding;
    }
    let first = lines.iter().find(|line| !line.is_blank());
    let place = first.map_or_else(
        || Place::new(file, 1, 1, 0),
        |line| Place::new(file, line.number, line.column(line.indent()), 0),
    );
    let begins =
        first.map_or_else(String::new, |line| format!(", which begins with `{}`", short(line.text.trim())));
    let message = format!("no GPU and no NIC found in this text{begins}");
    let hint = "paste the output of `nvidia-smi topo -m` from the line with GPU0 on, or name a system such as `dgx-a100`";
    Diagnostic::error(codes::NO_DEVICE, message).hint(hint).at(place)
}

/// A header of more devices than any matrix has.
fn too_wide(file: &str, line: &Line<'_>) -> Option<Diagnostic> {
    let is_gpu = |word: &&str| {
        word.strip_prefix("GPU").is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()))
    };
    let count = line.text.split_whitespace().filter(is_gpu).count();
    let message = format!("a header of {count} GPUs is longer than any that is read: {DEVICES_MAX} devices");
    let hint = "a matrix is of one host; for a cluster write `32 x dgx-h100`";
    let place = Place::new(file, line.number, line.column(line.indent()), 0);
    (count > DEVICES_MAX).then(|| Diagnostic::error(codes::NO_DEVICE, message).hint(hint).at(place))
}
