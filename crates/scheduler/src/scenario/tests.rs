use weft_base::{Bytes, Diagnostic, Period, Rate};
use weft_catalogue::Catalogue;

use super::{Pace, Scenario, scenario};
use crate::cluster::{Level, NodeId, Taints};
use crate::fleet::Models;
use crate::job::Pattern;
use crate::world::Trouble;

const NODES: &str = "[[nodes]]\nname = \"h\"\ncount = 4\ngpu = \"h100\"\ngpus = 8\ncpus = 96\nmemory = \"2 TiB\"\nrack = 2\n\
    leaf = 2\nmig = true\n[[nodes]]\nname = \"t\"\ngpu = \"tpu-v5e\"\ngpus = 4\ncpus = 112\nmemory = \"192 GiB\"\n\
    [[nodes]]\nname = \"l\"\ncount = 2\ngpu = \"l4\"\ngpus = 2\ncpus = 32\nmemory = \"128 GiB\"\n\
    [[nodes]]\nname = \"c\"\ncpus = 64\nmemory = \"256 GiB\"\n";

fn read(more: &str) -> Result<(Scenario, Vec<Diagnostic>), Vec<Diagnostic>> {
    scenario(("s.toml", &format!("{NODES}{more}")), &[], Catalogue::embedded())
}

fn job(more: &str) -> Scenario {
    read(&format!("[[job]]\njob = \"a\"\nduration = \"1 h\"\n{more}")).unwrap().0
}

/// Line, column, message and hint of the first thing that is wrong; lines count from the first line behind `NODES`.
fn wrong(more: &str) -> (u32, u32, String, String) {
    let finding = read(more).unwrap_err().remove(0);
    let place = finding.place.unwrap();
    let before = u32::try_from(NODES.lines().count()).unwrap();
    (place.line.saturating_sub(before), place.column, finding.message, finding.hint.unwrap_or_default())
}

#[test]
fn nodes_stand_where_their_group_says() {
    let found = job("");
    let cluster = &found.cluster;
    assert_eq!((cluster.nodes.len(), cluster.shapes.len()), (8, 4));
    assert_eq!(cluster.models, ["h100-sxm5-80gb", "tpu-v5e", "l4"]);
    cluster.check().unwrap();
    let at = |level: Level| (0..8).map(|node| cluster.domain(NodeId(node), level)).collect::<Vec<_>>();
    assert_eq!(at(Level::Domain), [0, 1, 2, 3, 4, 5, 6, 7]);
    assert_eq!(at(Level::Rack), [0, 0, 1, 1, 2, 3, 4, 5]);
    assert_eq!(at(Level::Leaf), [0, 0, 1, 1, 2, 3, 3, 4]);
    assert_eq!(at(Level::Spine), [0; 8]);
    let h100 = &cluster.shapes[0];
    assert_eq!((h100.kind.cpu_milli, h100.kind.memory_mib), (96_000, 2 << 20));
    // 18 links of 25 GB/s in one direction.
    assert_eq!(h100.joined.0[0][7], 450);
    assert_eq!(cluster.shapes[2].joined.0[0][1], 0, "nothing joins L4s");
}

#[test]
fn partitions_have_their_places() {
    let found = job("slice = \"3g.40gb\"\n");
    let slices = &found.cluster.shapes[0].slices;
    let three = slices.iter().find(|slice| slice.name == "3g.40gb").unwrap();
    // Four of eight slots of memory, at 0 or at 4; three of seven of the compute.
    assert_eq!((three.places.as_slice(), three.milli), ([0b0000_1111, 0b1111_0000].as_slice(), 428));
    let ask = &found.loads[0].job.need.groups[0].ask;
    assert_eq!((ask.pod.gpu_count, ask.pod.gpu_milli, ask.pod.models), (1, 428, Models(1)));
    let (line, column, message, hint) =
        wrong("[[job]]\njob = \"a\"\nduration = \"1 h\"\nslice = \"3g.40g\"\n");
    assert_eq!((line, column, message.as_str()), (4, 9, "there is no partition `3g.40g`"));
    assert_eq!(hint, "did you mean `3g.40gb`?");
}

#[test]
fn work_is_routed_by_its_kind() {
    let ask = |more: &str| {
        let found = job(more);
        let ask = found.loads[0].job.need.groups[0].ask.clone();
        (ask.tiers().map(|models| models.0).collect::<Vec<_>>(), ask.tolerates)
    };
    // Models: H100 is bit 0, TPU bit 1, L4 bit 2. No taint keeps anybody away as long as there are no services.
    assert_eq!(ask("kind = \"training\"\ngpus = 8\n"), (vec![0b001, 0b100], Taints(0)));
    assert_eq!(ask("kind = \"training\"\ngpus = 1\n").0, [0b100, 0b001]);
    assert_eq!(ask("kind = \"inference\"\ngpus = 1\n").0, [0b010, 0b100, 0b001]);
    assert_eq!(ask("models = [\"L4\", \"h100\"]\ngpus = 1\n").0, [0b100, 0b001]);
    assert_eq!(ask("gpus = 1\n").0, [u32::MAX]);
    let service = job("kind = \"service\"\ncpus = 2\n[[job]]\njob = \"b\"\nduration = \"1 h\"\ngpus = 1\n");
    assert_eq!(service.cluster.taints, ["accelerator"]);
    let taints = |node: usize| service.cluster.nodes[node].taints;
    assert_eq!((taints(0), taints(4), taints(7)), (Taints(1), Taints(1), Taints(0)));
    let tolerates = |job: usize| service.loads[job].job.need.groups[0].ask.tolerates;
    assert_eq!((tolerates(0), tolerates(1)), (Taints(0), Taints(1)));
}

#[test]
fn jobs_have_what_they_say() {
    let found = job(
        "count = 3\nevery = \"5 min\"\nsubmit = \"1 min\"\ngpus = 1\nmembers = 16\nleast = 8\nsets = 8\nwithin = \"leaf\"\n\
         memory = \"64 GiB\"\ncpus = 1.5\npriority = 7\nlimit = \"2 h\"\ncheckpoint = \"30 min\"\n",
    );
    let names: Vec<&str> = found.loads.iter().map(|load| load.job.name.as_str()).collect();
    assert_eq!(names, ["a-0", "a-1", "a-2"]);
    let last = &found.loads[2];
    assert_eq!((last.job.submitted, last.work), (Period::milliseconds(660_000), Period::from_hours(1.0)));
    let group = &last.job.need.groups[0];
    assert_eq!((group.least_count, group.most_count), (8, 16));
    assert_eq!(group.within.map(|within| (within.level, within.required)), Some((Level::Leaf, true)));
    assert_eq!(group.sets.map(|(size, within)| (size, within.level)), Some((8, Level::Node)));
    let pod = &group.ask.pod;
    assert_eq!((pod.cpu_milli, Bytes::new(u64::from(pod.memory_mib) << 20)), (1500, Bytes::new(64 << 30)));
    assert_eq!(last.saves.map(|saves| saves.interval), Some(Period::from_hours(0.5)));
    let share = job("gpus = 0.25\n");
    assert_eq!(share.loads[0].job.need.gpu_milli(), 250);
}

#[test]
fn queues_faults_speeds_and_chances_are_read() {
    let found = job(
        "queue = \"mine\"\n[[queue]]\nname = \"all\"\nlimit = 32\n[[queue]]\nname = \"mine\"\nparent = \"all\"\nweight = 3\nown = 8\n\
         [[fault]]\nat = \"1 h\"\nwhat = \"gpu h-3/5 xid 79\"\nfor = \"2 h\"\n[[fault]]\nat = \"2 h\"\nwhat = \"leaf 1\"\n\
         [latencies]\ngrace = \"30 s\"\n[chances]\nconflict = \"5 %\"\n[speed]\nleaf = \"95 %\"\nspine = \"80 %\"\n",
    );
    let mine = &found.queues[1];
    assert_eq!((mine.weight, mine.own_milli, mine.limit_milli), (3, 8000, None));
    assert_eq!(found.queues[0].limit_milli, Some(32_000));
    assert_eq!(found.loads[0].job.queue.at(), 1);
    assert_eq!(found.faults[0].what, Trouble::Gpu(NodeId(3), 5, Some(79)));
    assert_eq!(found.faults[1].what, Trouble::Leaf(1));
    assert!(found.faults[1].lasts > Period::YEAR);
    assert_eq!(found.latencies.grace, Period::milliseconds(30_000));
    assert_eq!(found.chances.conflict_percent, 5);
    assert_eq!(found.pace, Pace::ByLevel([1.0, 1.0, 1.0, 0.95, 0.8, 0.8]));
}

#[test]
fn traffic_and_uplinks_go_together() {
    let found = job(
        "exposed = \"20 %\"\npattern = \"all-to-all\"\n[uplinks]\nnode = \"400 GB/s\"\nleaf = \"1.6 TB/s\"\n",
    );
    let traffic = found.loads[0].job.traffic.unwrap();
    assert_eq!((traffic.exposed_milli, traffic.pattern), (200, Pattern::AllToAll));
    let Pace::Uplinks(uplinks) = found.pace else { panic!("{:?}", found.pace) };
    assert_eq!((uplinks.node, uplinks.leaf), (Rate::from_gigabytes(400.0), Rate::from_gigabytes(1600.0)));
    let (line, column, message, hint) =
        wrong("[[job]]\njob = \"a\"\nduration = \"1 h\"\npattern = \"ring\"\n");
    assert_eq!((line, column), (4, 11));
    assert!(message.contains("`exposed`") && hint.contains("20 %"));
}

#[test]
fn what_is_wrong_is_named_with_its_place_and_what_was_meant() {
    const JOB: &str = "[[job]]\njob = \"a\"\nduration = \"1 h\"\n";
    let cases = [
        (
            "[[job]]\njob = \"a\"\nduraton = \"1 h\"\n",
            (3, 1, "unknown field `duraton`", "did you mean `duration`?"),
        ),
        ("[[job]]\njob = \"a\"\nduration = \"1\"\n", (3, 12, "unit", "docs/reference")),
        (
            &format!("{JOB}models = [\"h200\"]\n"),
            (4, 10, "no GPU on any node that is called `h200`", "there are h100"),
        ),
        (&format!("{JOB}within = \"leef\"\n"), (4, 10, "no level `leef`", "did you mean `leaf`?")),
        (&format!("{JOB}queue = \"x\"\n"), (4, 9, "no queue `x`", "default")),
        (&format!("{JOB}gpus = 1.5\n"), (4, 8, "`gpus` is 1.5", "`members`")),
        (&format!("{JOB}gpus = 1\nkind = \"service\"\n"), (5, 8, "a service has no GPUs", "inference")),
        (&format!("{JOB}least = 2\n"), (4, 9, "so many members", "`least`")),
        (
            &format!("{JOB}[[fault]]\nat = \"1 s\"\nwhat = \"node h-4\"\n"),
            (6, 8, "no node `h-4`", "there are h-0"),
        ),
        (&format!("{JOB}[[fault]]\nat = \"1 s\"\nwhat = \"gpu l-0/2\"\n"), (6, 8, "no GPU `2`", "it has 2")),
        (
            &format!("{JOB}[speed]\nrack = \"50 %\"\nleaf = \"60 %\"\n"),
            (4, 1, "faster when they are apart", "leaf"),
        ),
        (
            &format!(
                "{JOB}[[nodes]]\nname = \"b\"\ngpu = \"l4\"\ngpus = 2\ncpus = 1\nmemory = \"1 GiB\"\njoined = \"nvswitch\"\n"
            ),
            (10, 10, "no links for `nvswitch`", "pcie"),
        ),
        (
            &format!(
                "{JOB}[[nodes]]\nname = \"b\"\ncpus = 1\nmemory = \"1 GiB\"\ncount = 4\nrack = 3\nleaf = 2\n"
            ),
            (10, 8, "`leaf` is 2", "whole parts of 3"),
        ),
        ("", (0, 1, "no jobs", "[[job]]")),
    ];
    for (text, (line, column, message, hint)) in cases {
        let found = wrong(text);
        assert_eq!((found.0, found.1), (line, column), "{text}: {found:?}");
        assert!(found.2.contains(message) && found.3.contains(hint), "{text}: {found:?}");
    }
    let unknown = format!("policies = [\"eassy\"]\n{NODES}{JOB}");
    let found = scenario(("s.toml", &unknown), &[], Catalogue::embedded()).unwrap_err();
    assert_eq!(found[0].code.name, "schedule-scenario");
    assert_eq!(found[0].hint.as_deref(), Some("did you mean `easy`?"));
}
