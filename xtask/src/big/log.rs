//! The log of a job on 64 nodes of 8 GPUs: NCCL's start, tables of nccl-tests, lines of the application.

use std::io::{Result, Write};

use super::Counted;

const NODES: usize = 64;
const GPUS: usize = 8;
const RANKS: usize = NODES * GPUS;
const CHANNELS: usize = 16;

/// Steps of the application between two starts of communicators.
const STEPS: usize = 4_000;

/// Writes whole starts, tables and steps until `bytes` are written.
pub fn write<W: Write>(out: &mut Counted<W>, bytes: u64) -> Result<()> {
    writeln!(out, "+ srun --label --nodes={NODES} --ntasks-per-node={GPUS} ./train.sh")?;
    let mut communicator = 0;
    while out.bytes < bytes {
        start(out, communicator)?;
        table(out)?;
        steps(out, communicator, bytes)?;
        communicator += 1;
    }
    Ok(())
}

/// What comes before each of the library's lines.
fn prefix(rank: usize) -> String {
    let (node, gpu) = (rank / GPUS, rank % GPUS);
    format!("{rank}: node{node:03}:{}:{} [{gpu}] NCCL INFO", 40_000 + rank, 41_000 + rank)
}

fn start(out: &mut impl Write, communicator: usize) -> Result<()> {
    writeln!(out, "0: NCCL version 2.21.5+cuda12.4")?;
    for rank in 0..RANKS {
        let (prefix, node, gpu) = (prefix(rank), rank / GPUS, rank % GPUS);
        let adapters: Vec<String> = (0..GPUS).map(|nic| format!("[{nic}]mlx5_{nic}:1/IB")).collect();
        writeln!(out, "{prefix} NCCL_IB_HCA set to mlx5")?;
        writeln!(out, "{prefix} Bootstrap : Using eth0:192.0.2.{node}<0>")?;
        writeln!(out, "{prefix} NET/IB : Using {} [RO]; OOB eth0:192.0.2.{node}<0>", adapters.join(" "))?;
        writeln!(out, "{prefix} Using network IB")?;
        writeln!(
            out,
            "{prefix} comm 0x7f{communicator:04x}{rank:04x} rank {rank} nranks {RANKS} cudaDev {gpu} nvmlDev {gpu} \
             busId {:x} commId 0x{:x} - Init START",
            (0x1b + gpu * 0x11) << 12,
            0x5eed_0000 + communicator
        )?;
        writeln!(out, "{prefix} Setting affinity for GPU {gpu} to ffffffff,ffff0000,00000000,ffffffff")?;
        let trees: Vec<String> = (0..CHANNELS)
            .map(|channel| format!("[{channel}] {}/-1/-1->{rank}->{}", rank + 1, rank / 2))
            .collect();
        writeln!(out, "{prefix} Trees {}", trees.join(" "))?;
    }
    rings(out)?;
    for rank in 0..RANKS {
        connections(out, rank)?;
    }
    for rank in 0..RANKS {
        let (prefix, gpu) = (prefix(rank), rank % GPUS);
        writeln!(out, "{prefix} Connected all rings")?;
        writeln!(out, "{prefix} threadThresholds 8/8/64 | 4096/8/64 | 512 | 512")?;
        writeln!(
            out,
            "{prefix} {CHANNELS} coll channels, 16 nvls channels, 16 p2p channels, 2 p2p channels per peer"
        )?;
        writeln!(
            out,
            "{prefix} comm 0x7f{communicator:04x}{rank:04x} rank {rank} nranks {RANKS} cudaDev {gpu} nvmlDev {gpu} \
             busId {:x} commId 0x{:x} - Init COMPLETE",
            (0x1b + gpu * 0x11) << 12,
            0x5eed_0000 + communicator
        )?;
    }
    Ok(())
}

/// NCCL cuts a ring into lines of about a thousand characters.
fn rings(out: &mut impl Write) -> Result<()> {
    let all: Vec<usize> = (0..RANKS).collect();
    for channel in 0..CHANNELS {
        for ranks in all.chunks(200) {
            let ranks: Vec<String> = ranks.iter().map(|rank| format!("{rank:4}")).collect();
            writeln!(out, "{} Channel {channel:02}/{CHANNELS:02} : {}", prefix(0), ranks.join(""))?;
        }
    }
    Ok(())
}

/// Inside a node over NVLink, from its last GPU to the next node over the adapter of the same number.
fn connections(out: &mut impl Write, rank: usize) -> Result<()> {
    let (prefix, gpu) = (prefix(rank), rank % GPUS);
    let next = (rank + 1) % RANKS;
    for channel in 0..CHANNELS {
        if gpu + 1 < GPUS {
            let ends = format!("{rank}[{gpu}] -> {next}[{}]", next % GPUS);
            writeln!(out, "{prefix} Channel {channel:02}/0 : {ends} via P2P/CUMEM/read")?;
        } else {
            let ends = format!("{rank}[{gpu}] -> {next}[0]");
            let over = format!("via NET/IB/{}/GDRDMA", channel % GPUS);
            writeln!(out, "{prefix} Channel {channel:02}/0 : {ends} [send] {over}")?;
        }
        if gpu == 0 {
            let before = (rank + RANKS - 1) % RANKS;
            let over = format!("via NET/IB/{}/GDRDMA", channel % GPUS);
            writeln!(out, "{prefix} Channel {channel:02}/0 : {before}[7] -> {rank}[0] [receive] {over}")?;
        }
    }
    Ok(())
}

fn table(out: &mut impl Write) -> Result<()> {
    writeln!(
        out,
        "0: # nThread 1 nGpus 1 minBytes 8 maxBytes 8589934592 step: 2(factor) warmup iters: 5 iters: 20"
    )?;
    writeln!(out, "0: #")?;
    writeln!(
        out,
        "0: #                                                              out-of-place                       in-place"
    )?;
    writeln!(
        out,
        "0: #       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong"
    )?;
    writeln!(
        out,
        "0: #        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)"
    )?;
    for power in 3..34u32 {
        let bytes = 1u64 << power;
        // 60 us and 360 GB/s; the bus bandwidth is 1022/512 of it.
        let nanoseconds = 60_000 + bytes / 360;
        let (us, algbw) = (nanoseconds / 1000, bytes / nanoseconds);
        let busbw = algbw * 1022 / 512;
        writeln!(
            out,
            "0: {bytes:12} {:13}     float     sum      -1 {us:8}.0 {algbw:4}.00  {busbw:4}.00      0 {us:8}.0 {algbw:4}.00  {busbw:4}.00      0",
            bytes / 4
        )?;
    }
    writeln!(out, "0: # Out of bounds values : 0 OK")?;
    writeln!(out, "0: # Avg bus bandwidth    : 191.55")?;
    writeln!(out, "0: #")
}

fn steps<W: Write>(out: &mut Counted<W>, communicator: usize, bytes: u64) -> Result<()> {
    for step in 0..STEPS {
        let rank = step % RANKS;
        writeln!(
            out,
            "{rank}: [2026-01-01 00:{:02}:{:02},{:03}] [INFO] iteration {:8}/  500000 | elapsed time per iteration \
             (ms): 1843.{:01} | learning rate: 1.200E-04 | lm loss: 2.{:06}E+00 | GPU memory: 61.2 GB |",
            step / 60 % 60,
            step % 60,
            step % 1000,
            communicator * STEPS + step,
            step % 10,
            step * 7919 % 1_000_000
        )?;
        if step % 50 == 49 && out.bytes >= bytes {
            break;
        }
    }
    Ok(())
}
