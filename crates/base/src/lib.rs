//! The ground floor of Weftwork: quantities that always carry a unit, diagnostics that always carry
//! a place, and the nearest name for a typo. Knows no GPU.

mod code;
mod diagnostic;
mod guid;
mod nearest;
mod quantities;
mod quantity;
mod speed;

pub use code::Code;
pub use diagnostic::{Diagnostic, Place, Severity};
pub use guid::{Guid, NotAGuid};
pub use nearest::{nearest, simplify};
pub use quantities::{Bytes, ComputeRate, Loss, Power, Rate, Ratio, Span, Time};
pub use quantity::{QuantityError, Unit};
pub use speed::{LinkSpeed, TransferRate};
