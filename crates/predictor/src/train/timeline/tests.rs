//! Timelines against the formula that prices steps, and against schedules that can be drawn by hand.

use weft_catalogue::Catalogue;
use weft_workload::{Layout, Precision, Recompute, Schedule, Sharding, Turn, Work};

use super::lanes::timeline;
use super::{Of, StageTime, StepParts, Timeline, What};
use crate::train::{PassTime, Pricer, Site, StepTime};

const SCHEDULES: [Schedule; 3] = [Schedule::Gpipe, Schedule::OneForwardOneBackward, Schedule::ZeroBubble];

/// Calls `look` with many layouts of several models and programs on 64 GPUs.
fn each(mut look: impl FnMut(&Layout, &Timeline, &StepTime)) {
    let catalogue = Catalogue::embedded();
    let machine =
        weft_topology::oneliner::parse("8 x dgx-a100 @ rail-optimized(leaf 40x200G)", catalogue).unwrap();
    let site = Site::new(&machine, catalogue).unwrap();
    let sizes = [(8, 1, 1), (8, 8, 1), (8, 8, 2), (4, 16, 1), (4, 4, 2), (8, 2, 4), (1, 4, 1)];
    for (model, expert) in [("gpt-3-175b", 1), ("llama-3.1-70b", 1), ("mixtral-8x7b", 4)] {
        for framework in ["megatron-2021", "megatron-core"] {
            let (model, framework) =
                (catalogue.model(model).unwrap(), catalogue.framework(framework).unwrap());
            let pricer = Pricer::new(&site, 64, model, Precision::Half, framework).unwrap();
            for (tensor, pipeline, virtual_stages) in sizes {
                for sharding in [Sharding::Optimizer, Sharding::Weights] {
                    for schedule in SCHEDULES {
                        let layout = Layout {
                            tensor,
                            pipeline,
                            virtual_stages,
                            expert,
                            sequence_parallel: tensor > 1,
                            sharding,
                            schedule,
                            recompute: Recompute::Full,
                            ..Layout::new(64, 128, 2048)
                        };
                        if layout.check(model).is_ok() {
                            look(&layout, &pricer.timeline(&layout).unwrap(), &pricer.step(&layout).unwrap());
                        }
                    }
                }
            }
        }
    }
}

/// Schedules that the formula describes exactly agree to a thousandth where the last stage is the slowest, and are over
/// earlier by less than a micro-batch where it is not; zero bubble takes passes to be as long as each other.
#[test]
fn a_timeline_ends_when_the_step_does() {
    let (mut exact, mut seen) = (0, 0);
    each(|layout, timeline, step| {
        let last = timeline.lanes[0].bars.last().unwrap().to_s;
        assert!((last / timeline.seconds - 1.0).abs() < 1e-9, "{layout:?}");
        let over = timeline.seconds / step.seconds - 1.0;
        let rest = timeline.rest_s / step.seconds;
        assert!((over - (-rest).max(0.0)).abs() < 1e-9, "{layout:?}");
        let within = if layout.schedule == Schedule::ZeroBubble { 0.03 } else { 1e-3 };
        assert!(-rest < within && rest < 0.04, "{layout:?}: {rest}");
        seen += 1;
        exact += u32::from(rest.abs() < 1e-9);
    });
    assert!(seen > 100 && exact * 2 > seen, "{exact} of {seen}");
}

/// What the slowest stage waits is what the step says of idle stages, and the first and last ways between stages.
#[test]
fn what_a_stage_waits_comes_out_of_the_schedule() {
    each(|layout, timeline, step| {
        let idle = timeline.idle_s(timeline.slowest_stage) + timeline.rest_s;
        let ways = 2.0 * f64::from(layout.pipeline - 1) * timeline.passes.hop_s;
        let told = step.breakdown.bubble_s + ways;
        assert!((idle - told).abs() < 1e-3 * step.seconds, "{layout:?}: {idle} {told}");
    });
}

#[test]
fn no_bar_lies_over_another_and_none_outside() {
    each(|layout, timeline, _| {
        for lane in &timeline.lanes {
            assert!(!lane.bars.is_empty());
            let mut over = 0.0;
            for bar in &lane.bars {
                let slack = 1e-9 * timeline.seconds;
                assert!(bar.from_s >= over - slack && bar.to_s > bar.from_s, "{layout:?} {lane:?}");
                over = bar.to_s;
            }
            assert!(over <= timeline.seconds * (1.0 + 1e-9));
        }
        let turns = timeline.lanes.iter().filter(|lane| lane.of == Of::Gpus).flat_map(|lane| &lane.bars);
        let forward = turns.filter(|bar| matches!(bar.what, What::Turn(Turn { work: Work::Forward, .. })));
        let wanted = layout.pipeline * layout.virtual_stages * layout.micro_batches();
        assert_eq!(u32::try_from(forward.count()).unwrap(), wanted);
    });
}

/// Stages of one second forward and two backward, of which one is the weights' gradients.
fn drawn(layout: &Layout) -> Timeline {
    let pass = |kernels_s| PassTime { kernels_s, ..PassTime::default() };
    let stage = StageTime { forward: pass(1.0), backward: pass(2.0) };
    timeline(layout, &StepParts { first: stage, last: stage, seconds: 1000.0, ..StepParts::default() })
}

/// On paper: four stages and eight micro-batches take 3 x 8 seconds and wait 3 x 3; two chunks halve that; ZB-H1 waits a
/// third; two micro-batches under zero bubble wait 2/3 of a micro-batch for each further stage, but for one gradient.
#[test]
fn drawn_schedules_take_as_long_as_on_paper() {
    let layout = |virtual_stages, micro_batches, schedule| Layout {
        pipeline: 4,
        virtual_stages,
        schedule,
        ..Layout::new(4, micro_batches, 2048)
    };
    for (layout, idle) in [
        (layout(1, 8, Schedule::Gpipe), 9.0),
        (layout(1, 8, Schedule::OneForwardOneBackward), 9.0),
        (layout(2, 8, Schedule::OneForwardOneBackward), 4.5),
        (layout(1, 8, Schedule::ZeroBubble), 3.0),
        (layout(1, 2, Schedule::ZeroBubble), 5.0),
    ] {
        let timeline = drawn(&layout);
        assert!((timeline.idle_s(0) - idle).abs() < 1e-9, "{layout:?}: {}", timeline.idle_s(0));
        let busy = 3.0 * f64::from(layout.micro_batches());
        assert!((timeline.turns_end_s - busy - idle).abs() < 1e-9);
    }
}

/// One hop hidden by nothing each way, and what is sent while the stage goes on stands on the network's lane.
#[test]
fn hops_delay_who_waits_for_them() {
    let pass = |kernels_s| PassTime { kernels_s, hop_s: 0.1, ..PassTime::default() };
    let stage = StageTime { forward: pass(1.0), backward: pass(2.0) };
    let parts = StepParts { first: stage, last: stage, hop_s: 0.5, seconds: 1000.0, ..StepParts::default() };
    let two = Layout { pipeline: 2, ..Layout::new(2, 2, 2048) };
    let timeline = timeline(&two, &parts);
    let begin = |stage, of, number: usize| {
        let lane = timeline.lanes.iter().find(|lane| lane.stage == stage && lane.of == of).unwrap();
        lane.bars[number].from_s
    };
    // Forward until 1.0, half a second on the way, then two micro-batches of 3.2 s, the last way back and 2.1 s.
    assert!((begin(1, Of::Gpus, 0) - 1.5).abs() < 1e-9);
    assert!((begin(0, Of::Network, 0) - 1.0).abs() < 1e-9);
    assert!((timeline.turns_end_s - (1.5 + 6.4 + 0.4 + 2.1)).abs() < 1e-9, "{}", timeline.turns_end_s);
}
