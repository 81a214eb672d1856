//! Words that rules share.

/// Up to four names, and how many more.
pub(crate) fn listed<T: AsRef<str>>(names: &[T]) -> String {
    let shown: Vec<&str> = names.iter().take(4).map(AsRef::as_ref).collect();
    let shown = shown.join(", ");
    if names.len() > 4 { format!("{shown} and {} more", names.len() - 4) } else { shown }
}
