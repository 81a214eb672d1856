//! What reports of tools say of the machine: which models its GPUs and CPUs are, and which of their links are up.

use weft_base::{Bytes, Diagnostic, Place, Severity, simplify};
use weft_catalogue::{Catalogue, Gpu};

use super::{Case, Observation, Overrides, Seen};
use crate::codes;
use crate::evidence::{Evidence, Record, Report};
use crate::format::Located;
use crate::gpu_names::gpus_called;

/// Fields that name a GPU's model, by the tools that print them.
const GPU_FIELDS: [&str; 3] = ["product-name", "model", "name"];
/// Formats whose records of kind `gpu` are NVML's, in NVML's order.
const NVML: [&str; 7] = [
    "nvidia-smi-q",
    "nvidia-smi-list",
    "nvidia-smi",
    "nvidia-smi-query",
    "nvidia-smi-nvlink-status",
    "nvidia-smi-nvlink-errors",
    "nvidia-smi-nvlink-remote",
];

fn reports(evidence: &[Located<Evidence>]) -> impl Iterator<Item = (&Report, &Place)> {
    evidence.iter().filter_map(|located| {
        let Evidence::Report(report) = &located.value else { return None };
        Some((&**report, &located.place))
    })
}

fn gpus(report: &Report) -> impl Iterator<Item = &Record> {
    let is_nvml = NVML.contains(&report.format);
    report.records.iter().filter(move |record| is_nvml && record.kind == "gpu")
}

/// The models that benchmarks name in their lists of ranks or devices.
fn measured(evidence: &[Located<Evidence>]) -> impl Iterator<Item = &str> {
    evidence.iter().flat_map(|located| {
        if let Evidence::Benchmark(benchmark) = &located.value {
            benchmark.gpus()
        } else if let Evidence::Pairs(table) = &located.value {
            table.devices.iter().map(|device| device.model.as_str()).collect()
        } else {
            Vec::new()
        }
    })
}

/// `given`, completed by the models that reports and benchmarks name. GPUs of several models name none.
pub(super) fn completed(
    given: &Overrides,
    evidence: &[Located<Evidence>],
    catalogue: &Catalogue,
) -> Overrides {
    let listed =
        reports(evidence).flat_map(|(report, _)| gpus(report)).filter_map(|record| gpu(record, catalogue));
    let mut models = listed.chain(measured(evidence).filter_map(|name| only_gpu(name, catalogue)));
    let gpu = models.next().filter(|first| models.all(|other| other.name == first.name));
    let cpu = reports(evidence)
        .filter(|(report, _)| report.format == "lscpu")
        .flat_map(|(report, _)| &report.records)
        .find_map(|record| cpu(record.text("model-name")?, catalogue));
    Overrides {
        gpu: given.gpu.clone().or_else(|| gpu.map(|gpu| gpu.name.clone())),
        nic: given.nic.clone(),
        cpu: given.cpu.clone().or(cpu),
    }
}

/// The GPU of that name, if there is one only.
fn only_gpu<'c>(name: &str, catalogue: &'c Catalogue) -> Option<&'c Gpu> {
    let called = gpus_called(name, catalogue);
    called.first().copied().filter(|_| called.len() == 1)
}

/// The GPU that a record names; a name that the tool cut counts where only one GPU begins so and has that memory.
fn gpu<'c>(record: &Record, catalogue: &'c Catalogue) -> Option<&'c Gpu> {
    let name = GPU_FIELDS.iter().find_map(|field| record.text(field))?;
    let Some(cut) = name.strip_suffix("...") else { return catalogue.gpu(name).ok() };
    let stem = simplify(cut);
    let memory =
        record.text("memory-total").and_then(|text| text.replace("MiB", " MiB").parse::<Bytes>().ok());
    let begins = |gpu: &&Gpu| {
        let spellings = gpu.aliases.iter().chain([&gpu.name, &gpu.title]);
        spellings.into_iter().any(|spelling| simplify(spelling).starts_with(&stem))
    };
    // What the driver keeps for itself and the way of counting make up to a tenth.
    let fits = |gpu: &&Gpu| {
        memory.is_none_or(|memory| memory.get().abs_diff(gpu.memory.value.get()) < gpu.memory.value.get() / 8)
    };
    let mut found = catalogue.gpus.iter().filter(begins).filter(fits);
    found.next().filter(|_| found.next().is_none())
}

/// The catalogue's name of `AMD EPYC 7543 32-Core Processor` or `Intel(R) Xeon(R) Platinum 8480C`.
fn cpu(model: &str, catalogue: &Catalogue) -> Option<String> {
    let model = model.replace("(R)", "").replace("(TM)", "").replace(" CPU", " ");
    let words: Vec<&str> = model.split('@').next()?.split_whitespace().collect();
    // The name stands among words such as the vendor and the number of cores.
    let spans = (0..words.len().min(4))
        .flat_map(|from| (from + 1..=words.len().min(from + 4)).rev().map(move |to| from..to));
    let mut named = spans.map(|span| words[span].join(" ")).filter(|name| name.len() > 4);
    named.find_map(|name| catalogue.cpu(&name).ok()).map(|cpu| cpu.name.clone())
}

/// The finding that a matrix contradicts the GPU that reports name, as a warning: either may be of another
/// machine, and the matrix says more.
pub(super) fn doubted(given: &Overrides, diagnostics: &[Diagnostic]) -> Option<Diagnostic> {
    let is_impossible = |finding: &&Diagnostic| finding.code == codes::IMPOSSIBLE_NVLINK;
    let finding = diagnostics.iter().find(is_impossible).filter(|_| given.gpu.is_none())?;
    let hint = "the matrix was believed, not the model that another output names: are both of one machine?";
    Some(Diagnostic { severity: Severity::Warning, hint: Some(hint.to_owned()), ..finding.clone() })
}

/// Links of GPUs that are down, and GPUs that run on fewer lanes than they could, on the first host that tells.
pub(super) fn observations(case: &Case) -> Vec<Observation> {
    let Some(machine) = &case.machine else { return Vec::new() };
    let count: usize = machine.gpus.iter().map(|group| usize::from(group.count)).sum();
    let mut found: Vec<Observation> = Vec::new();
    for (report, place) in reports(&case.evidence) {
        let records: Vec<&Record> = gpus(report).collect();
        for (index, record) in records.iter().enumerate() {
            let number = record.subject.strip_prefix("GPU ").and_then(|number| number.parse().ok());
            // Without a number, the records stand for GPUs only if they are all there.
            let number: Option<usize> = number.or((records.len() == count).then_some(index));
            let Some(gpu) = number.and_then(|number| machine_number(case, number)).filter(|gpu| *gpu < count)
            else {
                continue;
            };
            let Some((seen, line)) = links(record, gpu).or_else(|| lanes(record, gpu)) else { continue };
            let is_new = |other: &Observation| !is_same(other.seen, seen);
            if found.iter().chain(&case.observed).all(is_new) {
                found.push(Observation { seen, place: Place::new(&place.file, line, 1, 0) });
            }
        }
    }
    found
}

/// The number in the machine of NVML's number: matrices may leave GPUs out.
fn machine_number(case: &Case, number: usize) -> Option<usize> {
    if case.gpu_labels.is_empty() {
        return Some(number);
    }
    let label = format!("GPU{number}");
    case.gpu_labels.iter().position(|own| *own == label)
}

fn is_same(a: Seen, b: Seen) -> bool {
    match (a, b) {
        (Seen::GpuLanes(a, _), Seen::GpuLanes(b, _))
        | (Seen::NicLanes(a, _), Seen::NicLanes(b, _))
        | (Seen::GpuLinks(a, _), Seen::GpuLinks(b, _)) => a == b,
        (Seen::GpuLanes(..) | Seen::NicLanes(..) | Seen::GpuLinks(..), _) => false,
    }
}

fn links(record: &Record, gpu: usize) -> Option<(Seen, u32)> {
    let (links, inactive) = (record.count("links")?, record.count("inactive-links")?);
    let up = u16::try_from(links.checked_sub(inactive)?).ok()?;
    (inactive > 0).then_some((Seen::GpuLinks(gpu, up), record.line))
}

fn lanes(record: &Record, gpu: usize) -> Option<(Seen, u32)> {
    let names = [
        ("pci-gpu-link-info-link-width-current", "pci-gpu-link-info-link-width-max"),
        ("pcie-link-width-current", "pcie-link-width-max"),
    ];
    names.iter().find_map(|(current, most)| {
        let (now, most) = (record.count(current)?, record.count(most)?);
        let line = record.field(current)?.line;
        (now < most).then(|| u16::try_from(now).ok().map(|now| (Seen::GpuLanes(gpu, now), line)))?
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Source, join, read};

    const MATRIX: &str = "\tGPU0\tGPU1\nGPU0\t X \tNV4\nGPU1\tNV4\t X \n";

    fn case(text: &str) -> (Case, Vec<Diagnostic>) {
        let catalogue = Catalogue::embedded();
        join(read(&Source::file("t", text), catalogue, None).evidence, &Overrides::default(), catalogue)
    }

    fn model(case: &Case) -> Option<&str> {
        case.machine.as_ref()?.gpus.first()?.model.as_deref()
    }

    #[test]
    fn a_model_that_a_report_names_counts_before_the_usual_one() {
        // NV4 between two GPUs is taken for an RTX A6000 where nothing names them.
        assert_eq!(model(&case(MATRIX).0), Some("rtx-a6000"));
        let list =
            "GPU 0: NVIDIA GeForce RTX 3090 (UUID: GPU-1)\nGPU 1: NVIDIA GeForce RTX 3090 (UUID: GPU-2)\n";
        let (named, findings) = case(&format!("{MATRIX}\n{list}"));
        assert_eq!((model(&named), findings.len()), (Some("rtx-3090"), 0));
        assert!(
            named.assumed.iter().all(|it| it.what != "model" || it.subject != "GPU"),
            "{:?}",
            named.assumed
        );
    }

    #[test]
    fn ranks_of_a_benchmark_name_the_model_too() {
        let rank = |number| {
            format!("#  Rank  {number} Pid   7 on  node01 device  {number} [0x1b] NVIDIA GeForce RTX 3090\n")
        };
        let table = "#       size         count      type   redop     time   algbw   busbw  error\n\
                     #        (B)    (elements)                     (us)  (GB/s)  (GB/s)\n\
                     \x20    1048576        262144     float     sum    35.20   29.78   29.78  0e+00\n";
        let (named, _) =
            case(&format!("{MATRIX}\n# nThread 1 nGpus 2 minBytes 8\n{}{}{table}", rank(0), rank(1)));
        assert_eq!(model(&named), Some("rtx-3090"));
    }

    #[test]
    fn devices_of_a_table_of_pairs_name_the_model_too() {
        let device = |number| {
            format!("Device: {number}, NVIDIA GeForce RTX 3090, pciBusID: {number}, pciDeviceID: 0\n")
        };
        let table =
            "P2P Connectivity Matrix\n     D\\D     0     1\n     0\t     1     0\n     1\t     0     1\n";
        let (named, _) = case(&format!("{MATRIX}\n{}{}{table}", device(0), device(1)));
        assert_eq!(model(&named), Some("rtx-3090"));
    }

    #[test]
    fn a_model_that_cannot_be_is_doubted_and_the_matrix_believed() {
        let (doubted, findings) = case(&format!("{MATRIX}\nGPU 0: Tesla T4 (UUID: GPU-1)\n"));
        assert_eq!(model(&doubted), Some("rtx-a6000"));
        let codes: Vec<_> = findings.iter().map(|finding| (finding.code.name, finding.severity)).collect();
        assert_eq!(codes, [("impossible-nvlink", Severity::Warning)]);
    }

    #[test]
    fn names_that_were_cut_are_told_by_their_memory() {
        let mut record = Record::new("gpu", "GPU 0", 1);
        let text = |text: &str| crate::Value::Text(text.to_owned());
        record.push("model", text("NVIDIA A100-SXM..."), 1);
        assert!(gpu(&record, Catalogue::embedded()).is_none());
        record.push("memory-total", text("81920MiB"), 1);
        assert_eq!(gpu(&record, Catalogue::embedded()).map(|gpu| gpu.name.as_str()), Some("a100-sxm4-80gb"));
    }

    #[test]
    fn cpus_are_found_among_the_words_around_them() {
        let found = |model| cpu(model, Catalogue::embedded());
        assert_eq!(found("AMD EPYC 7543 32-Core Processor").as_deref(), Some("epyc-milan"));
        assert_eq!(found("Intel(R) Xeon(R) Platinum 8480C").as_deref(), Some("xeon-sapphire-rapids"));
        assert_eq!(found("Cavium ThunderX2"), None);
    }
}
