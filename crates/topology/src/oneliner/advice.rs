//! What was probably meant: counts glued to names, and names written with blanks.

use weft_catalogue::Catalogue;

use super::token::{SIGNS, Token};

/// The part around token `at` as the grammar wants it, where the words of that part name something.
pub(super) fn rewritten(tokens: &[Token], at: usize, catalogue: &Catalogue) -> Option<String> {
    let is_sign = |token: &Token| token.text.starts_with(SIGNS);
    let first = tokens[..at].iter().rposition(is_sign).map_or(0, |sign| sign + 1);
    let end = tokens[at..].iter().position(is_sign).map_or(tokens.len(), |sign| at + sign);
    let words: Vec<&str> = tokens.get(first..end)?.iter().map(|token| token.text.as_str()).collect();
    named(None, &words.join(" "), catalogue).or_else(|| {
        let (count, name) = counted(&words.join(" "))?;
        named(Some(count), &name, catalogue)
    })
}

/// `8xH100`, `8x H100`, `8 NVIDIA H100` to (8, the name).
fn counted(text: &str) -> Option<(u32, String)> {
    let digits = text.find(|c: char| !c.is_ascii_digit())?;
    let count = text[..digits].parse().ok().filter(|count| *count > 0)?;
    let rest = text[digits..].trim_start();
    let after_x = rest.strip_prefix(['x', 'X', '×', '*']).map(str::trim_start);
    Some((count, after_x.unwrap_or(rest).to_owned()))
}

fn named(count: Option<u32>, name: &str, catalogue: &Catalogue) -> Option<String> {
    let gpu = || catalogue.gpu(name).map(|gpu| gpu.name.as_str());
    let nic = || catalogue.nic(name).map(|nic| nic.name.as_str());
    let cpu = || catalogue.cpu(name).map(|cpu| cpu.name.as_str());
    if let Ok(device) = gpu().or_else(|_| nic()).or_else(|_| cpu()) {
        return Some(format!("{} {device}", count.unwrap_or(1)));
    }
    let system = catalogue.system(name).ok()?;
    Some(match count {
        Some(count) if count > 1 => format!("{count} x {}", system.name),
        Some(_) | None => system.name.clone(),
    })
}
