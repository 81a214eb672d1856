//! How well a value could be read, where a row says so: `+-2 GB/s (+-20% below 10 GB/s)`.

use weft_base::Rate;

/// How far a published value may be off by its own account.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ReadingError {
    clauses: Vec<Clause>,
}

/// One `±`.
#[derive(Debug, Clone, PartialEq)]
struct Clause {
    size: Size,
    /// Only for values below it.
    below: Option<Rate>,
}

#[derive(Debug, Clone, PartialEq)]
enum Size {
    Absolute(Rate),
    Share(f64),
}

impl ReadingError {
    /// Reads what `text` says behind each `±`, `+-` or `+/-`; `None` where it says nothing of the kind.
    pub fn read(text: &str) -> Option<Self> {
        let plain = text.replace("+/-", "±").replace("+-", "±");
        let clauses: Vec<Clause> = plain.split('±').skip(1).filter_map(clause).collect();
        (!clauses.is_empty()).then_some(Self { clauses })
    }

    /// The least and the largest value that may be meant by `value`.
    pub fn interval(&self, value: Rate) -> (Rate, Rate) {
        let applies = |clause: &&Clause| clause.below.is_some_and(|below| value < below);
        let special = self.clauses.iter().find(applies);
        let usual = || self.clauses.iter().find(|clause| clause.below.is_none());
        let middle = value.as_gigabytes();
        let half = match special.or_else(usual).map(|clause| &clause.size) {
            Some(Size::Absolute(rate)) => rate.as_gigabytes(),
            Some(Size::Share(share)) => share * middle,
            None => 0.0,
        };
        (Rate::from_gigabytes((middle - half).max(0.0)), Rate::from_gigabytes(middle + half))
    }
}

/// `2 GB/s (`, `20% below 10 GB/s)`, `20 % below 10 GB/s`.
fn clause(text: &str) -> Option<Clause> {
    let (number, rest) = number(text)?;
    let size = if rest.starts_with('%') {
        Size::Share(number / 100.0)
    } else if rest.starts_with("GB/s") {
        Size::Absolute(Rate::from_gigabytes(number))
    } else {
        return None;
    };
    let unit = if rest.starts_with('%') { 1 } else { "GB/s".len() };
    let below = rest[unit..].trim_start().strip_prefix("below").and_then(|rest| {
        let (number, unit) = self::number(rest)?;
        unit.starts_with("GB/s").then(|| Rate::from_gigabytes(number))
    });
    Some(Clause { size, below })
}

/// A leading number, and what follows it.
fn number(text: &str) -> Option<(f64, &str)> {
    let text = text.trim_start();
    let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
    Some((text[..end].parse().ok()?, text[end..].trim_start()))
}

#[cfg(test)]
mod tests {
    use super::ReadingError;
    use weft_base::Rate;

    #[test]
    fn a_digitised_plot_says_how_well_it_was_read() {
        for text in [
            "digitised from plot by colour, +-2 GB/s (+-20% below 10 GB/s)",
            "read by eye; ±2 GB/s (±20 % below 10 GB/s)",
        ] {
            let error = ReadingError::read(text).unwrap();
            let interval = |gb: f64| error.interval(Rate::from_gigabytes(gb));
            // 40 is off by 2 at most; 5 is below 10, so by a fifth: 1.
            assert_eq!(interval(40.0), (Rate::from_gigabytes(38.0), Rate::from_gigabytes(42.0)));
            assert_eq!(interval(5.0), (Rate::from_gigabytes(4.0), Rate::from_gigabytes(6.0)));
            assert_eq!(interval(10.0), (Rate::from_gigabytes(8.0), Rate::from_gigabytes(12.0)));
        }
    }

    #[test]
    fn other_texts_say_nothing() {
        assert_eq!(ReadingError::read("text table"), None);
        assert_eq!(ReadingError::read("peak of 3 runs, +- some noise"), None);
        let error = ReadingError::read("authors: +-40% on a shared network").unwrap();
        let (low, high) = error.interval(Rate::from_gigabytes(10.0));
        assert_eq!((low, high), (Rate::from_gigabytes(6.0), Rate::from_gigabytes(14.0)));
    }
}
