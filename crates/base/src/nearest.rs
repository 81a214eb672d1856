//! The nearest known names for a typo.

/// Lower case, letters and digits only: `A100-SXM4-80GB` and `a100 sxm4 80gb` are one name.
pub fn simplify(name: &str) -> String {
    simplified(name).collect()
}

/// Whether `name` [simplified](simplify) is `wanted`.
pub fn is_spelling(name: &str, wanted: &str) -> bool {
    simplified(name).eq(wanted.chars())
}

fn simplified(name: &str) -> impl Iterator<Item = char> {
    name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase)
}

/// Up to `limit` of `known` that are near `name`, best first; ties keep the order of `known`.
///
/// Near means a Jaro-Winkler similarity of at least 0.75 after [`simplify`], or one containing the other.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>, limit: usize) -> Vec<&'a str> {
    let wanted = simplify(name);
    let mut scored: Vec<(f64, &str)> = known
        .into_iter()
        .map(|candidate| (similarity(&wanted, &simplify(candidate)), candidate))
        .filter(|(score, _)| *score >= 0.75)
        .collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0));
    scored.into_iter().take(limit).map(|(_, candidate)| candidate).collect()
}

fn similarity(wanted: &str, candidate: &str) -> f64 {
    if wanted.is_empty() || candidate.is_empty() {
        return 0.0;
    }
    let contained = candidate.contains(wanted) || wanted.contains(candidate);
    let score = strsim::jaro_winkler(wanted, candidate);
    if contained && wanted.len() >= 3 { score.max(0.9) } else { score }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_are_one_name() {
        assert!(is_spelling("A100-SXM4 80GB", "a100sxm480gb"));
        assert!(!is_spelling("A100-SXM4-80GB", "a100sxm4") && !is_spelling("A100", "a100sxm4"));
    }

    #[test]
    fn finds_the_intended_name_first() {
        let known = ["a100-sxm4-40gb", "a100-sxm4-80gb", "h100-sxm5-80gb", "rtx-3090"];
        assert_eq!(nearest("a100-smx4-80gb", known, 1), ["a100-sxm4-80gb"]);
        assert_eq!(nearest("RTX3090", known, 1), ["rtx-3090"]);
        assert_eq!(nearest("zzz", known, 3), Vec::<&str>::new());
        assert_eq!(nearest("", known, 3), Vec::<&str>::new());
    }
}
