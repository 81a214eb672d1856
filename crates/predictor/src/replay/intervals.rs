//! Sets of moments, as stretches of time that do not touch.

/// From when to when.
pub(super) type Stretch = (f64, f64);

/// The same moments in order, none twice.
pub(super) fn union(mut stretches: Vec<Stretch>) -> Vec<Stretch> {
    stretches.retain(|(from, to)| to > from);
    stretches.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut merged: Vec<Stretch> = Vec::with_capacity(stretches.len());
    for (from, to) in stretches {
        match merged.last_mut() {
            Some(last) if from <= last.1 => last.1 = last.1.max(to),
            Some(_) | None => merged.push((from, to)),
        }
    }
    merged
}

/// Moments of `stretches` that are not in `taken`; both are unions.
pub(super) fn without(stretches: &[Stretch], taken: &[Stretch]) -> Vec<Stretch> {
    let mut left = Vec::new();
    for (from, to) in stretches {
        let mut from = *from;
        let first = taken.partition_point(|(_, end)| *end <= from);
        for (begin, end) in taken[first..].iter().take_while(|(begin, _)| begin < to) {
            if *begin > from {
                left.push((from, *begin));
            }
            from = from.max(*end);
        }
        if from < *to {
            left.push((from, *to));
        }
    }
    left
}

/// How long they are together.
pub(super) fn length_s(stretches: &[Stretch]) -> f64 {
    // The sum of nothing would be a negative zero.
    stretches.iter().map(|(from, to)| to - from).fold(0.0, |sum, one| sum + one)
}
