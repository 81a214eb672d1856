//! What is asked for: which collective, over how much of what.

use std::sync::Arc;

use crate::{Collective, Rank};

/// The type of an element.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DataType {
    /// One byte: `int8`, `uint8`, FP8.
    Byte,
    /// Two bytes: `fp16`, `bf16`.
    Half,
    /// Four bytes: `fp32`, `int32`.
    Single,
    /// Eight bytes: `fp64`, `int64`.
    Double,
}

impl DataType {
    /// Bytes of one element.
    pub const fn size_bytes(self) -> u64 {
        match self {
            Self::Byte => 1,
            Self::Half => 2,
            Self::Single => 4,
            Self::Double => 8,
        }
    }
}

/// How elements are combined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ReduceOp {
    /// Their sum.
    Sum,
    /// Their product.
    Product,
    /// The larger one.
    Max,
    /// The smaller one.
    Min,
}

/// How many elements.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Counts {
    /// All-reduce, reduce, broadcast, send-recv: elements of the buffer. All-gather: that each rank brings.
    /// Reduce-scatter: that each rank ends with. All-to-all: from each rank to each.
    Even(u64),
    /// All-gather and reduce-scatter: elements of each rank's part.
    PerRank(Arc<[u64]>),
    /// All-to-all: elements from rank i to rank j at `i * ranks + j`.
    PerPair(Arc<[u64]>),
}

/// A call of a collective.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// What.
    pub collective: Collective,
    /// How much.
    pub counts: Counts,
    /// Of what.
    pub data_type: DataType,
    /// How it is combined, where it is.
    pub reduce_op: ReduceOp,
    /// The root of a broadcast or reduce, the sender of a send-recv; 0 where none is said.
    pub root: Rank,
    /// The receiver of a send-recv.
    pub peer: Rank,
    /// Whether input and output are the same memory: the whole buffer, or the rank's own part of it (an all-gather's
    /// input is the own part of its output, a reduce-scatter's output the own part of its input). Then every rank's
    /// may be written, that of ranks other than the root too.
    pub in_place: bool,
}

impl Call {
    /// A call over so many bytes (as [`Counts::Even`] counts them), out of place, root 0, peer 1.
    pub fn bytes(collective: Collective, bytes: u64) -> Self {
        Self {
            collective,
            counts: Counts::Even(bytes),
            data_type: DataType::Byte,
            reduce_op: ReduceOp::Sum,
            root: Rank::new(0),
            peer: Rank::new(1),
            in_place: false,
        }
    }

    /// The call with which nccl-tests would move a message of `bytes` over `ranks` ranks: its size is the whole
    /// buffer, all ranks' parts, so that each part has `bytes / ranks`, rounded down.
    pub fn message(collective: Collective, bytes: u64, ranks: u32) -> Self {
        let parts = match collective {
            Collective::AllGather | Collective::ReduceScatter | Collective::AllToAll => {
                u64::from(ranks.max(1))
            }
            Collective::AllReduce
            | Collective::Broadcast
            | Collective::Reduce
            | Collective::SendRecv
            | Collective::Barrier => 1,
        };
        Self::bytes(collective, bytes / parts)
    }
}
