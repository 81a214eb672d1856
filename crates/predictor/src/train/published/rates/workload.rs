//! Models of throughput tables: weights, and how many units of the throughput a batch has.

/// What a copy does in a step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Workload {
    /// Weights whose gradients copies sum; 0 where they do not.
    pub weights: f64,
    /// Samples of a batch of one GPU.
    pub samples: f64,
    /// Units of the throughput in a sample: 1, or its tokens.
    pub units: f64,
}

/// Batches of a GPU in Lambda's scripts by memory in GB, of 32 and of 16 bits
/// (lambdal/deeplearning-benchmark: pytorch/pytorch-train-bs-fp32.csv and -fp16.csv).
const LAMBDA_MEMORY_GB: [u32; 5] = [16, 24, 40, 48, 80];

type Lambda = (&'static str, f64, f64, [u32; 5], [u32; 5]);

/// Name, weights, units of a sample, batches of 32 bits, batches of 16 bits. Weights as the logs of that repository print
/// them; a sentence pair of GNMT has 47 tokens by them.
const LAMBDA: [Lambda; 6] = [
    ("bert_base_squad", 109_488_386.0, 1.0, [24, 48, 80, 96, 172], [48, 96, 160, 192, 320]),
    ("bert_large_squad", 335_150_082.0, 1.0, [8, 16, 28, 32, 64], [16, 28, 48, 64, 112]),
    ("gnmt", 159_593_523.0, 47.0, [128, 288, 512, 576, 1024], [256, 464, 800, 968, 1520]),
    ("resnet50", 25_557_032.0, 1.0, [128, 224, 360, 496, 640], [256, 448, 720, 928, 1280]),
    // They ran without `--multi_gpu`: each copy goes its own way (`multi_gpu=None` in their logs).
    ("transformerxlbase", 0.0, 128.0, [8, 14, 26, 32, 52], [12, 24, 52, 64, 104]),
    ("transformerxllarge", 0.0, 128.0, [2, 4, 12, 16, 24], [4, 8, 24, 32, 48]),
];

/// GPUs of Lambda's tables whose names do not say their memory.
const MEMORY_GB: &[(&str, u32)] = &[
    ("rtx 8000", 48),
    ("6000 ada", 48),
    ("a6000", 48),
    ("a40", 48),
    ("3090", 24),
    ("4090", 24),
    ("a10", 24),
    ("a5000", 24),
    ("a4000", 16),
    ("v100", 16),
];

pub(super) fn lambda(title: &str, half: bool, gpu: &str) -> Result<Workload, String> {
    let known = LAMBDA.into_iter().find(|(name, ..)| *name == title);
    let (_, weights, units, full_batches, half_batches) =
        known.ok_or_else(|| format!("no weights of `{title}`"))?;
    let lower = gpu.to_lowercase();
    let printed = lower.split(' ').find_map(|word| word.strip_suffix("gb")?.parse().ok());
    let listed = || MEMORY_GB.iter().find(|(name, _)| lower.contains(name)).map(|(_, memory)| *memory);
    let memory: u32 = printed.or_else(listed).ok_or_else(|| format!("no memory of `{gpu}`"))?;
    let batches = if half { half_batches } else { full_batches };
    let batch =
        LAMBDA_MEMORY_GB.into_iter().zip(batches).find(|(of, _)| *of == memory).map(|(_, batch)| batch);
    let samples = f64::from(batch.ok_or_else(|| format!("no batch of {memory} GB"))?);
    Ok(Workload { weights, samples, units })
}

type Example = (&'static str, &'static str, f64, f64, Option<f64>);

/// NVIDIA's examples by part of their path and a word of the configuration or section: weights in millions, tokens of a
/// sample (1 where samples are counted), and the batch where the table prints none (README of each example, its scripts'
/// default). Weights as papers and READMEs print them.
const EXAMPLES: &[Example] = &[
    ("efficientnet", "-b0", 5.3, 1.0, Some(256.0)),
    ("efficientnet", "-b4", 19.3, 1.0, Some(64.0)),
    ("efficientnet_v2", "", 21.5, 1.0, Some(128.0)),
    ("se-resnext101", "", 49.0, 1.0, Some(128.0)),
    ("resnext101", "", 44.2, 1.0, Some(128.0)),
    ("resnet50", "", 25.6, 1.0, Some(256.0)),
    ("Efficientdet", "", 3.9, 1.0, Some(64.0)),
    ("Detection/SSD", "", 22.9, 1.0, None),
    ("LanguageModeling/BART", "", 406.0, 1.0, None),
    ("Transformer-XL", "Large", 257.0, 384.0, None),
    ("Transformer-XL", "", 191.9, 192.0, None),
    ("Translation/Transformer", "", 210.0, 1.0, None),
    ("biobert", "", 109.5, 1.0, None),
    ("LanguageModeling/BERT", "arge", 335.2, 1.0, None),
    ("GNMT", "", 159.6, 47.0, None),
    ("MaskRCNN", "", 44.4, 1.0, None),
    ("UNet_Medical", "", 31.0, 1.0, None),
];

/// Tables that are looked up, of which copies exchange single lines.
const SPARSE: &[&str] = &["Recommendation/"];

pub(super) fn example(path: &str, config: &str, section: &str, half: bool) -> Result<Workload, String> {
    if SPARSE.iter().any(|part| path.contains(part)) {
        return Err(
            "tables that are looked up: copies exchange lines of them, not gradients of all".to_owned()
        );
    }
    let says = |word: &str| config.contains(word) || section.contains(word);
    let known = EXAMPLES.iter().find(|(part, word, ..)| path.contains(part) && says(word));
    let (_, _, millions, units, usual) = known.ok_or("how many weights it has is not published")?;
    let samples = batch(config, half).or(*usual).ok_or("the batch is not printed")?;
    Ok(Workload { weights: 1e6 * millions, samples, units: *units })
}

/// `Batch size / GPU=128 (TF) / 256 (AMP)`: of two numbers the larger is that of mixed precision. A comma parts two where
/// the column's name has one too, else thousands.
fn batch(config: &str, half: bool) -> Option<f64> {
    let (name, value) = config
        .split(';')
        .filter_map(|part| part.trim().split_once('='))
        .find(|(name, _)| name.to_lowercase().contains("batch size"))?;
    let value = value.replace(',', if name.contains(',') { " " } else { "" });
    let numbers = value.split(['/', ' ', '(']).filter_map(|word| word.parse::<f64>().ok());
    let picked = if half { numbers.reduce(f64::max) } else { numbers.reduce(f64::min) };
    picked.filter(|count| *count > 0.0)
}

#[cfg(test)]
mod tests {
    use super::{batch, example};

    #[test]
    fn batches_are_read_however_they_are_written() {
        for (config, half, expected) in [
            ("GPUs=8; Batch size / GPU=240; Speedup=1", true, Some(240.0)),
            ("Batch Size / GPU=128 (TF) / 256 (AMP)", true, Some(256.0)),
            ("Batch Size / GPU=128 (TF) / 256 (AMP)", false, Some(128.0)),
            ("Batch size / GPU (TF32, BF16)=100, 200", true, Some(200.0)),
            ("Batch size / GPU=131,072", false, Some(131_072.0)),
            ("Batch size / GPU: mixed precision, FP32=128,128", false, Some(128.0)),
            ("Batch size / GPU=10240/5120", false, Some(5120.0)),
            ("GPUs=8", true, None),
        ] {
            assert_eq!(batch(config, half), expected, "{config}");
        }
    }

    #[test]
    fn what_is_not_summed_whole_is_left_out() {
        assert!(example("TensorFlow2/Recommendation/SIM", "", "", true).is_err());
        assert!(example("PyTorch/Nobody", "Batch size=1", "", true).is_err());
        let large =
            example("PyTorch/LanguageModeling/Transformer-XL", "Batch Size / GPU=8", "Large model", true);
        assert_eq!(large.unwrap().samples.to_string(), "8");
    }
}
