//! Jobs as Weftwork writes them: a row of a table, or a table `[[job]]` of a scenario, with the same keys.

use std::fmt;

use csv::StringRecord;
use serde::de::{SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, de};
use weft_base::{Bytes, Diagnostic, Moment, Period, Ratio};

use super::{Rows, Table};

/// A job, or several that are alike.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct JobRow {
    /// What it is called; several get numbers behind it.
    pub job: String,
    /// Its queue.
    #[serde(default)]
    pub queue: Option<String>,
    /// `training`, `inference` or `service`.
    #[serde(default)]
    pub kind: Option<String>,
    /// How many there are; one without it.
    #[serde(default)]
    pub count: Option<u32>,
    /// How long after each other they come.
    #[serde(default)]
    pub every: Option<Period>,
    /// When the first comes; at once without it.
    #[serde(default)]
    pub submit: Option<Moment>,
    /// How long it takes at full speed.
    pub duration: Period,
    /// How it ends: `done`, `failed`.
    #[serde(default)]
    pub end: Option<String>,
    /// When its user takes it back, counted from when it came.
    #[serde(default)]
    pub cancel: Option<Period>,
    /// Members; one without it.
    #[serde(default)]
    pub members: Option<u32>,
    /// Fewest members with which it runs; all of them without it.
    #[serde(default)]
    pub least: Option<u32>,
    /// GPUs of each member; less than one for a share.
    #[serde(default, rename = "gpus")]
    pub gpu_count: Option<f64>,
    /// The partition that each member takes of a GPU, by name.
    #[serde(default)]
    pub slice: Option<String>,
    /// Cores of each member.
    #[serde(default, rename = "cpus")]
    pub cpu_count: Option<f64>,
    /// Memory of each member, on its host.
    #[serde(default)]
    pub memory: Option<Bytes>,
    /// GPU models on which it runs, the best first.
    #[serde(default)]
    pub models: Names,
    /// Where all members have to be together: `node`, `domain`, `rack`, `leaf`, `spine`.
    #[serde(default)]
    pub within: Option<String>,
    /// Where all members should be together.
    #[serde(default)]
    pub near: Option<String>,
    /// How many members that follow each other have to be closer still.
    #[serde(default)]
    pub sets: Option<u32>,
    /// Where those have to be together; on one node without it.
    #[serde(default)]
    pub sets_within: Option<String>,
    /// Whether the GPUs of each member must be on one NUMA node.
    #[serde(default)]
    pub one_numa: Option<bool>,
    /// Taints that it can bear.
    #[serde(default)]
    pub tolerates: Names,
    /// Higher goes first.
    #[serde(default)]
    pub priority: Option<i32>,
    /// Whether it may be put out for others; it may without it.
    #[serde(default)]
    pub preemptible: Option<bool>,
    /// How long it says that it will take at most.
    #[serde(default)]
    pub limit: Option<Period>,
    /// Work between two checkpoints; a job without them begins anew each time.
    #[serde(default)]
    pub checkpoint: Option<Period>,
    /// How long one stops the work.
    #[serde(default)]
    pub checkpoint_cost: Option<Period>,
    /// The share of a step that is communication between nodes which nothing hides, alone and under one leaf.
    #[serde(default)]
    pub exposed: Option<Ratio>,
    /// Who talks to whom: `ring`, `all-to-all`.
    #[serde(default)]
    pub pattern: Option<String>,
}

/// The keys, as they are written.
pub const JOB_KEYS: [&str; 29] = [
    "job",
    "queue",
    "kind",
    "count",
    "every",
    "submit",
    "duration",
    "end",
    "cancel",
    "members",
    "least",
    "gpus",
    "slice",
    "cpus",
    "memory",
    "models",
    "within",
    "near",
    "sets",
    "sets-within",
    "one-numa",
    "tolerates",
    "priority",
    "preemptible",
    "limit",
    "checkpoint",
    "checkpoint-cost",
    "exposed",
    "pattern",
];

/// Names, in a list or in one text with `|` between them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Names(pub Vec<String>);

impl<'de> Deserialize<'de> for Names {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NamesVisitor)
    }
}

struct NamesVisitor;

impl<'de> Visitor<'de> for NamesVisitor {
    type Value = Names;

    fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str("names in a list, or in a text with `|` between them")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Names, E> {
        let names = text.split('|').map(str::trim).filter(|name| !name.is_empty());
        Ok(Names(names.map(str::to_owned).collect()))
    }

    // A cell that looks like a number is handed over as one, though models are called so: `4090`.
    fn visit_u64<E: de::Error>(self, number: u64) -> Result<Names, E> {
        Ok(Names(vec![number.to_string()]))
    }

    fn visit_unit<E: de::Error>(self) -> Result<Names, E> {
        Ok(Names::default())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Names, A::Error> {
        let mut names = Vec::new();
        while let Some(name) = list.next_element::<String>()? {
            names.push(name);
        }
        Ok(Names(names))
    }
}

/// A row and where it stands.
#[derive(Debug, Clone, PartialEq)]
pub struct JobLine {
    /// The row.
    pub row: JobRow,
    /// Its line.
    pub line: u32,
}

/// Reads a table whose columns are some of `JOB_KEYS`, `job` and `duration` among them. Times and amounts carry their unit.
pub fn jobs(file: &str, text: &str) -> Rows<JobLine> {
    let table = match Table::read(file, text) {
        Ok(table) => table,
        Err(why) => return Rows::refused(why),
    };
    if let Err(why) = table.only(&JOB_KEYS).and_then(|()| table.columns(["job", "duration"])) {
        return Rows::refused(why);
    }
    Rows::of(&table, |row| read(&table, row))
}

fn read(table: &Table<'_>, row: &StringRecord) -> Result<JobLine, Diagnostic> {
    if let Ok(found) = row.deserialize::<JobRow>(Some(table.record())) {
        return Ok(JobLine { row: found, line: table.line(row) });
    }
    let wrong = (0..row.len()).find_map(|at| fault(table, row, at).map(|why| table.wrong(row, at, &why)));
    Err(wrong.unwrap_or_else(|| table.wrong(row, 0, "the row cannot be read")))
}

/// What is wrong with one cell, read in a row whose other cells say as little as they may.
fn fault(table: &Table<'_>, row: &StringRecord, at: usize) -> Option<String> {
    let cell = |(other, name): (usize, &str)| match name {
        _ if other == at => row.get(at).unwrap_or_default(),
        "job" => "x",
        "duration" => "1 s",
        _ => "",
    };
    let alone: StringRecord = table.head().enumerate().map(cell).collect();
    let error = alone.deserialize::<JobRow>(Some(table.record())).err()?;
    if let csv::ErrorKind::Deserialize { err, .. } = error.kind() {
        return Some(err.kind().to_string());
    }
    Some(error.to_string())
}

#[cfg(test)]
mod tests {
    use super::{JOB_KEYS, JobRow, Names, jobs};
    use weft_base::{Bytes, Period};

    #[test]
    fn a_table_gives_jobs_and_names_what_is_wrong() {
        let text = "job,queue,submit,duration,gpus,memory,models,priority,limit\n\
            train,research,10 min,2 h,8,64 GiB,h100|4090,5,3 h\n\
            share,,,90 s,0.5,,4090,,\n\
            x,,5,1 h,1,,,,\ny,,,1 h,many,,,,\n";
        let found = jobs("jobs.csv", text);
        assert_eq!(found.rows.len(), 2);
        let (train, share) = (&found.rows[0].row, &found.rows[1].row);
        assert_eq!(
            (train.submit, train.limit),
            (Some(Period::from_hours(1.0 / 6.0)), Some(Period::from_hours(3.0)))
        );
        assert_eq!((train.gpu_count, train.memory), (Some(8.0), Some(Bytes::new(64 << 30))));
        assert_eq!(train.models, Names(vec!["h100".to_owned(), "4090".to_owned()]));
        assert_eq!((share.queue.as_ref(), share.gpu_count, share.priority), (None, Some(0.5), None));
        assert_eq!(share.models, Names(vec!["4090".to_owned()]));
        let places: Vec<(u32, u32)> = found
            .diagnostics
            .iter()
            .filter_map(|why| why.place.as_ref())
            .map(|place| (place.line, place.column))
            .collect();
        assert_eq!(places, [(4, 4), (5, 9)]);
        assert!(found.diagnostics[0].hint.as_ref().is_some_and(|hint| hint.contains("unit")));
        let wrong = jobs("jobs.csv", "job,duration,prioritty\n");
        assert_eq!(wrong.diagnostics[0].hint.as_deref(), Some("did you mean `priority`?"));
    }

    #[test]
    fn keys_are_those_of_the_row() {
        let error = toml::from_str::<JobRow>("nothing = 1").unwrap_err();
        let expected = error.message().split("expected one of").nth(1).unwrap_or_default();
        let listed: Vec<&str> = expected.split('`').skip(1).step_by(2).collect();
        assert_eq!(listed, JOB_KEYS);
    }
}
