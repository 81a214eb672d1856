use std::ops::Range;

use super::DEPTH_MAX;
use super::tags::{Tag, is_name_start, name_at, tag_at};

/// What was broken.
pub(super) struct Fault {
    /// Where in the original text.
    pub span: Range<usize>,
    /// What is wrong.
    pub message: String,
    /// What to do.
    pub hint: &'static str,
}

/// Something that was put in.
pub(super) struct Inserted {
    /// Where it ends in the mended text.
    pub at: usize,
    /// All that was put in up to here, in bytes.
    pub total: usize,
    /// Where it stands in the original.
    pub origin: usize,
}

/// A mended document.
#[derive(Default)]
pub(super) struct Mended {
    /// Its text.
    pub text: String,
    /// What was put in, in order.
    pub inserted: Vec<Inserted>,
    /// What was broken, in order.
    pub faults: Vec<Fault>,
}

const AS_WRITTEN: &str = "compare with the file as the tool wrote it";
const REST: &str = "what stands before was read; give the whole file for the rest";

/// Makes `text` well-formed: everything else in it is replaced by blanks, missing ends are put in.
pub(super) fn repair(text: &str) -> Mended {
    let mut repair = Repair { text, mended: Mended::default(), open: Vec::new(), is_done: false };
    let mut at = 0;
    while at < text.len() {
        at = repair.step(at);
    }
    repair.end();
    repair.mended
}

/// Whether an `&` in it begins none of the entities that XML itself has.
fn has_strange_entity(text: &str) -> bool {
    let known =
        |rest: &str| ["amp;", "lt;", "gt;", "quot;", "apos;"].iter().any(|name| rest.starts_with(name));
    text.split('&').skip(1).any(|rest| !known(rest))
}

struct Repair<'t> {
    text: &'t str,
    mended: Mended,
    /// Names of the elements that are open, and where they began.
    open: Vec<(&'t str, Range<usize>)>,
    /// Whether the outermost element was closed.
    is_done: bool,
}

impl Repair<'_> {
    /// Goes over the piece at `at` and returns where the next begins.
    fn step(&mut self, at: usize) -> usize {
        let rest = &self.text[at..];
        if !rest.starts_with('<') {
            let end = rest.find('<').map_or(self.text.len(), |length| at + length);
            self.text_piece(at..end);
            return end;
        }
        let through = |mark: &str| rest.find(mark).map(|length| at + length + mark.len());
        if rest.starts_with("<!--") {
            let Some(end) = through("-->") else {
                self.fault(at..at + 4, "a comment is not closed", REST);
                return self.blank(at..self.text.len());
            };
            return self.blank(at..end);
        }
        if rest.starts_with("<!") || rest.starts_with("<?") {
            return self.blank(at..through(">").unwrap_or(self.text.len()));
        }
        if rest.starts_with("</") {
            return self.close(at);
        }
        if self.is_done || !rest[1..].starts_with(is_name_start) {
            self.fault(at..at + 1, "a `<` begins no tag", AS_WRITTEN);
            return self.blank(at..at + 1);
        }
        self.open(&tag_at(self.text, at))
    }

    fn text_piece(&mut self, span: Range<usize>) {
        // Text is of no use to any reader here, and may hold what is no XML.
        let text = &self.text[span.clone()];
        if let Some(offset) = text.find('&').filter(|_| has_strange_entity(text)) {
            self.fault(span.start + offset..span.start + offset + 1, "an entity is not read", AS_WRITTEN);
        }
        self.blank(span);
    }

    fn open(&mut self, tag: &Tag) -> usize {
        let name = &self.text[tag.name.clone()];
        let head = tag.span.start..tag.name.end;
        if !tag.is_closed {
            let is_end = tag.span.end >= self.text.len();
            let message = match self.open.last() {
                Some((outer, _)) if is_end => format!("the document is cut in <{name}> inside <{outer}>"),
                Some(_) | None if is_end => format!("the document is cut in <{name}>"),
                Some(_) | None => format!("the tag of <{name}> is not closed"),
            };
            self.fault(head.clone(), message, if is_end { REST } else { AS_WRITTEN });
        }
        if self.open.len() >= DEPTH_MAX {
            return self.blank(tag.span.clone());
        }
        self.keep(head);
        self.attributes(tag);
        if !tag.is_empty {
            self.open.push((name, tag.span.start..tag.name.end));
        } else if self.open.is_empty() {
            self.is_done = true;
        }
        if tag.is_closed {
            // The last byte is the `>`; a `/` stands before it, perhaps with blanks between.
            self.insert(if tag.is_empty { "/" } else { "" }, tag.span.end - 1);
            self.keep(tag.span.end - 1..tag.span.end);
        } else {
            self.insert(if tag.is_empty { "/>" } else { ">" }, tag.span.end);
        }
        tag.span.end
    }

    fn attributes(&mut self, tag: &Tag) {
        let mut at = tag.name.end;
        let mut seen: Vec<&str> = Vec::new();
        for attribute in &tag.attributes {
            let name = &self.text[attribute.name.clone()];
            let value = &self.text[attribute.value.clone()];
            if at == attribute.span.start {
                self.fault(attribute.span.clone(), format!("no blank stands before `{name}`"), AS_WRITTEN);
                self.insert(" ", at);
            }
            self.blank(at..attribute.span.start);
            at = attribute.span.end;
            if seen.contains(&name) {
                let message = format!("`{name}` stands twice in one tag; the first counts");
                self.fault(attribute.span.clone(), message, "remove one of them");
                self.blank(attribute.span.clone());
                continue;
            }
            seen.push(name);
            if attribute.is_quoted && !value.contains('<') && !has_strange_entity(value) {
                self.keep(attribute.span.clone());
                continue;
            }
            if !attribute.is_quoted {
                let message = format!("the value of `{name}` has not both its quotes");
                self.fault(attribute.span.clone(), message, "write name=\"value\"");
            }
            self.keep(attribute.name.clone());
            self.insert("=\"", attribute.name.end);
            let plain: String = value.chars().map(|c| if "&<\"".contains(c) { ' ' } else { c }).collect();
            self.insert(&format!("{plain}\""), attribute.value.start);
            self.blank(attribute.name.end..attribute.span.end);
        }
        let end = tag.span.end - usize::from(tag.is_closed);
        self.blank(at..end.max(at));
    }

    fn close(&mut self, at: usize) -> usize {
        let name = name_at(self.text, at + 2);
        let word = &self.text[name.clone()];
        let rest = &self.text[name.end..];
        let stop = rest.find(['<', '>']).map_or(self.text.len(), |length| name.end + length);
        let is_closed = self.text[stop..].starts_with('>');
        let end = stop + usize::from(is_closed);
        if !self.open.iter().any(|(open, _)| *open == word) {
            self.fault(at..end, format!("</{word}> closes nothing that is open"), "remove it");
            return self.blank(at..end);
        }
        while let Some((open, span)) = self.open.pop() {
            if open == word {
                break;
            }
            let message = format!("<{open}> is not closed before </{word}>");
            self.fault(span, message, "add the tag that closes it");
            self.insert(&format!("</{open}>"), at);
        }
        self.insert(&format!("</{word}>"), at);
        self.is_done = self.open.is_empty();
        self.blank(at..end)
    }

    fn end(&mut self) {
        let end = self.text.len();
        let is_known = self.mended.faults.last().is_some_and(|fault| fault.hint == REST);
        if let Some((name, _)) = self.open.last().filter(|_| !is_known) {
            let last = self.text.trim_end().len();
            let message = format!("the document ends inside <{name}>");
            self.fault(last.saturating_sub(1)..last, message, REST);
        }
        while let Some((name, _)) = self.open.pop() {
            self.insert(&format!("</{name}>"), end);
        }
    }

    fn fault(&mut self, span: Range<usize>, message: impl Into<String>, hint: &'static str) {
        self.mended.faults.push(Fault { span, message: message.into(), hint });
    }

    fn keep(&mut self, span: Range<usize>) {
        self.mended.text.push_str(&self.text[span]);
    }

    /// Blanks of the same length; returns where they end.
    fn blank(&mut self, span: Range<usize>) -> usize {
        let end = span.end;
        self.mended.text.extend(self.text[span].bytes().map(|byte| if byte == b'\n' { '\n' } else { ' ' }));
        end
    }

    fn insert(&mut self, piece: &str, origin: usize) {
        if piece.is_empty() {
            return;
        }
        self.mended.text.push_str(piece);
        let total = self.mended.inserted.last().map_or(0, |last| last.total) + piece.len();
        self.mended.inserted.push(Inserted { at: self.mended.text.len(), total, origin });
    }
}
