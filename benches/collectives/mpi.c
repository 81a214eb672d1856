// One collective of MPI on one size, measured as `weft bench` measures its own:
// after a first call that is checked, as many calls as take 20 ms, seconds of the slowest rank.
//
//   mpi COLLECTIVE BYTES in-place|out-of-place
//
// BYTES is what nccl-tests calls the size. Elements are floats, combined by sum.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double LASTING_S = 0.02;
static const double MOST_CALLS = 100000;

struct work {
  const char *collective;
  int rank, ranks, in_place;
  size_t elements; // of the whole message
  float *input, *output;
};

static int is(const struct work *work, const char *name) { return strcmp(work->collective, name) == 0; }

static void call(struct work *work) {
  const int whole = (int)work->elements, part = whole / work->ranks;
  // In place, what a rank brings lies where MPI says: in the output, or in its part of it.
  void *input = work->in_place ? MPI_IN_PLACE : work->input;
  if (is(work, "all-reduce")) {
    MPI_Allreduce(input, work->output, whole, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  } else if (is(work, "all-gather")) {
    MPI_Allgather(input, part, MPI_FLOAT, work->output, part, MPI_FLOAT, MPI_COMM_WORLD);
  } else if (is(work, "reduce-scatter")) {
    MPI_Reduce_scatter_block(input, work->output, part, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  } else if (is(work, "broadcast")) {
    MPI_Bcast(work->output, whole, MPI_FLOAT, 0, MPI_COMM_WORLD);
  } else if (is(work, "reduce")) {
    int root = work->rank == 0;
    void *own = work->in_place ? (root ? MPI_IN_PLACE : work->output) : work->input;
    MPI_Reduce(own, work->output, whole, MPI_FLOAT, MPI_SUM, 0, MPI_COMM_WORLD);
  } else {
    MPI_Alltoall(input, part, MPI_FLOAT, work->output, part, MPI_FLOAT, MPI_COMM_WORLD);
  }
}

// What element i of the first call's result must be; every rank brings rank + 1 everywhere.
static double wanted(const struct work *work, size_t i) {
  const double sum = work->ranks * (work->ranks + 1) / 2.0;
  if (is(work, "all-reduce") || is(work, "reduce-scatter")) return sum;
  if (is(work, "reduce")) return work->rank == 0 ? sum : -1;
  if (is(work, "broadcast")) return 1;
  return (double)(i / (work->elements / work->ranks)) + 1; // part i comes from rank i
}

static void check(const struct work *work) {
  const size_t count = is(work, "reduce-scatter") ? work->elements / work->ranks : work->elements;
  for (size_t i = 0; i < count && wanted(work, i) >= 0; i++) {
    if (work->output[i] != wanted(work, i)) {
      fprintf(stderr, "rank %d: element %zu is %g instead of %g\n", work->rank, i, work->output[i], wanted(work, i));
      MPI_Abort(MPI_COMM_WORLD, 1);
    }
  }
}

static double seconds(struct work *work, int calls) {
  MPI_Barrier(MPI_COMM_WORLD);
  const double begun = MPI_Wtime();
  for (int i = 0; i < calls; i++) call(work);
  double own = (MPI_Wtime() - begun) / calls, most = 0;
  MPI_Allreduce(&own, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return most;
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  if (argc != 4) {
    fprintf(stderr, "mpi COLLECTIVE BYTES in-place|out-of-place\n");
    return 2;
  }
  struct work work = {.collective = argv[1], .in_place = strcmp(argv[3], "in-place") == 0};
  work.elements = strtoull(argv[2], NULL, 10) / sizeof(float);
  MPI_Comm_rank(MPI_COMM_WORLD, &work.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &work.ranks);
  const size_t bytes = work.elements * sizeof(float);
  work.input = malloc(bytes);
  work.output = malloc(bytes);
  for (size_t i = 0; i < work.elements; i++) work.input[i] = work.output[i] = (float)(work.rank + 1);
  call(&work);
  check(&work);
  // In place, sums of sums would grow beyond all numbers, and those take longer.
  memset(work.input, 0, bytes);
  memset(work.output, 0, bytes);
  const double first = seconds(&work, 1), second = seconds(&work, 1);
  const double calls = LASTING_S / (first < second ? first : second);
  const double time_s = seconds(&work, calls < 1 ? 1 : calls > MOST_CALLS ? (int)MOST_CALLS : (int)calls);
  if (work.rank == 0) printf("{\"bytes\": %zu, \"time_s\": %.9g}\n", bytes, time_s);
  return MPI_Finalize();
}
