//! Microsoft's Philly trace (Jeon et al., ATC'19) in the form in which schedulers pass it on: a row for each job with its
//! submission, run time, GPUs and virtual cluster.

use csv::StringRecord;
use weft_base::{Diagnostic, Moment, Period};

use super::{Rows, Table};

/// A job of the trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PhillyRow {
    /// Its line.
    pub line: u32,
    /// When it was submitted, by the clock of the trace; counted from the beginning of 1970.
    pub submitted: Moment,
    /// How long it ran.
    pub duration: Period,
    /// GPUs.
    pub gpu_count: u32,
    /// The virtual cluster to which it was submitted.
    pub cluster: String,
}

/// Reads `timestamp,duration,num_gpus,cluster`; `gpu_time` is checked where it is there.
pub fn philly(file: &str, text: &str) -> Rows<PhillyRow> {
    let table = match Table::read(file, text) {
        Ok(table) => table,
        Err(why) => return Rows::refused(why),
    };
    match table.columns(["timestamp", "duration", "num_gpus", "cluster"]) {
        Ok(columns) => Rows::of(&table, |row| read(&table, row, columns)),
        Err(why) => Rows::refused(why),
    }
}

fn read(
    table: &Table<'_>,
    row: &StringRecord,
    [submitted, duration, gpus, cluster]: [usize; 4],
) -> Result<PhillyRow, Diagnostic> {
    let cell = |at: usize| row.get(at).unwrap_or_default();
    let found = PhillyRow {
        line: table.line(row),
        submitted: moment(cell(submitted))
            .ok_or_else(|| table.wrong(row, submitted, "a time is written `2017-10-09 07:01:55`"))?,
        duration: table.seconds(row, duration)?,
        gpu_count: table.number(row, gpus)?,
        cluster: cell(cluster).to_owned(),
    };
    if found.gpu_count == 0 {
        return Err(table.wrong(row, gpus, "a job of this trace has at least one GPU"));
    }
    if found.duration == Period::ZERO {
        return Err(table.wrong(row, duration, "a job runs for some time"));
    }
    if found.cluster.is_empty() {
        return Err(table.wrong(row, cluster, "it is the name of the virtual cluster"));
    }
    Ok(found)
}

/// `2017-10-09 07:01:55`, from 1970 on.
fn moment(text: &str) -> Option<Moment> {
    let (date, time) = text.split_once([' ', 'T'])?;
    let numbers = |text: &str, mark: char| {
        let parts: Vec<u64> = text.split(mark).map(|part| part.parse().ok()).collect::<Option<_>>()?;
        <[u64; 3]>::try_from(parts).ok()
    };
    let ([year, month, day], [hour, minute, second]) = (numbers(date, '-')?, numbers(time, ':')?);
    let is_time = hour < 24 && minute < 60 && second < 61;
    let is_date = (1970..=9999).contains(&year) && (1..=12).contains(&month);
    if !is_time || !is_date || day == 0 || day > month_days(year, month) {
        return None;
    }
    let days = days_before(year, month) + day - 1;
    Some(Moment::milliseconds((((days * 24 + hour) * 60 + minute) * 60 + second) * 1000))
}

fn is_leap(year: u64) -> bool {
    year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
}

fn month_days(year: u64, month: u64) -> u64 {
    match month {
        2 => 28 + u64::from(is_leap(year)),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days from the beginning of 1970 to that of a month.
fn days_before(year: u64, month: u64) -> u64 {
    let years: u64 = (1970..year).map(|year| 365 + u64::from(is_leap(year))).sum();
    years + (1..month).map(|month| month_days(year, month)).sum::<u64>()
}

#[cfg(test)]
mod tests {
    use super::{moment, philly};
    use weft_base::Period;

    #[test]
    fn jobs_are_read_and_wrong_rows_are_named() {
        let text = "timestamp,duration,num_gpus,gpu_time,cluster\n\
            2017-10-09 07:01:55,66.0,1,66.0,11cb48\n2017-10-09 07:01,66.0,1,66.0,11cb48\n\
            2017-10-09 06:13:03,2951.5,8,23612.0,6214e9\n2017-10-09 06:13:03,-1,8,0,6214e9\n\
            2017-10-09 06:13:03,1,0,0,6214e9\n";
        let found = philly("philly.csv", text);
        assert!(found.is_usable());
        assert_eq!(found.rows.len(), 2);
        assert_eq!(
            (found.rows[1].gpu_count, found.rows[1].duration, found.rows[1].line),
            (8, Period::milliseconds(2_951_500), 4)
        );
        let places: Vec<(u32, u32)> = found
            .diagnostics
            .iter()
            .filter_map(|why| why.place.as_ref())
            .map(|place| (place.line, place.column))
            .collect();
        assert_eq!(places, [(3, 1), (5, 21), (6, 23)]);
        assert!(found.diagnostics[0].message.starts_with("the row was left out"));
        assert!(!philly("philly.csv", "timestamp,duration\n").is_usable());
    }

    #[test]
    fn times_are_counted_from_1970() {
        // `date -u -d '2017-10-09 07:01:55' +%s` and the leap day of 2020.
        assert_eq!(moment("2017-10-09 07:01:55").map(Period::get), Some(1_507_532_515_000));
        assert_eq!(moment("2020-02-29 00:00:00").map(Period::get), Some(1_582_934_400_000));
        for wrong in
            ["2017-02-29 00:00:00", "2017-13-01 00:00:00", "2017-10-09", "x-1-1 0:0:0", "1969-12-31 23:59:59"]
        {
            assert_eq!(moment(wrong), None, "{wrong}");
        }
    }
}
