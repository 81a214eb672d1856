//! Looks for the marks of all formats in one pass. Of each mark the pair of bytes that is rarest in the text
//! stands for it, so that at nearly every byte one look into a small table is all there is to do.

/// Pairs are told apart by seven bits of each byte: text is ASCII, and a chance hit costs one comparison.
const PAIRS: usize = 1 << 14;

/// The first piece of a text that is searched; each further one is twice as long. Marks of what was seen are
/// looked for no more: some stand in every line of a log.
const FIRST_PIECE: usize = 1 << 16;

/// Bytes of a piece that are counted to know which pairs are rare in it: this many, in so many places.
const SAMPLE: usize = 256;
const SAMPLES: usize = 16;

/// A mark and the pair of it that is looked for.
struct Anchor<'m> {
    pair: usize,
    /// Where the pair stands in the mark.
    offset: usize,
    mark: &'m [u8],
    owner: usize,
}

/// Of which owner, each with its marks, one stands in `text`; true for those that have none.
pub(crate) fn seen(text: &[u8], owners: &[&[&str]]) -> Vec<bool> {
    let mut seen: Vec<bool> = owners.iter().map(|marks| marks.is_empty()).collect();
    let longest = owners.iter().copied().flatten().map(|mark| mark.len()).max().unwrap_or(0);
    let (mut start, mut length) = (0, FIRST_PIECE);
    while start < text.len() && seen.contains(&false) {
        // Pieces overlap by the longest mark, so that one across a border is in one of them.
        let piece = &text[start..(start + length + longest).min(text.len())];
        see(piece, owners, &mut seen);
        start += length;
        length *= 2;
    }
    seen
}

fn see(piece: &[u8], owners: &[&[&str]], seen: &mut [bool]) {
    let mut anchors = anchors(piece, owners, seen);
    let mut is_anchor = table(&anchors);
    for (at, bytes) in piece.windows(2).enumerate() {
        let pair = pair(bytes);
        if !is_anchor[pair] {
            continue;
        }
        let first = anchors.partition_point(|anchor| anchor.pair < pair);
        let found: Vec<usize> = anchors[first..]
            .iter()
            .take_while(|anchor| anchor.pair == pair)
            .filter(|anchor| stands(piece, at, anchor))
            .map(|anchor| anchor.owner)
            .collect();
        if found.is_empty() {
            continue;
        }
        for owner in found {
            seen[owner] = true;
        }
        anchors.retain(|anchor| !seen[anchor.owner]);
        if anchors.is_empty() {
            return;
        }
        is_anchor = table(&anchors);
    }
}

/// The marks of all owners that were not seen, by their pairs. Marks of one byte are looked for at once.
fn anchors<'m>(piece: &[u8], owners: &[&[&'m str]], seen: &mut [bool]) -> Vec<Anchor<'m>> {
    let counts = counts(piece);
    let mut found = Vec::new();
    for (owner, marks) in owners.iter().enumerate() {
        if seen[owner] {
            continue;
        }
        for mark in marks.iter().map(|mark| mark.as_bytes()) {
            let rarest = mark.windows(2).map(pair).enumerate().min_by_key(|(_, pair)| counts[*pair]);
            match rarest {
                Some((offset, pair)) => found.push(Anchor { pair, offset, mark, owner }),
                None => seen[owner] |= mark.iter().all(|byte| piece.contains(byte)),
            }
        }
    }
    found.retain(|anchor| !seen[anchor.owner]);
    found.sort_by_key(|anchor| anchor.pair);
    found
}

/// How often each pair stands in samples from all over `piece`.
fn counts(piece: &[u8]) -> Vec<u16> {
    let mut counts = vec![0u16; PAIRS];
    for part in piece.chunks((piece.len() / SAMPLES).max(SAMPLE)) {
        for bytes in part[..part.len().min(SAMPLE)].windows(2) {
            // At most as many as there are bytes in all samples.
            counts[pair(bytes)] += 1;
        }
    }
    counts
}

fn table(anchors: &[Anchor<'_>]) -> [bool; PAIRS] {
    let mut table = [false; PAIRS];
    for anchor in anchors {
        table[anchor.pair] = true;
    }
    table
}

fn stands(piece: &[u8], at: usize, anchor: &Anchor<'_>) -> bool {
    at.checked_sub(anchor.offset).is_some_and(|start| piece[start..].starts_with(anchor.mark))
}

fn pair(bytes: &[u8]) -> usize {
    usize::from(bytes[0] & 0x7f) << 7 | usize::from(bytes[1] & 0x7f)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn marks_are_found_at_both_ends_and_across_pieces() {
        let owners: [&[&str]; 5] = [&["abc"], &["x", "no"], &[], &["cd", "zz"], &["é!"]];
        assert_eq!(seen(b"", &owners), [false, false, true, false, false]);
        assert_eq!(seen(b"abc", &owners), [true, false, true, false, false]);
        assert_eq!(seen("ab cd é!".as_bytes(), &owners), [false, false, true, true, true]);
        for start in [FIRST_PIECE - 3, FIRST_PIECE - 1, FIRST_PIECE, 3 * FIRST_PIECE - 2, 3 * FIRST_PIECE + 9]
        {
            let text = format!("{}abcx", "-".repeat(start));
            assert_eq!(seen(text.as_bytes(), &owners), [true, true, true, false, false], "{start}");
        }
    }

    proptest! {
        #[test]
        fn the_same_marks_are_seen_as_by_looking_for_each(
            text in "[abcé]{0,400}",
            marks in proptest::collection::vec(proptest::collection::vec("[abcé]{1,5}", 0..4), 1..6),
        ) {
            let marks: Vec<Vec<&str>> =
                marks.iter().map(|marks| marks.iter().map(String::as_str).collect()).collect();
            let owners: Vec<&[&str]> = marks.iter().map(Vec::as_slice).collect();
            let one_by_one: Vec<bool> = owners
                .iter()
                .map(|marks| marks.is_empty() || marks.iter().any(|mark| text.contains(mark)))
                .collect();
            prop_assert_eq!(seen(text.as_bytes(), &owners), one_by_one);
        }
    }
}
