//! `weft/serve/1`.

use serde::Serialize;
use weft_base::Diagnostic;
use weft_predictor::serve::{ServeBreakdown, ServeCandidate};

use super::DiagnosticJson;
use crate::serve::Served;

/// The document.
#[derive(Debug, Serialize)]
pub struct ServeJson {
    schema: &'static str,
    model: String,
    engine: String,
    weights: &'static str,
    gpus: u32,
    prompt_tokens: u32,
    generated_tokens: u32,
    layouts: usize,
    fitting: usize,
    link: Option<String>,
    /// For the batch that was asked, the shortest request first.
    quickest: Vec<CandidateJson>,
    /// With as many sequences as fit, most tokens per second first.
    most: Vec<CandidateJson>,
    diagnostics: Vec<DiagnosticJson>,
}

#[derive(Debug, Serialize)]
struct CandidateJson {
    layout: LayoutJson,
    batch: u32,
    ttft_s: f64,
    ttft_low_s: f64,
    ttft_high_s: f64,
    tpot_s: f64,
    tpot_low_s: f64,
    tpot_high_s: f64,
    request_s: f64,
    all_prompts_s: f64,
    tokens_per_s_per_sequence: f64,
    decode_tokens_per_s: f64,
    served_tokens_per_s: f64,
    decode_bound_by: &'static str,
    prefill_bound_by: &'static str,
    tensor_latency_share: Option<f64>,
    decode: Vec<PartJson>,
    prefill: Vec<PartJson>,
    memory: MemoryJson,
    fitting_sequences: f64,
}

#[derive(Debug, Serialize)]
struct LayoutJson {
    tensor: u32,
    pipeline: u32,
    expert: u32,
    copies: u32,
}

#[derive(Debug, Serialize)]
struct PartJson {
    part: &'static str,
    seconds: f64,
}

#[derive(Debug, Serialize)]
#[expect(clippy::struct_field_names, reason = "every number of a document says its unit")]
struct MemoryJson {
    weights_bytes: f64,
    cache_bytes: f64,
    sequence_bytes: f64,
    buffer_bytes: f64,
    usable_bytes: f64,
}

/// The document of a run.
pub fn document(served: &Served<'_>, diagnostics: &[Diagnostic]) -> ServeJson {
    let (serving, found) = (served.serving, served.found);
    let all = |list: &[ServeCandidate]| list.iter().map(|candidate| one(served, candidate)).collect();
    ServeJson {
        schema: "weft/serve/1",
        model: serving.model.name.clone(),
        engine: served.engine.name.clone(),
        weights: serving.weights.word(),
        gpus: served.site.gpus,
        prompt_tokens: serving.prompt_tokens,
        generated_tokens: serving.generated_tokens,
        layouts: found.layout_count,
        fitting: found.fitting_count,
        link: served.link.map(str::to_owned),
        quickest: all(&found.quickest),
        most: all(&found.most),
        diagnostics: super::all(diagnostics),
    }
}

fn one(served: &Served<'_>, candidate: &ServeCandidate) -> CandidateJson {
    let ServeCandidate { layout, batch, time } = candidate;
    let decode = &time.decode;
    CandidateJson {
        layout: LayoutJson {
            tensor: layout.tensor,
            pipeline: layout.pipeline,
            expert: layout.expert,
            copies: layout.copies,
        },
        batch: *batch,
        ttft_s: time.first_token_s,
        ttft_low_s: time.first_token_within_s.0,
        ttft_high_s: time.first_token_within_s.1,
        tpot_s: time.token_s,
        tpot_low_s: time.token_within_s.0,
        tpot_high_s: time.token_within_s.1,
        request_s: time.request_s(served.serving.generated_tokens),
        all_prompts_s: time.all_prompts_s,
        tokens_per_s_per_sequence: 1.0 / time.token_s,
        decode_tokens_per_s: time.decode_tokens_per_s,
        served_tokens_per_s: time.served_tokens_per_s,
        decode_bound_by: decode.bound_by(),
        prefill_bound_by: time.prefill.bound_by(),
        tensor_latency_share: (decode.tensor_s > 0.0).then(|| decode.tensor_latency_s / decode.tensor_s),
        decode: parts(decode),
        prefill: parts(&time.prefill),
        memory: MemoryJson {
            weights_bytes: time.memory.weights_bytes,
            cache_bytes: time.memory.cache_bytes,
            sequence_bytes: time.memory.sequence_bytes,
            buffer_bytes: time.memory.buffer_bytes,
            usable_bytes: time.usable_bytes,
        },
        fitting_sequences: time.fitting_count,
    }
}

fn parts(breakdown: &ServeBreakdown) -> Vec<PartJson> {
    breakdown.parts().into_iter().map(|(part, seconds)| PartJson { part, seconds }).collect()
}
