//! A report as one file of HTML: it opens without a server, brings its style with it and runs nothing.
//!
//! All elements are closed, so that the file is XML too. What is passed as text is escaped here; only functions that say
//! so take HTML.

use std::ffi::OsString;
use std::fmt::Write as _;

use crate::bench::words;
use crate::picture::{STYLE, escaped};

const PAGE: &str = include_str!("page.css");

/// A figure that stands out.
#[derive(Debug, Clone)]
pub struct Card {
    pub name: &'static str,
    pub figure: String,
    pub more: String,
}

/// A part of a whole: the class that colours it, its words and its share of the bar's length.
#[derive(Debug, Clone)]
pub struct Part {
    pub colour: &'static str,
    pub name: String,
    pub figure: String,
    /// Of the whole.
    pub share: f64,
}

/// A cell of a table.
#[derive(Debug, Clone)]
pub struct Cell {
    text: String,
    class: &'static str,
}

impl Cell {
    pub fn text(text: impl Into<String>) -> Self {
        Self { text: text.into(), class: "" }
    }

    pub fn number(text: impl Into<String>) -> Self {
        Self { text: text.into(), class: "number" }
    }

    pub fn soft(text: impl Into<String>) -> Self {
        Self { text: text.into(), class: "soft" }
    }

    /// A name that begins its row.
    pub fn name(text: impl Into<String>) -> Self {
        Self { text: text.into(), class: "name" }
    }

    /// A sentence, for which a narrow screen has a line of its own.
    pub fn words(text: impl Into<String>) -> Self {
        Self { text: text.into(), class: "words" }
    }
}

/// The document, of the HTML of its body.
pub fn document(title: &str, body: &str) -> String {
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\" class=\"weft\">\n<head>\n<meta charset=\"utf-8\"/>\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n\
         <meta name=\"color-scheme\" content=\"light dark\"/>\n<title>{}</title>\n<style>\n{STYLE}{PAGE}{}</style>\n\
         </head>\n<body>\n<main>\n{body}</main>\n</body>\n</html>\n",
        escaped(title),
        weft_topology::draw::dark_style("topology")
    )
}

/// The title and what it is of.
pub fn head(title: &str, lead: &str) -> String {
    format!("<h1>{}</h1>\n<p class=\"lead\">{}</p>\n", escaped(title), escaped(lead))
}

/// A heading, a sentence, and HTML.
pub fn section(title: &str, lead: &str, html: &str) -> String {
    let lead =
        if lead.is_empty() { String::new() } else { format!("<p class=\"lead\">{}</p>\n", escaped(lead)) };
    format!("<section>\n<h2>{}</h2>\n{lead}{html}</section>\n", escaped(title))
}

/// Figures side by side.
pub fn cards(cards: &[Card]) -> String {
    let one = |card: &Card| {
        format!(
            "<div class=\"card\"><span class=\"name\">{}</span><b>{}</b><span class=\"more\">{}</span></div>\n",
            escaped(card.name),
            escaped(&card.figure),
            escaped(&card.more)
        )
    };
    format!("<div class=\"cards\">\n{}</div>\n", cards.iter().map(one).collect::<String>())
}

/// A bar of parts, and below it what they are.
pub fn bar(parts: &[Part]) -> String {
    let mut text = String::from("<div class=\"bar\">");
    for part in parts {
        let (name, share) = (escaped(&part.name), 100.0 * part.share);
        let _ = write!(
            text,
            "<i style=\"width:{share:.3}%;background:var(--{})\" title=\"{name}: {}\"></i>",
            part.colour,
            escaped(&part.figure)
        );
    }
    text.push_str("</div>\n<table>\n");
    for part in parts {
        let _ = writeln!(
            text,
            "<tr><td><span class=\"key\" style=\"background:var(--{})\"></span>{}</td>\
             <td class=\"number\">{}</td><td class=\"number\">{:.1} %</td></tr>",
            part.colour,
            escaped(&part.name),
            escaped(&part.figure),
            100.0 * part.share
        );
    }
    text.push_str("</table>\n");
    text
}

/// A table; the first rows, as many as `best`, stand out. Where a column is of words, narrow screens stack the cells of a
/// row, each number with the head of its column before it.
pub fn table(heads: &[Cell], rows: &[Vec<Cell>], best: usize) -> String {
    let stacks = heads.iter().chain(rows.iter().flatten()).any(|cell| cell.class == "words");
    let cell = |tag: &str, cell: &Cell, label: &str| {
        let class = if cell.class.is_empty() { String::new() } else { format!(" class=\"{}\"", cell.class) };
        let label =
            if label.is_empty() { String::new() } else { format!(" data-head=\"{}\"", escaped(label)) };
        format!("<{tag}{class}{label}>{}</{tag}>", escaped(&cell.text))
    };
    let mut text = format!("<div class=\"wide\"><table{}>\n", if stacks { " class=\"stacks\"" } else { "" });
    if !heads.is_empty() {
        let heads: String = heads.iter().map(|head| cell("th", head, "")).collect();
        let _ = writeln!(text, "<thead><tr>{heads}</tr></thead>");
    }
    text.push_str("<tbody>\n");
    for (number, row) in rows.iter().enumerate() {
        let label = |column: usize| {
            let is_number = |head: &&Cell| stacks && head.class == "number";
            heads.get(column).filter(is_number).map_or("", |head| head.text.as_str())
        };
        let row: String =
            row.iter().enumerate().map(|(column, one)| cell("td", one, label(column))).collect();
        let class = if number < best { " class=\"best\"" } else { "" };
        let _ = writeln!(text, "<tr{class}>{row}</tr>");
    }
    text.push_str("</tbody></table></div>\n");
    text
}

/// A paragraph.
pub fn paragraph(text: &str) -> String {
    format!("<p>{}</p>\n", escaped(text))
}

/// A remark.
pub fn note(text: &str) -> String {
    format!("<p class=\"note\">{}</p>\n", escaped(text))
}

/// A picture, which narrow screens scroll; `class` is `fit` for one that is drawn as wide as the page.
pub fn picture(svg: &str, class: &str) -> String {
    format!(
        "<p class=\"note swipe\">Scroll sideways to see all of it.</p>\n<div class=\"wide picture {class}\">\n{svg}</div>\n"
    )
}

/// Two pieces of HTML beside each other where there is room.
pub fn columns(left: &str, right: &str) -> String {
    format!("<div class=\"columns\">\n<div>{left}</div>\n<div>{right}</div>\n</div>\n")
}

/// The command line that made the report, and the program's version.
pub fn made_by() -> String {
    let given: Vec<OsString> = std::env::args_os().skip(1).collect();
    let line = format!("weft {}", words::line(&given));
    let command = format!("<pre>{}</pre>\n", escaped(&line));
    let version = format!("<footer>weft {}</footer>\n", escaped(env!("CARGO_PKG_VERSION")));
    format!("{}{version}", section("The command that made this", "", &command))
}
