//! Lists of device names as people write them: `GPU0-GPU3, NIC0`.

/// Names and ranges that fit into a column.
const PARTS_MAX: usize = 4;

/// Joins `names`, runs of consecutive numbers as `first-last`.
pub fn ranges<S: AsRef<str>>(names: &[S]) -> String {
    parts(names).join(", ")
}

/// The same for a column: the first few, and how many more.
pub fn first_ranges<S: AsRef<str>>(names: &[S]) -> String {
    let parts = parts(names);
    if parts.len() <= PARTS_MAX + 1 {
        return parts.join(", ");
    }
    let shown = parts[..PARTS_MAX].join(", ");
    let left = parts.len() - PARTS_MAX;
    format!("{shown} and {left} more")
}

fn parts<S: AsRef<str>>(names: &[S]) -> Vec<String> {
    let mut parts: Vec<String> = Vec::new();
    let mut index = 0;
    while index < names.len() {
        let mut end = index;
        while end + 1 < names.len() && follows(names[end].as_ref(), names[end + 1].as_ref()) {
            end += 1;
        }
        let (first, last) = (names[index].as_ref(), names[end].as_ref());
        match end - index {
            0 => parts.push(first.to_owned()),
            1 => parts.extend([first.to_owned(), last.to_owned()]),
            _ => parts.push(format!("{first}-{last}")),
        }
        index = end + 1;
    }
    parts
}

/// Whether `next` is `name` with the next number at its end.
fn follows(name: &str, next: &str) -> bool {
    let ((stem, number), (next_stem, next_number)) = (split(name), split(next));
    stem == next_stem && number.is_some() && number.and_then(|number| number.checked_add(1)) == next_number
}

fn split(name: &str) -> (&str, Option<u32>) {
    let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
    (stem, name[stem.len()..].parse().ok())
}

/// `1 NIC`, `2 NICs`.
pub fn count(number: usize, noun: &str) -> String {
    let end = match (number, noun.ends_with("ch")) {
        (1, _) => "",
        (_, true) => "es",
        (_, false) => "s",
    };
    format!("{number} {noun}{end}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_of_three_and_more_are_ranges() {
        assert_eq!(ranges(&["GPU0", "GPU1", "GPU2", "GPU4", "NIC0", "NIC1"]), "GPU0-GPU2, GPU4, NIC0, NIC1");
        assert_eq!(ranges(&["mlx5_9", "mlx5_10", "mlx5_11"]), "mlx5_9-mlx5_11");
        assert_eq!(ranges::<&str>(&[]), "");
        assert_eq!(first_ranges(&["a1", "b1", "c1", "d1", "e1", "f1"]), "a1, b1, c1, d1 and 2 more");
    }

    #[test]
    fn nouns_agree_with_their_number() {
        assert_eq!(count(1, "NIC"), "1 NIC");
        assert_eq!(count(0, "NIC"), "0 NICs");
        assert_eq!(count(3, "PCIe switch"), "3 PCIe switches");
    }
}
