//! What all fuzz targets do: read, join, build; nothing may panic, nothing may be lost in silence.

use weft_catalogue::Catalogue;
use weft_formats::{Overrides, Source, join, read};

/// Reads `data` by the format called `name`, or by whichever fits, and builds what comes out.
pub fn run(name: Option<&str>, data: &[u8]) {
    let catalogue = Catalogue::embedded();
    let mut source = Source::file("fuzz", String::from_utf8_lossy(data));
    if str::from_utf8(data).is_err() || data.contains(&0) {
        source.bytes = data.to_vec();
    }
    let reading = read(&source, catalogue, name);
    assert!(!reading.evidence.is_empty() || reading.failed(), "nothing read and nothing said");
    let (mut case, _) = join(reading.evidence, &Overrides::default(), catalogue);
    if let Some(machine) = &mut case.machine {
        // A cluster of millions is valid and only slow.
        machine.host.count = 1;
        let _ = weft_topology::build(machine, catalogue);
    }
}
