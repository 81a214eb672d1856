//! Matrices of bandwidths between GPUs, made into links.

use weft_base::Rate;
use weft_catalogue::Catalogue;

use super::host::Built;
use super::object::{Kind, Object};
use crate::evidence::{DeviceRole, GpuLink, GpuLinkEnd};

/// A matrix that the topology holds.
#[derive(Debug, Default)]
pub(super) struct Matrix {
    /// `NVLinkBandwidth`, `XGMIBandwidth`.
    pub name: String,
    /// Objects of rows and columns.
    pub objects: Vec<usize>,
    /// Row by row, in MB/s.
    pub values: Vec<u64>,
    pub line: u32,
}

/// Of an object to itself.
const ITSELF: u64 = 1_000_000;

/// The links that `matrix` tells of.
pub(super) fn add(matrix: &Matrix, objects: &[Object], built: &mut Built, catalogue: &Catalogue) {
    let family = match matrix.name.as_str() {
        "NVLinkBandwidth" => "nvlink",
        "XGMIBandwidth" => "xgmi",
        _ => return,
    };
    let size = matrix.objects.len();
    for (row, from) in matrix.objects.iter().enumerate() {
        let Some(gpu) = built.device_of[*from] else { continue };
        let model = built.host.devices[gpu].roles.iter().find_map(|role| match role {
            DeviceRole::Gpu(gpu) => gpu.model.clone(),
            DeviceRole::Adapter(_) | DeviceRole::GpuSwitch => None,
        });
        // The rows of switches say the same from the other side.
        let Some(model) = model else { continue };
        let one = rate_of_one(&model, catalogue);
        for (column, to) in matrix.objects.iter().enumerate() {
            let value = matrix.values.get(row * size + column).copied().unwrap_or(0);
            let to = match (built.device_of[*to], objects[*to].kind) {
                (Some(device), _) => GpuLinkEnd::Device(device),
                (None, Kind::Package) => GpuLinkEnd::Cpu(node_of(*to, objects, built)),
                (None, _) => continue,
            };
            if row == column || value == 0 || value == ITSELF {
                continue;
            }
            let all = Rate::bytes_per_second(value.saturating_mul(1_000_000));
            let count = one.and_then(|one| links(all, one)).unwrap_or(0);
            let rate = if count == 0 { Some(all) } else { one };
            built.host.gpu_links.push(GpuLink {
                gpu,
                to,
                count,
                family,
                rate,
                line: matrix.line,
                ..GpuLink::default()
            });
        }
    }
}

fn node_of(package: usize, objects: &[Object], built: &Built) -> Option<usize> {
    let number = objects[package].number?;
    built.numa_of[package].or(built.host.numa.iter().position(|node| node.socket == Some(number)))
}

fn rate_of_one(model: &str, catalogue: &Catalogue) -> Option<Rate> {
    let fabric = catalogue.gpu(model).ok()?.fabric.as_ref()?;
    Some(catalogue.link(&fabric.link).ok()?.rate(1)).filter(|rate| *rate > Rate::ZERO)
}

/// How many links carry `all`, which hwloc rounds down to whole steps of its own.
fn links(all: Rate, one: Rate) -> Option<u16> {
    let count = (all.get() + one.get() / 2) / one.get();
    u16::try_from(count).ok().filter(|count| (1..=36).contains(count))
}
