//! Hosts to do something with: a list as Slurm writes it, or a file with one on each line.

use std::collections::BTreeMap;

use weft_base::{Code, Diagnostic, Place};

use crate::codes::HOST_LIST;
use crate::format::Source;
use crate::hierarchy::{NAMES_MAX, expand};
use crate::ranges::short;

/// A host that a list names twice.
pub const HOST_TWICE: Code = Code {
    name: "host-twice",
    explanation: "A list of hosts on which something is to be started names one of them twice, as files of batch systems do \
                  that name a host once for each of its slots. It is not guessed whether that was meant: name each host \
                  once, and say how many ranks it gets with `--per-host`.",
};

/// The hosts that a text names, in its order: `node[01-16],login`, a list of such on each line. `#` begins a remark.
///
/// Unlike readers of what other tools print, this gives all hosts or says what is wrong with the text, each thing with
/// its place: to leave one of them out would be to do something else than was asked for.
pub fn host_names(source: &Source) -> Result<Vec<String>, Vec<Diagnostic>> {
    let (mut names, mut found) = (Vec::new(), Vec::new());
    let mut first: BTreeMap<String, u32> = BTreeMap::new();
    let mut budget = NAMES_MAX;
    for (number, line) in (1..).zip(source.text.lines()) {
        let text = line.split('#').next().unwrap_or_default();
        let place = |offset: usize, length: usize| {
            let column = 1 + text.get(..offset).map_or(0, |before| before.chars().count());
            let [column, length] = [column, length].map(|count| u32::try_from(count).unwrap_or(u32::MAX));
            Place::new(&source.name, number, column, length)
        };
        let (listed, faults) = expand(text, &mut budget);
        found.extend(faults.into_iter().map(|fault| {
            let why = Diagnostic::error(HOST_LIST, fault.message).at(place(fault.offset, fault.length));
            why.hint(if fault.is_too_long { "is a digit doubled in the range?" } else { FORM })
        }));
        for (name, offset) in listed {
            if let Some(why) = refused(&name) {
                let finding = Diagnostic::error(HOST_LIST, format!("`{}` {why}", short(&name)));
                found.push(finding.hint(FORM).at(place(offset, 0)));
            } else if let Some(earlier) = first.insert(name.clone(), number) {
                let finding = Diagnostic::error(HOST_TWICE, format!("host `{name}` is named twice"));
                let hint = format!("it stands on line {earlier} already; name each host once");
                found.push(finding.hint(hint).at(place(offset, 0)));
            } else {
                names.push(name);
            }
        }
    }
    if names.is_empty() && found.is_empty() {
        let empty = Diagnostic::error(HOST_LIST, "no host is named").hint(FORM);
        found.push(empty.at(Place::new(&source.name, 1, 1, 0)));
    }
    if found.is_empty() { Ok(names) } else { Err(found) }
}

const FORM: &str = "hosts are written `node[01-16,20],login`, in a file one such list a line";

/// Why a name is none that a host can have; a user may stand before it.
fn refused(name: &str) -> Option<&'static str> {
    if name.starts_with('-') {
        return Some("begins with a dash, which programs take for an option");
    }
    if name.contains(char::is_whitespace) {
        return Some("is more than a name; how many ranks a host gets is not said in this list");
    }
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.:@".contains(c);
    (!name.chars().all(plain)).then_some("has characters that no host's name has")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> Vec<String> {
        host_names(&Source::file("hosts.txt", text)).unwrap()
    }

    /// Line, column and message of what is wrong.
    fn wrong(text: &str) -> Vec<(u32, u32, String)> {
        let found = host_names(&Source::file("hosts.txt", text)).unwrap_err();
        let with_place = |finding: Diagnostic| {
            let place = finding.place.unwrap();
            (place.line, place.column, finding.message)
        };
        found.into_iter().map(with_place).collect()
    }

    #[test]
    fn lists_and_files_name_hosts() {
        assert_eq!(names("node[01-03]"), ["node01", "node02", "node03"]);
        assert_eq!(names("a,b,c"), ["a", "b", "c"]);
        assert_eq!(names("# rack 1\nn[1-2]\n\nadmin@n7 # spare\nfe80::1,10.0.0.7\n").len(), 5);
    }

    #[test]
    fn what_is_wrong_has_its_place() {
        let is = |text: &str, line, column, message: &str| {
            let found = wrong(text);
            assert_eq!((found[0].0, found[0].1), (line, column), "{found:?}");
            assert!(found[0].2.contains(message), "{found:?}");
        };
        is("n1\nn2,n1\n", 2, 4, "`n1` is named twice");
        is("n[3-1]", 1, 1, "backwards");
        is("n1,-oProxyCommand=x", 1, 4, "begins with a dash");
        is("n1 slots=4\n", 1, 1, "more than a name");
        is("n1;reboot", 1, 1, "characters");
        is("# nobody\n", 1, 1, "no host");
    }
}
