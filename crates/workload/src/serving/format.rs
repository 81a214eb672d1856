//! In which form weights are stored, and of what they are multiplied.

use crate::Precision;

/// How weights are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum WeightFormat {
    /// 16 bits.
    Half,
    /// 8 bits, floating point, multiplied as such where the GPU can.
    Fp8,
    /// 8 bits, integers, unpacked to 16 in the kernel.
    Int8,
    /// 4 bits, integers in groups of 128 (AWQ, GPTQ, `AutoRound`), unpacked to 16 in the kernel.
    Int4,
    /// 4 bits, floating point in groups of 16, multiplied as such where the GPU can.
    Nvfp4,
    /// GGUF's `Q4_K_M`.
    Q4,
    /// GGUF's `Q5_K_M`.
    Q5,
    /// GGUF's `Q6_K`.
    Q6,
    /// GGUF's `Q8_0`.
    Q8,
}

impl WeightFormat {
    /// All, widest first within each family.
    pub const ALL: [Self; 9] =
        [Self::Half, Self::Fp8, Self::Int8, Self::Int4, Self::Nvfp4, Self::Q8, Self::Q6, Self::Q5, Self::Q4];

    /// The word in text and JSON.
    pub fn word(self) -> &'static str {
        match self {
            Self::Half => "bf16",
            Self::Fp8 => "fp8",
            Self::Int8 => "int8",
            Self::Int4 => "int4",
            Self::Nvfp4 => "nvfp4",
            Self::Q4 => "q4",
            Self::Q5 => "q5",
            Self::Q6 => "q6",
            Self::Q8 => "q8",
        }
    }

    /// Bytes of a weight of a layer with its share of scales and zero points, by the format's definition; of GGUF's
    /// mixtures by what their quantizer prints for Llama.
    pub fn layer_bytes(self) -> f64 {
        let bits = match self {
            Self::Half => 16.0,
            Self::Fp8 => 8.0,
            Self::Int8 => 8.125,
            // A scale of 16 bits and a zero point of 4 for each 128.
            Self::Int4 => 4.0 + 20.0 / 128.0,
            // A scale of 8 bits for each 16.
            Self::Nvfp4 => 4.5,
            Self::Q4 => 4.85,
            Self::Q5 => 5.69,
            Self::Q6 => 6.56,
            Self::Q8 => 8.5,
        };
        bits / 8.0
    }

    /// The same of the embedding and the output layer, which only GGUF makes smaller.
    pub fn table_bytes(self) -> f64 {
        match self {
            Self::Half | Self::Fp8 | Self::Int8 | Self::Int4 | Self::Nvfp4 => 2.0,
            Self::Q4 | Self::Q5 => Self::Q6.layer_bytes(),
            Self::Q6 | Self::Q8 => self.layer_bytes(),
        }
    }

    /// In which precision matrices are multiplied, where the GPU has it.
    pub fn precision(self) -> Precision {
        match self {
            Self::Fp8 => Precision::Fp8,
            Self::Nvfp4 => Precision::Fp4,
            Self::Half | Self::Int8 | Self::Int4 | Self::Q4 | Self::Q5 | Self::Q6 | Self::Q8 => {
                Precision::Half
            }
        }
    }
}
