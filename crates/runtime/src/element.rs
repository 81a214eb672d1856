//! What buffers consist of, and how it is combined.

use weft_base::{nearest, simplify};
use weft_collective::DataType;

/// The type of an element, in the byte order of the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Element {
    /// Unsigned, 8 bits.
    U8,
    /// Signed, 32 bits.
    I32,
    /// Signed, 64 bits.
    I64,
    /// IEEE 754 binary16.
    F16,
    /// The upper half of a binary32.
    Bf16,
    /// IEEE 754 binary32.
    F32,
    /// IEEE 754 binary64.
    F64,
}

impl Element {
    /// All of them, in the order of the documentation.
    pub const ALL: [Self; 7] = [Self::U8, Self::I32, Self::I64, Self::F16, Self::Bf16, Self::F32, Self::F64];

    /// The name that nccl-tests prints.
    pub const fn name(self) -> &'static str {
        match self {
            Self::U8 => "uint8",
            Self::I32 => "int32",
            Self::I64 => "int64",
            Self::F16 => "half",
            Self::Bf16 => "bfloat16",
            Self::F32 => "float",
            Self::F64 => "double",
        }
    }

    /// The element of that name, in the spelling of nccl-tests, of Rust or of NumPy.
    pub fn from_name(name: &str) -> Option<Self> {
        match simplify(name).as_str() {
            "uint8" | "u8" | "byte" => Some(Self::U8),
            "int32" | "i32" | "int" => Some(Self::I32),
            "int64" | "i64" => Some(Self::I64),
            "half" | "f16" | "fp16" | "float16" => Some(Self::F16),
            "bfloat16" | "bf16" => Some(Self::Bf16),
            "float" | "f32" | "fp32" | "float32" | "single" => Some(Self::F32),
            "double" | "f64" | "fp64" | "float64" => Some(Self::F64),
            _ => None,
        }
    }

    /// Names near a wrong one, best first.
    pub fn near(name: &str) -> Vec<&'static str> {
        nearest(name, Self::ALL.map(Self::name), 2)
    }

    /// How a plan sees it: by its size alone.
    pub const fn data_type(self) -> DataType {
        match self {
            Self::U8 => DataType::Byte,
            Self::F16 | Self::Bf16 => DataType::Half,
            Self::I32 | Self::F32 => DataType::Single,
            Self::I64 | Self::F64 => DataType::Double,
        }
    }

    /// Bytes of one.
    pub const fn size_bytes(self) -> usize {
        match self {
            Self::U8 => 1,
            Self::F16 | Self::Bf16 => 2,
            Self::I32 | Self::F32 => 4,
            Self::I64 | Self::F64 => 8,
        }
    }
}

/// How elements are combined. Integers wrap around.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Reduction {
    /// Their sum.
    Sum,
    /// Their product.
    Product,
    /// The smaller one; of a number and a NaN the number.
    Min,
    /// The larger one; of a number and a NaN the number.
    Max,
    /// Their sum, divided by the number of ranks at the end; integers round towards zero.
    Average,
}

impl Reduction {
    /// All of them, in the order of the documentation.
    pub const ALL: [Self; 5] = [Self::Sum, Self::Product, Self::Min, Self::Max, Self::Average];

    /// The name that nccl-tests prints.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sum => "sum",
            Self::Product => "prod",
            Self::Min => "min",
            Self::Max => "max",
            Self::Average => "avg",
        }
    }

    /// The reduction of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        match simplify(name).as_str() {
            "sum" => Some(Self::Sum),
            "prod" | "product" => Some(Self::Product),
            "min" => Some(Self::Min),
            "max" => Some(Self::Max),
            "avg" | "average" | "mean" => Some(Self::Average),
            _ => None,
        }
    }

    /// Names near a wrong one, best first.
    pub fn near(name: &str) -> Vec<&'static str> {
        nearest(name, Self::ALL.map(Self::name), 2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_leads_back() {
        for element in Element::ALL {
            assert_eq!(Element::from_name(element.name()), Some(element));
            assert_eq!(element.data_type().size_bytes(), element.size_bytes() as u64);
        }
        for reduction in Reduction::ALL {
            assert_eq!(Reduction::from_name(reduction.name()), Some(reduction));
        }
        assert_eq!((Element::from_name("quad"), Reduction::from_name("xor")), (None, None));
        assert_eq!(Element::near("flaot").first(), Some(&"float"));
    }
}
