//! YAML and JSON documents as trees that know where each value stands. JSON is YAML written in one way, so that
//! one parser reads both. Bounded: depth by the parser, size by the text, references by a budget.

use std::borrow::Cow;
use std::collections::BTreeMap;

use granit_parser::{BorrowedInput, Event, Parser, ScalarStyle, Span};

/// Values that references (`*name`) may add to a text; more is a bomb.
const COPIES_MAX: usize = 100_000;

/// Brackets of a cut text that are closed for it: as deep as the parser goes.
const DEPTH_MAX: usize = 255;

/// Bytes of the longest text that is mended, since that is read a second time.
const MENDED_MAX: usize = 64 << 20;

/// A value.
#[derive(Debug, Clone)]
pub(crate) struct Node<'t> {
    pub content: Content<'t>,
    /// Index of its line in the text, from 0.
    pub index: usize,
    /// Character in the line, from 0.
    pub column: usize,
}

#[derive(Debug, Clone)]
pub(crate) enum Content<'t> {
    /// A scalar as written; numbers keep their zeros.
    Text(Cow<'t, str>),
    /// Nothing, `null` or `~`.
    Null,
    List(Vec<Node<'t>>),
    Map(Vec<(Node<'t>, Node<'t>)>),
}

/// Why a document ends early.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fault {
    pub message: String,
    pub index: usize,
    pub column: usize,
}

/// The documents of `text`, the last one as far as it goes if something is wrong with it.
pub(crate) fn documents(text: &str) -> (Vec<Node<'_>>, Option<Fault>) {
    let (found, fault) = parsed(Parser::new_from_str(text));
    let missing = closers(text);
    if fault.is_none() || missing.is_empty() || text.len() > MENDED_MAX {
        return (found, fault);
    }
    // The parser looks for the closing bracket before it gives anything of what is inside.
    let (mended, _) = parsed(Parser::new_from_iter(text.trim_end().chars().chain(missing.chars())));
    if mended.is_empty() { (found, fault) } else { (mended, fault) }
}

fn parsed<'t, T: BorrowedInput<'t>>(mut parser: Parser<'t, T>) -> (Vec<Node<'t>>, Option<Fault>) {
    let mut reader = Reader::default();
    let fault = loop {
        match parser.next_event() {
            None => break None,
            Some(Ok((event, span))) => {
                if let Err(message) = reader.take(event, span) {
                    break Some(Fault { message: message.to_owned(), ..Reader::here(span) });
                }
            }
            Some(Err(error)) => {
                let marker = error.marker();
                break Some(Fault {
                    message: error.info().clone(),
                    index: marker.line().saturating_sub(1),
                    column: marker.col(),
                });
            }
        }
    };
    while !reader.open.is_empty() {
        reader.close();
    }
    (reader.documents, fault)
}

/// What a cut text in brackets lacks at its end, so that what is there can be read; empty where it is whole.
fn closers(text: &str) -> String {
    let mut open: Vec<char> = Vec::new();
    let (mut quoted, mut escaped) = (false, false);
    for c in text.chars() {
        match c {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            '{' if !quoted => open.push('}'),
            '[' if !quoted => open.push(']'),
            '}' | ']' if !quoted && open.last() == Some(&c) => {
                open.pop();
            }
            _ => {}
        }
    }
    if open.is_empty() || open.len() > DEPTH_MAX {
        return String::new();
    }
    let quote = if quoted && escaped {
        "\\\""
    } else if quoted {
        "\""
    } else {
        ""
    };
    quote.chars().chain(open.into_iter().rev()).collect()
}

#[derive(Default)]
struct Reader<'t> {
    documents: Vec<Node<'t>>,
    open: Vec<Open<'t>>,
    anchors: BTreeMap<usize, (Node<'t>, usize)>,
    copies: usize,
}

/// A list or map that is not closed yet.
struct Open<'t> {
    node: Node<'t>,
    key: Option<Node<'t>>,
    anchor: usize,
}

impl<'t> Reader<'t> {
    fn here(span: Span) -> Fault {
        Fault { message: String::new(), index: span.start.line().saturating_sub(1), column: span.start.col() }
    }

    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "the parser may learn of more events; none holds a value"
    )]
    fn take(&mut self, event: Event<'t>, span: Span) -> Result<(), &'static str> {
        let Fault { index, column, .. } = Self::here(span);
        let node = |content| Node { content, index, column };
        match event {
            Event::Scalar(text, style, anchor, _) => {
                let is_null =
                    style == ScalarStyle::Plain && matches!(&*text, "" | "~" | "null" | "Null" | "NULL");
                self.put(node(if is_null { Content::Null } else { Content::Text(text) }), anchor);
            }
            Event::SequenceStart(_, anchor, _) => {
                self.open.push(Open { node: node(Content::List(Vec::new())), key: None, anchor });
            }
            Event::MappingStart(_, anchor, _) => {
                self.open.push(Open { node: node(Content::Map(Vec::new())), key: None, anchor });
            }
            Event::SequenceEnd | Event::MappingEnd => self.close(),
            Event::Alias(anchor) => {
                let Some((found, size)) = self.anchors.get(&anchor) else {
                    self.put(node(Content::Null), 0);
                    return Ok(());
                };
                self.copies += size;
                if self.copies > COPIES_MAX {
                    return Err("references add more values than any real document does");
                }
                let copy = found.clone();
                self.put(copy, 0);
            }
            _ => {}
        }
        Ok(())
    }

    fn close(&mut self) {
        if let Some(mut open) = self.open.pop() {
            if let (Some(key), Content::Map(pairs)) = (open.key.take(), &mut open.node.content) {
                let nothing = Node { content: Content::Null, index: key.index, column: key.column };
                pairs.push((key, nothing));
            }
            self.put(open.node, open.anchor);
        }
    }

    fn put(&mut self, node: Node<'t>, anchor: usize) {
        if anchor > 0 {
            let size = size(&node);
            // What is too large to be used once is not kept.
            if size <= COPIES_MAX {
                self.anchors.insert(anchor, (node.clone(), size));
            }
        }
        let Some(open) = self.open.last_mut() else {
            self.documents.push(node);
            return;
        };
        match &mut open.node.content {
            Content::List(items) => items.push(node),
            Content::Map(pairs) => match open.key.take() {
                None => open.key = Some(node),
                Some(key) => pairs.push((key, node)),
            },
            Content::Text(_) | Content::Null => {}
        }
    }
}

/// Values in it, itself included. The parser bounds the depth.
fn size(node: &Node<'_>) -> usize {
    match &node.content {
        Content::Text(_) | Content::Null => 1,
        Content::List(items) => 1 + items.iter().map(size).sum::<usize>(),
        Content::Map(pairs) => 1 + pairs.iter().map(|(key, value)| size(key) + size(value)).sum::<usize>(),
    }
}

impl<'t> Node<'t> {
    /// The value of a key; the first of several.
    pub fn get(&self, key: &str) -> Option<&Node<'t>> {
        self.entries().iter().find(|(name, _)| name.text() == Some(key)).map(|(_, value)| value)
    }

    /// The value at a path of keys.
    pub fn at(&self, path: &[&str]) -> Option<&Node<'t>> {
        path.iter().try_fold(self, |node, key| node.get(key))
    }

    /// The pairs of a map; none of anything else.
    pub fn entries(&self) -> &[(Node<'t>, Node<'t>)] {
        match &self.content {
            Content::Map(pairs) => pairs,
            Content::Text(_) | Content::Null | Content::List(_) => &[],
        }
    }

    /// The items of a list; none of anything else.
    pub fn items(&self) -> &[Node<'t>] {
        match &self.content {
            Content::List(items) => items,
            Content::Text(_) | Content::Null | Content::Map(_) => &[],
        }
    }

    /// The scalar.
    pub fn text(&self) -> Option<&str> {
        match &self.content {
            Content::Text(text) => Some(text),
            Content::Null | Content::List(_) | Content::Map(_) => None,
        }
    }

    /// The scalar at a path of keys.
    pub fn text_at(&self, path: &[&str]) -> Option<&str> {
        self.at(path)?.text()
    }

    /// The scalar as a number.
    pub fn number<T: std::str::FromStr>(&self) -> Option<T> {
        self.text()?.parse().ok()
    }

    /// Whether it is `true`, in any of YAML's spellings.
    pub fn is_true(&self) -> bool {
        self.text()
            .is_some_and(|text| ["true", "yes", "on"].iter().any(|word| text.eq_ignore_ascii_case(word)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn yaml_and_json_give_the_same_tree_with_places() {
        for text in ["a:\n  b: [001, x]\n", "{\"a\":\n {\"b\": [\"001\", \"x\"]}}"] {
            let (found, fault) = documents(text);
            assert_eq!(fault, None);
            let list = found[0].at(&["a", "b"]).unwrap();
            let texts: Vec<_> = list.items().iter().filter_map(Node::text).collect();
            assert_eq!((texts, list.index), (vec!["001", "x"], 1));
        }
    }

    #[test]
    fn a_cut_document_keeps_what_was_there() {
        let (found, fault) = documents("{\"a\": 1, \"b\": [1, 2,");
        assert_eq!(found[0].text_at(&["a"]), Some("1"));
        assert_eq!(found[0].get("b").unwrap().items().len(), 2);
        assert!(fault.is_some());
    }

    #[test]
    fn bombs_and_abysses_are_refused() {
        let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
        for level in 1..12 {
            let below = level - 1;
            let below = vec![format!("*a{below}"); 10].join(", ");
            bomb = format!("{bomb}a{level}: &a{level} [{below}]\n");
        }
        assert!(documents(&bomb).1.unwrap().message.contains("references"));
        assert!(documents(&"[".repeat(100_000)).1.is_some());
        assert!(documents(&"- ".repeat(100_000)).1.is_some());
        assert!(documents("a: *nothing\n").1.is_some());
    }
}
