//! Of models with experts only the newest release of a configuration counts: the same one moves by up to 1.8 times.

use super::{Left, Published, StepKind};

/// Moves rows with experts of which there is a newer release to those left out.
pub(super) fn keep(rows: &mut Vec<Published>, left: &mut Vec<(u64, Left)>) {
    let newer: Vec<bool> = rows.iter().map(|row| rows.iter().any(|other| is_newer(other, row))).collect();
    let mut newer = newer.into_iter();
    rows.retain(|row| {
        let superseded = newer.next().unwrap_or(false);
        if superseded {
            left.push((row.line, Left::out("a newer release of the same configuration is there")));
        }
        !superseded
    });
}

fn is_newer(other: &Published, row: &Published) -> bool {
    row.kind == StepKind::Experts
        && (&other.model, &other.layout, &other.machine, other.precision, &other.variant)
            == (&row.model, &row.layout, &row.machine, row.precision, &row.variant)
        && number(other.release.as_deref()) > number(row.release.as_deref())
}

/// `megatron-bridge 26.06.01`: 26, 6, 1.
pub(super) fn number(release: Option<&str>) -> Vec<u32> {
    let digits = |c: char| c.is_ascii_digit() || c == '.';
    let text = release.unwrap_or_default();
    let from = text.find(|c: char| c.is_ascii_digit()).unwrap_or(text.len());
    let version = text[from..].split(|c: char| !digits(c)).next().unwrap_or_default();
    version.split('.').filter_map(|part| part.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::number;

    #[test]
    fn releases_have_an_order() {
        assert!(number(Some("megatron-bridge 26.06.01")) > number(Some("megatron-bridge 26.06")));
        assert!(number(Some("v25.05.05")) > number(Some("v24.11.1")));
    }
}
