//! Benchmarks of machines beside what is predicted of them.

use std::rc::Rc;

use weft_base::{Bytes, Place, Rate, Span};
use weft_catalogue::Catalogue;
use weft_collective::Collective;
use weft_formats::{Benchmark, BenchmarkRank, BenchmarkRow, Case, Evidence, Located};
use weft_topology::{Topology, build};

use super::{
    Comparison, RanksError, Seats, Shape, Side, Verdict, compare, launch, machine_of_ranks, plot, seats,
    tables,
};
use crate::validate::Kind;
use crate::{Launch, Request, predict};

fn dgx() -> Topology {
    let catalogue = Catalogue::embedded();
    build(catalogue.system("dgx-a100").unwrap(), catalogue).unwrap().topology
}

/// What a run prints whose times are `factor` of what is predicted.
fn run(factor: impl Fn(Bytes) -> f64) -> Benchmark {
    let mut request = Request::new(Collective::AllReduce);
    request.sizes = (10..=33).map(|power| Bytes::new(1 << power)).collect();
    let predicted = predict(&dgx(), Catalogue::embedded(), &request).unwrap();
    let row = |row: &crate::Row| BenchmarkRow {
        bytes: row.bytes,
        time: Some(Span::from_microseconds(row.time.as_seconds() * 1e6 * factor(row.bytes))),
        line: 7,
        ..BenchmarkRow::default()
    };
    let rows = predicted.rows.iter().map(row).collect();
    Benchmark { rows, rank_count: Some(8), line: 3, ..Benchmark::default() }
}

fn compared(benchmark: &Benchmark) -> Comparison {
    compare(benchmark, &dgx(), Catalogue::embedded(), &Request::new(Collective::AllReduce)).unwrap()
}

fn verdicts(comparison: &Comparison) -> Vec<Verdict> {
    comparison.bands.iter().map(|band| band.verdict).collect()
}

#[test]
fn what_is_as_predicted_is_as_expected_in_all_bands() {
    let comparison = compared(&run(|_| 1.0));
    assert_eq!(verdicts(&comparison), [Verdict::AsExpected; 3]);
    assert!(
        comparison.bands.iter().all(|band| (band.ratio - 1.0).abs() < 1e-3) && comparison.causes.is_empty()
    );
    assert_eq!((comparison.points.len(), comparison.left_out, comparison.line), (24, 0, 3));
}

#[test]
fn slow_large_messages_are_low_and_what_would_explain_them_is_told() {
    let large = 64 << 20;
    // A third of the links missing is 1.5 times the time.
    let comparison = compared(&run(|bytes| if bytes.get() >= large { 1.5 } else { 1.0 }));
    assert_eq!(verdicts(&comparison), [Verdict::AsExpected, Verdict::AsExpected, Verdict::Low]);
    let texts: Vec<&str> = comparison.causes.iter().map(|cause| cause.text).collect();
    assert!(texts.contains(&"a third of the NVLinks were down"), "{texts:?}");
    // Copies over PCIe would be sixteen times slower: no explanation of this.
    assert!(texts.iter().all(|text| !text.contains("NVLink were not used")), "{texts:?}");
    let staged = compared(&run(|bytes| if bytes.get() >= large { 16.0 } else { 1.0 }));
    assert!(
        staged.causes.iter().any(|cause| cause.text.contains("NVLink were not used")),
        "{:?}",
        staged.causes
    );
}

/// What stands out is told where it begins and ends: a cliff, a dip, and a start that is late by as much for all.
#[test]
fn shapes_over_all_sizes_are_told() {
    let at = |power: u32| Bytes::new(1 << power);
    let cliff = compared(&run(|bytes| if bytes >= at(27) { 3.0 } else { 1.0 }));
    assert!(
        matches!(cliff.shape, Some(Shape::Cliff { at: from, ratios }) if from == at(27) && ratios.1 < 0.4),
        "{:?}",
        cliff.shape
    );
    let dip = compared(&run(|bytes| if bytes >= at(20) && bytes <= at(24) { 6.0 } else { 1.0 }));
    assert!(
        matches!(dip.shape, Some(Shape::Dip { from, to, .. }) if (from, to) == (at(20), at(24))),
        "{:?}",
        dip.shape
    );
    // 200 us more for each operation are nothing at a gigabyte.
    let expected = compared(&run(|_| 1.0));
    let time_us = |bytes: Bytes| {
        let point = expected.points.iter().find(|point| point.bytes == bytes).unwrap();
        point.expected.time.as_seconds() * 1e6
    };
    let late = compared(&run(|bytes| 1.0 + 200.0 / time_us(bytes)));
    let Some(Shape::LateStart { added, .. }) = late.shape else { panic!("{:?}", late.shape) };
    assert!((added.as_seconds() * 1e6 / 200.0 - 1.0).abs() < 0.01, "{added}");
    assert_eq!(expected.shape, None);
    for shape in [cliff.shape, dip.shape, late.shape].into_iter().flatten() {
        assert!(!shape.look().is_empty() && !shape.name().is_empty() && shape.text().contains("expected"));
    }
}

/// Two hosts of four GH200 over Slingshot whose plugin is missing, so that sockets are used (CSCS, documentation of
/// NCCL): 53 us at 8 B, 1.5 ms at 1 MiB and 43 ms at 128 MiB, where the fabric takes 18 us, 90 us and 1.9 ms.
#[test]
fn sockets_in_place_of_a_fabric_are_told() {
    let catalogue = Catalogue::embedded();
    let text = "2 x 4 gh200-96gb @ mesh(6) + 4 hpe-cassini @ rail-optimized";
    let machine = weft_topology::oneliner::parse(text, catalogue).unwrap();
    let topology = build(&machine, catalogue).unwrap().topology;
    let times_us = [
        (8, 53.0),
        (64, 51.0),
        (1 << 10, 59.0),
        (8 << 10, 58.5),
        (64 << 10, 325.0),
        (256 << 10, 942.0),
        (1 << 20, 1502.0),
        (4 << 20, 1443.0),
        (16 << 20, 5037.0),
        (64 << 20, 21_253.0),
        (128 << 20, 43_293.0),
    ];
    let row = |(bytes, time_us): &(u64, f64)| BenchmarkRow {
        bytes: Bytes::new(*bytes),
        time: Some(Span::from_microseconds(*time_us)),
        line: 1,
        ..BenchmarkRow::default()
    };
    let rows = times_us.iter().map(row).collect();
    let benchmark = Benchmark { rows, rank_count: Some(8), line: 1, ..Benchmark::default() };
    let mut request = Request::new(Collective::AllReduce);
    request.launch = Some(Launch::ProcessPerGpu);
    let comparison = compare(&benchmark, &topology, catalogue, &request).unwrap();
    assert_eq!(verdicts(&comparison)[1..], [Verdict::Low; 2]);
    let first = comparison.causes.first().map(|cause| cause.text);
    assert!(first.is_some_and(|text| text.contains("TCP sockets")), "{:?}", comparison.causes);
    assert!(comparison.causes[0].explains.contains(&Kind::Bandwidth), "{:?}", comparison.causes);
}

/// 300 GB/s leave each GPU: times of an eighth, as of bits read for bytes, are beyond any wire.
#[test]
fn what_no_wire_carries_is_too_good() {
    let comparison = compared(&run(|_| 0.125));
    let last = comparison.bands.last().unwrap();
    assert_eq!(last.verdict, Verdict::TooGood);
    assert_eq!(last.doubt, Some("eight times what is expected: bits taken for bytes?"));
    assert!(comparison.most >= Rate::from_gigabytes(300.0));
}

#[test]
fn rows_of_bandwidth_alone_are_compared_too() {
    let mut benchmark = run(|_| 1.0);
    for row in &mut benchmark.rows {
        let time_s = row.time.take().unwrap().as_seconds();
        row.busbw = Some(Rate::from_gigabytes(row.bytes.as_f64() / time_s / 1e9 * 1.75));
    }
    benchmark.rows.push(BenchmarkRow::default());
    let comparison = compared(&benchmark);
    assert_eq!(verdicts(&comparison), [Verdict::AsExpected; 3]);
    assert_eq!(comparison.left_out, 1);
}

fn ranks(list: &[(&str, u32)]) -> Benchmark {
    let rank = |(host, device): &(&str, u32)| BenchmarkRank {
        host: Some((*host).to_owned()),
        device: Some(*device),
        gpu: Some("NVIDIA A100-SXM4-80GB".to_owned()),
        ..BenchmarkRank::default()
    };
    Benchmark { ranks: list.iter().map(rank).collect(), rank_count: Some(list.len()), ..Benchmark::default() }
}

#[test]
fn ranks_sit_where_they_are_listed() {
    let four = ranks(&[("a", 2), ("a", 3), ("a", 6), ("a", 7)]);
    assert_eq!(seats(&four, 8, 1), Ok(Seats { hosts: 1, gpus: Some(vec![2, 3, 6, 7]) }));
    let two = ranks(&[("a", 0), ("a", 1), ("b", 0), ("b", 1)]);
    assert_eq!(seats(&two, 8, 1), Ok(Seats { hosts: 2, gpus: Some(vec![0, 1, 8, 9]) }));
    // Nothing listed: 16 ranks are two hosts of 8.
    let counted = |rank_count| Benchmark { rank_count, ..Benchmark::default() };
    assert_eq!(seats(&counted(Some(16)), 8, 1), Ok(Seats { hosts: 2, gpus: None }));
    assert_eq!(seats(&counted(None), 8, 1), Ok(Seats { hosts: 1, gpus: None }));
    assert_eq!(seats(&counted(Some(1)), 8, 1), Err(RanksError::One));
    assert_eq!(seats(&counted(Some(9)), 8, 1), Err(RanksError::Uneven { ranks: 9, per_host: 8 }));
}

#[test]
fn processes_tell_who_started_the_kernels() {
    let mut two = ranks(&[("a", 0), ("a", 1), ("b", 0), ("b", 1)]);
    assert_eq!(launch(&two), None);
    for (rank, process) in two.ranks.iter_mut().zip([7, 7, 9, 9]) {
        rank.process = Some(process);
    }
    assert_eq!(launch(&two), Some(Launch::OneProcess));
    // Numbers of processes count for each host by itself.
    for (rank, process) in two.ranks.iter_mut().zip([7, 8, 7, 8]) {
        rank.process = Some(process);
    }
    assert_eq!(launch(&two), Some(Launch::ProcessPerGpu));
    let set = |gpus: &str| Benchmark {
        parameters: vec![("nGpus".to_owned(), gpus.to_owned())],
        rank_count: Some(8),
        ..Benchmark::default()
    };
    assert_eq!(
        (launch(&set("8")), launch(&set("1"))),
        (Some(Launch::OneProcess), Some(Launch::ProcessPerGpu))
    );
}

#[test]
fn the_list_of_ranks_names_a_machine() {
    let catalogue = Catalogue::embedded();
    let eight: Vec<(&str, u32)> = (0..8).map(|device| ("a", device)).collect();
    let machine = machine_of_ranks(&ranks(&eight), catalogue).unwrap();
    assert_eq!((machine.gpus[0].count, machine.host.count), (8, 1));
    assert!(machine.fabric.is_some(), "SXM modules are tied");
    assert_eq!(machine_of_ranks(&Benchmark::default(), catalogue), Err(RanksError::Models { gpus: 0 }));
}

#[test]
fn tables_of_one_machine_share_a_question_and_are_judged_each_by_itself() {
    let (catalogue, request) = (Catalogue::embedded(), Request::new(Collective::AllReduce));
    let ranked = |devices: u32, slower: f64| Benchmark {
        collective: Some("all_reduce".to_owned()),
        rank_count: usize::try_from(devices).ok(),
        ranks: ranks(&(0..devices).map(|device| ("a", device)).collect::<Vec<_>>()).ranks,
        ..run(|_| slower)
    };
    let evidence = [ranked(8, 1.0), ranked(8, 3.0), ranked(8, 3.0), ranked(4, 1.0)].map(|benchmark| {
        Located { value: Evidence::Benchmark(Box::new(benchmark)), place: Place::new("log", 1, 1, 0) }
    });
    let case = Case { evidence: evidence.into(), ..Case::default() };
    let side = Side { case: &case, topology: &Topology::default(), diagnostics: &[], request: &request };
    let found = tables(side, |_| true, Collective::AllReduce, catalogue);
    let [first, slow, again, half] = &found.tables[..] else { panic!("{:?}", found.diagnostics) };
    assert!(Rc::ptr_eq(&first.asked, &slow.asked) && !Rc::ptr_eq(&first.asked, &half.asked));
    assert!(first.comparison.causes.is_empty() && !slow.comparison.causes.is_empty());
    assert_eq!(slow.comparison.causes, again.comparison.causes);
    // As each would be judged alone.
    for (table, benchmark) in [(slow, ranked(8, 3.0)), (half, ranked(4, 1.0))] {
        let (topology, request) = (table.asked.topology(), table.asked.request());
        let alone = compare(&benchmark, topology, catalogue, request).unwrap();
        assert_eq!((&alone.points, &alone.causes), (&table.comparison.points, &table.comparison.causes));
    }
}

#[test]
fn the_plot_has_a_point_per_size_and_the_bound() {
    let comparison = compared(&run(|_| 1.0));
    let svg = plot(&[comparison], "a <machine>");
    assert_eq!(svg.matches("r=\"4\"").count() - 4, 24, "four are of the legend");
    assert!(svg.contains("at most 3") && svg.contains("a &lt;machine&gt;") && svg.ends_with("</svg>\n"));
}
