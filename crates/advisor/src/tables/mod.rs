//! Published tables of counts, held against arithmetic: fabrics, shares of a whole, and sums of months.

mod column;
mod counts;
mod months;
mod shares;
mod table;

use weft_base::{Code, Diagnostic};

pub use column::Column;
pub use table::{Cell, Row, Table};

/// A count that contradicts others of its row.
pub const COUNT_WRONG: Code = Code {
    name: "count-wrong",
    explanation: "A count of a table contradicts the others of its row: GPUs that are not those of its nodes, switches with \
        too few ports for the links that they must hold, more endpoints than so many tiers can join. The message shows the \
        arithmetic; ports are counted as half down and half up where nothing else is said.",
};

/// A count that is possible and unusual.
pub const COUNT_UNEVEN: Code = Code {
    name: "count-uneven",
    explanation: "A number of switches is possible, but leaves cannot have the same number of links to each of them, or it is \
        not the fewest that do. Published fabrics take the smallest divisor of a leaf's uplinks that has ports enough.",
};

/// A share that is not its count over the sum.
pub const SHARE_WRONG: Code = Code {
    name: "share-wrong",
    explanation: "A percentage of a table is not its row's count over the sum of all counts, while most of the others are. \
        The counts are taken as right, since they add up to what the other percentages imply.",
};

/// The sum of a month that another table contradicts.
pub const SUM_WRONG: Code = Code {
    name: "sum-wrong",
    explanation: "A table has counts of months and another the days of the same thing, and a month is not the sum of its days, \
        while most months are.",
};

/// A table that nothing is known of.
pub const TABLE_UNKNOWN: Code = Code {
    name: "table-unknown",
    explanation: "No column of the table is one whose counts can be checked. Known are nodes, GPUs, leaf, spine and core \
        switches, cables, radix and tiers of fabrics; counts beside percentages; and counts by month beside counts by day.",
};

/// Whether the text is a table with a column that can be checked.
pub fn is_table(text: &str) -> bool {
    Table::read("", text)
        .is_some_and(|table| counts::fits(&table) || shares::fits(&table) || months::fits(&table))
}

/// What is wrong with the tables, in their order; the days of one may contradict the months of another.
pub fn check(tables: &[Table]) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for table in tables {
        let known = [counts::fits(table), shares::fits(table), months::fits(table)];
        if !known.contains(&true) {
            let place = table.place(&table.head[0]);
            found.push(Diagnostic::error(TABLE_UNKNOWN, "no column of this table can be checked").at(place));
        }
        if counts::fits(table) {
            found.extend(counts::check(table));
        }
        if shares::fits(table) {
            found.extend(shares::check(table));
        }
    }
    found.extend(months::check(tables));
    found
}

/// `12345` as people write it: `12,345`.
pub(crate) fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
