//! Throughputs of whole models that were copied onto several GPUs: of one GPU the time is measured, so that only what
//! copies say to each other is to be predicted.

mod workload;

use super::machine;
use super::table::{Row, Table};
use workload::{Workload, example, lambda};

/// A throughput, and all that its scaling asks for.
#[derive(Debug, Clone, PartialEq)]
pub struct PublishedRate {
    /// The file's name.
    pub file: String,
    /// Line of the file.
    pub line: u64,
    /// What rows of different numbers of GPUs share.
    pub key: String,
    /// GPUs, each with a copy.
    pub gpus: u32,
    /// The machine as a one-liner.
    pub machine: String,
    /// What each copy sums with the others once a step; 0 where it does not.
    pub gradient_bytes: f64,
    /// Seconds of a step.
    pub step_s: f64,
}

impl PublishedRate {
    /// Batches of one GPU that are done in a second, over all.
    pub fn rate_per_second(&self) -> f64 {
        f64::from(self.gpus) / self.step_s
    }
}

/// Throughputs of a table, with reasons for those that say too little; of a table of another kind nothing.
pub fn read_rates(file: &str, text: &str) -> (Vec<PublishedRate>, Vec<(u64, String)>) {
    let table = Table::read(file, text);
    let has = |columns: [&str; 2]| columns.iter().all(|column| table.has(column));
    let mut tables = Tables::default();
    let (mut rates, mut left) = (Vec::new(), Vec::new());
    for row in &table.rows {
        let read = match () {
            () if has(["gpu_config", "workload"]) => of_lambda(file, row),
            () if has(["gpu_col", "metric"]) => {
                let number = tables.number(row);
                of_example(file, row, &table.rows, number)
            }
            () => return (rates, left),
        };
        match read {
            Ok(rate) => rates.push(rate),
            Err(why) => left.push((row.line, why)),
        }
    }
    (rates, left)
}

/// Lambda's benchmark: the batch by the GPU's memory, as its scripts set it.
fn of_lambda(file: &str, row: &Row) -> Result<PublishedRate, String> {
    let (maker, name) = configuration(row.text("gpu_config"));
    let gpus = row.whole("num_gpus").ok_or("no number of GPUs")?;
    let (title, half) = (row.text("workload"), row.text("precision") == "fp16");
    let Workload { weights, samples, units } = lambda(title, half, &name)?;
    let rate = row.positive("throughput_samples_or_tokens_per_s").map_err(|_| "no throughput")?;
    Ok(PublishedRate {
        file: file.to_owned(),
        line: row.line,
        key: format!("{maker} {name} {title} {half}"),
        gpus,
        machine: lambda_machine(&name, gpus),
        gradient_bytes: weights * if half { 2.0 } else { 4.0 },
        step_s: samples * units * f64::from(gpus) / rate,
    })
}

/// `LambdaCloud 2x V100 16GB`: who offers it, and the GPU's name.
fn configuration(text: &str) -> (String, String) {
    let is_count = |word: &&str| {
        let digits = word.split('x').next().unwrap_or_default();
        word.contains('x') && !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
    };
    let is_maker = |word: &&str| {
        let known = ["lambdacloud", "dell", "delltexas", "smc", "raidz1", "1cc"];
        known.contains(&word.to_lowercase().as_str())
    };
    let maker = text.split(' ').next().filter(is_maker).unwrap_or_default();
    let words = text.split(' ').filter(|word| !is_count(word) && !is_maker(word));
    // `4xV100`: the name is joined to the count.
    let joined =
        text.split(' ').find(is_count).and_then(|word| word.split_once('x')).map_or("", |(_, rest)| rest);
    let name: Vec<&str> = [joined].into_iter().filter(|word| !word.is_empty()).chain(words).collect();
    (maker.to_owned(), name.join(" "))
}

fn lambda_machine(name: &str, gpus: u32) -> String {
    let lower = name.to_lowercase();
    let has = |words: &[&str]| words.iter().all(|word| lower.contains(word));
    match () {
        () if has(&["h100", "sxm"]) => "dgx-h100".to_owned(),
        () if has(&["a100", "40gb", "sxm"]) => "dgx-a100-40gb".to_owned(),
        () if has(&["a100", "sxm"]) => "dgx-a100".to_owned(),
        () if has(&["v100"]) => "dgx-1".to_owned(),
        () if has(&["h100"]) => format!("{gpus} h100-pcie-80gb"),
        () if has(&["a100", "40gb"]) => format!("{gpus} a100-pcie-40gb"),
        () if has(&["a100"]) => format!("{gpus} a100-pcie-80gb"),
        () => format!("{gpus} {}", lower.replace(' ', "-")),
    }
}

/// NVIDIA's examples: machines by the section's title.
fn of_example(file: &str, row: &Row, rows: &[Row], number: u32) -> Result<PublishedRate, String> {
    let config = row.text("config").replace('*', "");
    let metric = row.lower("metric");
    let half = ["mixed", "bf16", "amp"].iter().any(|word| metric.contains(word));
    let Workload { weights, samples, units } =
        example(row.text("model_path"), &config, row.text("section"), half)?;
    let count = row.whole("num_gpus_or_nodes").ok_or("no number of GPUs")?;
    let system = system(row, rows)?;
    let each = if system == "dgx-2" { 16 } else { 8 };
    let gpus = if row.lower("gpu_col").contains("node") { count * each } else { count };
    let rate = row.positive("value").map_err(|_| "no throughput")?;
    Ok(PublishedRate {
        file: file.to_owned(),
        line: row.line,
        key: format!("{number} {metric} {} {samples}", same(&config)),
        gpus,
        machine: machine::rails(system, gpus, each),
        // Programs of TensorFlow sum in 32 bits whatever they multiply in.
        gradient_bytes: weights
            * if half && row.text("model_path").starts_with("PyTorch") { 2.0 } else { 4.0 },
        step_s: samples * units * f64::from(gpus) / rate,
    })
}

/// What a configuration says besides sizes, counts and what follows from throughputs.
fn same(config: &str) -> String {
    let follows =
        ["gpu", "node", "batch", "speed", "scaling", "time", "tf32", "fp32", "mixed precision", "accum"];
    let parts = config.split(';').map(str::trim).filter(|part| {
        let name = part.split('=').next().unwrap_or_default().to_lowercase();
        !follows.iter().any(|word| name.contains(word))
    });
    parts.collect::<Vec<_>>().join(" ")
}

/// By the section; tables of sections that name none are of A100 where they multiply in TF32, else of V100.
fn system(row: &Row, rows: &[Row]) -> Result<&'static str, String> {
    let section = row.lower("section");
    let has = |word: &str| section.contains(word);
    let beside = |test: &dyn Fn(&Row) -> bool| {
        rows.iter().any(|other| {
            other.text("model_path") == row.text("model_path")
                && other.text("section") == row.text("section")
                && other.line.abs_diff(row.line) <= 1
                && test(other)
        })
    };
    match () {
        () if has("a100") && has("40gb") => Ok("dgx-a100-40gb"),
        () if has("a100") => Ok("dgx-a100"),
        () if has("dgx-2") => Ok("dgx-2"),
        () if has("dgx-1") => Ok("dgx-1"),
        () if beside(&|other| other.lower("metric").contains("tf32")) => Ok("dgx-a100"),
        () if row.lower("config").contains("dgx-2") => Ok("dgx-2"),
        () if row.whole("num_gpus_or_nodes") == Some(16) => Ok("dgx-2"),
        () if beside(&|other| other.lower("metric").contains("fp32")) => Ok("dgx-1"),
        () => Err("the machine is not named".to_owned()),
    }
}

/// Numbers tables by their lines in the source, which follow each other.
#[derive(Default)]
struct Tables {
    last: Option<(String, u64)>,
    count: u32,
}

impl Tables {
    fn number(&mut self, row: &Row) -> u32 {
        let line = row.text("source").rsplit(' ').next().and_then(|word| word.parse().ok()).unwrap_or(0_u64);
        let title = format!("{} {}", row.text("model_path"), row.text("section"));
        let goes_on =
            self.last.as_ref().is_some_and(|(of, last)| *of == title && (*last..=last + 1).contains(&line));
        if !goes_on {
            self.count += 1;
        }
        self.last = Some((title, line));
        self.count
    }
}

#[cfg(test)]
mod tests {
    use super::{configuration, read_rates};

    #[test]
    fn configurations_name_maker_and_gpu() {
        let read = |text| {
            let (maker, name) = configuration(text);
            format!("{maker}|{name}")
        };
        assert_eq!(read("LambdaCloud 2x V100 16GB"), "LambdaCloud|V100 16GB");
        assert_eq!(read("LambdaCloud 4xV100 16GB"), "LambdaCloud|V100 16GB");
        assert_eq!(read("8x H100 80GB SXM5"), "|H100 80GB SXM5");
        assert_eq!(read("RTX 6000 Ada"), "|RTX 6000 Ada");
    }

    #[test]
    fn a_step_follows_from_batch_and_rate() {
        let text = "gpu_config,num_gpus,precision,workload,throughput_samples_or_tokens_per_s\n\
            RTX 4090,1,fp32,bert_large_squad,44\n2x RTX 4090,2,fp32,bert_large_squad,55\n\
            RTX 4090,1,fp32,transformerxlbase,22750\nRTX 4090,1,fp32,unheard,1\n";
        let (rates, left) = read_rates("train_lambda.csv", text);
        assert_eq!((rates.len(), left.len()), (3, 1));
        // 16 sequences of 24 GB; 335 million weights of 4 bytes.
        assert!((rates[0].step_s - 16.0 / 44.0).abs() < 1e-9);
        assert!((rates[1].step_s - 32.0 / 55.0).abs() < 1e-9);
        assert!((rates[1].gradient_bytes - 1.3406e9).abs() < 1e5);
        assert_eq!(rates[0].key, rates[1].key);
        // Its copies do not talk to each other.
        assert!(rates[2].gradient_bytes < 1.0);
    }
}
