use std::ops::Range;

use crate::format::Line;

/// Lines of a comment in which no document is looked for; a longer one was never closed.
const COMMENT_MAX: usize = 200;

/// The runs of lines that hold one document each whose outermost element is one of `roots`: with the comments and
/// declarations before it, to the line that closes it. Where it is cut, to the last line that is still XML.
pub(crate) fn xml(lines: &[Line<'_>], roots: &[&str]) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut free = 0;
    let mut index = 0;
    while index < lines.len() {
        if let Some(end) = comment_end(lines, index) {
            index = end;
        } else if let Some((root, at)) = root_at(&lines[index].text, roots) {
            let end = end_of(lines, index, at, root, roots);
            found.push(head_start(lines, index, free)..end);
            free = end;
            index = end;
        } else {
            index += 1;
        }
    }
    found
}

/// Which root begins on that line, and at which byte. Before it may stand markup or the mark of a log's line.
pub(super) fn root_at<'r>(text: &str, roots: &[&'r str]) -> Option<(&'r str, usize)> {
    text.match_indices('<').find_map(|(at, _)| {
        let before = text[..at].trim_end();
        if !(before.is_empty() || before.ends_with(['>', ':', '|', ']'])) {
            return None;
        }
        let ends = |rest: &str| rest.is_empty() || rest.starts_with([' ', '\t', '>', '/']);
        let is_here = |root: &&&str| text[at + 1..].strip_prefix(**root).is_some_and(ends);
        roots.iter().find(is_here).map(|root| (*root, at))
    })
}

/// The line behind a comment of several lines that begins on the line `index`; the one that closes it may hold a
/// document's first tag and is looked at.
fn comment_end(lines: &[Line<'_>], index: usize) -> Option<usize> {
    let text = lines[index].text.trim_start();
    if !text.starts_with("<!--") || text.contains("-->") {
        return None;
    }
    let body = lines.iter().enumerate().skip(index + 1).take(COMMENT_MAX);
    body.filter(|(_, line)| line.text.contains("-->")).map(|(index, _)| index).next()
}

/// The first line of what belongs to a document whose first tag stands on the line `index`; not before `free`.
fn head_start(lines: &[Line<'_>], index: usize, free: usize) -> usize {
    let mut start = index;
    let mut at = index;
    while at > free {
        at -= 1;
        let text = lines[at].text.trim();
        if text.ends_with("-->") {
            let opens = |at: &usize| lines[*at].text.trim_start().starts_with("<!--");
            let Some(first) = (free..=at).rev().take(COMMENT_MAX).find(opens) else { break };
            at = first;
            start = first;
        } else if text.starts_with("<?xml") || text.starts_with("<!DOCTYPE") {
            start = at;
        } else if !text.is_empty() {
            break;
        }
    }
    start
}

/// The line behind the document whose first tag stands at byte `at` of the line `index`.
fn end_of(lines: &[Line<'_>], index: usize, at: usize, root: &str, roots: &[&str]) -> usize {
    let close = format!("</{root}");
    let mut in_first_tag = true;
    for (here, line) in lines.iter().enumerate().skip(index) {
        let text = if here == index { &line.text[at..] } else { &*line.text };
        if here > index && root_at(text, roots).is_some() {
            return cut_end(&lines[..here], index);
        }
        if text.contains(&close) {
            return here + 1;
        }
        if let Some(end) = text.find('>').filter(|_| in_first_tag) {
            in_first_tag = false;
            if text[..end].ends_with('/') {
                return here + 1;
            }
        }
    }
    cut_end(lines, index)
}

/// The line behind the last that looks like XML.
fn cut_end(lines: &[Line<'_>], index: usize) -> usize {
    let mut end = index;
    let mut in_tag = false;
    for (here, line) in lines.iter().enumerate().skip(index) {
        let text = line.text.trim_start_matches(|c: char| c.is_whitespace() || c == '>' || c == '|');
        let is_xml = here == index
            || text.starts_with('<')
            || (in_tag && text.contains(['=', '>']))
            || text.split_once('<').is_some_and(|(before, _)| before.trim_end().ends_with([':', ']']));
        if is_xml {
            end = here;
            in_tag = text.rfind('<') > text.rfind('>');
        } else if !text.is_empty() {
            break;
        }
    }
    end + 1
}
