//! Where a PCIe signal needs a retimer: losses of the channel's parts against the generation's budget.

use weft_base::{Loss, Ratio};
use weft_catalogue::{Catalogue, ChannelUse, LinkKind, NotFound};

/// The loss budget of one stretch of channel between two chips (or a chip and a retimer).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChannelBudget {
    /// The link kind whose budget counts.
    pub link: String,
    /// Sum of the parts' losses at the Nyquist frequency.
    pub loss: Loss,
    /// What the generation allows.
    pub budget: Loss,
    /// The parts: what, how much, and its loss.
    pub parts: Vec<(String, Ratio, Loss)>,
}

impl ChannelBudget {
    /// Whether the stretch loses more than it may: a retimer belongs into it.
    pub fn needs_retimer(&self) -> bool {
        self.loss > self.budget
    }
}

/// The budgets of a channel's stretches, one more than it has retimers. Empty where the link kind has no
/// budget in the catalogue, or a part has no loss for it.
pub fn channel_budgets(
    channel: &[ChannelUse],
    link: &LinkKind,
    catalogue: &Catalogue,
) -> Result<Vec<ChannelBudget>, NotFound> {
    let Some(budget) = link.channel_budget.as_ref().map(|fact| fact.value) else { return Ok(Vec::new()) };
    let empty = || ChannelBudget { link: link.name.clone(), loss: Loss::ZERO, budget, parts: Vec::new() };
    let mut stretches = vec![empty()];
    for used in channel {
        if catalogue.retimer(&used.part).is_ok() {
            stretches.push(empty());
            continue;
        }
        let part = catalogue.channel(&used.part)?;
        let Some(unit) = part.loss.iter().find(|loss| loss.link == link.name) else { return Ok(Vec::new()) };
        let loss = unit.loss.value.times(used.amount);
        if let Some(stretch) = stretches.last_mut() {
            stretch.loss = stretch.loss + loss;
            stretch.parts.push((part.title.clone(), used.amount, loss));
        }
    }
    Ok(stretches)
}
