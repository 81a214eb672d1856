//! The engine against answers worked out by hand.

use weft_base::{Bytes, Rate, Span, Time};
use weft_simulator::{Engine, Event, EventKind, ResourceId, Use};

fn ended(tag: u64, bottleneck: ResourceId) -> Event {
    Event { tag, kind: EventKind::Ended { bottleneck: Some(bottleneck) } }
}

#[test]
fn two_flows_share_a_link_until_the_smaller_has_ended() {
    let mut engine = Engine::new();
    let link = engine.add_resource(Rate::bytes_per_second(1_000_000_000));
    let path = engine.add_path(&[Use::of(link)], Span::picoseconds(1_000_000), None);
    engine.start(path, Bytes::new(1000), 1);
    engine.start(path, Bytes::new(3000), 2);
    let mut events = Vec::new();
    // From 1 us on each has 0.5 B/ns: 1000 B take 2 us. Then 2000 B are left at 1 B/ns: 2 us more.
    assert!(engine.advance(&mut events));
    assert_eq!((engine.now(), events.clone()), (Time::picoseconds(3_000_000), vec![ended(1, link)]));
    assert!(engine.advance(&mut events));
    assert_eq!((engine.now(), events.clone()), (Time::picoseconds(5_000_000), vec![ended(2, link)]));
    assert!(!engine.advance(&mut events));
}
