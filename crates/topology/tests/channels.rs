//! Where a PCIe signal needs a retimer: losses of the parts against the generation's budget.

use weft_base::Ratio;
use weft_catalogue::{Catalogue, ChannelUse};
use weft_topology::channel_budgets;

fn channel(parts: &[(&str, &str)]) -> Vec<ChannelUse> {
    parts
        .iter()
        .map(|(part, amount)| ChannelUse {
            part: (*part).to_owned(),
            amount: amount.parse().expect("an amount"),
        })
        .collect()
}

#[test]
fn a_short_board_needs_no_retimer_and_a_riser_at_pcie_5_does() {
    let catalogue = Catalogue::embedded();
    let [pcie4, pcie5] = ["pcie4", "pcie5"].map(|name| catalogue.link(name).expect("a link"));
    let short = channel(&[("trace-low-loss", "6"), ("cem-connector", "1"), ("add-in-card", "1")]);
    let long = channel(&[
        ("trace-standard", "14"),
        ("riser-flex", "1"),
        ("cem-connector", "2"),
        ("add-in-card", "1"),
    ]);
    for link in [pcie4, pcie5] {
        let budgets = channel_budgets(&short, link, catalogue).expect("known parts");
        let [only] = budgets.as_slice() else { unreachable!("one stretch, or {} has no budget", link.name) };
        assert!(!only.needs_retimer(), "{only:?}");
        // The stretch's loss is the sum of its parts.
        assert_eq!(only.parts.iter().map(|(_, _, loss)| *loss).sum::<weft_base::Loss>(), only.loss);
    }
    let budgets = channel_budgets(&long, pcie5, catalogue).expect("known parts");
    assert!(budgets.iter().any(weft_topology::ChannelBudget::needs_retimer), "{budgets:?}");
}

#[test]
fn a_retimer_starts_a_new_budget() {
    let catalogue = Catalogue::embedded();
    let pcie5 = catalogue.link("pcie5").expect("a link");
    let retimer = catalogue
        .retimers
        .iter()
        .find(|retimer| retimer.links.contains(&pcie5.name))
        .expect("one for PCIe 5");
    let parts = channel(&[("trace-standard", "14"), (&retimer.name, "1"), ("trace-standard", "14")]);
    let budgets = channel_budgets(&parts, pcie5, catalogue).expect("known parts");
    assert_eq!(budgets.len(), 2);
    assert_eq!(budgets[0].loss, budgets[1].loss);
    // 28 inches in one stretch lose twice as much.
    let whole =
        channel_budgets(&channel(&[("trace-standard", "28")]), pcie5, catalogue).expect("known parts");
    assert_eq!(whole[0].loss, budgets[0].loss + budgets[1].loss);
    assert!(whole[0].needs_retimer());
}

#[test]
fn what_is_not_known_is_not_guessed() {
    let catalogue = Catalogue::embedded();
    let nvlink = catalogue.link("nvlink4").expect("a link");
    let parts = channel(&[("trace-standard", "4")]);
    assert!(channel_budgets(&parts, nvlink, catalogue).expect("known parts").is_empty());
    let pcie5 = catalogue.link("pcie5").expect("a link");
    let unknown = [ChannelUse { part: "trace-of-gold".into(), amount: Ratio::ONE }];
    assert!(channel_budgets(&unknown, pcie5, catalogue).is_err());
}
