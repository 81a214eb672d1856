//! What the network between hosts takes from a choice whose flows meet in it.

use super::Expected;
use super::achieved::Reason;
use crate::contention::Crowd;

impl Expected<'_> {
    /// Lets the network carry no more than it does with all flows at once.
    pub fn share_network(&mut self, crowd: &Crowd, bus_factor: f64) {
        let own = self.algbw;
        let [least, middle, most] = crowd.algbw.map(|algbw| algbw.min(own));
        if least >= own {
            return;
        }
        self.crowded = Some([least / middle, most / middle]);
        if middle < own {
            self.algbw = middle;
            self.between = true;
            self.wire = Some("cables between switches, which several flows share".to_owned());
        }
        let busbw = |algbw: f64| format!("{:.1}", algbw * bus_factor);
        let chance = if most > least {
            format!(", 90 % of networks between {} and {} GB/s", busbw(least), busbw(most))
        } else {
            String::new()
        };
        self.reasons.push(Reason { text: format!("{}{chance}", crowd.text), cites: Vec::new() });
    }
}
