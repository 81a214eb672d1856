//! The messages of a Chakra trace, as far as they are used; what is left out is skipped while decoding. Names and
//! numbers are those of `et_def.proto` of MLCommons' Chakra.

/// The first message.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct GlobalMetadata {
    #[prost(string, tag = "1")]
    pub version: String,
    #[prost(message, repeated, tag = "2")]
    pub attr: Vec<Attribute>,
}

/// All others.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Node {
    #[prost(uint64, tag = "1")]
    pub id: u64,
    #[prost(string, tag = "2")]
    pub name: String,
    #[prost(int32, tag = "3")]
    pub kind: i32,
    #[prost(uint64, repeated, tag = "4")]
    pub ctrl_deps: Vec<u64>,
    #[prost(uint64, repeated, tag = "5")]
    pub data_deps: Vec<u64>,
    #[prost(uint64, tag = "7")]
    pub duration_micros: u64,
    #[prost(message, optional, tag = "8")]
    pub inputs: Option<Inputs>,
    #[prost(message, repeated, tag = "10")]
    pub attr: Vec<Attribute>,
}

/// What a node takes; of metadata nodes the process groups.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Inputs {
    #[prost(string, tag = "1")]
    pub values: String,
}

/// A name and one value.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Attribute {
    #[prost(string, tag = "1")]
    pub name: String,
    #[prost(int32, optional, tag = "7")]
    pub int32: Option<i32>,
    #[prost(int64, optional, tag = "9")]
    pub int64: Option<i64>,
    #[prost(uint32, optional, tag = "11")]
    pub uint32: Option<u32>,
    #[prost(uint64, optional, tag = "13")]
    pub uint64: Option<u64>,
    #[prost(bool, optional, tag = "27")]
    pub flag: Option<bool>,
    #[prost(string, optional, tag = "29")]
    pub text: Option<String>,
}

impl Attribute {
    /// The value as a number, whatever its width.
    pub fn number(&self) -> Option<u64> {
        let signed = self.int64.or(self.int32.map(i64::from)).and_then(|number| u64::try_from(number).ok());
        signed.or(self.uint64).or(self.uint32.map(u64::from))
    }
}
