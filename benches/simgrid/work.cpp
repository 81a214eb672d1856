// The simulator's benchmark on SimGrid 3.32: simgrid-work WORK N [STYLE] [--cfg=OPTION:VALUE...]
//
// Builds the fabric, plays the work and prints one line of JSON. ../README.md says what each work is, and why the
// calls and settings below are the ones that serve SimGrid best.

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <simgrid/s4u.hpp>
#include <sys/resource.h>

namespace s4u = simgrid::s4u;

namespace {

constexpr std::uint64_t mebibyte = 1 << 20;
constexpr std::uint64_t all_reduce_bytes = 1024 * mebibyte;
constexpr std::uint64_t pair_bytes = 64 * mebibyte;
constexpr std::uint64_t gpus_per_node = 8;
constexpr std::uint64_t gpus_per_leaf = 32;
constexpr std::uint64_t spines = 16;
constexpr std::uint64_t shuffle_flows = 16;
constexpr std::uint64_t slow_gpu = 95;

// The generator that both sides draw from: 31 bits of a linear congruence.
class Draws {
  std::uint64_t state = 1;

public:
  std::uint64_t next() {
    state = state * 6364136223846793005U + 1442695040888963407U;
    return state >> 33;
  }
};

// A host per GPU, whatever joins them.
using Hosts = std::vector<s4u::Host*>;

std::uint64_t leaf_of(std::uint64_t gpu) { return gpu / gpus_per_leaf; }

// Latencies of the three kinds of paths: within a node, under a leaf, by a spine.
constexpr double node_path_s = 2 * 250e-9, leaf_path_s = 2 * 500e-9, spine_path_s = 2 * 500e-9 + 2 * 300e-9;

double path_s(std::uint64_t from, std::uint64_t to) {
  if (from / gpus_per_node == to / gpus_per_node)
    return node_path_s;
  return leaf_of(from) == leaf_of(to) ? leaf_path_s : spine_path_s;
}

// SimGrid shares a link in inverse proportion to the latencies of the routes, which no setting turns off, but equally
// among routes without latency. Where flows of different latency share a link, their senders sleep for it instead.
enum class Latency { of_links, of_senders };

// NVLink within a node, a NIC per GPU, leaves and 16 spines. SimGrid's full zone holds a route per pair that is used.
class LeafSpine {
  s4u::NetZone* zone = s4u::create_full_zone("fabric");
  const Latency latency;
  std::vector<const s4u::Link*> nvup, nvdn, nicup, nicdn, up, dn;

  const s4u::Link* link(const std::string& name, double bytes_per_s, double latency_s) {
    return zone->create_link(name, bytes_per_s)->set_latency(latency == Latency::of_links ? latency_s : 0.0);
  }

public:
  Hosts hosts;

  LeafSpine(std::uint64_t gpus, Latency latency, bool one_slow_nic = false) : latency(latency) {
    for (std::uint64_t gpu = 0; gpu < gpus; gpu++) {
      const auto name = std::to_string(gpu);
      const double nic_bytes_per_s = one_slow_nic && gpu == slow_gpu ? 25e9 : 50e9;
      hosts.push_back(zone->create_host("gpu" + name, 1e9));
      nvup.push_back(link("nvup" + name, 450e9, 250e-9));
      nvdn.push_back(link("nvdn" + name, 450e9, 250e-9));
      nicup.push_back(link("nicup" + name, nic_bytes_per_s, 500e-9));
      nicdn.push_back(link("nicdn" + name, nic_bytes_per_s, 500e-9));
    }
    const std::uint64_t leaves = leaf_of(gpus + gpus_per_leaf - 1);
    for (std::uint64_t port = 0; port < leaves * spines; port++) {
      up.push_back(link("up" + std::to_string(port), 100e9, 300e-9));
      dn.push_back(link("dn" + std::to_string(port), 100e9, 300e-9));
    }
  }

  void route(std::uint64_t from, std::uint64_t to, std::uint64_t spine) {
    std::vector<const s4u::Link*> path;
    if (from / gpus_per_node == to / gpus_per_node)
      path = {nvup[from], nvdn[to]};
    else if (leaf_of(from) == leaf_of(to))
      path = {nicup[from], nicdn[to]};
    else
      path = {nicup[from], up[leaf_of(from) * spines + spine], dn[leaf_of(to) * spines + spine], nicdn[to]};
    const std::vector<s4u::LinkInRoute> links(path.begin(), path.end());
    zone->add_route(hosts[from]->get_netpoint(), hosts[to]->get_netpoint(), nullptr, nullptr, links, false);
  }

  void seal() { zone->seal(); }
};

LeafSpine ring_fabric(std::uint64_t gpus, bool one_slow_nic) {
  LeafSpine fabric(gpus, Latency::of_links, one_slow_nic);
  for (std::uint64_t gpu = 0; gpu < gpus; gpu++)
    fabric.route(gpu, (gpu + 1) % gpus, (gpu + 1) % gpus % spines);
  fabric.seal();
  return fabric;
}

LeafSpine all_pairs_fabric(std::uint64_t gpus) {
  LeafSpine fabric(gpus, Latency::of_senders);
  for (std::uint64_t from = 0; from < gpus; from++)
    for (std::uint64_t to = 0; to < gpus; to++)
      if (to != from)
        fabric.route(from, to, to % spines);
  fabric.seal();
  return fabric;
}

// SimGrid's own fat-tree zone, "2;32,N/32;1,16;1,2".
Hosts fat_tree(std::uint64_t gpus) {
  Hosts hosts(gpus);
  const s4u::FatTreeParams shape(2, {32, static_cast<unsigned>(gpus / 32)}, {1, 16}, {1, 2});
  const s4u::ClusterCallbacks callbacks(
      [&hosts](s4u::NetZone* zone, const std::vector<unsigned long>&, unsigned long gpu) {
        hosts[gpu] = zone->create_host("gpu" + std::to_string(gpu), 1e9);
        return std::make_pair(hosts[gpu]->get_netpoint(), static_cast<simgrid::kernel::routing::NetPoint*>(nullptr));
      });
  const auto policy = s4u::Link::SharingPolicy::SPLITDUPLEX;
  s4u::create_fatTree_zone("fabric", nullptr, shape, callbacks, 50e9, 500e-9, policy)->seal();
  return hosts;
}

// A mailbox per GPU with a permanent receiver, so that a flow begins when it is put, not when it is awaited.
std::vector<s4u::Mailbox*> mailboxes(std::uint64_t gpus) {
  std::vector<s4u::Mailbox*> boxes;
  for (std::uint64_t gpu = 0; gpu < gpus; gpu++)
    boxes.push_back(s4u::Mailbox::by_name(std::to_string(gpu)));
  return boxes;
}

// What a mailbox carries; SimGrid copies the pointer, never the bytes that it simulates.
int token = 0;

// Bytes of each flow of a ring, in order of step, then GPU; or one figure for all.
struct RingBytes {
  std::uint64_t gpus, steps;
  std::vector<std::uint32_t> each;

  explicit RingBytes(std::uint64_t gpus) : gpus(gpus), steps(2 * (gpus - 1)) {}

  void perturb() {
    Draws draws;
    const std::uint64_t bytes = all_reduce_bytes / gpus;
    each.reserve(steps * gpus);
    for (std::uint64_t flow = 0; flow < steps * gpus; flow++)
      each.push_back(bytes + bytes * draws.next() / (100 * (1ULL << 31))); // up to a hundredth more
  }

  std::uint64_t of(std::uint64_t step, std::uint64_t gpu) const {
    return each.empty() ? all_reduce_bytes / gpus : each[step * gpus + gpu];
  }
};

// A ring without actors: each flow that ends starts what waited for it. No stack is switched, but the one-sided flows
// stand in one list of SimGrid's that is searched at each end.
class CallbackRing {
  const Hosts& hosts;
  const RingBytes& bytes;
  std::vector<std::uint64_t> begun, sent, received;
  std::vector<s4u::CommPtr> alive; // two per GPU: the one that ends may not be freed within its own callback

  void start_if_ready(std::uint64_t gpu) {
    const auto step = begun[gpu];
    if (step == bytes.steps || sent[gpu] < step || received[gpu] < step)
      return;
    auto flow = s4u::Comm::sendto_init(hosts[gpu], hosts[(gpu + 1) % hosts.size()]);
    flow->set_payload_size(bytes.of(step, gpu))->set_data(&alive[2 * gpu]);
    begun[gpu]++;
    flow->start();
    alive[2 * gpu + step % 2] = std::move(flow);
  }

  void ended(const s4u::Activity& flow) {
    const std::uint64_t gpu = (flow.get_data<s4u::CommPtr>() - alive.data()) / 2;
    const std::uint64_t next = (gpu + 1) % hosts.size();
    sent[gpu]++;
    received[next]++;
    start_if_ready(gpu);
    start_if_ready(next);
  }

public:
  CallbackRing(const Hosts& hosts, const RingBytes& bytes)
      : hosts(hosts), bytes(bytes), begun(hosts.size()), sent(hosts.size()), received(hosts.size()),
        alive(2 * hosts.size()) {}

  void run() {
    s4u::Activity::on_completion_cb([this](const s4u::Activity& flow) { ended(flow); });
    for (std::uint64_t gpu = 0; gpu < hosts.size(); gpu++)
      start_if_ready(gpu);
    s4u::Engine::get_instance()->run();
  }
};

// A ring of actors, one per GPU.
void mailbox_ring(const Hosts& hosts, const RingBytes& bytes) {
  const auto boxes = mailboxes(hosts.size());
  for (std::uint64_t gpu = 0; gpu < hosts.size(); gpu++)
    boxes[gpu]->set_receiver(s4u::Actor::create("ring", hosts[gpu], [&boxes, &bytes, gpu] {
      s4u::Mailbox* const next = boxes[(gpu + 1) % boxes.size()];
      for (std::uint64_t step = 0; step < bytes.steps; step++) {
        const auto sent = next->put_async(&token, bytes.of(step, gpu));
        boxes[gpu]->get<int>();
        sent->wait();
      }
    }));
  s4u::Engine::get_instance()->run();
}

// Every pair at once, `sizes` for i ascending, within i for j ascending. SimGrid searches the list of an actor's flows
// at each end, so that several actors share the flows of a GPU.
void all_to_all(const Hosts& hosts, const std::vector<std::uint32_t>& sizes) {
  constexpr std::uint64_t flows_per_actor = 16;
  const std::uint64_t gpus = hosts.size();
  const auto boxes = mailboxes(gpus);
  for (std::uint64_t gpu = 0; gpu < gpus; gpu++)
    for (std::uint64_t first = 0; first < gpus; first += flows_per_actor) {
      const auto actor = s4u::Actor::create("pairs", hosts[gpu], [&boxes, &sizes, gpus, gpu, first] {
        std::vector<s4u::CommPtr> flows;
        double slept_s = 0;
        for (const double latency_s : {node_path_s, leaf_path_s, spine_path_s})
          for (std::uint64_t to = first; to < std::min(first + flows_per_actor, gpus); to++) {
            if (to == gpu || path_s(gpu, to) != latency_s)
              continue;
            s4u::this_actor::sleep_for(latency_s - slept_s); // nothing if it is over
            slept_s = latency_s;
            flows.push_back(boxes[to]->put_async(&token, sizes[gpu * (gpus - 1) + to - (to > gpu)]));
          }
        for (const auto& flow : flows)
          flow->wait();
      });
      if (first == 0)
        boxes[gpu]->set_receiver(actor);
    }
  s4u::Engine::get_instance()->run();
}

struct Send {
  std::uint64_t to, bytes;
};

// Draws the flows of each GPU, and their routes: of several flows of a pair the first spine holds.
std::vector<std::vector<Send>> shuffle_sends(LeafSpine& fabric) {
  const std::uint64_t gpus = fabric.hosts.size();
  std::vector<std::vector<Send>> sends(gpus);
  Draws draws;
  for (std::uint64_t from = 0; from < gpus; from++) {
    std::set<std::uint64_t> routed;
    for (std::uint64_t flow = 0; flow < shuffle_flows; flow++) {
      std::uint64_t to = draws.next() % gpus;
      while (to == from)
        to = draws.next() % gpus;
      const std::uint64_t bytes = (1 + draws.next() % 64) * mebibyte;
      const std::uint64_t spine = draws.next() % spines;
      if (routed.insert(to).second)
        fabric.route(from, to, spine);
      sends[from].push_back({to, bytes});
    }
  }
  fabric.seal();
  return sends;
}

void shuffle(LeafSpine& fabric) {
  const auto sends = shuffle_sends(fabric);
  const auto boxes = mailboxes(fabric.hosts.size());
  for (std::uint64_t gpu = 0; gpu < boxes.size(); gpu++)
    boxes[gpu]->set_receiver(s4u::Actor::create("shuffle", fabric.hosts[gpu], [&boxes, &sends, gpu] {
      for (const auto& send : sends[gpu]) {
        s4u::this_actor::sleep_for(path_s(gpu, send.to));
        boxes[send.to]->put(&token, send.bytes);
      }
    }));
  s4u::Engine::get_instance()->run();
}

// The arguments with our settings before them, so that the user's come later and win.
std::vector<char*> configured(int argc, char** argv) {
  static std::string settings[] = {"--log=xbt_cfg.thres:warning",      "--cfg=network/model:CM02",
                                   "--cfg=network/TCP-gamma:0",        "--cfg=network/crosstraffic:0",
                                   "--cfg=network/weight-S:0",         "--cfg=network/latency-factor:1",
                                   "--cfg=network/bandwidth-factor:1", "--cfg=surf/precision:1e-12"};
  std::vector<char*> arguments(argv, argv + std::min(argc, 1));
  for (auto& setting : settings)
    arguments.push_back(setting.data());
  arguments.insert(arguments.end(), argv + std::min(argc, 1), argv + argc);
  arguments.push_back(nullptr);
  return arguments;
}

// Plays a ring and gives its number of flows.
std::uint64_t ring(const Hosts& hosts, bool perturbed, const std::string& style) {
  RingBytes bytes(hosts.size());
  if (perturbed)
    bytes.perturb();
  if (style == "mailboxes")
    mailbox_ring(hosts, bytes);
  else
    CallbackRing(hosts, bytes).run();
  return bytes.steps * hosts.size();
}

// Plays a work on N GPUs and gives its number of flows; 0 for a work that does not exist.
std::uint64_t play(const std::string& work, std::uint64_t gpus, const std::string& style) {
  if (work == "ring" || work == "ring-perturbed" || work == "ring-slow")
    return ring(ring_fabric(gpus, work == "ring-slow").hosts, work == "ring-perturbed", style);
  if (work == "ring-fat-tree")
    return ring(fat_tree(gpus), false, style.empty() ? "mailboxes" : style);
  if (work == "a2a" || work == "a2ar") {
    Draws draws;
    std::vector<std::uint32_t> sizes(gpus * (gpus - 1), pair_bytes);
    if (work == "a2ar")
      for (auto& size : sizes)
        size = pair_bytes / 2 + (pair_bytes * draws.next() >> 31);
    all_to_all(all_pairs_fabric(gpus).hosts, sizes);
    return gpus * (gpus - 1);
  }
  if (work == "shuffle") {
    LeafSpine fabric(gpus, Latency::of_senders);
    shuffle(fabric);
    return gpus * shuffle_flows;
  }
  return 0;
}

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
}

} // namespace

int main(int given, char** words) {
  auto arguments = configured(given, words);
  int argc = static_cast<int>(arguments.size()) - 1;
  char** const argv = arguments.data();
  const s4u::Engine engine(&argc, argv); // takes its own options out
  const std::string work = argc > 1 ? argv[1] : "";
  const std::uint64_t gpus = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 0;
  const std::string style = argc > 3 ? argv[3] : "";
  const bool known_style = style.empty() || style == "mailboxes" || style == "callbacks";
  const bool fits = gpus > 1 && (work != "ring-fat-tree" || gpus % 32 == 0) && known_style;
  const std::uint64_t flows = fits ? play(work, gpus, style) : 0;
  if (flows == 0) {
    std::fprintf(stderr, "usage: simgrid-work ring|ring-perturbed|ring-slow|ring-fat-tree|a2a|a2ar|shuffle N "
                         "[mailboxes|callbacks] [--cfg=OPTION:VALUE...]\nN is at least 2, for ring-fat-tree a multiple "
                         "of 32; the style is one of the rings'.\n");
    return 2;
  }
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  std::printf("{\"tool\":\"simgrid\",\"work\":\"%s\",\"gpus\":%llu,\"flows\":%llu,\"simulated_s\":%.17g,"
              "\"cpu_s\":%.3f,\"max_rss_mib\":%.1f}\n",
              work.c_str(), static_cast<unsigned long long>(gpus), static_cast<unsigned long long>(flows),
              s4u::Engine::get_clock(), seconds(used.ru_utime) + seconds(used.ru_stime),
              static_cast<double>(used.ru_maxrss) / 1024.0);
  return 0;
}
