//! The ground floor of Weftwork: quantities that always carry a unit, diagnostics that always carry
//! a place, and the nearest name for a typo. Knows no GPU.

mod code;
mod diagnostic;
mod failure_rate;
mod guid;
mod money;
mod nearest;
mod quantities;
mod quantity;
mod speed;

pub use code::Code;
pub use diagnostic::{Diagnostic, Place, Severity};
pub use failure_rate::{FailureRate, Subject};
pub use guid::{Guid, NotAGuid};
pub use money::{Currency, Money};
pub use nearest::{is_spelling, nearest, simplify};
pub use quantities::{
    Bytes, ComputeRate, Energy, Length, Loss, Moment, Period, Power, Rate, Ratio, Span, Time,
};
pub use quantity::{QuantityError, Unit};
pub use speed::{LinkSpeed, TransferRate};
