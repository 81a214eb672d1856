//! Finds the grids of a text, line by line.

use crate::format::Line;
use crate::grid::header::{self, Header};
use crate::grid::{Command, DEVICES_MAX, Grid, GridKind, legend, row};
use crate::words::TitleKind;

/// All grids in `lines`, in order.
pub(crate) fn scan<'a>(lines: &'a [Line<'a>]) -> Vec<Grid<'a>> {
    let mut scanner = Scanner { lines, done: Vec::new(), current: None, command: None, last: Last::Other };
    for (index, line) in lines.iter().enumerate() {
        scanner.take(index, &line.text);
    }
    scanner.close();
    scanner.done
}

struct Scanner<'a> {
    lines: &'a [Line<'a>],
    done: Vec<Grid<'a>>,
    current: Option<Grid<'a>>,
    /// The last command seen, which belongs to the grid that follows it.
    command: Option<(usize, Command)>,
    last: Last,
}

/// What the line before was; only what directly follows may continue it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Last {
    Header,
    Row,
    Legend,
    Other,
}

/// Whether a grid or its command may begin here: nearly all lines of a log end at this test.
fn may_begin(text: &str) -> bool {
    text.contains("GPU")
        && text.split("GPU").skip(1).any(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
        || text.contains("topo")
}

impl<'a> Scanner<'a> {
    fn take(&mut self, index: usize, text: &'a str) {
        if self.current.is_none() && !may_begin(text) {
            self.last = Last::Other;
            return;
        }
        if text.trim().is_empty() {
            // A blank line ends what could be continued, but not the grid.
            self.last = Last::Other;
            return;
        }
        self.last = self
            .take_command(index, text)
            .or_else(|| self.take_row(index, text))
            .or_else(|| self.take_rest(index, text))
            .or_else(|| self.take_header(index, text))
            .or_else(|| self.take_legend(index, text))
            .unwrap_or(Last::Other);
    }

    fn take_command(&mut self, index: usize, text: &str) -> Option<Last> {
        let command = legend::command(text)?;
        self.close();
        self.command = Some((index, command));
        // Some pastes lose the line end between the command and its output.
        header::parse(text, false).is_none().then_some(Last::Other)
    }

    fn take_row(&mut self, index: usize, text: &'a str) -> Option<Last> {
        let found = row::parse(text, index, self.current.as_ref())?;
        let Some(grid) = &mut self.current else {
            // Without a header only a row that shows the diagonal and a class is surely one.
            if !found.has_own() || !found.has_class() {
                return None;
            }
            let mut grid = Grid { lines: vec![index], ..Grid::default() };
            self.adopt_command(&mut grid);
            grid.rows.push(found);
            self.current = Some(grid);
            return Some(Last::Row);
        };
        if grid.rows.iter().any(|row| row.label == found.label) {
            if grid.header.is_none() {
                self.close();
                return self.take_row(index, text);
            }
            grid.repeated.push(found.spot);
        } else if grid.rows.len() >= DEVICES_MAX {
            return None;
        } else {
            grid.rows.push(found);
        }
        grid.lines.push(index);
        Some(Last::Row)
    }

    fn take_header(&mut self, index: usize, text: &'a str) -> Option<Last> {
        let found = header::parse(text, false)?;
        if !self.is_header(&found, index) {
            return None;
        }
        self.close();
        let mut grid = Grid::begin(found, index);
        self.adopt_command(&mut grid);
        self.current = Some(grid);
        Some(Last::Header)
    }

    /// A header is followed by a row, or the paste ends with it.
    fn is_header(&self, found: &Header<'a>, index: usize) -> bool {
        let trial = Grid::begin(found.clone(), index);
        let mut below = self.lines[index + 1..].iter().map(|line| line.text.as_ref());
        let skipped = |text: &&str| text.trim().is_empty() || legend::is_rule(text);
        let next = below.find(|text| !skipped(text));
        let second = below.find(|text| !skipped(text));
        let row =
            |text: Option<&'a str>| text.is_some_and(|text| row::parse(text, 0, Some(&trial)).is_some());
        if row(next) {
            return true;
        }
        // The rest of a wrapped header may stand between.
        let wrapped = next.is_some_and(|text| header::parse(text, true).is_some());
        let labelled = |text: &str| text.trim_start().starts_with("GPU");
        let titled = found.titles.iter().any(|title| title.kind != TitleKind::Other);
        let alone = found.bare && found.sure && (titled || found.columns.len() > 1);
        (wrapped && row(second)) || (alone && !next.is_some_and(labelled))
    }

    /// The second line of a wrapped header or row.
    fn take_rest(&mut self, index: usize, text: &'a str) -> Option<Last> {
        let last = self.last;
        let grid = self.current.as_mut()?;
        match last {
            Last::Header => {
                if legend::is_rule(text) {
                    grid.lines.push(index);
                    return Some(Last::Header);
                }
                let rest = header::parse(text, true)?;
                if rest.columns.iter().any(|column| grid.column(column.label).is_some()) {
                    return None;
                }
                grid.extend(rest, index);
            }
            Last::Row => {
                let columns = grid.columns.len();
                let row = grid.rows.last_mut()?;
                let rest = row::parse_rest(text, index)?;
                if row.width() + rest.width() > columns || rest.width() == 0 && row.width() < columns {
                    return None;
                }
                row.extend(rest);
            }
            Last::Legend | Last::Other => return None,
        }
        grid.lines.push(index);
        Some(last)
    }

    fn take_legend(&mut self, index: usize, text: &'a str) -> Option<Last> {
        let wrapped = self.last == Last::Legend && legend::is_wrapped(text);
        let grid = self.current.as_mut()?;
        if let Some(name) = legend::nic_name(text) {
            grid.names.push(name);
        } else if !wrapped && !legend::is_heading(text) && !legend::is_entry(text) {
            let rule = legend::is_rule(text) && self.last == Last::Row;
            if !rule {
                return None;
            }
        }
        grid.lines.push(index);
        Some(Last::Legend)
    }

    fn adopt_command(&mut self, grid: &mut Grid<'a>) {
        if let Some((line, command)) = self.command.take() {
            grid.command = Some(command);
            if grid.lines.first() != Some(&line) {
                grid.lines.insert(0, line);
            }
        }
    }

    fn close(&mut self) {
        let Some(mut grid) = self.current.take() else { return };
        // Rows of plain words such as `GPU0 OK` are a table of something else.
        let headless = grid.header.is_none() && grid.kind() == GridKind::Accesses;
        if !headless && (!grid.rows.is_empty() || grid.header.is_some()) {
            grid.align();
            self.done.push(grid);
        }
    }
}
