// One collective of Gloo over TCP on one size, measured as `weft bench` measures its own: after a first call that is
// checked, as many calls as take 20 ms, seconds of the slowest rank.
//
//   gloo RANK RANKS FOLDER COLLECTIVE BYTES in-place|out-of-place
//
// Ranks meet in an empty folder. BYTES is what nccl-tests calls the size. Elements are floats, combined by sum.
#include <gloo/allgather.h>
#include <gloo/allreduce.h>
#include <gloo/alltoall.h>
#include <gloo/barrier.h>
#include <gloo/broadcast.h>
#include <gloo/math.h>
#include <gloo/reduce.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/transport/tcp/device.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

namespace {

using Group = std::shared_ptr<gloo::rendezvous::Context>;
constexpr double lasting_s = 0.02, most_calls = 100000;

struct Work {
  std::string collective;
  int rank, ranks;
  bool in_place;
  std::vector<float> input, output;
};

void add(void *sum, const void *a, const void *b, size_t count) {
  gloo::sum<float>(sum, a, b, count);
}

// Buffers are registered once, then the same options serve every call.
std::function<void()> prepared(const Group &group, Work &work) {
  const size_t whole = work.output.size();
  if (work.collective == "all-reduce") {
    auto options = std::make_shared<gloo::AllreduceOptions>(group);
    if (!work.in_place) options->setInput(work.input.data(), whole);
    options->setOutput(work.output.data(), whole);
    options->setReduceFunction(add);
    return [options] { gloo::allreduce(*options); };
  }
  if (work.collective == "all-gather") {
    auto options = std::make_shared<gloo::AllgatherOptions>(group);
    if (!work.in_place) options->setInput(work.input.data(), whole / work.ranks);
    options->setOutput(work.output.data(), whole);
    return [options] { gloo::allgather(*options); };
  }
  if (work.collective == "broadcast") {
    auto options = std::make_shared<gloo::BroadcastOptions>(group);
    options->setOutput(work.output.data(), whole);
    options->setRoot(0);
    return [options] { gloo::broadcast(*options); };
  }
  if (work.collective == "reduce") {
    auto options = std::make_shared<gloo::ReduceOptions>(group);
    if (!work.in_place) options->setInput(work.input.data(), whole);
    options->setOutput(work.output.data(), whole);
    options->setReduceFunction(add);
    options->setRoot(0);
    return [options] { gloo::reduce(*options); };
  }
  if (work.collective == "all-to-all") {
    auto options = std::make_shared<gloo::AlltoallOptions>(group);
    options->setInput(work.input.data(), whole);
    options->setOutput(work.output.data(), whole);
    return [options] { gloo::alltoall(*options); };
  }
  std::fprintf(stderr, "Gloo has no %s here\n", work.collective.c_str());
  std::exit(3);
}

// What element i of the first call's result must be, every rank having brought rank + 1; -1 where it does not matter.
double wanted(const Work &work, size_t i) {
  const double sum = work.ranks * (work.ranks + 1) / 2.0;
  if (work.collective == "all-reduce") return sum;
  if (work.collective == "reduce") return work.rank == 0 ? sum : -1;
  if (work.collective == "broadcast") return 1;
  return static_cast<double>(i / (work.output.size() / work.ranks)) + 1;
}

void check(const Work &work) {
  for (size_t i = 0; i < work.output.size(); i++) {
    const double value = wanted(work, i);
    if (value >= 0 && work.output[i] != value) {
      std::fprintf(stderr, "rank %d: element %zu is %g instead of %g\n", work.rank, i, work.output[i], value);
      std::exit(1);
    }
  }
}

void greatest(void *most, const void *a, const void *b, size_t count) { gloo::max<double>(most, a, b, count); }

double seconds(const Group &group, const std::function<void()> &call, int calls) {
  gloo::BarrierOptions meeting(group);
  gloo::barrier(meeting);
  const auto begun = std::chrono::steady_clock::now();
  for (int i = 0; i < calls; i++) call();
  double own = std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count() / calls;
  gloo::AllreduceOptions slowest(group);
  slowest.setOutput(&own, 1);
  slowest.setReduceFunction(greatest);
  gloo::allreduce(slowest);
  return own;
}

} // namespace

int main(int argc, char **argv) {
  if (argc != 7) {
    std::fprintf(stderr, "gloo RANK RANKS FOLDER COLLECTIVE BYTES in-place|out-of-place\n");
    return 2;
  }
  Work work{argv[4], std::atoi(argv[1]), std::atoi(argv[2]), std::string(argv[6]) == "in-place", {}, {}};
  const size_t count = std::strtoull(argv[5], nullptr, 10) / sizeof(float);
  work.input.assign(count, static_cast<float>(work.rank + 1));
  work.output = work.input;

  gloo::transport::tcp::attr here("127.0.0.1");
  auto device = gloo::transport::tcp::CreateDevice(here);
  auto group = std::make_shared<gloo::rendezvous::Context>(work.rank, work.ranks);
  gloo::rendezvous::FileStore store(argv[3]);
  group->connectFullMesh(store, device);

  const auto call = prepared(group, work);
  call();
  check(work);
  // In place, sums of sums would grow beyond all numbers, and those take longer.
  std::fill(work.input.begin(), work.input.end(), 0.0f);
  std::fill(work.output.begin(), work.output.end(), 0.0f);
  const double one = std::min(seconds(group, call, 1), seconds(group, call, 1));
  const double time_s = seconds(group, call, static_cast<int>(std::clamp(lasting_s / one, 1.0, most_calls)));
  if (work.rank == 0) std::printf("{\"bytes\": %zu, \"time_s\": %.9g}\n", count * sizeof(float), time_s);
  return 0;
}
