use weft_catalogue::Catalogue;
use weft_workload::{Precision, Recompute, Sharding};

use super::{Left, Published, read, read_memory};

fn rows(header: &str, lines: &[&str]) -> (Vec<Published>, Vec<(u64, Left)>) {
    let text = format!("{header}\n{}\n", lines.join("\n"));
    let (rows, left, diagnostics) = read("train_made_up.csv", &text, Catalogue::embedded());
    assert!(diagnostics.is_empty());
    (rows, left)
}

const DGXC: &str = "release,recipe,model,gpu,num_gpus,precision,strong_scaling,seq_len_tokens,n_layers,fsdp,tp,pp,cp,\
    ep,etp,dp,vp,mbs,gbs,ga,step_time_s,tokens_per_s,source";

#[test]
fn recipes_are_read_with_their_traps() {
    let (read, left) = rows(
        DGXC,
        &[
            "v25.02,llama,Llama 3.1 8b FP8 (PP=41),H100,16,FP8,0,4096,,,1,41,2,,,,None,1,64,,4,65536,x",
            "v25.02,llama,Llama 3.1 8b FP8,H100,16,FP8,0,4096,4,,1,1,2,,,8,12,1,64,,4,,x",
            "v25.02,llama,Llama 3.1 8b FP8,H100,16,FP8,0,4096,,,1,1,2,,,8,NA,1,64,,4,60000,x",
            "v25.02,llama,Llama 3.1 8b FP8,H100,16,FP8,0,4096,,,1,2,1,,,8,NA,1,32,,4,,x",
            "v25.02,maxtext,Maxtext Llama3 70b BF16,H100,64,BF16,0,4096,,,,,,,,,,2,128,,4,,x",
            "v25.02,llama,Llama3 8b Finetuning SFT BF16,H100,16,BF16,0,4096,,,1,1,1,,,8,NA,1,64,,4,,x",
        ],
    );
    assert_eq!((read.len(), left.len()), (3, 3));
    // The mark of a footnote, fewer layers, virtual stages without a pipeline.
    assert_eq!((read[0].layout.pipeline, read[0].layout.context, read[0].layout.data()), (1, 2, 8));
    assert_eq!((read[1].model.layers, read[1].layout.virtual_stages), (4, 1));
    assert_eq!((read[2].framework.as_str(), read[2].layout.sharding), ("maxtext", Sharding::Weights));
    assert_eq!(read[0].machine, "2 x dgx-h100 @ rail-optimized");
    let lines: Vec<u64> = left.iter().map(|(line, _)| *line).collect();
    assert_eq!(lines, [4, 5, 7], "tokens that disagree, few micro-batches without vp, fine-tuning");
}

const BRIDGE: &str = "release,task,model,system,num_gpus,precision,global_batch_seqs,micro_batch_size,seq_len_tokens,\
    fsdp,tp,pp,cp,vp,ep,tokens_per_s_per_gpu,model_tflops_per_gpu,step_time_s_derived,variant,source";

#[test]
fn of_experts_only_the_newest_release_is_kept() {
    let (read, left) = rows(
        BRIDGE,
        &[
            "megatron-bridge 26.02,Pre,Qwen3_30B_a3B,DGX-B200,8,FP8-MX,64,1,4096,0,1,1,1,n/a,8,1000,1,9,main,x",
            "megatron-bridge 26.04,Pre,Qwen3_30B_a3B,DGX-B200,8,MXFP8,64,1,4096,,1,1,1,n/a,8,2048,1,9,main,x",
            "megatron-bridge 26.02,Pre,LLAMA3_8B,DGX-B200,8,NVFP4,64,1,4096,8,1,1,1,n/a,n/a,2048,1,9,main,x",
            "megatron-bridge 26.04,Pre,LLAMA3_8B,DGX-B200,8,NVFP4,64,1,4096,8,1,1,1,n/a,n/a,2048,1,9,main,x",
            "megatron-bridge 26.06.01,Pre,GPT OSS 120B,DGX-B200,8,BF16,64,1,4096,0,1,1,1,n/a,8,2048,1,9,main,x",
            "megatron-bridge 26.06,Pre,Nemotron_3_Nano,DGX-B200,8,BF16,64,1,4096,0,1,1,1,n/a,8,2048,1,9,main,x",
            "megatron-bridge 26.06,Pre,Unheard Of 7B,DGX-B200,8,BF16,64,1,4096,0,1,1,1,n/a,8,2048,1,9,main,x",
        ],
    );
    assert_eq!(read.iter().map(|row| row.line).collect::<Vec<_>>(), [3, 4, 5]);
    assert!((read[0].step_s - 16.0).abs() < 1e-9, "tokens per second count: {}", read[0].step_s);
    assert_eq!((read[0].layout.expert, read[0].layout.expert_tensor), (8, 1));
    assert_eq!((read[1].precision, read[1].layout.sharding), (Precision::Fp4, Sharding::Weights));
    let unread = left.iter().filter(|(_, left)| matches!(left, Left::Unread { .. }));
    assert_eq!((left.len(), unread.count()), (4, 1));
}

#[test]
fn shapes_come_from_columns() {
    let (read, left) = rows(
        "set,model,n_heads,hidden,n_layers,params_B,model_parallel,tp,pp,dp,num_gpus,global_batch_seqs,seq_len_tokens,\
         vocab,gpu,precision,hw_tflops_per_gpu,step_time_s_derived,source",
        &[
            "SC21 Table 1,39B,64,8192,48,39,16,8,2,32,512,1536,2048,51200,A100,fp16,138,15,x",
            "SC21 Table 1,145B,96,12288,80,145,64,8,8,24,1536,2304,2048,51200,A100,fp16,148,,x",
            "Jan 2021,39B,64,8192,48,39,16,8,2,32,512,1536,2048,51200,A100,fp16,100,15,x",
        ],
    );
    assert_eq!((read.len(), left.len()), (2, 1));
    let (first, second) = (&read[0], &read[1]);
    assert_eq!((first.layout.micro_batch, first.layout.virtual_stages), (4, 1));
    assert_eq!((second.layout.micro_batch, second.layout.virtual_stages), (2, 2));
    assert_eq!((first.model.feed_forward.width, first.layout.recompute), (32_768, Recompute::Full));
    // The paper's own formula gives 24.8 s for 148 TFLOP/s.
    assert!((second.step_s - 24.8).abs() < 0.3, "{}", second.step_s);
}

#[test]
fn sweeps_before_bloom_leave_misaligned_kernels_out() {
    let (read, left) = rows(
        "file,section,date,gpu,num_nodes,num_gpus,model_size,hidden,n_layers,n_heads,seq_len_tokens,dp,tp,pp,\
         zero_stage,mbs,gbs,step_time_s,source",
        &[
            "f,a,2022-02-21,A100-SXM4-80GB,48,384,181B,14336,72,,2048,4,8,12,,2,2048,130,x",
            "f,a,2022-02-21,A100-SXM4-80GB,48,384,181B,14336,72,64,2048,8,4,12,,1,2048,130,x",
            "f,a,2022-02-21,A100-SXM4-80GB,48,384,181B,14336,72,112,2048,8,4,12,,2,2048,130,x",
            "f,a,2022-02-21,A100-SXM4-80GB,48,384,182B,13824,78,128,2048,8,4,12,,2,2048,130,x",
            "f,a,2022-02-21,A100-SXM4-80GB,1,8,18B,14336,6,,2048,,8,1,,2,2048,130,x",
            "f,a,2021-07-01,V100-SXM2-32GB,48,192,181B,14336,72,,2048,4,4,12,,2,2048,130,x",
        ],
    );
    assert_eq!((read.len(), left.len()), (1, 5));
    assert_eq!((read[0].model.attention.heads, read[0].layout.data()), (64, 4));
}

#[test]
fn sharding_batches_and_flops_are_read() {
    let (read, _) = rows(
        "table,model,gpu,inter_link,num_gpus,tp,zero1_shard_size,micro_batches,micro_bsz,seq_len_tokens,act_ckpt,\
         tokens_per_s_per_gpu,source",
        &[
            "t,InternLM-7B (LLaMA-7B shape),A100,4x100Gb,16,2,4,4,2,2048,TRUE,2048,x",
            "t,InternLM-7B (LLaMA-7B shape),A100,4x100Gb,16,1,all DP,4,2,2048,False,2048,x",
        ],
    );
    assert_eq!((read[0].layout.global_batch, read[0].layout.shard_gpus), (64, Some(4)));
    assert_eq!((read[1].layout.shard_gpus, read[1].layout.recompute), (None, Recompute::None));
    let (read, left) = rows(
        "hardware,model,num_gpus,fsdp,tp,pp,cp,local_batch,global_batch,seq_len_tokens,ac,technique,\
         tokens_per_s_per_gpu,source",
        &[
            "H100 500W HBM2e,Llama3.1-70B,64,8,8,1,1,16,128,8192,full,2D+compile+Float8,800,x",
            "H100 500W HBM2e,Llama3.1-70B,64,4,8,2,1,16,128,8192,full,3D interleaved 1F1B,800,x",
            "H100 500W HBM2e,Llama3.1-70B,64,8,8,1,1,16,128,8192,full,compile float8 rowwise,800,x",
            "H100 500W HBM2e,Llama3.1-70B,64,4,8,1,2,16,128,8192,full,compile,800,x",
        ],
    );
    assert_eq!((read.len(), left.len()), (2, 2));
    assert_eq!((read[0].framework.as_str(), read[0].precision), ("torchtitan-compiled", Precision::Fp8));
    assert_eq!((read[1].layout.micro_batch, read[1].layout.virtual_stages), (1, 2));
    let (read, _) = rows(
        "model,system,precision,seq_len_ktokens,num_gpus_as_printed,global_batch_seqs,tp,pp,dp,cp,\
         tflops_per_gpu_with_cp,source",
        &["LLAMA3-8B,DGX-B200,FP8,8,64,128,1,1,2,1,1000,x"],
    );
    // 128 sequences of 8,192 tokens of 57.8 GFLOP on two GPUs of 1,000 TFLOP/s.
    assert!((read[0].step_s - 30.3).abs() < 0.1, "{}", read[0].step_s);
    assert_eq!(read[0].layout.gpus, 2);
}

#[test]
fn what_a_table_leaves_out_is_filled_in() {
    let (read, left) = rows(
        "table,model,system,num_nodes,num_gpus,tokens_per_s,notes,tp,pp,global_batch_seqs,step_time_s,\
         step_time_with_lddl_s,micro_batch_size,seq_len_tokens,cp,tokens_per_s_per_gpu,source",
        &[
            "GPT 5B,GPT3-5B,DGX SuperPOD A100 80GB,2,16,65536,bf16,,,,,,,,,,x",
            "mT5 3B,mT5-3B,DGX SuperPOD A100 80GB,2,16,65536,bf16,,,,,,,,,,x",
            "FP8 table (pretrain),LLAMA3-70B,DGX H100,,64,,FP8,4,4,128,11,,1,8192,2,1444,x",
        ],
    );
    assert_eq!((read.len(), left.len()), (2, 1));
    // 16 GPUs of 64 sequences of 2,048 tokens.
    assert!((read[0].step_s - 32.0).abs() < 1e-9, "{}", read[0].step_s);
    assert_eq!((read[0].layout.micro_batches(), read[0].layout.recompute), (16, Recompute::Selective));
    assert_eq!((read[1].layout.virtual_stages, read[1].precision), (2, Precision::Fp8));
}

#[test]
fn chips_and_hosts_shard_as_their_scripts_do() {
    let (read, _) = rows(
        "model,hardware,num_chips,tflops_per_chip,mfu_pct,notes,seq_len_tokens,tokens_per_s_per_chip,source",
        &[
            "Llama2-7B,\"2x GCP A3 (8x H100 80GB, 4x200G TCPX)\",16,400,40,,,,x",
            "22B,2x TPU v4-128,128,150,55,,,,x",
            "Llama3.1-8B,TPU v6e,256,,45,,8192,7000,x",
        ],
    );
    assert_eq!((read[0].layout.shard_gpus, read[0].layout.global_batch), (Some(8), 64));
    assert_eq!(read[0].machine, "2 x gcp-a3-high @ fat-tree");
    assert_eq!((read[1].machine.as_str(), read[1].layout.recompute), ("32 x 4 tpu-v4", Recompute::Full));
    assert_eq!((read[1].layout.micro_batch, read[1].model.layers), (13, 48));
    assert_eq!((read[2].layout.micro_batch, read[2].layout.shard_gpus), (4, None));
    let (read, left) = rows(
        "project,section,size,gpu,precision,num_gpus,dp,fsdp,tp,batch_per_gpu,seq_len_tokens,\
         sequences_or_images_per_s,step_time_s,source",
        &[
            "pax,H100 Results,5B,H100 80G SXM,TE FP8,64,1,64,1,8,2048,512,,x",
            "pax,H100 Results,126M,H100 80G SXM,TE FP8,64,64,1,1,8,2048,512,,x",
            "t5x,Convergence,T5-v1.1-large,H100 80G SXM,TE-fp8,64,,,1,32,,512,,x",
        ],
    );
    assert_eq!((read.len(), left.len(), read[0].model.name.as_str()), (1, 2, "gpt-3-5b"));
    assert!((read[0].step_s - 1.0).abs() < 1e-9);
}

#[test]
fn modes_of_recomputation_are_read() {
    let (read, _) = rows(
        "model,hidden,n_heads,n_layers,seq_len_tokens,vocab,tp,pp,interleave,dp,num_gpus,global_batch_seqs,\
         micro_batch_size,gpu,precision,mode,step_time_s,source",
        &[
            "x-22B,6144,64,48,2048,51200,8,1,1,1,8,4,4,A100,fp16,\"full recompute, no sequence parallel\",1.5,x",
            "x-22B,6144,64,48,2048,51200,8,1,1,1,8,4,4,A100,fp16,selective recompute + sequence parallel,1.2,x",
        ],
    );
    let modes: Vec<_> = read.iter().map(|row| (row.layout.recompute, row.layout.sequence_parallel)).collect();
    assert_eq!(modes, [(Recompute::Full, false), (Recompute::Selective, true)]);
    let text = "model,mode,param_plus_optimizer_GiB,activation_GiB,source\r\n\
        x-22B,seqsel,40,10,y\r\nx-22B,odd,40,10,y\r\nx-3B,none,40,10,y\r\n";
    let (memory, wrong, _) = read_memory("x.csv", text);
    assert_eq!((memory.len(), memory[0].line, memory[0].layout.recompute), (1, 2, Recompute::Selective));
    assert!((memory[0].activation_bytes / f64::from(1 << 30) - 10.0).abs() < 1e-9);
    assert_eq!(wrong.iter().map(|(line, _)| *line).collect::<Vec<_>>(), [3, 4]);
}

#[test]
fn sharding_of_eager_programs_is_read() {
    let (read, _) = rows(
        "model,n_layers,d_model,n_heads,vocab,seq_len_tokens,num_gpus,gpu,micro_batch_size,grad_accum,\
         global_batch_seqs,throughput_tokens_per_s,precision,fsdp_mixed_precision,fsdp_sharding,act_ckpt,section,source",
        &[
            "MPT-7b,32,4096,32,50368,2048,16,a100_40gb,4,1,64,131072,bf16,PURE,FULL_SHARD,True,s,x",
            "MPT-7b,32,4096,32,50368,2048,16,h100_80gb,4,1,64,131072,amp_fp8,PURE,SHARD_GRAD_OP,False,s,x",
        ],
    );
    assert!((read[0].step_s - 1.0).abs() < 1e-9);
    assert_eq!((read[0].layout.sharding, read[0].layout.recompute), (Sharding::Weights, Recompute::Full));
    assert_eq!((read[1].layout.sharding, read[1].precision), (Sharding::Gradients, Precision::Fp8));
}
