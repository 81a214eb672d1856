use std::ops::Range;

/// An attribute as it stands in a tag.
pub(super) struct Attribute {
    /// Name, equals sign and value with its quotes.
    pub span: Range<usize>,
    /// The name.
    pub name: Range<usize>,
    /// The value without quotes.
    pub value: Range<usize>,
    /// Whether both quotes are there.
    pub is_quoted: bool,
}

/// A tag that opens an element.
pub(super) struct Tag {
    /// All of it.
    pub span: Range<usize>,
    /// The element's name.
    pub name: Range<usize>,
    /// The attributes.
    pub attributes: Vec<Attribute>,
    /// Whether it closes its element itself.
    pub is_empty: bool,
    /// Whether its `>` is there.
    pub is_closed: bool,
}

pub(super) fn is_name_start(c: char) -> bool {
    c.is_ascii_alphabetic() || c == '_'
}

fn is_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.')
}

/// The bytes of the name that begins at `at`.
pub(super) fn name_at(text: &str, at: usize) -> Range<usize> {
    let rest = text.get(at..).unwrap_or_default();
    let length = rest.find(|c: char| !is_name(c)).unwrap_or(rest.len());
    at..at + length
}

/// The tag that begins at `at`, where a `<` and the first letter of a name stand. Whatever in it is no attribute is
/// passed over.
pub(super) fn tag_at(text: &str, at: usize) -> Tag {
    let name = name_at(text, at + 1);
    let mut tag = Tag { span: at..name.end, name, attributes: Vec::new(), is_empty: false, is_closed: false };
    let mut here = tag.name.end;
    while let Some(c) = text[here..].chars().next() {
        match c {
            '<' => break,
            '>' => {
                tag.is_closed = true;
                here += 1;
                break;
            }
            _ if is_name_start(c) => {
                let name = name_at(text, here);
                here = name.end;
                if let Some(attribute) = attribute_at(text, name) {
                    here = attribute.span.end;
                    tag.attributes.push(attribute);
                }
                tag.is_empty = false;
            }
            '/' => {
                tag.is_empty = true;
                here += 1;
            }
            _ => here += c.len_utf8(),
        }
    }
    tag.span.end = here;
    tag
}

/// The attribute of that name, if an equals sign follows.
fn attribute_at(text: &str, name: Range<usize>) -> Option<Attribute> {
    let blanks = |at: usize| text[at..].len() - text[at..].trim_start().len();
    let equals = name.end + blanks(name.end);
    if !text[equals..].starts_with('=') {
        return None;
    }
    let start = equals + 1 + blanks(equals + 1);
    let quote = text[start..].chars().next().filter(|c| matches!(c, '"' | '\''));
    let ends = |c: char| match quote {
        Some(quote) => c == quote || matches!(c, '<' | '\n'),
        None => c.is_whitespace() || matches!(c, '<' | '>' | '/' | '"' | '\''),
    };
    let first = start + quote.map_or(0, char::len_utf8);
    let mut end = text[first..].find(ends).map_or(text.len(), |length| first + length);
    let is_quoted = quote.is_some_and(|quote| text[end..].starts_with(quote));
    if quote.is_some() && !is_quoted {
        // The closing quote is missing: the value is one word.
        let word = |c: char| c.is_whitespace() || matches!(c, '<' | '>' | '/');
        end = text[first..end].find(word).map_or(end, |length| first + length);
    }
    let span = name.start..end + usize::from(is_quoted);
    Some(Attribute { span, name, value: first..end, is_quoted })
}

/// What stands before the outermost element's tag on its line, where that is no markup.
fn line_mark<'l>(line: &'l str, roots: &[&str]) -> Option<&'l str> {
    let (_, at) = super::find::root_at(line, roots)?;
    let mark = line[..at].trim_end();
    let is_markup = mark.trim_start().starts_with('<') && mark.ends_with('>');
    (!mark.is_empty() && !is_markup).then_some(mark)
}

/// `text` with blanks in place of what is no part of the document's elements: the declaration, a document type, the
/// mark before each line of a log or a mail, what follows the last tag. Each byte keeps its place.
pub(super) fn without_frame(text: &str, roots: &[&str]) -> String {
    let mut bytes = text.as_bytes().to_vec();
    let mut blank = |range: Range<usize>| {
        for byte in bytes.get_mut(range).into_iter().flatten().filter(|byte| **byte != b'\n') {
            *byte = b' ';
        }
    };
    let mut first = text.find('<').unwrap_or(0);
    if let Some(prefix) = text.lines().find_map(|line| line_mark(line, roots)) {
        let mut at = 0;
        for line in text.split_inclusive('\n') {
            if line.starts_with(prefix) {
                blank(at..at + prefix.len());
                first = if at <= first { first.max(at + prefix.len()) } else { first };
            }
            at += line.len();
        }
    }
    blank(0..first);
    if let Some(last) = text.rfind('>') {
        if text.rfind('<').is_some_and(|tag| tag < last) {
            blank(last + 1..text.len());
        }
    }
    for (open, close) in [("<?", "?>"), ("<!DOCTYPE", ">")] {
        if let Some(start) = text.find(open) {
            // A document type may hold declarations of its own, each with its `>`.
            let inner = text[start..].find('>').is_some_and(|end| text[start..start + end].contains('['));
            let close = if inner && open != "<?" { "]>" } else { close };
            let end = text[start..].find(close).map(|end| start + end + close.len());
            blank(start..end.unwrap_or(start + open.len()));
        }
    }
    String::from_utf8(bytes).unwrap_or_default()
}
