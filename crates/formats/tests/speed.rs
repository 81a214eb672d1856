//! Reading stays quick: a bound that is loose enough for a debug build on a busy machine, and the true
//! figure printed (`cargo test --release --test speed -- --nocapture`).

use std::time::Duration;

use weft_catalogue::Catalogue;
use weft_formats::{Overrides, Source, join, read};
use weft_testkit::print::{Dialect, Table, print};
use weft_topology::ReportedClass;

/// 8 GPUs and 42 NICs, as where a NIC is split into virtual functions: the widest matrix met so far.
fn wide() -> String {
    let (gpus, nics) = (8usize, 42usize);
    let socket = |end: usize| if end < gpus { end * 2 / gpus } else { (end - gpus) * 2 / nics };
    let class =
        |a: usize, b: usize| match (a < gpus && b < gpus, socket(a) == socket(b), a < gpus || b < gpus) {
            (true, _, _) => ReportedClass::Nv(18),
            (false, false, _) => ReportedClass::Sys,
            (false, true, true) => ReportedClass::Node,
            (false, true, false) => ReportedClass::Pix,
        };
    let count = gpus + nics;
    let labels = (0..gpus).map(|gpu| format!("GPU{gpu}")).chain((0..nics).map(|nic| format!("NIC{nic}")));
    print(
        &Table {
            labels: labels.collect(),
            classes: (0..count).map(|a| (0..count).map(|b| class(a, b)).collect()).collect(),
            affinity: (0..count).map(|end| ("0-95".to_owned(), socket(end).to_string())).collect(),
        },
        Dialect::Blanks,
    )
}

#[test]
#[expect(clippy::disallowed_methods, reason = "this test is about time")]
fn the_widest_matrix_is_read_in_milliseconds() {
    let (source, catalogue) = (Source::file("t", wide()), Catalogue::embedded());
    let mut best = Duration::MAX;
    for _ in 0..10 {
        let start = std::time::Instant::now();
        let reading = read(&source, catalogue, None);
        let (case, _) = join(reading.evidence, &Overrides::default(), catalogue);
        best = best.min(start.elapsed());
        assert_eq!((case.gpu_labels.len(), case.nic_labels.len()), (8, 42));
    }
    println!("{} bytes read and joined in {best:?}", source.text.len());
    let bound = if cfg!(debug_assertions) { Duration::from_secs(1) } else { Duration::from_millis(5) };
    assert!(best < bound, "took {best:?}");
}

/// A log that names a GPU in every line is half a million rows without a header, each a matrix of its own.
#[test]
#[expect(clippy::disallowed_methods, reason = "this test is about time")]
fn time_grows_with_the_number_of_lines_and_not_with_its_square() {
    let catalogue = Catalogue::embedded();
    let time = |lines: usize| {
        let source = Source::file("t", "GPU0 X NV12 SYS\n".repeat(lines));
        let start = std::time::Instant::now();
        assert!(!read(&source, catalogue, None).failed());
        start.elapsed()
    };
    let (some, many) = (time(2_000), time(32_000));
    println!("2,000 lines in {some:?}, 32,000 in {many:?}");
    // 16 times as many lines; with the square it would be 256 times as long.
    assert!(many < some * 64, "2,000 lines took {some:?}, but 32,000 {many:?}");
}
