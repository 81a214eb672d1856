//! How fast elements are combined on this machine, by element, reduction and size:
//! `cargo run --release -p weft-runtime --example reductions -- float sum`. Without words, all of them. GB/s of payload:
//! a buffer of n bytes combined with another counts n. The best of several turns, taken in alternation.
#![expect(
    clippy::print_stdout,
    clippy::disallowed_methods,
    clippy::cast_precision_loss,
    reason = "a measurement to run by hand"
)]

use std::hint::black_box;
use std::time::Instant;

use weft_runtime::{Element, Reduction, accumulate, combine, divide};

const SIZES: [usize; 3] = [32 << 10, 1 << 20, 16 << 20];
const TURNS: usize = 7;
const BYTES_PER_TURN: usize = 32 << 20;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let asked = |name: &str, known: &dyn Fn(&str) -> bool| {
        let mut own = words.iter().filter(|word| known(word)).peekable();
        own.peek().is_none() || own.any(|word| word == name)
    };
    println!("GB/s of payload      accumulate                    combine                       divide");
    println!(
        "at                   32 KiB     1 MiB    16 MiB    32 KiB     1 MiB    16 MiB    32 KiB     1 MiB    16 MiB"
    );
    for element in Element::ALL {
        for reduction in Reduction::ALL {
            if asked(element.name(), &|word| Element::from_name(word).is_some())
                && asked(reduction.name(), &|word| Reduction::from_name(word).is_some())
            {
                println!("{:<9} {:<6}{}", element.name(), reduction.name(), row(element, reduction));
            }
        }
    }
}

fn row(element: Element, reduction: Reduction) -> String {
    let mut buffers = SIZES.map(|bytes| [ones(element, bytes), ones(element, bytes), ones(element, bytes)]);
    let mut best = [[0.0_f64; SIZES.len()]; 3];
    for _ in 0..TURNS {
        for (size, [local, received, into]) in buffers.iter_mut().enumerate() {
            // Sums of many turns would end as infinities.
            into.copy_from_slice(&local[..]);
            let figures = [
                rate(into.len(), || accumulate(element, reduction, received, into)),
                rate(local.len(), || combine(element, reduction, local, received, into)),
                rate(local.len(), || divide(element, 1, into)),
            ];
            for (best, figure) in best.iter_mut().zip(figures) {
                best[size] = best[size].max(figure);
            }
        }
    }
    let shown = if reduction == Reduction::Average { 3 } else { 2 };
    let figures: Vec<String> = best[..shown].iter().flatten().map(|rate| format!("{rate:>10.1}")).collect();
    figures.concat()
}

fn ones(element: Element, bytes: usize) -> Vec<u8> {
    match element {
        Element::U8 => vec![1; bytes],
        Element::I32 => 1_i32.to_ne_bytes().repeat(bytes / 4),
        Element::I64 => 1_i64.to_ne_bytes().repeat(bytes / 8),
        Element::F16 => 0x3c00_u16.to_ne_bytes().repeat(bytes / 2),
        Element::Bf16 => 0x3f80_u16.to_ne_bytes().repeat(bytes / 2),
        Element::F32 => 1_f32.to_ne_bytes().repeat(bytes / 4),
        Element::F64 => 1_f64.to_ne_bytes().repeat(bytes / 8),
    }
}

fn rate(bytes: usize, mut work: impl FnMut()) -> f64 {
    let times = BYTES_PER_TURN / bytes;
    let start = Instant::now();
    for _ in 0..times {
        black_box(&mut work)();
    }
    (bytes * times) as f64 / start.elapsed().as_secs_f64() / 1e9
}
