//! Declarations joined into a hierarchy: names are looked up, and what contradicts itself is said.

use std::collections::{BTreeMap, BTreeSet};

use weft_base::{Diagnostic, Place, nearest};

use super::host_list::{self, NAMES_MAX};
use crate::codes;
use crate::document::Node;
use crate::evidence::{Hierarchy, HierarchyKind, HierarchyLeaf, HierarchyNode};
use crate::format::Part;

/// Findings of one hierarchy; more say nothing new.
const FINDINGS_MAX: usize = 60;

/// Where something stands: index of the line in the part, and character in it, from 0.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct At {
    pub index: usize,
    pub column: usize,
}

impl At {
    /// Where a value of a document stands.
    pub fn of(node: &Node<'_>) -> Self {
        Self { index: node.index, column: node.column }
    }

    /// The place of `length` characters here.
    pub fn place(self, part: &Part<'_>, length: usize) -> Place {
        let Some(line) = part.lines.get(self.index) else { return part.start() };
        let offset = line.text.char_indices().nth(self.column).map_or(line.text.len(), |(offset, _)| offset);
        part.place(line, offset, u32::try_from(length).unwrap_or(0))
    }

    /// So many characters further.
    pub fn plus(self, columns: usize) -> Self {
        Self { column: self.column + columns, ..self }
    }
}

/// A name and where it stands.
#[derive(Debug, Clone)]
pub(crate) struct Named {
    pub name: String,
    pub at: At,
}

/// What a text says of one switch or block.
#[derive(Debug)]
pub(crate) struct Declared {
    pub name: Named,
    pub alias: Option<String>,
    pub is_block: bool,
    pub link_speed: Option<u32>,
    pub hosts: Vec<Named>,
    pub children: Vec<Named>,
}

impl Declared {
    /// One without anything below.
    pub fn new(name: Named, is_block: bool) -> Self {
        Self { name, alias: None, is_block, link_speed: None, hosts: Vec::new(), children: Vec::new() }
    }
}

/// Collects the declarations of one file.
pub(crate) struct Builder<'p, 'l> {
    part: &'p Part<'l>,
    budget: usize,
    declared: Vec<Declared>,
    names: BTreeMap<(bool, String), usize>,
    block_sizes: Vec<(u32, At)>,
    unplaced: Vec<Named>,
    /// Whether a switch may be named as a child without being declared.
    pub creates_children: bool,
    /// What was found wrong so far.
    pub diagnostics: Vec<Diagnostic>,
}

impl<'p, 'l> Builder<'p, 'l> {
    pub fn new(part: &'p Part<'l>) -> Self {
        Self {
            part,
            budget: NAMES_MAX,
            declared: Vec::new(),
            names: BTreeMap::new(),
            block_sizes: Vec::new(),
            unplaced: Vec::new(),
            creates_children: false,
            diagnostics: Vec::new(),
        }
    }

    /// The names of a host list that begins `at`.
    pub fn names(&mut self, text: &str, at: At) -> Vec<Named> {
        let (names, faults) = host_list::expand(text, &mut self.budget);
        for fault in faults {
            let place = at.plus(characters(text, fault.offset)).place(self.part, fault.length);
            let finding = if fault.is_too_long {
                Diagnostic::error(codes::HOST_LIST, fault.message).hint("is a digit doubled in the range?")
            } else {
                Diagnostic::warning(codes::HOST_LIST, fault.message)
                    .hint("a list is written `n[01-16,20],login`; this item was left out")
            };
            self.diagnostics.push(finding.at(place));
        }
        let (mut offset, mut column) = (0, 0);
        let named = |(name, start): (String, usize)| {
            if start != offset {
                column += text.get(offset..start).map_or(0, |between| between.chars().count());
                offset = start;
            }
            Named { name, at: at.plus(column) }
        };
        names.into_iter().map(named).collect()
    }

    /// Adds a finding.
    pub fn find(&mut self, finding: Diagnostic, at: At, length: usize) {
        self.diagnostics.push(finding.at(at.place(self.part, length)));
    }

    /// Adds a switch or a block.
    pub fn declare(&mut self, declared: Declared) {
        let key = (declared.is_block, declared.name.name.clone());
        self.names.entry(key).or_insert(self.declared.len());
        self.declared.push(declared);
    }

    /// Puts hosts under the switch or block of that name, which is added if it was not declared yet.
    pub fn attach(&mut self, name: Named, is_block: bool, hosts: Vec<Named>) {
        let known =
            self.names.get(&(is_block, name.name.clone())).and_then(|known| self.declared.get_mut(*known));
        match known {
            Some(known) => known.hosts.extend(hosts),
            None => self.declare(Declared { hosts, ..Declared::new(name, is_block) }),
        }
    }

    /// Adds one of the block sizes.
    pub fn block_size(&mut self, size: u32, at: At) {
        self.block_sizes.push((size, at));
    }

    /// Adds hosts of which nothing is known but their names.
    pub fn unplaced(&mut self, hosts: Vec<Named>) {
        self.unplaced = hosts;
    }

    /// Whether nothing was declared.
    pub fn is_empty(&self) -> bool {
        self.declared.is_empty() && self.block_sizes.is_empty()
    }

    /// The hierarchy, with what is wrong in it among the findings. The builder is empty afterwards, but for its
    /// budget of names.
    pub fn finish(&mut self, format: &'static str, kind: HierarchyKind) -> Hierarchy {
        let declared = std::mem::take(&mut self.declared);
        self.names.clear();
        let mut made = Hierarchy { format, kind, ..Hierarchy::default() };
        let mut index: BTreeMap<(bool, String), usize> = BTreeMap::new();
        let mut kept: Vec<Declared> = Vec::new();
        for one in declared {
            let key = (one.is_block, one.name.name.clone());
            if let Some(first) = index.get(&key).and_then(|first| kept.get(*first)) {
                let message = format!("{} `{}` is defined twice", word(&one), one.name.name);
                let hint = format!("the definition in line {} is used", self.line(first.name.at));
                self.find(
                    Diagnostic::warning(codes::HIERARCHY_NAME_TWICE, message).hint(hint),
                    one.name.at,
                    key.1.len(),
                );
                continue;
            }
            index.insert(key, kept.len());
            made.nodes.push(HierarchyNode {
                name: one.name.name.clone(),
                alias: one.alias.clone(),
                under: Vec::new(),
                is_block: one.is_block,
                link_speed: one.link_speed,
                line: self.line(one.name.at),
            });
            kept.push(one);
        }
        self.children(&mut made, &mut index, &mut kept);
        self.cycles(&mut made, &kept);
        self.hosts(&mut made, &kept);
        let unplaced = std::mem::take(&mut self.unplaced).into_iter();
        made.leaves.extend(unplaced.map(|host| HierarchyLeaf { name: host.name, under: Vec::new() }));
        self.empty(&made, &kept);
        self.sizes(&mut made);
        if self.diagnostics.len() > FINDINGS_MAX {
            let left = self.diagnostics.len() - FINDINGS_MAX;
            self.diagnostics.truncate(FINDINGS_MAX);
            let message = format!("and {left} findings more of this kind of file");
            self.diagnostics.push(Diagnostic::note(codes::HIERARCHY_EMPTY, message).at(self.part.start()));
        }
        made
    }

    fn line(&self, at: At) -> u32 {
        self.part.lines.get(at.index).map_or(0, |line| line.number)
    }

    fn children(
        &mut self,
        made: &mut Hierarchy,
        index: &mut BTreeMap<(bool, String), usize>,
        kept: &mut Vec<Declared>,
    ) {
        for parent in 0..kept.len() {
            let children = std::mem::take(&mut kept[parent].children);
            for child in &children {
                let key = (kept[parent].is_block, child.name.clone());
                let found = index.get(&key).copied();
                let node = match found {
                    Some(node) => node,
                    None if self.creates_children => {
                        let line = self.line(child.at);
                        let node = made.nodes.len();
                        made.nodes.push(HierarchyNode {
                            name: child.name.clone(),
                            line,
                            ..HierarchyNode::default()
                        });
                        kept.push(Declared::new(child.clone(), key.0));
                        index.insert(key, node);
                        node
                    }
                    None => {
                        let names = index.keys().map(|(_, name)| name.as_str());
                        // Beyond what is shown, nobody reads which name is near.
                        let shown = if self.diagnostics.len() < FINDINGS_MAX { usize::MAX } else { 0 };
                        let finding =
                            undefined(word(&kept[parent]), child, &kept[parent].name.name, names.take(shown));
                        self.find(finding, child.at, 0);
                        continue;
                    }
                };
                if !made.nodes[node].under.contains(&parent) {
                    made.nodes[node].under.push(parent);
                }
            }
            kept[parent].children = children;
        }
    }

    /// Takes away what closes a circle.
    fn cycles(&mut self, made: &mut Hierarchy, kept: &[Declared]) {
        let children = made.children();
        // 0: not seen, 1: above the one in hand, 2: done.
        let mut state = vec![0u8; made.nodes.len()];
        for root in 0..made.nodes.len() {
            if state[root] != 0 {
                continue;
            }
            state[root] = 1;
            let mut stack = vec![(root, 0)];
            while let Some((node, next)) = stack.pop() {
                let Some(&child) = children[node].get(next) else {
                    state[node] = 2;
                    continue;
                };
                stack.push((node, next + 1));
                if state[child] == 1 {
                    made.nodes[child].under.retain(|parent| *parent != node);
                    let message = format!(
                        "`{}` stands above and below `{}`",
                        made.nodes[node].name, made.nodes[child].name
                    );
                    let finding = Diagnostic::warning(codes::HIERARCHY_CYCLE, message)
                        .hint("this way down was left out, so that the rest is a hierarchy");
                    self.find(finding, kept[node].name.at, made.nodes[node].name.len());
                } else if state[child] == 0 {
                    state[child] = 1;
                    stack.push((child, 0));
                }
            }
        }
    }

    fn hosts(&mut self, made: &mut Hierarchy, kept: &[Declared]) {
        // `scontrol show topology` lists all hosts below a switch; only those that no switch below has are its own.
        let lower: BTreeSet<&str> = kept
            .iter()
            .filter(|one| one.children.is_empty())
            .flat_map(|one| one.hosts.iter().map(|host| host.name.as_str()))
            .collect();
        let mut index: BTreeMap<&str, usize> = BTreeMap::new();
        let mut doubled: BTreeMap<(usize, usize), (usize, &Named)> = BTreeMap::new();
        for (node, one) in kept.iter().enumerate() {
            for host in &one.hosts {
                if !one.children.is_empty() && lower.contains(host.name.as_str()) {
                    continue;
                }
                let leaf = *index.entry(host.name.as_str()).or_insert_with(|| {
                    made.leaves.push(HierarchyLeaf { name: host.name.clone(), under: Vec::new() });
                    made.leaves.len() - 1
                });
                let under = &mut made.leaves[leaf].under;
                if let Some(first) = under.iter().find(|first| made.nodes[**first].is_block == one.is_block) {
                    doubled.entry((*first, node)).or_insert((0, host)).0 += 1;
                }
                if !under.contains(&node) {
                    under.push(node);
                }
            }
        }
        for ((first, second), (count, host)) in doubled {
            let [first, second] = [first, second].map(|node| made.nodes[node].name.clone());
            let more = if count > 1 { format!(" and {} more", count - 1) } else { String::new() };
            let message = if first == second {
                format!("`{}`{more} stands twice under `{first}`", host.name)
            } else {
                format!("`{}`{more} stands under `{first}` and under `{second}`", host.name)
            };
            let finding = Diagnostic::warning(codes::HIERARCHY_HOST_TWICE, message)
                .hint("Slurm takes a host under one leaf switch and in one block");
            self.find(finding, host.at, 0);
        }
    }

    fn empty(&mut self, made: &Hierarchy, kept: &[Declared]) {
        if self.creates_children {
            return;
        }
        for (one, node) in kept.iter().zip(&made.nodes) {
            if one.hosts.is_empty() && one.children.is_empty() {
                let message = format!("{} `{}` has nothing below it", word(one), node.name);
                let finding = if one.is_block {
                    Diagnostic::note(codes::HIERARCHY_EMPTY, message)
                } else {
                    Diagnostic::warning(codes::HIERARCHY_EMPTY, message)
                };
                self.find(finding, one.name.at, node.name.len());
            }
        }
    }

    fn sizes(&mut self, made: &mut Hierarchy) {
        let sizes = std::mem::take(&mut self.block_sizes);
        for (position, (size, at)) in sizes.iter().enumerate() {
            let smaller = position.checked_sub(1).and_then(|before| sizes.get(before)).map(|(size, _)| *size);
            let fits = smaller.is_none_or(|smaller| {
                smaller > 0 && size % smaller == 0 && size / smaller > 1 && (size / smaller).is_power_of_two()
            });
            if *size == 0 || !fits {
                let before = smaller.map_or_else(String::new, |smaller| format!(" after {smaller}"));
                let finding = Diagnostic::warning(
                    codes::BLOCK_SIZES,
                    format!("a block size of {size}{before} does not fit"),
                )
                .hint("each size is the one before, times a power of two");
                self.find(finding, *at, 0);
            }
        }
        made.block_sizes = sizes.iter().map(|(size, _)| *size).collect();
        let Some((base, at)) = sizes.first().copied() else { return };
        let hosts = made.hosts();
        let blocks = || made.nodes.iter().zip(&hosts).filter(|(node, _)| node.is_block);
        let small = blocks().filter(|(_, hosts)| !hosts.is_empty() && hosts.len() < base as usize);
        if let Some((node, hosts)) = small.clone().next() {
            let more = small.count() - 1;
            let more =
                if more > 0 { format!(", and {more} more blocks are too small") } else { String::new() };
            let message = format!(
                "block `{}` has {} hosts, fewer than a base block of {base}{more}",
                node.name,
                hosts.len()
            );
            let finding = Diagnostic::warning(codes::BLOCK_SIZES, message)
                .hint("the first of the block sizes is at most the hosts of the smallest block");
            self.find(finding, at, 0);
        }
        let all = made.leaves.len();
        if let Some((size, at)) =
            sizes.iter().find(|(size, _)| all > 0 && *size as usize > all.next_power_of_two().max(all))
        {
            let message = format!("a block size of {size} is more than all {all} hosts");
            self.find(Diagnostic::note(codes::BLOCK_SIZES, message), *at, 0);
        }
    }
}

fn word(declared: &Declared) -> &'static str {
    if declared.is_block { "block" } else { "switch" }
}

fn characters(text: &str, offset: usize) -> usize {
    text.get(..offset).map_or(0, |before| before.chars().count())
}

fn undefined<'n>(
    word: &str,
    child: &Named,
    parent: &str,
    names: impl Iterator<Item = &'n str>,
) -> Diagnostic {
    let message = format!("{word} `{}`, which stands below `{parent}`, is not defined", child.name);
    let finding = Diagnostic::warning(codes::HIERARCHY_UNDEFINED, message);
    // Ten thousand names are searched for each typo; near ones have the same first letter.
    let first = child.name.chars().next();
    let near = nearest(&child.name, names.filter(|name| name.chars().next() == first), 1);
    match near.first() {
        Some(near) => finding.hint(format!("did you mean `{near}`? It was left out")),
        None => finding.hint("it was left out; is the text cut?"),
    }
}
