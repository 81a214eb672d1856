//! The reader of algorithm files.

use roxmltree::Node;
use weft_base::Diagnostic;
use weft_catalogue::Catalogue;
use weft_collective::Collective;

use super::codes::{MSCCL_PROVED, MSCCL_UNCHECKED, MSCCL_WRONG};
use super::parse::Parser;
use super::{MscclAlgorithm, MscclProof, MscclVerdict, Origin, lower};
use crate::document::{XmlTree, read_xml, xml};
use crate::evidence::{Evidence, Record, Report, Value};
use crate::format::{Claim, Format, Located, Part, Read, Text};
use crate::ranges;

const ROOTS: [&str; 1] = ["algo"];

/// The reader.
#[derive(Debug)]
pub struct MscclFile;

impl Format for MscclFile {
    fn name(&self) -> &'static str {
        "msccl-algorithm"
    }

    fn title(&self) -> &'static str {
        "an algorithm of MSCCL or RCCL, proved (XML)"
    }

    fn command(&self) -> Option<&'static str> {
        None
    }

    fn marks(&self) -> &'static [&'static str] {
        &["<algo"]
    }

    fn find(&self, text: &Text<'_>) -> Vec<Claim> {
        xml(text.lines, &ROOTS).into_iter().map(Claim::yes).collect()
    }

    fn read(&self, part: &Part<'_>, _catalogue: &Catalogue) -> Read {
        let (found, mut diagnostics) = document(part, |tree, algorithm| {
            let line = tree.line(tree.root());
            let Some(algorithm) = algorithm else { return (refused(tree.root(), line), None) };
            let (verdict, origin) = algorithm.judge();
            let finding = finding(tree, &algorithm, &verdict, origin);
            (report(&algorithm, &verdict, line), Some(finding))
        });
        let (report, finding) = found.unzip();
        diagnostics.extend(finding.flatten());
        ranges::sort(&mut diagnostics);
        let evidence =
            report.map(|report| Located { value: Evidence::Report(Box::new(report)), place: part.start() });
        Read { evidence: evidence.into_iter().collect(), diagnostics, unused: Vec::new() }
    }
}

/// Gives the tree in `part` to `then`, with the algorithm where MSCCL would not refuse it; and what it refuses.
pub(super) fn document<T>(
    part: &Part<'_>,
    then: impl FnOnce(&XmlTree<'_>, Option<MscclAlgorithm>) -> T,
) -> (Option<T>, Vec<Diagnostic>) {
    let (found, mut diagnostics) = read_xml(part, &ROOTS, |tree| {
        let mut parser = Parser::new(tree);
        let algorithm = algorithm(&mut parser, tree.document.root_element());
        // What is refused is not run, so there is nothing to prove.
        let algorithm = algorithm.filter(|_| parser.findings.is_empty());
        (then(tree, algorithm), parser.findings)
    });
    let (algorithm, findings) = found.unzip();
    diagnostics.extend(findings.into_iter().flatten());
    (algorithm, diagnostics)
}

fn collective(name: &str) -> Option<Collective> {
    Some(match name {
        "allreduce" => Collective::AllReduce,
        "allgather" => Collective::AllGather,
        "reducescatter" | "reduce_scatter" => Collective::ReduceScatter,
        "alltoall" => Collective::AllToAll,
        "broadcast" => Collective::Broadcast,
        "reduce" => Collective::Reduce,
        _ => return None,
    })
}

fn algorithm<'t>(parser: &mut Parser<'t>, root: Node<'t, 't>) -> Option<MscclAlgorithm> {
    let text = |name: &str| root.attribute(name).unwrap_or_default().to_owned();
    let flag = |name: &str| root.attribute(name).map(|value| value.trim() != "0");
    let (chunks, ranks) = (parser.count(root, "nchunksperloop")?, parser.count(root, "ngpus")?);
    let channels = parser.count(root, "nchannels")?;
    let coll = text("coll");
    let collective = collective(&coll);
    let parts = match collective {
        Some(Collective::AllGather | Collective::ReduceScatter | Collective::AllToAll) => ranks,
        Some(_) | None => 1,
    };
    if chunks == 0 || ranks == 0 || !chunks.is_multiple_of(parts.max(1)) {
        let message = format!("{chunks} chunks cannot be those of {ranks} GPUs");
        parser.refuse(root, "nchunksperloop", message, "it counts the chunks of all parts together");
        return None;
    }
    let gpus = parser.gpus(root, ranks)?;
    let lowered = lower::lower(&gpus, chunks, chunks / parts);
    // Older files say only whether input and output are the same.
    let in_place = flag("inplace").unwrap_or(false);
    let blocks = || gpus.iter().flat_map(|gpu| &gpu.blocks);
    Some(MscclAlgorithm {
        name: text("name"),
        coll,
        collective,
        channels,
        protocol: text("proto"),
        chunks,
        in_place,
        out_of_place: flag("outofplace").unwrap_or(!in_place),
        thread_blocks: u32::try_from(blocks().count()).unwrap_or(u32::MAX),
        steps: u32::try_from(blocks().map(|block| block.steps.len()).sum::<usize>()).unwrap_or(u32::MAX),
        program: lowered.program,
        origins: lowered.origins,
        gpus: gpus.iter().map(|gpu| gpu.origin).collect(),
    })
}

/// What is said of an algorithm that MSCCL does not take.
fn refused(root: Node<'_, '_>, line: u32) -> Report {
    let text = |name: &str| root.attribute(name).unwrap_or_default().to_owned();
    let mut record = Record::new("algorithm", text("name"), line);
    record.push("collective", Value::Text(text("coll")), line);
    Report { format: "msccl-algorithm", host: None, records: vec![record] }
}

fn report(algorithm: &MscclAlgorithm, verdict: &MscclVerdict, line: u32) -> Report {
    let mut record = Record::new("algorithm", algorithm.name.clone(), line);
    let mut say = |name: &str, value: Value| record.push(name, value, line);
    let count = |value: u32| Value::Count(value.into());
    say(
        "collective",
        Value::Text(algorithm.collective.map_or(&*algorithm.coll, |one| one.name()).to_owned()),
    );
    say("gpus", count(algorithm.ranks()));
    say("channels", count(algorithm.channels));
    say("protocol", Value::Text(algorithm.protocol.clone()));
    say("chunks", count(algorithm.chunks));
    say("thread-blocks", count(algorithm.thread_blocks));
    say("steps", count(algorithm.steps));
    say("in-place", Value::Flag(algorithm.in_place));
    say("out-of-place", Value::Flag(algorithm.out_of_place));
    match verdict {
        MscclVerdict::Right(proofs) => {
            say("proved", Value::Flag(true));
            if let Some(MscclProof { proof, .. }) = proofs.first() {
                say("messages", Value::Count(proof.message_count));
                say("messages-in-a-row", Value::Count(proof.chain.into()));
                say("needs-buffers", Value::Flag(!proof.rendezvous));
            }
        }
        MscclVerdict::Wrong { violation, .. } => {
            say("proved", Value::Flag(false));
            say("violation", Value::Text(violation.to_string()));
        }
        MscclVerdict::Unchecked(_) => {}
    }
    Report { format: "msccl-algorithm", host: None, records: vec![record] }
}

fn finding(
    tree: &XmlTree<'_>,
    algorithm: &MscclAlgorithm,
    verdict: &MscclVerdict,
    origin: Option<Origin>,
) -> Diagnostic {
    let place = origin.map_or_else(
        || tree.tag(tree.root()),
        |origin| {
            // `<` and the name of the tag are at most this long.
            tree.place(&(origin.start..origin.start + "<step".len()))
        },
    );
    let what = algorithm.collective.map_or(&*algorithm.coll, |one| one.name());
    match verdict {
        MscclVerdict::Right(proofs) => {
            Diagnostic::note(MSCCL_PROVED, proved(algorithm, what, proofs)).at(place)
        }
        MscclVerdict::Wrong { call, violation, .. } => {
            let place_of_call = if call.in_place { "in place" } else { "out of place" };
            let message = format!("the algorithm is no {what} {place_of_call}: {violation}");
            let hint =
                "ranks are GPUs, threads are thread blocks in the order of their numbers, blocks are chunks";
            Diagnostic::warning(MSCCL_WRONG, message).hint(hint).at(place)
        }
        MscclVerdict::Unchecked(why) => {
            Diagnostic::note(MSCCL_UNCHECKED, format!("the algorithm was not proved: {why}")).at(place)
        }
    }
}

/// What is proved, in words.
fn proved(algorithm: &MscclAlgorithm, what: &str, proofs: &[MscclProof]) -> String {
    let places: Vec<&str> =
        proofs.iter().map(|proof| if proof.call.in_place { "in place" } else { "out of place" }).collect();
    let article = if what.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" };
    let claim = format!(
        "the algorithm is {article} {what} over {} GPUs, {}, in every order of events",
        algorithm.ranks(),
        places.join(" and "),
    );
    let Some(MscclProof { proof, call }) = proofs.first() else { return claim };
    let chunks = |bytes: weft_base::Bytes| bytes.get() / call.data_type.size_bytes();
    let (sent, least) = (chunks(proof.sent.most), chunks(proof.bound.sent.most));
    let chain = proof.chain;
    format!(
        "{claim}; its longest chain has {chain} messages, and the busiest GPU sends {sent} chunks, where {least} are \
         the least"
    )
}
