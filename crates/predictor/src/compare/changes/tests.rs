//! Two sides of one machine whose differences are made by hand.

use std::fmt::Write as _;

use weft_base::Diagnostic;
use weft_catalogue::Catalogue;
use weft_collective::Collective;
use weft_formats::{Case, Overrides, Source, join, read};
use weft_topology::{Topology, build};

use super::{ChangeKind, Changes, Moved, Side, changes, differing};
use crate::Request;

struct Given {
    case: Case,
    topology: Topology,
    diagnostics: Vec<Diagnostic>,
}

fn given(name: &str, text: &str) -> Given {
    let catalogue = Catalogue::embedded();
    let reading = read(&Source::file(name, text), catalogue, None);
    let (case, mut diagnostics) = join(reading.evidence, &Overrides::default(), catalogue);
    diagnostics.extend(reading.diagnostics);
    let built = case.machine.as_ref().map(|machine| build(machine, catalogue).unwrap().topology);
    let topology = built.map(|built| case.overlay(&built).applied(&built)).unwrap_or_default();
    Given { case, topology, diagnostics }
}

fn compared(before: &str, after: &str) -> Changes {
    let (before, after) = (given("before.txt", before), given("after.txt", after));
    let request = Request::new(Collective::AllReduce);
    let side = |given: &'static Given| Side {
        case: &given.case,
        topology: &given.topology,
        diagnostics: &given.diagnostics,
        request: Box::leak(Box::new(request.clone())),
    };
    let (before, after) = (Box::leak(Box::new(before)), Box::leak(Box::new(after)));
    changes(side(before), side(after), Catalogue::embedded()).unwrap()
}

const FOUR: &str = "\tGPU0\tGPU1\tGPU2\tGPU3\n\
    GPU0\t X \tNV4\tNV4\tNV4\n\
    GPU1\tNV4\t X \tNV4\tNV4\n\
    GPU2\tNV4\tNV4\t X \tNV4\n\
    GPU3\tNV4\tNV4\tNV4\t X \n";

#[test]
fn the_same_is_no_change() {
    let same = compared(FOUR, FOUR);
    assert!(same.changes.is_empty() && !same.is_slower(), "{same:?}");
    assert_eq!(same.expected.len(), 3);
}

#[test]
fn links_that_are_gone_come_first_and_are_expected_to_be_slower() {
    let after = FOUR.replace("GPU0\t X \tNV4", "GPU0\t X \tNV2").replace("GPU1\tNV4", "GPU1\tNV2")
        + "\nexport NCCL_DEBUG=INFO\n";
    let before = format!("{FOUR}\nexport NCCL_DEBUG=WARN\n");
    let found = compared(&before, &after);
    let first = &found.changes[0];
    assert_eq!((first.kind, first.what.as_str()), (ChangeKind::Topology, "path between"));
    assert_eq!(first.subjects, ["GPU0 and GPU1"]);
    let text = |said: &Option<super::Said>| {
        said.as_ref().map(|said| (said.text.clone(), said.place.clone().unwrap()))
    };
    assert_eq!(text(&first.before).unwrap().0, "NV4");
    let (text, place) = text(&first.after).unwrap();
    assert_eq!((text.as_str(), place.file.as_str(), place.line), ("NV2", "after.txt", 2));
    assert_eq!(found.changes.last().unwrap().what, "NCCL_DEBUG");
    assert!(found.is_slower());
}

#[test]
fn settings_that_act_come_before_others() {
    let found = compared(
        "export NCCL_SOCKET_IFNAME=eth0\nexport NCCL_IB_TIMEOUT=22\n",
        "export NCCL_SOCKET_IFNAME=eth1\nexport NCCL_IB_TIMEOUT=22\nexport NCCL_ALGO=Tree\n",
    );
    let names: Vec<&str> = found.changes.iter().map(|change| change.what.as_str()).collect();
    assert_eq!(names, ["NCCL_ALGO", "NCCL_SOCKET_IFNAME"]);
    assert_eq!((&found.changes[0].before, found.changes[0].weight), (&None, 78));
    assert!(!found.is_slower(), "nothing was measured, and no machine is described");
}

fn run(times_us: [f64; 3]) -> String {
    let mut text = String::from(
        "# nThread 1 nGpus 2 minBytes 1024 maxBytes 1048576 step: 32(factor) warmup iters: 5 iters: 20 validation: 1\n\
         # Rank  0 Pid  1 on  node device  0 [0x01] NVIDIA A100-SXM4-80GB\n\
         # Rank  1 Pid  1 on  node device  1 [0x02] NVIDIA A100-SXM4-80GB\n\
         #       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong\n\
         #        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)\n",
    );
    for (time_us, bytes) in times_us.into_iter().zip([1024.0, 32768.0, 1_048_576.0]) {
        let rate = bytes / time_us / 1000.0;
        let _ = writeln!(
            text,
            "{bytes:>12} {:>12} float sum -1 {time_us:.2} {rate:.2} {rate:.2} 0 {time_us:.2} {rate:.2} {rate:.2} 0",
            bytes / 4.0
        );
    }
    text
}

/// Runs usually differ by 3 %, so that 2.5 deviations of a difference are 2.5 x 1.414 x 0.03 = 0.106: 11 %.
#[test]
fn rows_beyond_the_spread_have_changed() {
    let found = compared(&run([10.0, 20.0, 100.0]), &run([10.8, 25.0, 80.0]));
    let table = &found.tables[0];
    assert!((table.limit_ratio - 1.112).abs() < 0.002, "{}", table.limit_ratio);
    let moved: Vec<Moved> = table.rows.iter().map(|row| row.moved).collect();
    assert_eq!(moved, [Moved::Same, Moved::Slower, Moved::Quicker]);
    assert!((table.rows[1].ratio - 0.8).abs() < 1e-9 && found.is_slower());
    assert_eq!((table.rows[0].before.1, table.before.file.as_str()), (6, "before.txt"));
}

#[test]
fn what_only_one_side_tells_is_no_change() {
    // Only the second side has settings: nothing is known of those of the first.
    let found = compared(FOUR, &format!("{FOUR}\nexport NCCL_ALGO=Ring\n"));
    assert!(found.changes.is_empty(), "{:?}", found.changes);
    assert_eq!(found.one_sided, [("settings", false)]);
    let alone = compared(&run([10.0, 20.0, 30.0]), FOUR);
    assert_eq!((alone.tables.len(), alone.unmatched.len()), (0, 1));
}

#[test]
fn of_machines_that_should_be_alike_the_odd_one_is_told() {
    let lame = FOUR.replace("GPU0\t X \tNV4", "GPU0\t X \tNV2").replace("GPU1\tNV4", "GPU1\tNV2");
    let texts = [FOUR, FOUR, lame.as_str(), FOUR];
    let all: Vec<Given> = texts.iter().map(|text| given("topo.txt", text)).collect();
    let request = Request::new(Collective::AllReduce);
    let sides: Vec<Side<'_>> = all
        .iter()
        .map(|Given { case, topology, diagnostics }| Side { case, topology, diagnostics, request: &request })
        .collect();
    let found = differing(&sides);
    let first = &found[0];
    assert_eq!((first.machine, first.usual_count, first.kind), (2, 3, ChangeKind::Topology), "{found:?}");
    let text = |said: &Option<super::Said>| said.as_ref().map(|said| said.text.clone());
    assert_eq!((text(&first.usual), text(&first.odd)), (Some("NV4".to_owned()), Some("NV2".to_owned())));
    assert!(found.iter().all(|difference| difference.machine == 2), "{found:?}");
    // Two have no majority.
    assert!(differing(&sides[1..3]).is_empty());
}
