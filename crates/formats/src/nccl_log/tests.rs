use weft_base::{Bytes, Rate, Span};
use weft_catalogue::Catalogue;

use crate::evidence::{Evidence, Gdr, NcclLog, TransportKind};
use crate::format::Source;
use crate::{Reading, read};

const TWO_HOSTS: &str = include_str!("../../../../examples/formats/nccl-log/two-hosts.txt");
const RCCL: &str = include_str!("../../../../examples/formats/nccl-log/rccl.txt");
const TUNING: &str = include_str!("../../../../examples/formats/nccl-log/tuning.txt");

fn reading(text: &str) -> Reading {
    read(&Source::file("t", text), Catalogue::embedded(), None)
}

fn log(text: &str) -> NcclLog {
    let found = reading(text).evidence.into_iter().find_map(|evidence| {
        let Evidence::Log(log) = evidence.value else { return None };
        Some(*log)
    });
    found.unwrap_or_default()
}

fn codes(text: &str) -> Vec<&'static str> {
    reading(text).diagnostics.iter().map(|finding| finding.code.name).collect()
}

#[test]
fn a_version_behind_a_prefix_is_read() {
    let log = log(
        "a:1:1 [0] NCCL INFO Bootstrap: Using eth0:10.0.0.1<0>\na:1:1 [0] NCCL INFO NCCL version 2.27.7+cuda13.0\n",
    );
    assert_eq!(log.versions[0].version, "2.27.7+cuda13.0");
    assert_eq!(log.versions[0].library, "nccl");
}

#[test]
fn a_job_on_two_hosts_is_read() {
    let log = log(TWO_HOSTS);
    assert_eq!(log.versions[0].version, "2.18.3+cuda12.2");
    assert_eq!(log.hosts, ["node-a", "node-b"]);
    assert_eq!(log.networks[0].text, "IB");
    assert_eq!((log.bootstrap[0].text.as_str(), log.plugins.len()), ("eth0", 1));
    let interface = &log.interfaces[0];
    assert_eq!((interface.host, interface.address.as_str()), (Some(0), "192.0.2.10"));
    let [adapters] = log.adapters.as_slice() else { panic!("{:?}", log.adapters) };
    let names: Vec<&str> = adapters.adapters.iter().map(|adapter| adapter.name.as_str()).collect();
    assert_eq!((names, adapters.count, adapters.relaxed_ordering), (vec!["mlx5_0", "mlx5_1"], 4, true));
    assert_eq!(adapters.adapters[1].link_layer.as_deref(), Some("IB"));
    assert_eq!((log.settings[0].name.as_str(), log.settings[0].value.as_str()), ("NCCL_IB_HCA", "mlx5"));
    let channels = log.channels[0];
    assert_eq!(
        (channels.collective, channels.nvls, channels.per_peer, channels.count),
        (2, Some(0), Some(2), 4)
    );
}

#[test]
fn communicators_know_their_ranks() {
    let log = log(TWO_HOSTS);
    let [communicator] = log.communicators.as_slice() else { panic!("{:?}", log.communicators) };
    assert_eq!((communicator.ranks, communicator.id.as_deref()), (4, Some("0x8d2f6c0e5b7a9113")));
    let members: Vec<_> = communicator
        .members
        .iter()
        .map(|it| (it.rank, it.host, it.address.as_deref(), it.complete))
        .collect();
    assert_eq!(
        members,
        [
            (0, Some(0), Some("0000:1b:00.0"), true),
            (1, Some(0), Some("0000:3e:00.0"), true),
            (2, Some(1), Some("0000:1b:00.0"), true),
            (3, Some(1), Some("0000:3e:00.0"), true),
        ]
    );
}

#[test]
fn connections_name_both_sides() {
    let log = log(TWO_HOSTS);
    let counts: Vec<_> = log
        .transports
        .iter()
        .map(|it| (it.name.as_str(), it.kind, it.sends, it.receives, it.plain))
        .collect();
    assert_eq!(
        counts,
        [
            ("P2P/IPC", TransportKind::PeerToPeer, 0, 0, 4),
            ("NET/IB/0/GDRDMA", TransportKind::Network, 2, 0, 0),
            ("NET/IB/0", TransportKind::Network, 0, 2, 0),
            ("NET/IB/1/GDRDMA", TransportKind::Network, 2, 2, 0),
        ]
    );
    assert_eq!((log.transports[3].adapter, log.transports[3].gdr), (Some(1), true));
    // 0 to 1, 1 to 2 sent and received, 2 to 3, 3 to 0 sent and received over the same.
    assert_eq!(log.connections.len(), 5);
    assert!(log.connections.iter().all(|it| it.communicator == Some(0)));
    assert_eq!(log.gdr_in_use(), Gdr::OneSided);
    assert_eq!(codes(TWO_HOSTS), ["gdr-one-sided", "lines-unused", "lines-unused"]);
}

#[test]
fn rings_trees_and_searches_are_read() {
    let log = log(TWO_HOSTS);
    let rings: Vec<_> = log.rings.iter().map(|ring| (ring.channel, ring.ranks.clone())).collect();
    assert_eq!(rings, [(0, vec![0, 1, 2, 3]), (1, vec![0, 1, 2, 3])]);
    assert_eq!((log.tree_lines, log.trees.len()), (4, 8));
    let root = &log.trees[4];
    assert_eq!((root.rank, root.parent, root.children.as_slice()), (2, None, [0, 3].as_slice()));
    let search = &log.searches[0];
    assert_eq!((search.pattern, search.channels, search.count), (4, 1, 4));
    assert_eq!(search.inter, Some(Rate::from_gigabytes(24.0)));
    let [system] = log.systems.as_slice() else { panic!("{:?}", log.systems) };
    // Both hosts print the same.
    assert_eq!((system.hosts.as_slice(), system.nodes.len()), ([0, 1].as_slice(), 5));
    assert_eq!(
        (system.nodes[4].name.as_str(), system.nodes[4].rate),
        ("NET/0", Some(Rate::from_gigabytes(25.0)))
    );
}

#[test]
fn errors_keep_their_numbers() {
    let log = log(TWO_HOSTS);
    let problem = &log.problems[0];
    assert_eq!(
        (problem.status, problem.vendor_error, problem.peer.as_deref()),
        (Some(12), Some(129), Some("192.0.2.10"))
    );
    assert_eq!((problem.source.as_deref(), problem.host), (Some("transport/net_ib.cc:1277"), Some(1)));
}

#[test]
fn rccl_is_told_from_nccl_and_traps_are_named() {
    let log = log(RCCL);
    assert_eq!((log.versions[0].library, log.info_lines), ("rccl", 12));
    assert_eq!((log.transports[0].name.as_str(), log.transports[0].plain), ("P2P/IPC", 2));
    assert_eq!(log.gdr_in_use(), Gdr::Unknown);
    assert_eq!(codes(RCCL), ["link-speed-hidden", "gdr-unproven"]);
    assert_eq!(log.communicators[0].members[1].address.as_deref(), Some("0002:00:00.0"));
}

#[test]
fn tuning_tables_and_choices_are_read() {
    let log = log(TUNING);
    let [table] = log.tuning.as_slice() else { panic!("{:?}", log.tuning) };
    assert_eq!(table.algorithms, ["Tree", "Tree", "Tree", "Ring", "Ring", "Ring"]);
    assert_eq!(table.protocols[5], "Simple");
    let cell = table.rows[1].cells[5];
    assert_eq!(
        (table.rows[1].collective.as_str(), cell.latency),
        ("AllReduce", Span::from_microseconds(19.0))
    );
    assert_eq!(cell.bandwidth, Rate::from_gigabytes(18.0));
    let choices: Vec<_> = log
        .choices
        .iter()
        .map(|it| (it.bytes, it.algorithm.as_str(), it.protocol.as_str(), it.time))
        .collect();
    assert_eq!(
        choices,
        [
            (Bytes::new(1024), "Tree", "LL", Some(Span::from_microseconds(6.7))),
            (Bytes::new(67_108_864), "Ring", "Simple", Some(Span::from_microseconds(3747.3))),
            (Bytes::new(33_554_432), "Ring", "Simple", None),
        ]
    );
}

#[test]
fn names_of_transports_with_blanks_and_forwarders_are_whole() {
    let text = "NCCL INFO Channel 00 : 0[101c0] -> 8[101c0] [receive] via NET/AWS Libfabric/0/GDRDMA\n\
                NCCL INFO Channel 02/0 : 1[1] -> 8[0] [send] via NET/IB/0(3)/GDRDMA/Shared\n\
                NCCL INFO Channel 00/0 : 1[21000] -> 0[1000] via P2P/direct pointer\n\
                NCCL INFO Channel 00/1 : 1[1] -> 6[6] via P2P/indirect/2[2]\n\
                NCCL INFO Ring 00 : 0 -> 8 [send] via NET/Socket/0\n\
                NCCL INFO CollNet 00/0 : 3 [send] via COLLNET/SHARP/0/GDRDMA\n";
    let log = log(text);
    let names: Vec<&str> = log.transports.iter().map(|transport| transport.name.as_str()).collect();
    assert_eq!(
        names,
        [
            "NET/AWS Libfabric/0/GDRDMA",
            "NET/IB/0/GDRDMA/Shared",
            "P2P/direct pointer",
            "P2P/indirect",
            "NET/Socket/0",
            "COLLNET/SHARP/0/GDRDMA",
        ]
    );
    assert_eq!((log.transports[1].forwarded, log.transports[0].adapter), (1, Some(0)));
    assert_eq!(log.transports[5].kind, TransportKind::CollNet);
}

#[test]
fn old_logs_without_ids_put_each_rank_into_one_communicator() {
    let line = |rank: u32, pointer: u32| {
        format!(
            "h:1{rank}:2{rank} [0] NCCL INFO comm 0x{pointer} rank {rank} nranks 2 cudaDev 0 busId 1000 - Init COMPLETE\n"
        )
    };
    let text = [line(0, 1), line(1, 1), line(0, 2), line(1, 2)].concat();
    let sizes: Vec<usize> = log(&text).communicators.iter().map(|it| it.members.len()).collect();
    assert_eq!(sizes, [2, 2]);
}

#[test]
fn gdr_facts_and_adapter_speeds_are_read() {
    let text = "NCCL INFO NET/IB: [0] mlx5_0:uverbs0:1/RoCE provider=Mlx5 speed=400000 context=0x1 pciPath=/sys/x ar=0\n\
                NCCL INFO NET/IB : Using [0]mlx5_0:1/RoCE [RO]; OOB eth0:192.0.2.1<0>\n\
                NCCL INFO GPU Direct RDMA Disabled for GPU 0 / HCA 0 (distance 8 > 5)\n\
                NCCL INFO NET/IB : GPU Direct RDMA Enabled for HCA 0 'mlx5_0'\n";
    let log = log(text);
    let adapter = &log.adapters[0].adapters[0];
    // 400,000 Mb/s are 50 GB/s.
    assert_eq!(
        (adapter.rate, adapter.link_layer.as_deref()),
        (Some(Rate::from_gigabytes(50.0)), Some("RoCE"))
    );
    let facts: Vec<_> =
        log.gdr.iter().map(|it| (it.subject.as_str(), it.enabled, it.detail.as_deref())).collect();
    assert_eq!(facts, [("GPU 0 / HCA 0", false, Some("distance 8 > 5")), ("HCA 0 'mlx5_0'", true, None)]);
}

#[test]
fn a_port_that_is_given_up_is_a_remark() {
    let log = log(
        "h:1:1 [0] NCCL INFO NET/IB: ncclIbPortRecoveryProgressAckSender: Recovery for device 1 failed due to max attempts reached (send comm=0x1)\n",
    );
    assert!(log.remarks[0].text.contains("max attempts reached"), "{:?}", log.remarks);
}
