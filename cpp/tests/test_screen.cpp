// Whole searches through each screen that this CPU has, also under an emulator of another one, against sorting.
#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "jcmspl/data/samples.hpp"
#include "jcmspl/search/recognition.hpp"
#include "testing.hpp"

namespace jcmspl::search {

namespace {

constexpr Index n_samples = 530, n_candidates = 1010, n_features = 37, n_best = 4;

struct Data {
  const char* name;
  MatrixD samples, candidates;
  bool has_ties;
};

std::vector<Data> hostile_data() {
  std::mt19937 generator(0);
  std::normal_distribution<double> normal;
  const auto random = [&](Index rows, Index cols) -> MatrixD {
    return MatrixD::NullaryExpr(rows, cols, [&] { return normal(generator); });
  };
  const MatrixD samples = random(n_features, n_samples), candidates = random(n_features, n_candidates);
  std::vector<Data> all{{"random", samples, candidates, false}};
  const auto add = [&](const char* name, bool has_ties, const auto& change) {
    all.push_back({name, samples, candidates, has_ties});
    change(all.back().samples, all.back().candidates);
  };
  add("outliers of 1e12", false, [](MatrixD& x, MatrixD& w) { x(0, 7) = w(3, 11) = 1e12; });
  add("a sample of subnormal numbers", false, [](MatrixD& x, MatrixD&) { x.col(9) *= 1e-310; });
  add("all subnormal", false, [](MatrixD& x, MatrixD& w) { x *= 1e-308, w.array() = w.array().round(); });
  add("equal rows", true, [](MatrixD& x, MatrixD& w) {
    x = x.array().round(), w = w.array().round();
    for (Index c = 100; c < w.cols(); ++c) w.col(c) = w.col(c % 100);
  });
  add("all equal", true, [](MatrixD& x, MatrixD& w) { x = x.array().round(), w.array() = 1; });
  add("negative scores, below those of no candidate", false,
      [](MatrixD& x, MatrixD& w) { x = x.cwiseAbs(), w = -w.cwiseAbs(); });
  add("a constant far away", false, [](MatrixD& x, MatrixD& w) { x.array() += 1e6, w.array() += 1e6; });
  add("one feature that matters", true, [](MatrixD& x, MatrixD& w) {
    x.bottomRows(x.rows() - 1).setZero(), w.bottomRows(w.rows() - 1).setZero();
    x = x.array().round(), w = (10 * w).array().round();
  });
  return all;
}

void check_search(const Data& data, Index count) {
  const Vector<double> bias = Vector<double>::Zero(n_candidates);
  const AffineScorer<double> scorer{
      {data.candidates.data(), n_features, n_candidates, Eigen::OuterStride<>(n_features)}, bias};
  Matrix<std::int64_t> found(n_best, count);
  MatrixD scores(n_best, count);
  scorer.top_k({data.samples.data(), count, n_features, n_features, 1}, n_best, {}, found.data(), scores.data(), 2,
               [] {});
  bool right = true;
  for (Index i = 0; i < count; ++i) {
    const VectorD expected = data.candidates.transpose() * data.samples.col(i);
    const VectorD sizes = data.candidates.cwiseAbs().transpose() * data.samples.col(i).cwiseAbs();
    std::vector<std::int64_t> order(static_cast<std::size_t>(n_candidates));
    for (std::size_t c = 0; c < order.size(); ++c) order[c] = static_cast<std::int64_t>(c);
    std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return expected[a] > expected[b]; });
    for (Index b = 0; b < n_best; ++b) {
      const std::int64_t c = found(b, i);
      const double tolerance = 1e-13 * std::max(sizes[c], sizes[order[b]]) + 1e-318;
      right = right && std::abs(expected[c] - scores(b, i)) <= tolerance &&
              std::abs(expected[c] - expected[order[b]]) <= tolerance && (!data.has_ties || c == order[b]);
    }
  }
  if (!right) std::fprintf(stderr, "%s, %s\n", data.name, byte_products().c_str());
  CHECK(right);
}

TEST(searches_by_all_screens_equal_sorting) {
  const std::vector<Data> all = hostile_data();
  for (const char* name :
       {"avx512_vnni", "avx_vnni", "avx2", "neon", "portable", "portable_runs", "portable_signed", "none"})
    if (use_byte_products(name))
      for (const Data& data : all) {
        check_search(data, n_samples);
        check_search(data, 1);
      }
  use_byte_products("fastest");
}

TEST(searches_by_all_screens_name_the_first_bad_sample) {
  const std::vector<Data> all = hostile_data();
  for (const char* name : {"avx512_vnni", "avx_vnni", "avx2", "neon", "portable", "portable_runs", "portable_signed"})
    for (const double bad : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
      if (!use_byte_products(name)) continue;
      Data data = all.front();
      data.samples(5, 217) = data.samples(5, 500) = bad;
      std::int64_t row = -1;
      try {
        check_search(data, n_samples);
      } catch (const BadValue& error) {
        row = error.row;
      }
      CHECK(row == 217);
    }
  use_byte_products("fastest");
}

}  // namespace

}  // namespace jcmspl::search
