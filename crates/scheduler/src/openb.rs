//! The tables of Alibaba's openb traces: nodes, and pods in the order in which they came.

use std::str::FromStr;

use csv::StringRecord;
use weft_base::{Code, Diagnostic, Place};

use crate::fleet::{Fleet, GPUS_MOST, Models, NodeKind, Pod, WHOLE_MILLI};

/// A table of a trace is not as it must be.
pub const TRACE_MALFORMED: Code = Code {
    name: "trace-malformed",
    explanation: "A table of nodes or pods lacks a column, or a cell is no number or outside what is possible. Nodes have \
        `cpu_milli`, `memory_mib`, `gpu` and `model`; pods `cpu_milli`, `memory_mib`, `num_gpu`, `gpu_milli`, and perhaps \
        `gpu_spec`, the models it runs on with `|` between them. Nothing is left out silently: one bad row and the table is \
        refused.",
};

/// Nodes with GPUs, from `openb_node_list_gpu_node.csv`.
pub fn fleet(file: &str, text: &str) -> Result<Fleet, Diagnostic> {
    let table = Table::read(file, text)?;
    let [cpu, memory, gpus, model] = table.columns(["cpu_milli", "memory_mib", "gpu", "model"])?;
    let mut fleet = Fleet::default();
    for row in &table.rows {
        let name = row.get(model).unwrap_or_default();
        let gpu_count: u8 = table.number(row, gpus)?;
        if usize::from(gpu_count) > GPUS_MOST {
            return Err(table.wrong(row, gpus, &format!("a node has at most {GPUS_MOST} GPUs here")));
        }
        let model = model_number(&mut fleet, name)
            .ok_or_else(|| table.wrong(row, model, "there are at most 31 models"))?;
        let kind = NodeKind {
            cpu_milli: table.number(row, cpu)?,
            memory_mib: table.number(row, memory)?,
            gpu_count,
            model,
        };
        let known = fleet.kinds.iter().position(|other| *other == kind);
        fleet.nodes.push(known.unwrap_or(fleet.kinds.len()));
        if known.is_none() {
            fleet.kinds.push(kind);
        }
    }
    Ok(fleet)
}

fn model_number(fleet: &mut Fleet, name: &str) -> Option<u8> {
    let known = fleet.models.iter().position(|model| model == name);
    let number = known.unwrap_or_else(|| {
        fleet.models.push(name.to_owned());
        fleet.models.len() - 1
    });
    u8::try_from(number).ok().filter(|number| *number < 31)
}

/// Pods, from one of `openb_pod_list_*.csv`. A model that no node has fits nowhere.
pub fn pods(file: &str, text: &str, fleet: &Fleet) -> Result<Vec<Pod>, Diagnostic> {
    let table = Table::read(file, text)?;
    let [cpu, memory, count, milli] = table.columns(["cpu_milli", "memory_mib", "num_gpu", "gpu_milli"])?;
    let spec = table.column("gpu_spec");
    let mut pods = Vec::with_capacity(table.rows.len());
    for row in &table.rows {
        let gpu_count: u8 = table.number(row, count)?;
        let gpu_milli: u16 = if gpu_count == 0 { 0 } else { table.number(row, milli)? };
        let wrong = |why: &str| Err(table.wrong(row, milli, why));
        if gpu_milli > WHOLE_MILLI || (gpu_count > 0 && gpu_milli == 0) {
            return wrong("a GPU is shared by thousandths, of which it has 1 to 1000");
        }
        if gpu_count > 1 && gpu_milli < WHOLE_MILLI {
            return wrong("only a pod of one GPU shares it");
        }
        pods.push(Pod {
            cpu_milli: table.number(row, cpu)?,
            memory_mib: table.number(row, memory)?,
            gpu_count,
            gpu_milli,
            models: models(spec.and_then(|at| row.get(at)).unwrap_or_default(), fleet),
        });
    }
    Ok(pods)
}

fn models(text: &str, fleet: &Fleet) -> Models {
    if text.is_empty() {
        return Models::ANY;
    }
    let number = |name: &str| fleet.models.iter().position(|model| model == name);
    Models(text.split('|').filter_map(number).fold(0, |set, model| set | 1 << model))
}

/// Rows under named columns.
struct Table<'t> {
    file: &'t str,
    head: StringRecord,
    rows: Vec<StringRecord>,
}

impl<'t> Table<'t> {
    fn read(file: &'t str, text: &str) -> Result<Self, Diagnostic> {
        let mut reader = csv::ReaderBuilder::new().trim(csv::Trim::All).from_reader(text.as_bytes());
        let failed = |error: csv::Error| {
            let line = error.position().map_or(1, |at| u32::try_from(at.line()).unwrap_or(u32::MAX));
            Diagnostic::error(TRACE_MALFORMED, format!("the table cannot be read: {error}"))
                .at(Place::new(file, line, 1, 1))
                .hint("every row has as many cells as the head")
        };
        let head = reader.headers().map_err(failed)?.clone();
        let rows = reader.records().collect::<Result<Vec<_>, _>>().map_err(failed)?;
        Ok(Self { file, head, rows })
    }

    fn column(&self, name: &str) -> Option<usize> {
        self.head.iter().position(|head| head == name)
    }

    fn columns<const N: usize>(&self, names: [&str; N]) -> Result<[usize; N], Diagnostic> {
        let missing = names.iter().find(|name| self.column(name).is_none());
        if let Some(missing) = missing {
            return Err(Diagnostic::error(TRACE_MALFORMED, format!("there is no column `{missing}`"))
                .at(Place::new(self.file, 1, 1, 1))
                .hint(format!("the table needs {}", names.join(", "))));
        }
        Ok(names.map(|name| self.column(name).unwrap_or_default()))
    }

    fn number<T: FromStr>(&self, row: &StringRecord, at: usize) -> Result<T, Diagnostic> {
        let text = row.get(at).unwrap_or_default();
        text.parse()
            .map_err(|_| self.wrong(row, at, "it must be a whole number, 0 or more, and not as large"))
    }

    fn wrong(&self, row: &StringRecord, at: usize, why: &str) -> Diagnostic {
        let line = row.position().map_or(1, |place| u32::try_from(place.line()).unwrap_or(u32::MAX));
        let before: usize = row.iter().take(at).map(|cell| cell.chars().count() + 1).sum();
        let (name, text) = (self.head.get(at).unwrap_or_default(), row.get(at).unwrap_or_default());
        let column = u32::try_from(before + 1).unwrap_or(1);
        let length = u32::try_from(text.chars().count().max(1)).unwrap_or(1);
        Diagnostic::error(TRACE_MALFORMED, format!("`{name}` is `{text}`"))
            .at(Place::new(self.file, line, column, length))
            .hint(why)
    }
}

#[cfg(test)]
mod tests {
    use super::{fleet, pods};
    use crate::fleet::Models;

    const NODES: &str = "sn,cpu_milli,memory_mib,gpu,model\na,64000,262144,2,P100\nb,96000,393216,8,G2\nc,64000,262144,2,P100\n";

    #[test]
    fn nodes_that_are_alike_are_of_one_kind() {
        let fleet = fleet("nodes.csv", NODES).unwrap();
        assert_eq!((fleet.kinds.len(), fleet.nodes.as_slice()), (2, [0, 1, 0].as_slice()));
        assert_eq!(fleet.gpu_milli(), 12_000);
        assert_eq!(fleet.models, ["P100", "G2"]);
    }

    #[test]
    fn pods_name_the_models_they_run_on() {
        let fleet = fleet("nodes.csv", NODES).unwrap();
        let text = "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec\np,100,10,1,460,G2|P100\nq,100,10,2,1000,\nr,100,10,0,0,H9\n";
        let pods = pods("pods.csv", text, &fleet).unwrap();
        assert_eq!(pods[0].models, Models(0b11));
        assert_eq!((pods[1].models, pods[1].asked_milli()), (Models::ANY, 2000));
        assert_eq!(pods[2].models, Models(0));
    }

    #[test]
    fn a_bad_cell_is_named_with_its_place() {
        let fleet = fleet("nodes.csv", NODES).unwrap();
        let bad = |row: &str| {
            let text = format!("name,cpu_milli,memory_mib,num_gpu,gpu_milli\np,100,10,1,1000\n{row}\n");
            let place = pods("pods.csv", &text, &fleet).unwrap_err().place.unwrap();
            (place.line, place.column, place.length)
        };
        assert_eq!(bad("q,1x0,10,1,1000"), (3, 3, 3));
        assert_eq!(bad("q,100,10,2,500"), (3, 12, 3));
        assert_eq!(bad("q,100,10,1,1001"), (3, 12, 4));
        assert_eq!(bad("q,100,10"), (3, 1, 1));
        let lacking = pods("pods.csv", "name,cpu_milli\np,1\n", &fleet).unwrap_err();
        assert_eq!(lacking.code.name, "trace-malformed");
        assert!(lacking.message.contains("memory_mib"), "{}", lacking.message);
    }
}
