//! Which algorithm and protocol to take by size, where what is expected differs from NCCL's price.
//!
//! The table is in the form that NCCL's example plugin reads (`ext-tuner/example`, plugin interface v4 and later):
//! collective, least and most bytes, algorithm, protocol, channels, nodes, ranks, operations in a group, registered
//! buffers. That plugin takes Ring with Simple for whatever no line covers, so that all sizes are covered.

use std::fmt::Write as _;

use weft_base::{Bytes, Span};
use weft_catalogue::Catalogue;
use weft_collective::Collective;
use weft_topology::{NodeId, NodeKind, Topology};

use crate::settings::Allowed;
use crate::{Algorithm, PredictError, Protocol, Request, Row, predict};

/// Collectives that the plugin knows and that are predicted.
const COLLECTIVES: [Collective; 4] =
    [Collective::AllReduce, Collective::AllGather, Collective::ReduceScatter, Collective::Broadcast];
/// Powers of two from which on sizes are decided one by one, and the last, which goes to the end.
const POWERS: (u32, u32) = (10, 31);
/// The largest size that the plugin's file can name; its own word for no limit.
const BYTES_MAX: u64 = 4_294_967_295;
/// Another choice than NCCL's is taken where it is expected to take less than this share of the time: predictions
/// are not good enough to tell less.
const WORTH: f64 = 0.9;
/// A setting for all sizes must not make any size slower than this.
const HARMLESS: f64 = 1.02;

/// One line: what to take for a range of sizes.
#[derive(Debug, Clone, PartialEq)]
pub struct TunerRow {
    /// The collective.
    pub collective: Collective,
    /// The smallest size.
    pub least: Bytes,
    /// The largest size.
    pub most: Bytes,
    /// What to take.
    pub choice: (Algorithm, Protocol),
    /// What NCCL would take in the middle of the range.
    pub own: (Algorithm, Protocol),
    /// Expected time of the choice by that of NCCL's, in the middle of the range.
    pub share: f64,
}

/// A variable that makes all sizes at least as quick, and some quicker.
#[derive(Debug, Clone, PartialEq)]
pub struct GlobalSetting {
    /// `NCCL_ALGO=allreduce:Ring`.
    pub text: String,
    /// The largest gain: expected time with it by time without.
    pub best_share: f64,
}

/// A table for a machine.
#[derive(Debug, Clone, PartialEq)]
pub struct TunerTable {
    /// Hosts that it is for.
    pub nodes: usize,
    /// GPUs that it is for.
    pub ranks: usize,
    /// By collective and size; together all sizes.
    pub rows: Vec<TunerRow>,
    /// Settings that come near to it without a plugin.
    pub settings: Vec<GlobalSetting>,
}

/// The table of a machine, for the GPUs and settings of `request`.
pub fn tuner_table(
    topology: &Topology,
    catalogue: &Catalogue,
    request: &Request,
) -> Result<TunerTable, PredictError> {
    let gpus: Vec<NodeId> = request.gpus.clone().unwrap_or_else(|| topology.of_kind(NodeKind::Gpu).collect());
    let mut hosts: Vec<Option<u32>> = gpus.iter().map(|gpu| topology.node(*gpu).host).collect();
    hosts.sort_unstable();
    hosts.dedup();
    let mut table =
        TunerTable { nodes: hosts.len(), ranks: gpus.len(), rows: Vec::new(), settings: Vec::new() };
    for collective in COLLECTIVES {
        let scope = Scope { topology, catalogue, request, collective };
        let own = scope.rows(None)?;
        let mut known: Vec<Column> = Vec::new();
        for algorithm in Algorithm::ALL {
            for protocol in Protocol::ALL {
                let rows = scope.rows(Some((algorithm, protocol)))?;
                // What cannot run is answered with NCCL's own choice.
                if rows.iter().all(|row| (row.algorithm, row.protocol) == (algorithm, protocol)) {
                    known.push(Column { choice: (algorithm, protocol), times: times(&rows) });
                }
            }
        }
        table.rows.extend(lines(collective, &own, &known));
        table.settings.extend(scope.setting(&own, &known));
    }
    Ok(table)
}

/// Expected times of one choice, by range of sizes.
struct Column {
    choice: (Algorithm, Protocol),
    times: Vec<Span>,
}

fn times(rows: &[Row]) -> Vec<Span> {
    rows.iter().map(|row| row.time).collect()
}

/// The ranges of sizes that are decided one by one.
fn ranges() -> Vec<(u64, u64)> {
    let (first, last) = POWERS;
    let mut ranges = vec![(0, (1 << first) - 1)];
    ranges.extend((first..last).map(|power| (1_u64 << power, (1_u64 << (power + 1)) - 1)));
    ranges.push((1 << last, BYTES_MAX));
    ranges
}

/// A size of a range that stands for it.
fn middle((least, most): (u64, u64)) -> Bytes {
    Bytes::new((least + (most - least) / 2).max(8))
}

struct Scope<'a> {
    topology: &'a Topology,
    catalogue: &'a Catalogue,
    request: &'a Request,
    collective: Collective,
}

impl Scope<'_> {
    /// What is predicted of every range with one choice, or with NCCL's own.
    fn rows(&self, choice: Option<(Algorithm, Protocol)>) -> Result<Vec<Row>, PredictError> {
        let sizes = ranges().into_iter().map(middle).collect();
        let mut request = Request { collective: self.collective, sizes, ..self.request.clone() };
        if let Some((algorithm, protocol)) = choice {
            request.settings = request.settings.only(algorithm);
            request.settings.protocols = Allowed::only(protocol);
        }
        Ok(predict(self.topology, self.catalogue, &request)?.rows)
    }

    /// The variable that gains most among those that lose nothing.
    fn setting(&self, own: &[Row], known: &[Column]) -> Option<GlobalSetting> {
        let name = self.collective.name().replace('-', "");
        let candidates = known.iter().map(|column| {
            let (algorithm, protocol) = column.choice;
            let text = format!("NCCL_ALGO={name}:{} NCCL_PROTO={name}:{}", algorithm.name(), protocol.name());
            let shares =
                own.iter().zip(&column.times).map(|(own, time)| time.as_seconds() / own.time.as_seconds());
            let (least, most) = shares
                .fold((f64::INFINITY, 0.0_f64), |(least, most), share| (least.min(share), most.max(share)));
            (text, least, most)
        });
        candidates
            .filter(|(_, least, most)| *least < WORTH && *most <= HARMLESS)
            .min_by(|a, b| a.1.total_cmp(&b.1))
            .map(|(text, best_share, _)| GlobalSetting { text, best_share })
    }
}

fn lines(collective: Collective, own: &[Row], known: &[Column]) -> Vec<TunerRow> {
    let mut lines: Vec<TunerRow> = Vec::new();
    for (index, ((least, most), own)) in ranges().into_iter().zip(own).enumerate() {
        let own_choice = (own.algorithm, own.protocol);
        let quickest = known.iter().min_by_key(|column| column.times[index]);
        let better =
            quickest.map(|column| (column.choice, column.times[index].as_seconds() / own.time.as_seconds()));
        let (choice, share) = better.filter(|(_, share)| *share < WORTH).unwrap_or((own_choice, 1.0));
        match lines.last_mut() {
            Some(last)
                if last.choice == choice && (last.own == own_choice || share >= 1.0 && last.share >= 1.0) =>
            {
                last.most = Bytes::new(most);
                last.share = last.share.min(share);
            }
            Some(_) | None => lines.push(TunerRow {
                collective,
                least: Bytes::new(least),
                most: Bytes::new(most),
                choice,
                own: own_choice,
                share,
            }),
        }
    }
    lines
}

impl TunerTable {
    /// How many ranges take another choice than NCCL would.
    pub fn changed_count(&self) -> usize {
        self.rows.iter().filter(|row| row.choice != row.own).count()
    }

    /// The file, with comments that say what it is and how it is loaded.
    pub fn to_csv(&self, machine: &str) -> String {
        let mut text = String::new();
        // Writing to a string cannot fail.
        let _ = write!(
            text,
            "# For a tuner plugin of NCCL, by `weft predict --export nccl-tuner`: {machine}\n\
             # {} of {} ranges take another choice than NCCL itself would, where less than {WORTH} of its time is expected;\n\
             # the others repeat NCCL's own choice, since the plugin takes ring with simple for what no line covers.\n\
             #\n\
             # Build ext-tuner/example of NCCL's source, then:\n\
             #   export NCCL_TUNER_PLUGIN=libnccl-tuner-example.so    (its folder in LD_LIBRARY_PATH)\n\
             #   export NCCL_TUNER_CONFIG_FILE=/path/to/this/file\n\
             # NCCL_DEBUG=INFO with NCCL_DEBUG_SUBSYS=TUNING shows whether it is used. Measure before you keep it.\n",
            self.changed_count(),
            self.rows.len()
        );
        match self.settings.as_slice() {
            [] => text
                .push_str("#\n# No setting for all sizes is expected to be as good; the table is needed.\n"),
            settings => {
                text.push_str("#\n# Without a plugin, expected to be no slower at any size:\n");
                for setting in settings {
                    let share = setting.best_share;
                    let _ = writeln!(text, "#   {}    (down to {share:.2} of the time)", setting.text);
                }
            }
        }
        text.push_str("#\n# collective_type,min_bytes,max_bytes,algorithm,protocol,channels,nNodes,nRanks,numPipeOps,regBuff\n");
        for row in &self.rows {
            // Kernels for symmetric buffers and sends to all peers are not the plugin's to choose.
            let Some(algorithm) = algorithm(row.choice.0) else { continue };
            if row.choice != row.own {
                let _ = writeln!(
                    text,
                    "# NCCL would take {} {}; {:.2} of its time is expected of",
                    row.own.0.name(),
                    row.own.1.name(),
                    row.share
                );
            }
            let _ = writeln!(
                text,
                "{},{},{},{},{},-1,{},{},-1,-1",
                row.collective.name().replace('-', ""),
                row.least.get(),
                row.most.get(),
                algorithm,
                row.choice.1.name().to_lowercase(),
                self.nodes,
                self.ranks
            );
        }
        text
    }
}

/// The plugin's word for an algorithm; `None` for what it does not choose.
fn algorithm(algorithm: Algorithm) -> Option<&'static str> {
    Some(match algorithm {
        Algorithm::Ring => "ring",
        Algorithm::Tree => "tree",
        Algorithm::CollnetDirect => "collnet_direct",
        Algorithm::CollnetChain => "collnet_chain",
        Algorithm::Nvls => "nvls",
        Algorithm::NvlsTree => "nvls_tree",
        Algorithm::Pat => "pat",
        Algorithm::Symmetric | Algorithm::Direct => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(system: &str) -> TunerTable {
        let catalogue = Catalogue::embedded();
        let topology = weft_topology::build(catalogue.system(system).unwrap(), catalogue).unwrap().topology;
        tuner_table(&topology, catalogue, &Request::new(Collective::AllReduce)).unwrap()
    }

    /// The plugin falls back to ring with simple where no line fits, so that no size may be left out.
    #[test]
    fn lines_cover_all_sizes_of_each_collective_once() {
        let table = table("dgx-h100");
        for collective in COLLECTIVES {
            let mut next = 0;
            for row in table.rows.iter().filter(|row| row.collective == collective) {
                assert_eq!(row.least.get(), next, "{row:?}");
                next = row.most.get() + 1;
            }
            assert_eq!(next, BYTES_MAX + 1);
        }
        assert_eq!((table.nodes, table.ranks), (1, 8));
    }

    #[test]
    fn another_choice_is_only_taken_where_it_is_worth_it() {
        for system in ["dgx-a100", "dgx-h100", "dgx-1", "pcie4-8gpu-dual-root"] {
            for row in table(system).rows {
                assert!(row.choice == row.own && row.share >= 1.0 || row.share < WORTH, "{system}: {row:?}");
            }
        }
    }

    /// Ten fields in the order of the plugin's documentation, and nothing else but comments.
    #[test]
    fn lines_have_the_fields_that_the_plugin_reads() {
        let text = table("dgx-a100").to_csv("dgx-a100");
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let fields: Vec<&str> = line.split(',').collect();
            assert_eq!(fields.len(), 10, "{line}");
            assert!(["allreduce", "allgather", "reducescatter", "broadcast"].contains(&fields[0]), "{line}");
            assert!(fields[1].parse::<u64>().unwrap() < fields[2].parse::<u64>().unwrap(), "{line}");
            assert!(["ll", "ll128", "simple"].contains(&fields[4]) && fields[5] == "-1", "{line}");
            assert_eq!((fields[6], fields[7]), ("1", "8"), "{line}");
        }
        assert!(text.contains("NCCL_TUNER_CONFIG_FILE"));
    }
}
