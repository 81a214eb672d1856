//! What NCCL's own XML reader takes and what it stops at, byte by byte. It knows no declarations, no text between
//! tags, and exactly one blank before each attribute.

use std::ops::Range;

/// Names and values hold so many bytes.
const TEXT_MAX: usize = 254;
/// Faults that are named; NCCL stops at the first.
const FAULTS_MAX: usize = 60;

/// Something that NCCL's reader stops at.
pub(super) struct Fault {
    pub span: Range<usize>,
    pub message: &'static str,
    pub hint: &'static str,
}

/// All such places of `text`.
pub(super) fn faults(text: &str) -> Vec<Fault> {
    let mut reader = Lexer { text, at: 0, faults: Vec::new() };
    while reader.at < text.len() && reader.faults.len() < FAULTS_MAX {
        reader.step();
    }
    reader.faults
}

struct Lexer<'t> {
    text: &'t str,
    at: usize,
    faults: Vec<Fault>,
}

impl Lexer<'_> {
    fn rest(&self) -> &str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn skip(&mut self, through: &str) {
        let length = self.rest().find(through).map(|length| length + through.len());
        self.at += length.unwrap_or(self.rest().len());
    }

    fn fault(&mut self, span: Range<usize>, message: &'static str, hint: &'static str) {
        self.faults.push(Fault { span, message, hint });
    }

    fn step(&mut self) {
        let rest = self.rest();
        let blanks = rest.len() - rest.trim_start_matches([' ', '\n']).len();
        self.at += blanks;
        let rest = self.rest();
        if rest.is_empty() {
            return;
        }
        let start = self.at;
        if rest.starts_with('\t') {
            let length = rest.len() - rest.trim_start_matches('\t').len();
            self.at += length;
            self.fault(start..self.at, "a tab stands between tags", "indent with blanks");
        } else if !rest.starts_with('<') {
            let length = rest.find(['<', '\n', '\t']).unwrap_or(rest.len());
            self.at += length;
            self.fault(start..self.at, "text stands between tags", "remove it, or make it a comment");
        } else if rest.starts_with("<!--") {
            self.comment();
        } else if rest.starts_with("<?") || rest.starts_with("<!") {
            self.skip(">");
            self.fault(start..self.at, "an XML declaration stands before the elements", "remove it");
        } else if rest.starts_with("</") {
            let end = rest.find('>').unwrap_or(rest.len());
            let is_plain = !rest[2..end.max(2)].contains([' ', '\n', '\t']);
            self.at += (end + 1).min(rest.len());
            if !is_plain {
                self.fault(start..self.at, "a blank stands in a closing tag", "write `</name>`");
            }
        } else {
            self.tag();
        }
    }

    fn comment(&mut self) {
        let start = self.at;
        let word = self.rest().find([' ', '>', '/', '\n']).unwrap_or(self.rest().len());
        if self.rest()[..word].contains('=') || word > TEXT_MAX {
            self.fault(start..start + word, "a comment does not begin with a blank", "write `<!-- text -->`");
        }
        if !self.rest().contains("-->") {
            self.fault(start..start + 4, "a comment is not closed", "write `-->` behind it");
        }
        self.skip("-->");
    }

    fn tag(&mut self) {
        let start = self.at;
        let rest = self.rest();
        let end = rest.find([' ', '>', '/', '\n', '\t']).unwrap_or(rest.len());
        self.at += end;
        loop {
            let rest = self.rest();
            let Some(next) = rest.chars().next() else { return };
            let here = self.at;
            match next {
                '>' => {
                    self.at += 1;
                    return;
                }
                '/' => self.at += 1,
                ' ' => {
                    self.at += 1;
                    self.attribute();
                }
                '<' => return,
                '\n' | '\t' => {
                    let what = if next == '\n' {
                        "a line break stands inside a tag"
                    } else {
                        "a tab stands inside a tag"
                    };
                    let length = rest.len() - rest.trim_start().len();
                    self.at += length;
                    self.fault(
                        start..start + end,
                        what,
                        "keep a tag on one line, one blank before each attribute",
                    );
                    self.attribute();
                }
                _ => {
                    self.fault(
                        here..here + next.len_utf8(),
                        "no blank stands before an attribute",
                        "write one blank",
                    );
                    if !self.attribute() {
                        self.at = here + next.len_utf8();
                    }
                }
            }
        }
    }

    /// An attribute, if one stands here.
    fn attribute(&mut self) -> bool {
        let start = self.at;
        let rest = self.rest();
        let name = rest.find(['=', ' ', '>', '/', '\n', '\t', '<']).unwrap_or(rest.len());
        if name == 0 || !rest[name..].trim_start().starts_with('=') {
            self.at += name;
            return false;
        }
        let equals = name + rest[name..].find('=').unwrap_or(0);
        let value = &rest[equals + 1..];
        let quote = value.trim_start().chars().next().filter(|quote| matches!(quote, '"' | '\''));
        let before = value.len() - value.trim_start().len();
        if equals > name || before > 0 {
            self.at += equals + 1 + before;
            self.fault(start..start + name, "a blank stands beside an equals sign", "write name=\"value\"");
        } else {
            self.at += equals + 1;
        }
        let Some(quote) = quote else {
            self.fault(start..start + name, "a value has no quotes", "write name=\"value\"");
            let length = self.rest().find([' ', '>', '/', '\n', '\t', '<']).unwrap_or(self.rest().len());
            self.at += length;
            return true;
        };
        self.at += 1;
        let length = self.rest().find(quote).unwrap_or(self.rest().len());
        if length > TEXT_MAX {
            self.fault(start..start + name, "a value is longer than 254 bytes", "shorten it");
        }
        self.at = (self.at + length + 1).min(self.text.len());
        true
    }
}
