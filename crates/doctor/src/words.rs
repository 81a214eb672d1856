//! Words that rules share.

/// Up to four names, and how many more.
pub(crate) fn listed<T: AsRef<str>>(names: &[T]) -> String {
    listed_to(names, 4)
}

/// Up to `most` names, and how many more.
pub(crate) fn listed_to<T: AsRef<str>>(names: &[T], most: usize) -> String {
    let shown: Vec<&str> = names.iter().take(most).map(AsRef::as_ref).collect();
    let shown = shown.join(", ");
    if names.len() > most { format!("{shown} and {} more", names.len() - most) } else { shown }
}
