//! Models by the many ways in which tables write their names, or by the shape that a table gives.

use weft_catalogue::{Attention, Catalogue, FeedForward, Grade, Model};
use weft_workload::Precision;

use super::Left;

/// Words that tell how a model was run, not which it is.
const NOT_NAMES: &[&str] = &[
    "bf16",
    "fp16",
    "fp8",
    "nvfp4",
    "dev",
    "proxy",
    "pretrain",
    "finetuning",
    "sft",
    "lora",
    "maxtext",
    "paxml",
    "moe",
    "nemo",
];

/// The model of that name: as the catalogue spells it, else one of the same family, version and size.
pub(super) fn model(name: &str, catalogue: &Catalogue) -> Result<Model, Left> {
    let words = words(name);
    if is_hybrid(&words) {
        return Err(Left::out("layers with a state space, whose shapes are not given"));
    }
    if let Some(kind) = not_decoder(&words) {
        return Err(Left::out(kind));
    }
    if let Ok(model) = catalogue.model(&words.join(" ")) {
        return Ok(model.clone());
    }
    let wanted = Key::of(&words);
    let spelled = |model: &&Model| {
        let names = model.aliases.iter().map(String::as_str).chain([model.title.as_str(), &model.name]);
        names.into_iter().any(|name| Key::of(&self::words(name)).is_like(&wanted))
    };
    let found = catalogue.models.iter().filter(spelled);
    // Of several versions the nearest: 3 of 3 and 3.1, whose shapes are the same.
    let nearest = found.min_by_key(|model| {
        let version = Key::of(&self::words(&model.title)).version;
        (version != wanted.version, version)
    });
    nearest.cloned().ok_or_else(|| Left::unread(format!("the catalogue has no model `{name}`")))
}

/// A decoder without experts whose shape a table gives: heads that share nothing, and two matrices four times as wide.
pub(super) fn shaped(name: &str, layers: u32, hidden: u32, heads: u32, vocabulary: u32) -> Model {
    Model {
        name: name.to_owned(),
        title: name.to_owned(),
        aliases: Vec::new(),
        grade: Grade::Derived,
        source: "published-training-steps".to_owned(),
        at: None,
        note: Some("layers, width and heads as the table prints them".to_owned()),
        layers,
        hidden,
        vocabulary,
        tied_embeddings: true,
        attention: Attention {
            heads,
            kv_heads: None,
            head_dim: None,
            latent: None,
            window_tokens: None,
            windowed_of: None,
        },
        feed_forward: FeedForward { width: 4 * hidden, gated: false },
        experts: None,
    }
}

/// Of what matrices are multiplied, by words such as `TE FP8`, `MXFP8`, `amp_bf16`.
pub(super) fn precision(text: &str) -> Precision {
    let text = text.to_lowercase();
    let has = |word: &str| text.contains(word);
    match () {
        () if has("fp4") => Precision::Fp4,
        () if has("fp8") || has("float8") || has("mxfp8") => Precision::Fp8,
        () if has("tf32") => Precision::Tf32,
        () if has("fp32") => Precision::Fp32,
        () => Precision::Half,
    }
}

/// Words in small letters, without what stands in parentheses, releases, and words that are no part of a name.
fn words(name: &str) -> Vec<String> {
    let name = name.split('(').next().unwrap_or_default().to_lowercase();
    let words = name.split([' ', '_', '-', ',']).filter(|word| !word.is_empty());
    let is_release = |word: &str| {
        let digits = word.split_once('.').filter(|(year, month)| year.len() == 2 && month.len() == 2);
        digits.is_some_and(|(year, month)| year.parse::<u32>().is_ok() && month.parse::<u32>().is_ok())
    };
    words.filter(|word| !NOT_NAMES.contains(word) && !is_release(word)).map(str::to_owned).collect()
}

/// `Nemotron-H`, and from the second generation on all that are called Nano, Super or Ultra without Llama in the name.
fn is_hybrid(words: &[String]) -> bool {
    let has = |wanted: &[&str]| words.iter().any(|word| wanted.contains(&word.as_str()));
    let is_nemotron = words.iter().any(|word| word.starts_with("nemotron"));
    let is_llama = words.iter().any(|word| word.starts_with("llama"));
    let named = has(&["h", "nano", "super", "ultra", "lightning"]);
    (is_nemotron && !is_llama && named) || has(&["nemotronh", "mamba", "mamba2", "jamba"])
}

fn not_decoder(words: &[String]) -> Option<&'static str> {
    let first = words.first().map_or("", String::as_str);
    let starts = |names: &[&str]| names.iter().any(|name| first.starts_with(name));
    match () {
        () if starts(&["bert", "roberta"]) => Some("an encoder, not a decoder"),
        () if starts(&["t5", "mt5"]) => Some("an encoder and a decoder, not a decoder alone"),
        () if starts(&["imagen", "wan", "stable", "sdxl", "flux", "vit", "dit", "clip"]) => {
            Some("makes or reads pictures, not a decoder of text")
        }
        () => None,
    }
}

/// What a name says: letters of the family, version, and size with what is active of it.
#[derive(Debug, Default, PartialEq)]
struct Key {
    family: String,
    version: String,
    sizes: Vec<String>,
}

impl Key {
    /// `["llama3.1", "8b"]`, `["llama", "3.1", "8b"]`: family `llama`, version `3.1`, size `8b`.
    fn of(words: &[String]) -> Self {
        let mut key = Self::default();
        for word in words.iter().flat_map(|word| word.split([':', '/'])) {
            let start = word.find(|c: char| c.is_ascii_digit()).unwrap_or(word.len());
            let (letters, rest) = word.split_at(start);
            if key.sizes.is_empty() || is_size(word) {
                match () {
                    () if is_size(word) => key.sizes.push(word.to_owned()),
                    () if is_size(rest) => key.sizes.push(word.to_owned()),
                    () => {
                        key.family.push_str(letters.trim_end_matches('v'));
                        if key.version.is_empty() {
                            rest.trim_end_matches(char::is_alphabetic).clone_into(&mut key.version);
                        }
                    }
                }
            }
        }
        key.family.retain(char::is_alphabetic);
        key
    }

    /// Same family and sizes, and one version begins with the other (3 and 3.1), or one is not said.
    fn is_like(&self, other: &Self) -> bool {
        let major = |version: &str| version.split('.').next().unwrap_or_default().to_owned();
        let versions = self.version.is_empty() || other.version.is_empty();
        let sizes = self.sizes.first() == other.sizes.first()
            && (self.sizes.len() == other.sizes.len() || self.sizes.len().min(other.sizes.len()) == 1);
        !self.family.is_empty()
            && self.family == other.family
            && sizes
            && (versions || major(&self.version) == major(&other.version))
    }
}

/// `8b`, `1.7b`, `126m`, `8x7b`, `1t`.
fn is_size(word: &str) -> bool {
    let Some(number) = word.strip_suffix(['b', 'm', 't']) else { return false };
    let mut parts = number.split('x');
    !number.is_empty() && parts.all(|part| part.parse::<f64>().is_ok())
}

#[cfg(test)]
mod tests {
    use weft_catalogue::Catalogue;

    use super::{Left, model, shaped};

    #[test]
    fn names_are_found_however_they_are_spelled() {
        let catalogue = Catalogue::embedded();
        let found = |name: &str| model(name, catalogue).map(|model| model.name);
        for (name, expected) in [
            ("Llama 3.1 405b 24.09 FP8 (TP=8, PP=9)", "llama-3.1-405b"),
            ("LLAMA3_70B", "llama-3-70b"),
            ("Llama3.1-70B", "llama-3-70b"),
            ("Llama3 405b", "llama-3.1-405b"),
            ("Maxtext LLama2 70b BF16 (FSDP+DP MBS=2)", "llama-2-70b"),
            ("Grok 1 314b Dev BF16", "grok-1"),
            ("LLAMA4 maverick 400b FP8", "llama-4-maverick"),
            ("Deepseek V3 BF16", "deepseek-v3"),
            ("DeepSeekV3 (w/o MTP)", "deepseek-v3"),
            ("Qwen3_30B_a3B (tokendrop)", "qwen3-30b-a3b"),
            ("Qwen3 MoE 30B", "qwen3-30b-a3b"),
            ("GPT OSS 120B", "gpt-oss-120b"),
            ("Nemotron4 15b 24.11 BF16", "nemotron-4-15b"),
            ("Nemotron4 340b", "nemotron-4-340b"),
            ("GPT3-175B", "gpt-3-175b"),
            ("Mixtral-8x7B", "mixtral-8x7b"),
            ("Nemotron-22B", "nemotron-3-22b"),
        ] {
            assert_eq!(found(name).ok().as_deref(), Some(expected), "{name}");
        }
    }

    #[test]
    fn what_is_no_decoder_is_left_out_and_what_is_unknown_is_unread() {
        let catalogue = Catalogue::embedded();
        for name in ["Nemotron-H 56b FP8", "Nemotron_3_Nano", "mT5-3B", "BERT-4B"] {
            assert!(matches!(model(name, catalogue), Err(Left::Out { .. })), "{name}");
        }
        assert!(matches!(model("Nobody 12B", catalogue), Err(Left::Unread { .. })));
        assert_eq!(shaped("x", 24, 2304, 24, 51200).feed_forward.width, 9216);
    }
}
