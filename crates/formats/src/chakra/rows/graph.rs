//! What waits for what in a trace: ids become places, and the nodes stand in an order in which they can run.

use weft_base::{Diagnostic, Severity};

use super::{ExecutionTrace, Rows, TOLD_MAX};
use crate::chakra::codes::{TRACE_DAMAGED, TRACE_GRAPH};
use crate::chakra::order::{Waits, order};

/// Nodes of a circle that a message names.
const NAMED_MAX: usize = 6;

impl Rows {
    pub(super) fn finish(mut self) -> (ExecutionTrace, Vec<Diagnostic>) {
        if self.nodes.is_empty() && self.findings.is_empty() {
            self.say(TRACE_DAMAGED, 1, "there is no node of an execution trace in it".to_owned()).hint =
                Some("a trace is Chakra's `NAME.RANK.et`, or what `chakra_jsonizer` makes of it".to_owned());
        }
        let places = self.places();
        let mut waits = self.resolve(&places);
        let sorted = self.sort(&mut waits);
        let is_fine = self.findings.iter().all(|finding| finding.severity < Severity::Error);
        if is_fine {
            self.arrange(&sorted, waits);
        }
        self.trace.file = self.file;
        (self.trace, self.findings)
    }

    /// The order. Where callers would wait for what they call, what the call orders is left out: results are needed,
    /// callers are only who asked.
    fn sort(&mut self, waits: &mut [Waits]) -> Vec<u32> {
        let ids: Vec<u64> = self.nodes.iter().map(|node| node.id_number).collect();
        if let Ok(sorted) = order(&ids, waits, true) {
            return sorted;
        }
        let sorted = match order(&ids, waits, false) {
            Ok(sorted) => sorted,
            Err(circle) => {
                self.circle(&circle);
                return Vec::new();
            }
        };
        let mut turn = vec![0u32; sorted.len()];
        for (to, from) in (0u32..).zip(&sorted) {
            turn[*from as usize] = to;
        }
        let (mut count, mut first) = (0usize, None);
        for (node, [_, control]) in waits.iter_mut().enumerate() {
            control.retain(|before| {
                let agrees = turn[*before as usize] < turn[node];
                count += usize::from(!agrees);
                first = first.or((!agrees).then_some((node, *before as usize)));
                agrees
            });
        }
        let Some((node, before)) = first else { return sorted };
        let (line, node, before) =
            (self.nodes[node].line, self.nodes[node].label(), self.nodes[before].label());
        let message = format!(
            "{count} control dependencies contradict the data dependencies, the first of them that of node {node} on {before}; they are not waited for"
        );
        let finding = self.say(TRACE_GRAPH, line, message);
        finding.severity = Severity::Warning;
        finding.hint =
            Some("`ctrl_deps` may name callers that themselves wait for what they call".to_owned());
        sorted
    }

    /// Ids in order, with their place; one that stands twice is an error.
    fn places(&mut self) -> Vec<(u64, u32)> {
        let mut places: Vec<(u64, u32)> = self.nodes.iter().map(|node| node.id_number).zip(0..).collect();
        places.sort_unstable();
        let doubled: Vec<u64> =
            places.windows(2).filter(|pair| pair[0].0 == pair[1].0).map(|pair| pair[0].0).collect();
        if let Some(first) = doubled.first() {
            let message =
                format!("{} nodes have the id of another one, the first of them {first}", doubled.len());
            self.say(TRACE_GRAPH, 1, message).hint =
                Some("ids are of one rank: one file holds one rank".to_owned());
        }
        places
    }

    /// Places of what each node waits for. Data must be there; a caller may be one that was not recorded.
    fn resolve(&mut self, places: &[(u64, u32)]) -> Vec<Waits> {
        let place = |id: &u64| places.binary_search_by_key(id, |(id, _)| *id).ok().map(|at| places[at].1);
        let deps = std::mem::take(&mut self.deps);
        let (mut absent_count, mut missing) = (0usize, Vec::new());
        let mut waits = Vec::with_capacity(deps.len());
        for (node, [data, control]) in self.nodes.iter().zip(deps) {
            let lost = data.iter().filter(|id| place(id).is_none());
            let room = TOLD_MAX.saturating_sub(missing.len());
            missing.extend(lost.take(room).map(|id| (node.line, node.label(), *id)));
            absent_count += control.iter().filter(|id| place(id).is_none()).count();
            waits.push([data, control].map(|ids| ids.iter().filter_map(place).collect::<Vec<u32>>()));
        }
        for (line, node, id) in missing {
            let message = format!("node {node} needs the result of node {id}, which is not there");
            self.say(TRACE_GRAPH, line, message).hint = Some(
                "the trace is cut, or nodes were filtered out; `data_deps` must name nodes of the same file"
                    .to_owned(),
            );
        }
        if absent_count > 0 {
            let message = format!(
                "{absent_count} control dependencies are on nodes that are not there, as on callers that were not recorded; they are not waited for"
            );
            self.say(TRACE_GRAPH, 1, message).severity = Severity::Note;
        }
        waits
    }

    fn circle(&mut self, circle: &[u32]) {
        let name = |place: &u32| self.nodes[*place as usize].label();
        let mut words: Vec<String> = circle.iter().take(NAMED_MAX).map(name).collect();
        if circle.len() > NAMED_MAX {
            words.push(format!("{} more", circle.len() - NAMED_MAX));
        }
        words.extend(circle.first().map(name));
        let message = format!("nodes wait for each other in a circle: {}", words.join(" before "));
        let line = circle.first().map_or(1, |place| self.nodes[*place as usize].line);
        self.say(TRACE_GRAPH, line, message).hint = Some("take one of these dependencies out".to_owned());
    }

    /// Puts the nodes in order.
    fn arrange(&mut self, sorted: &[u32], waits: Vec<Waits>) {
        let mut place = vec![0u32; sorted.len()];
        for (to, from) in (0u32..).zip(sorted) {
            place[*from as usize] = to;
        }
        for (node, waits) in self.nodes.iter_mut().zip(waits) {
            let [data, control] =
                waits.map(|places| places.iter().map(|from| place[*from as usize]).collect::<Box<[u32]>>());
            (node.data_deps, node.control_deps) = (data, control);
        }
        let mut nodes = std::mem::take(&mut self.nodes);
        for at in 0..nodes.len() {
            while place[at] as usize != at {
                let to = place[at] as usize;
                nodes.swap(at, to);
                place.swap(at, to);
            }
        }
        self.trace.nodes = nodes;
    }
}
