//! `NCCL_IB_HCA`: which adapters are used.

/// A list of adapters; names are prefixes unless the list begins with `=`, and `^` excludes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HcaFilter {
    adapters: Vec<Adapter>,
    exact: bool,
    excludes: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Adapter {
    name: String,
    port: Option<u32>,
}

impl HcaFilter {
    /// Reads `mlx5`, `=mlx5_0:1,mlx5_1`, `^=mlx5_3`.
    pub fn read(text: &str) -> Self {
        let (excludes, rest) = text.strip_prefix('^').map_or((false, text), |rest| (true, rest));
        let (exact, rest) = rest.strip_prefix('=').map_or((false, rest), |rest| (true, rest));
        let adapters = rest.split(',').map(str::trim).filter(|word| !word.is_empty()).map(|word| {
            let (name, port) = word.split_once(':').unwrap_or((word, ""));
            Adapter { name: name.to_owned(), port: port.parse().ok() }
        });
        Self { adapters: adapters.collect(), exact, excludes }
    }

    /// Whether the adapter called `name` is used, with some port of it at least.
    pub fn takes(&self, name: &str) -> bool {
        let fits = |adapter: &Adapter| {
            if self.exact { adapter.name == name } else { name.starts_with(&adapter.name) }
        };
        // A single port that is excluded leaves the adapter its others.
        let listed =
            self.adapters.iter().any(|adapter| fits(adapter) && !(self.excludes && adapter.port > Some(1)));
        listed != self.excludes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_prefixes_unless_they_are_exact() {
        let taken = |text: &str, names: &[&str]| -> Vec<bool> {
            let filter = HcaFilter::read(text);
            names.iter().map(|name| filter.takes(name)).collect()
        };
        let names = ["mlx5_1", "mlx5_10", "bnxt_re0"];
        assert_eq!(taken("mlx5_1", &names), [true, true, false]);
        assert_eq!(taken("=mlx5_1:1", &names), [true, false, false]);
        assert_eq!(taken("^mlx5", &names), [false, false, true]);
        assert_eq!(taken("^=mlx5_1,bnxt_re0", &names), [false, true, false]);
    }
}
