//! The tables of Alibaba's openb traces: nodes, and pods in the order in which they came.

use weft_base::Diagnostic;
use weft_formats::traces::Table;

use crate::fleet::{Fleet, GPUS_MOST, Models, NodeKind, Pod, WHOLE_MILLI};

/// Nodes with GPUs, from `openb_node_list_gpu_node.csv`.
pub fn fleet(file: &str, text: &str) -> Result<Fleet, Diagnostic> {
    let table = Table::read(file, text)?.whole()?;
    let [cpu, memory, gpus, model] = table.columns(["cpu_milli", "memory_mib", "gpu", "model"])?;
    let mut fleet = Fleet::default();
    for row in table.rows() {
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
    let table = Table::read(file, text)?.whole()?;
    let [cpu, memory, count, milli] = table.columns(["cpu_milli", "memory_mib", "num_gpu", "gpu_milli"])?;
    let spec = table.column("gpu_spec");
    let mut pods = Vec::with_capacity(table.rows().len());
    for row in table.rows() {
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
