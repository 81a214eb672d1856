use weft_base::{Rate, Span};
use weft_collective::Collective;

use crate::evidence::BenchmarkRow;
use crate::find::holds;
use crate::measured_unit::{RateUnit, Size};

/// The longest header; lines of a log that name a rate are longer or hold no columns.
const LENGTH_MAX: usize = 400;

/// What a column holds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Role {
    /// Sizes of messages.
    Size,
    /// Times in this many microseconds.
    Time(f64),
    /// Rates of this unit as the tool counts them, bytes by time.
    Algbw(RateUnit),
    /// Rates of this unit with the factor of the collective.
    Busbw(RateUnit),
    /// Rates of this unit of something that the header names.
    Rate(RateUnit),
    /// Words.
    Label,
}

/// The header of a table.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Header {
    separator: Separator,
    columns: Vec<(String, Role)>,
}

/// What stands between cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Separator {
    Bar,
    Tab,
    Comma,
    Blanks,
}

impl Separator {
    fn of(text: &str) -> Self {
        let bars = text.matches('|').count();
        if bars >= 1 {
            Self::Bar
        } else if text.contains('\t') {
            Self::Tab
        } else if text.matches(',').count() >= 1 {
            Self::Comma
        } else {
            Self::Blanks
        }
    }

    fn cells(self, text: &str) -> Vec<&str> {
        let text = text.trim();
        match self {
            Self::Bar => {
                let text = text.strip_prefix('|').unwrap_or(text);
                text.strip_suffix('|').unwrap_or(text).split('|').map(str::trim).collect()
            }
            Self::Tab => text.split('\t').map(str::trim).collect(),
            Self::Comma => text.split(',').map(str::trim).collect(),
            Self::Blanks => text.split_ascii_whitespace().collect(),
        }
    }
}

/// `| --- | :-: |`, `-----`.
pub(super) fn is_ruler(text: &str) -> bool {
    let text = text.trim();
    text.contains("--") && text.bytes().all(|byte| b"|-:+= \t".contains(&byte))
}

impl Header {
    /// From a line; `None` if it is no header.
    pub fn new(text: &str) -> Option<Self> {
        let whole = text;
        let text = text.trim().trim_start_matches("# ");
        // Most lines of a log end here, with the rank that a launcher puts before them: no column's name is a number.
        if whole.len() > LENGTH_MAX || text.starts_with(|c: char| c.is_ascii_digit()) {
            return None;
        }
        if !(holds(whole, "bw") && (whole.contains("usbw") || whole.contains("lgbw"))
            || RateUnit::within(whole).is_some())
        {
            return None;
        }
        let separator = Separator::of(text);
        let cells = separator.cells(text);
        let columns: Vec<(String, Role)> =
            cells.iter().map(|cell| ((*cell).to_owned(), role(cell))).collect();
        let header = Self { separator, columns };
        let has_rate =
            header.roles().any(|role| matches!(role, Role::Algbw(_) | Role::Busbw(_) | Role::Rate(_)));
        let has_names = cells.iter().all(|cell| !cell.starts_with(|c: char| c.is_ascii_digit()));
        // Words of a sentence between blanks make columns too: there a size and its rate must be named by one word.
        let is_table = match separator {
            Separator::Bar => true,
            Separator::Tab | Separator::Comma => header.has(Role::Size),
            Separator::Blanks => {
                header.has(Role::Size)
                    && header.roles().any(|role| matches!(role, Role::Algbw(_) | Role::Busbw(_)))
            }
        };
        (has_rate && has_names && is_table && header.columns.len() >= 2).then_some(header)
    }

    /// Takes a line of units such as `(B)  (us)  (GB/s)`; whether it is one.
    pub fn take_units(&mut self, text: &str) -> bool {
        let cells = self.separator.cells(text.trim().trim_start_matches("# "));
        let is_unit = |cell: &&str| cell.is_empty() || (cell.starts_with('(') && cell.ends_with(')'));
        if cells.iter().all(|cell| cell.is_empty()) || !cells.iter().all(is_unit) {
            return false;
        }
        // Units count for rates only where they stand under one: tables that lost a column have them elsewhere.
        for ((_, role), unit) in self.columns.iter_mut().zip(cells) {
            let unit = RateUnit::within(unit).map(|(unit, _)| unit);
            match (role, unit) {
                (Role::Algbw(known) | Role::Busbw(known) | Role::Rate(known), Some(unit)) => *known = unit,
                (
                    Role::Algbw(_)
                    | Role::Busbw(_)
                    | Role::Rate(_)
                    | Role::Size
                    | Role::Time(_)
                    | Role::Label,
                    _,
                ) => {}
            }
        }
        true
    }

    /// What the columns hold.
    pub fn roles(&self) -> impl Iterator<Item = Role> {
        self.columns.iter().map(|(_, role)| *role)
    }

    pub fn has(&self, role: Role) -> bool {
        self.roles().any(|known| known == role)
    }

    pub fn has_bars(&self) -> bool {
        self.separator == Separator::Bar
    }

    /// The cells of a row; `None` if the line is none.
    pub fn row<'t>(&self, text: &'t str) -> Option<Vec<&'t str>> {
        if text.len() > LENGTH_MAX {
            return None;
        }
        let cells = self.separator.cells(text);
        // Columns behind the last rate may be empty or hold anything.
        if cells.len() < 2 || cells.len() > self.columns.len() + 1 {
            return None;
        }
        let mut has_rate = false;
        for ((_, role), cell) in self.columns.iter().zip(&cells) {
            match role {
                Role::Size => {
                    Size::new(cell)?;
                }
                Role::Algbw(unit) | Role::Busbw(unit) | Role::Rate(unit) => {
                    has_rate |= unit.parse(cell).is_some();
                }
                Role::Time(_) | Role::Label => {}
            }
        }
        has_rate.then_some(cells)
    }

    /// The words of a row that say what was measured.
    pub fn label(&self, cells: &[&str]) -> String {
        let is_word = |cell: &&str| cell.contains(|c: char| c.is_alphabetic());
        let labels =
            self.columns.iter().zip(cells).filter(|((name, role), _)| *role == Role::Label && is_kind(name));
        labels.map(|(_, cell)| *cell).filter(|cell| is_word(cell)).collect::<Vec<_>>().join(", ")
    }

    /// The columns that are a run each; algbw and busbw are of one.
    pub fn series(&self) -> Vec<Option<usize>> {
        let is_rate = |role: &Role| matches!(role, Role::Rate(_));
        let rates: Vec<Option<usize>> = self
            .columns
            .iter()
            .enumerate()
            .filter(|(_, (_, role))| is_rate(role))
            .map(|(at, _)| Some(at))
            .collect();
        let has_named = self.roles().any(|role| matches!(role, Role::Algbw(_) | Role::Busbw(_)));
        if has_named { vec![None] } else { rates }
    }

    /// What the header calls a column, without its unit.
    pub fn series_name(&self, column: Option<usize>) -> &str {
        let name = column.and_then(|at| self.columns.get(at)).map_or("", |(name, _)| name.as_str());
        let name = name.split_once('(').map_or(name, |(name, _)| name).trim();
        if RateUnit::within(name).is_some_and(|(_, spelled)| spelled == name) { "" } else { name }
    }

    /// Puts the figures of one run where they belong.
    pub fn fill(&self, row: &mut BenchmarkRow, column: Option<usize>, cells: &[&str]) {
        for (at, ((_, role), cell)) in self.columns.iter().zip(cells).enumerate() {
            match role {
                Role::Time(unit_us) => {
                    let number: Option<f64> = cell.parse().ok();
                    row.time = number.map(|number| Span::from_microseconds(number * unit_us)).or(row.time);
                }
                Role::Algbw(unit) => row.algbw = row.algbw.or(unit.parse(cell)),
                Role::Busbw(unit) => row.busbw = row.busbw.or(unit.parse(cell)),
                Role::Rate(unit) if column == Some(at) => row.busbw = unit.parse(cell),
                Role::Rate(_) | Role::Size | Role::Label => {}
            }
        }
    }

    /// The rates of a row with the names of their columns.
    pub fn rates(&self, cells: &[&str]) -> Vec<(String, Rate)> {
        let rate = |(at, ((_, role), cell)): (usize, (&(String, Role), &&str))| match role {
            Role::Algbw(unit) | Role::Busbw(unit) | Role::Rate(unit) => {
                let name = self.series_name(Some(at));
                let name = if name.is_empty() { "rate" } else { name };
                Some((name.to_ascii_lowercase().replace(' ', "-"), unit.parse(cell)?))
            }
            Role::Size | Role::Time(_) | Role::Label => None,
        };
        self.columns.iter().zip(cells).enumerate().filter_map(rate).collect()
    }
}

/// The collective that a label or a column names.
pub(super) fn collective(name: &str) -> Option<String> {
    let known =
        |part: &str| Collective::from_name(part.trim()).map(|collective| collective.name().to_owned());
    known(name).or_else(|| name.split(',').find_map(known))
}

/// Whether a column of words says what was measured, and not how: types, algorithms and protocols differ by row.
fn is_kind(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    !["type", "redop", "op", "algo", "proto", "nchannels", "root", "algorithm", "protocol"]
        .contains(&name.as_str())
}

fn role(cell: &str) -> Role {
    let lower = cell.to_ascii_lowercase();
    let unit = RateUnit::within(cell).map(|(unit, _)| unit);
    let holds = |words: &[&str]| words.iter().any(|word| lower.contains(word));
    if holds(&["busbw", "bus bandwidth", "bus bw", "bus_bw"]) {
        return Role::Busbw(unit.unwrap_or(RateUnit::GIGABYTES));
    }
    if holds(&["algbw", "algo bandwidth", "algorithm bandwidth", "alg_bw"]) {
        return Role::Algbw(unit.unwrap_or(RateUnit::GIGABYTES));
    }
    if let Some(unit) = unit {
        return Role::Rate(unit);
    }
    if holds(&["size", "bytes"]) {
        return Role::Size;
    }
    if holds(&["time", "latency"]) {
        let units = [("ms", 1e3), ("us", 1.0), ("µs", 1.0), ("ns", 1e-3)];
        return Role::Time(
            units.iter().find(|(name, _)| lower.contains(name)).map_or(1.0, |(_, scale)| *scale),
        );
    }
    Role::Label
}
