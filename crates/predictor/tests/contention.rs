//! What flows between hosts lose to each other, on networks whose answers are known.

mod common;

use std::sync::Arc;

use common::topology;
use weft_base::Bytes;
use weft_catalogue::Catalogue;
use weft_collective::Collective;
use weft_predictor::{Algorithm, Fabric, Prediction, Request, Routing, predict};
use weft_topology::{ForwardingTable, Subnet, SubnetNodeKind};

const GIB: u64 = 1 << 30;

/// Rings of 1 GiB.
fn request(collective: Collective, routing: Option<Routing>) -> Request {
    let mut request = Request::new(collective);
    request.sizes = vec![Bytes::new(GIB)];
    request.settings = request.settings.only(Algorithm::Ring);
    request.routing = routing;
    request
}

fn answer(text: &str, request: &Request) -> Prediction {
    predict(&topology(text), Catalogue::embedded(), request).expect("a prediction")
}

fn busbw(prediction: &Prediction) -> f64 {
    prediction.rows[0].busbw.as_gigabytes()
}

/// The interval of busbw.
fn within(prediction: &Prediction) -> (f64, f64) {
    let row = &prediction.rows[0];
    let busbw = row.busbw.as_gigabytes();
    let of = |time: weft_base::Span| busbw * row.time.as_seconds() / time.as_seconds();
    (of(row.high), of(row.low))
}

fn said(prediction: &Prediction) -> Option<&str> {
    let found = prediction.diagnostics.iter().find(|finding| finding.code.name == "fabric-contended");
    found.map(|finding| finding.message.as_str())
}

/// github.com/NVIDIA/nccl/issues/319: eight nodes with four EDR adapters reach 43.5 GB/s of busbw with rings on one
/// switch, 19.5 over two (39.9 with a later NCCL): static routes let flows of several rails collide. The four rails'
/// flows cross on 18 cables each way; two on one cable leave half, three a third.
#[test]
fn two_racks_with_static_routes_reach_half_of_one() {
    let any = Some(Routing::ByTable { seed: 0 });
    let one = answer("8 x dgx-1v @ single", &request(Collective::AllReduce, any));
    assert!((busbw(&one) / 43.5 - 1.0).abs() < 0.1, "{}", busbw(&one));
    assert_eq!(said(&one), None);
    let two = answer("8 x dgx-1v @ fat-tree(leaf 36x100G, leaves 2)", &request(Collective::AllReduce, any));
    let (low, high) = within(&two);
    assert!(low < 19.5 && 39.9 < high, "{low} to {high}");
    assert!((busbw(&two) / busbw(&one) - 0.5).abs() < 0.05, "{} of {}", busbw(&two), busbw(&one));
    assert!(said(&two).is_some_and(|text| text.starts_with("simulated")), "{:?}", said(&two));
    assert!(two.rows[0].bound_by.contains("cables between switches"), "{}", two.rows[0].bound_by);
    // Routes that are laid out for these hosts give each destination an uplink of its own, and so does adaptive routing.
    for calm in [Routing::ByDestination, Routing::Adaptive] {
        let request = request(Collective::AllReduce, Some(calm));
        let calm = answer("8 x dgx-1v @ fat-tree(leaf 36x100G, leaves 2)", &request);
        assert!((busbw(&calm) / busbw(&one) - 1.0).abs() < 1e-9, "{}", busbw(&calm));
        assert_eq!(said(&calm), None);
    }
}

/// Three hosts of eight NICs on each of four leaves, with eight uplinks of 50 GB/s. A pair of hosts has 64/96 of the
/// message to exchange, and each host sends to nine outside its leaf: 3 x 9 x 64/96 = 18 bytes per byte over 400 GB/s, so
/// algbw is 22.2 GB/s at most, busbw 95/96 of that.
#[test]
fn all_to_all_fills_oversubscribed_uplinks() {
    let text = "12 x dgx-h100 @ fat-tree(leaf 32x400G, oversubscription 3:1)";
    let prediction = answer(text, &request(Collective::AllToAll, Some(Routing::Adaptive)));
    let most = 400.0 / 18.0 * 95.0 / 96.0;
    assert!(busbw(&prediction) <= most && busbw(&prediction) > 0.97 * most, "{}", busbw(&prediction));
    let alone = answer("12 x dgx-h100 @ fat-tree(leaf 128x400G)", &request(Collective::AllToAll, None));
    assert!(busbw(&alone) > 1.8 * most, "{}", busbw(&alone));
}

/// Where each rail has leaves of its own, one NIC's flows leave a leaf for the next group, and cannot ask a cable for more
/// than that NIC sends. Where hosts are whole on a leaf, eight NICs' flows leave it, and a hash lets some collide.
#[test]
fn a_hash_costs_only_what_several_nics_send() {
    let hash = || request(Collective::AllReduce, Some(Routing::Hash { seed: 0 }));
    let rails = answer("64 x dgx-h100 @ rail-optimized(leaf 64x400G)", &hash());
    assert_eq!(said(&rails), None);
    let one = answer("8 x dgx-h100 @ single", &hash());
    let leaves = answer("8 x dgx-h100 @ fat-tree(leaf 64x400G, leaves 2)", &hash());
    assert!(busbw(&leaves) < 0.8 * busbw(&one), "{} and {}", busbw(&leaves), busbw(&one));
    assert!(said(&leaves).is_some_and(|text| text.contains("by hash")), "{:?}", said(&leaves));
}

/// The network of a cluster as `ibnetdiscover` and `dump_fts` would give it; `up` says which uplink of a leaf a LID takes.
fn fabric(text: &str, up: impl Fn(u16, usize) -> usize) -> Fabric {
    let catalogue = Catalogue::embedded();
    let mut subnet = Subnet::of(&topology(text), catalogue);
    let count = u16::try_from(subnet.nodes.len()).expect("few nodes");
    let lid = |node: u32| u16::try_from(node + 1).expect("few nodes");
    for link in &mut subnet.links {
        (link.a.lid, link.b.lid) = (Some(lid(link.a.node)), Some(lid(link.b.node)));
    }
    let mut tables = Vec::new();
    for (node, index) in
        subnet.nodes.iter().zip(0u32..).filter(|(node, _)| node.kind == SubnetNodeKind::Switch)
    {
        let links: Vec<_> = subnet.links.iter().flat_map(weft_topology::SubnetLink::directions).collect();
        let own: Vec<_> = links.iter().filter(|(here, _)| here.node == index).collect();
        let leaf_of =
            |adapter: u32| links.iter().find(|(here, _)| here.node == adapter).map(|(_, far)| far.node);
        let mut ports = Vec::new();
        for other in 0..u32::from(count) {
            let to = |node: u32| own.iter().find(|(_, far)| far.node == node).map(|(here, _)| here.port);
            let uplinks: Vec<u16> = own
                .iter()
                .filter(|(_, far)| subnet.node(far).kind == SubnetNodeKind::Switch)
                .map(|(here, _)| here.port)
                .collect();
            let is_spine = own.len() == uplinks.len();
            let port = if subnet.nodes[other as usize].kind == SubnetNodeKind::Switch {
                continue;
            } else if is_spine {
                // A cable of its own down for each destination, as far as there are.
                let leaf = leaf_of(other).expect("a leaf");
                let down: Vec<u16> =
                    own.iter().filter(|(_, far)| far.node == leaf).map(|(here, _)| here.port).collect();
                Some(down[up(lid(other), down.len())])
            } else {
                to(other).or_else(|| Some(uplinks[up(lid(other), uplinks.len())]))
            };
            ports.extend(port.map(|port| (lid(other), u8::try_from(port).expect("a small switch"))));
        }
        tables.push(ForwardingTable { switch: node.guid, ports, ..ForwardingTable::default() });
    }
    let graph = subnet.topology(catalogue);
    Fabric { subnet, tables, graph }
}

/// Tables that send every LID up the first cable let all four rails share 12.5 GB/s: a quarter. Those that take cables
/// in turn share nothing.
#[test]
fn forwarding_tables_say_who_meets() {
    let text = "8 x dgx-1v @ fat-tree(leaf 36x100G, leaves 2)";
    let with = |fabric: Fabric| {
        let mut request = request(Collective::AllReduce, None);
        request.fabric = Some(Arc::new(fabric));
        // The hosts alone: the subnet says how they are joined.
        answer("8 x dgx-1v", &request)
    };
    let calm = with(fabric(text, |lid, count| usize::from(lid) % count));
    let first = with(fabric(text, |_, _| 0));
    assert_eq!(said(&calm), None);
    assert!(said(&first).is_some_and(|text| text.contains("by the tables")), "{:?}", first.diagnostics);
    // 12.5 of 48 GB/s that NCCL counts for four adapters.
    let share = busbw(&first) / busbw(&calm);
    assert!((share - 12.5 / 48.0).abs() < 0.01, "{share}");
    let foreign = {
        let mut request = request(Collective::AllReduce, None);
        request.fabric = Some(Arc::new(fabric(text, |_, _| 0)));
        answer("9 x dgx-1v", &request)
    };
    assert!(foreign.diagnostics.iter().any(|finding| finding.code.name == "fabric-unused"));
}
