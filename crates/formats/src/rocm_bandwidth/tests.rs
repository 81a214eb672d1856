use weft_base::Rate;
use weft_catalogue::Catalogue;

use crate::evidence::{Evidence, Measure, PairTable};
use crate::format::Source;
use crate::{Reading, read};

const TWO: &str = include_str!("../../../../examples/formats/rocm-bandwidth-test/two-mi100.txt");
const RISER: &str = include_str!("../../../../examples/formats/rocm-bandwidth-test/validation-fails.txt");

fn tables(text: &str) -> (Vec<PairTable>, Reading) {
    let reading = read(&Source::file("t", text), Catalogue::embedded(), None);
    let table = |evidence: &Evidence| {
        let Evidence::Pairs(table) = evidence else { panic!("a table of pairs") };
        (**table).clone()
    };
    (reading.evidence.iter().map(|located| table(&located.value)).collect(), reading)
}

#[test]
fn matrices_name_cpus_and_gpus() {
    let (tables, reading) = tables(TWO);
    assert!(reading.diagnostics.is_empty(), "{:?}", reading.diagnostics);
    let [access, one_way, both] = &tables[..] else { panic!("three matrices: {}", tables.len()) };
    assert_eq!(access.rows, ["CPU0", "GPU0", "GPU1"]);
    assert_eq!(access.cell(0, 1).unwrap().measure, Measure::Access(true));
    // Row 2, column 1 in the tool's own numbers.
    let rate = |table: &PairTable| table.cell(2, 1).unwrap().measure;
    assert_eq!(rate(one_way), Measure::Rate(Rate::from_gigabytes(36.282)));
    assert_eq!((one_way.both_directions, both.both_directions), (false, true));
    assert_eq!(both.cell(1, 1), None);
    let gpus: Vec<_> = both.devices.iter().map(|gpu| (gpu.number, gpu.bus.as_deref())).collect();
    assert_eq!(gpus, [(0, Some("27:0.0")), (1, Some("2c:0.0"))]);
}

#[test]
fn data_that_do_not_arrive_are_told() {
    let (tables, reading) = tables(RISER);
    // Accesses and rates; blank lines stand between the rows.
    assert_eq!(tables.len(), 2);
    let [finding] = &reading.diagnostics[..] else { panic!("{:?}", reading.diagnostics) };
    assert_eq!(finding.code.name, "test-failed");
    assert_eq!(finding.message, "data from CPU0 to GPU0 did not arrive as sent, and between 1 more pairs");
    assert_eq!(tables[1].cell(1, 0).unwrap().measure, Measure::Rate(Rate::from_gigabytes(0.7)));
}
