// The core in several threads at once, as Python's threads use it without the GIL: all answers must be those of one
// thread.
//
// Built with ThreadSanitizer and run by .ci/sanitize. The argument is the shared library with SciPy's LAPACK. Products,
// which write most of the memory that threads might share, come from plain_blas.hpp, so that the sanitizer sees them.
#include <dlfcn.h>

#include <atomic>
#include <cstdio>
#include <functional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "jcmspl/data/spectrum.hpp"
#include "jcmspl/data/start_statistics.hpp"
#include "jcmspl/descent/solve.hpp"
#include "jcmspl/linalg/kernels.hpp"
#include "jcmspl/linalg/sylvester.hpp"
#include "jcmspl/search/recognition.hpp"
#include "plain_blas.hpp"
#include "shared_statistics.hpp"

// SciPy's library is not instrumented: races reported within its routines are false.
extern "C" __attribute__((visibility("default"))) const char* __tsan_default_suppressions() {
  return "called_from_lib:openblas\n";
}

namespace {

using namespace jcmspl;
using namespace jcmspl::search;
using jcmspl::bindings::SharedStart;
using jcmspl::bindings::SharedStatistics;

constexpr int n_threads = 4;
const Poll no_poll = [] {};
std::atomic<int> n_failures{0};

void check(bool holds, const std::string& what) {
  if (holds) return;
  ++n_failures;
  std::fprintf(stderr, "differs from the answer of one thread: %s\n", what.c_str());
}

// Calls work(number) in several threads at once.
void at_once(const std::string& name, const std::function<void(int)>& work) {
  std::vector<std::thread> threads;
  for (int number = 0; number < n_threads; ++number)
    threads.emplace_back([&, number] {
      try {
        work(number);
      } catch (const std::exception& error) {
        check(false, name + ": " + error.what());
      }
    });
  for (std::thread& thread : threads) thread.join();
  std::printf("%s\n", name.c_str());
}

void* symbol(void* library, const std::string& name) {
  for (const char* prefix : {"scipy_", ""})
    if (void* found = dlsym(library, (prefix + name + "_").c_str())) return found;
  throw std::runtime_error("the library has no " + name);
}

template <class T>
void fill_kernels(void* library, const std::string& letter) {
  testing::bind_plain_blas<T>();
  Kernels<T>& table = kernels<T>();
#define JCMSPL_BIND(name, signature) \
  table.name = reinterpret_cast<typename decltype(table.name)::Function>(symbol(library, letter + #name));
  JCMSPL_LAPACK_ROUTINES(JCMSPL_BIND)
#undef JCMSPL_BIND
}

// Whole numbers, whose sums do not depend on the order.
template <class T>
Matrix<T> whole_numbers(Index rows, Index cols, unsigned seed) {
  std::mt19937 generator(seed);
  return Matrix<T>::NullaryExpr(rows, cols, [&] { return static_cast<T>(int(generator() % 21) - 10); });
}

MatrixD random_matrix(Index rows, Index cols, unsigned seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<double> normal;
  return MatrixD::NullaryExpr(rows, cols, [&] { return normal(generator); });
}

// A column of the matrix is a sample.
template <class T>
Samples<T> samples_of(const Matrix<T>& x, Index first, Index count) {
  return {x.data() + first * x.rows(), count, x.rows(), x.rows(), 1};
}

std::vector<std::int64_t> labels_of(Index count, Index n_classes) {
  std::vector<std::int64_t> labels(static_cast<std::size_t>(count));
  for (Index i = 0; i < count; ++i) labels[static_cast<std::size_t>(i)] = i % n_classes;
  return labels;
}

bool equal(const Statistics& a, const Statistics& b) {
  return a.gram() == b.gram() && a.class_sums == b.class_sums && a.counts == b.counts;
}

bool close(const MatrixD& a, const MatrixD& b) { return (a - b).norm() <= 1e-10 * b.norm(); }

constexpr Index m = 12, n_classes = 5, chunk = 40;

void test_statistics() {
  constexpr int n_chunks = 10;
  const Index count = n_threads * n_chunks * chunk;
  const MatrixD x = whole_numbers<double>(m, count, 1);
  const Matrix<float> single = x.cast<float>();
  const auto labels = labels_of(count, n_classes);
  Statistics expected = Statistics::of(samples_of(x, 0, count), labels.data(), n_classes, {}, no_poll);

  SharedStatistics total(m, n_classes);
  at_once("statistics: update, merge, read", [&](int number) {
    for (int i = 0; i < n_chunks; ++i) {
      const Index first = (number * n_chunks + i) * chunk;
      const std::int64_t* own = labels.data() + first;
      if (i % 3 == 0) {
        total.with([&](Statistics& s) { s.update(samples_of(single, first, chunk), own, {}, no_poll); });
      } else if (i % 3 == 1) {
        total.with([&](Statistics& s) { s.update(samples_of(x, first, chunk), own, {}, no_poll); });
      } else {  // summed up outside the lock
        Statistics part = Statistics::of(samples_of(x, first, chunk), own, n_classes, {}, no_poll);
        total.with([&](Statistics& s) { s.add(std::move(part)); });
      }
      const MatrixD gram = total.with([](const Statistics& s) { return s.gram(); });
      check(gram == gram.transpose(), "a snapshot of the statistics");
    }
  });
  check(equal(total.with([](const Statistics& s) { return s; }), expected), "statistics");

  // each of two is added to and subtracted from the other: no lock waits for another one
  SharedStatistics other{Statistics(expected)};
  at_once("statistics: each into the other", [&](int number) {
    SharedStatistics& from = number % 2 ? total : other;
    SharedStatistics& to = number % 2 ? other : total;
    for (int i = 0; i < 20; ++i) {
      const Statistics copy = from.with([](const Statistics& s) { return s; });
      to.with([&](Statistics& s) { s.add(Statistics(copy)); });
      to.with([&](Statistics& s) { s.subtract(copy); });
    }
  });
  for (SharedStatistics* one : {&total, &other})
    check(equal(one->with([](const Statistics& s) { return s; }), expected), "statistics that were merged");
}

void test_start_statistics() {
  constexpr Index k = 6, n_chunks = 8, count = n_threads * n_chunks * chunk;
  const MatrixD x = whole_numbers<double>(m, count, 2), codes = whole_numbers<double>(k, count, 3);
  const auto labels = labels_of(count, n_classes);
  StartStatistics expected(k, m, n_classes);
  SharedStart total(k, m, n_classes);
  expected.update(samples_of(codes, 0, count), samples_of(x, 0, count), labels.data());
  at_once("start statistics: update", [&](int number) {
    for (Index first = number * n_chunks * chunk; first < (number + 1) * n_chunks * chunk; first += chunk) {
      total.with([&](StartStatistics& s) {
        s.update(samples_of(codes, first, chunk), samples_of(x, first, chunk), labels.data() + first);
      });
    }
  });
  const StartStatistics found = total.with([](const StartStatistics& s) { return s; });
  check(found.code_gram == expected.code_gram && found.sample_code == expected.sample_code &&
            found.class_code_sums == expected.class_code_sums,
        "start statistics");
}

// By products of matrices, or, where that is allowed on any CPU, by bounds from products of bytes.
void test_search(const std::string& way) {
  static constexpr Index features = 32, n_samples = 600, n_candidates = 1000, n_best = 3;
  const MatrixD x = random_matrix(features, n_samples, 4), weights = random_matrix(features, n_candidates, 5);
  const ConstView<double> view(weights.data(), features, n_candidates, Eigen::OuterStride<>(features));
  const AffineScorer<double> scorer{view, random_matrix(n_candidates, 1, 6)};
  struct Found {
    Matrix<std::int64_t> indices{n_best, n_samples};
    MatrixD values{n_best, n_samples};
    bool operator==(const Found& other) const { return indices == other.indices && values == other.values; }
  };
  const auto search_with = [&](int kind, Index threads) {
    Found found;
    const Samples<double> samples = samples_of(x, 0, n_samples);
    if (kind == 3)
      scorer.top_k(samples, n_best, {false, true}, found.indices.data(), found.values.data(), threads, no_poll);
    else
      nearest(samples, view, n_best, static_cast<Metric>(kind), found.indices.data(), found.values.data(), threads,
              no_poll);
    return found;
  };
  std::vector<Found> expected;
  for (int kind = 0; kind < 4; ++kind) expected.push_back(search_with(kind, 1));
  at_once("search by " + way + ": nearest by each metric, top_k", [&](int number) {
    for (int i = 0; i < 2; ++i) {
      const int kind = (number + i) % 4;
      check(search_with(kind, n_threads) == expected[kind], "search " + std::to_string(kind));
    }
  });

  // the first bad sample is named, whichever thread finds another one first
  MatrixD bad = x;
  for (const Index row : {550, 400, 300}) bad(0, row) = std::numeric_limits<double>::quiet_NaN();
  at_once("search by " + way + ": bad values", [&](int) {
    Found found;
    Index row = -1;
    try {
      nearest(samples_of(bad, 0, n_samples), view, n_best, Metric::euclidean, found.indices.data(), found.values.data(),
              n_threads, no_poll);
    } catch (const BadValue& error) {
      row = error.row;
    }
    check(row == 300, "the first bad sample");
  });
}

void test_descent() {
  const Index count = 200;
  const MatrixD x = random_matrix(m, count, 7), vectors = random_matrix(4, n_classes, 8);
  const auto labels = labels_of(count, n_classes);
  const Statistics raw = Statistics::of(samples_of(x, 0, count), labels.data(), n_classes, {}, no_poll);
  const Spectrum spectrum(raw, vectors, Team{});
  const auto fit = [&](int number) {
    descent::Settings settings;
    settings.l3 = 0.1 * (number + 1);
    settings.n_concepts = n_classes + number;
    settings.max_iter = 10;
    const MatrixD codes = MatrixD::Identity(n_classes, settings.n_concepts);
    return descent::solve(spectrum, settings, codes, [](int, double) {}, Team{}).visual_projection;
  };
  std::vector<MatrixD> expected;
  for (int number = 0; number < n_threads; ++number) expected.push_back(fit(number));
  at_once("descent: fits that share a spectrum", [&](int number) {
    for (int i = 0; i < 3; ++i) check(close(fit(number), expected[number]), "a fit");
    const Spectrum own(raw, vectors, Team{});
    check(close(own.roots, spectrum.roots), "a spectrum");
  });
}

void test_sylvester() {
  const MatrixD a = random_matrix(30, 30, 9), b = random_matrix(20, 20, 10), q = random_matrix(30, 20, 11);
  const MatrixD symmetric_a = a * a.transpose(), symmetric_b = b * b.transpose();
  const auto solution = [&](bool symmetric) {
    return symmetric ? solve_sylvester(symmetric_a, symmetric_b, q, no_poll).x : solve_sylvester(a, b, q, no_poll).x;
  };
  const MatrixD expected[] = {solution(false), solution(true)};
  check(sylvester_residual(a, b, q, expected[0]) < 1e-12, "the equation itself");
  at_once("sylvester: equations that share coefficients", [&](int number) {
    for (int i = 0; i < 5; ++i) check(close(solution(number % 2), expected[number % 2]), "a solution");
  });
}

}  // namespace

int main(int argc, char** argv) {
  void* library = argc == 2 ? dlopen(argv[1], RTLD_NOW) : nullptr;
  if (!library) {
    std::fprintf(stderr, "usage: threads LIBRARY, a shared library with LAPACK\n%s\n", argc == 2 ? dlerror() : "");
    return 2;
  }
  fill_kernels<float>(library, "s");
  fill_kernels<double>(library, "d");
  test_statistics();
  test_start_statistics();
  test_search("products");
  use_byte_products("portable");
  test_search("bounds");
  test_descent();
  test_sylvester();
  if (n_failures > 0) return 1;
  std::printf("all answers are those of one thread\n");
  return 0;
}
