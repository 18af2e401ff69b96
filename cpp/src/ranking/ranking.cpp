#include "jcmspl/ranking/ranking.hpp"

#include <algorithm>

#include "linalg/blas.hpp"

namespace jcmspl::ranking {

namespace {

// Enough samples for fast products; the sums over the steps of a block grow with their number.
constexpr Index block_size = 64;

// A random number for each step, independent of the steps before (SplitMix64).
std::uint64_t random_bits(std::uint64_t seed, std::uint64_t step) {
  std::uint64_t z = seed + (step + 1) * 0x9E3779B97F4A7C15u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

// One of 0..count-1, for counts far below 2^32.
Index random_index(std::uint64_t bits, Index count) {
  return static_cast<Index>(((bits >> 32) * static_cast<std::uint64_t>(count)) >> 32);
}

double harmonic_mean_weight(Index rank) {
  double sum = 0;
  for (Index i = 1; i <= rank; ++i) sum += 1.0 / static_cast<double>(i);
  return sum / static_cast<double>(rank);
}

}  // namespace

Ranking::Ranking(std::vector<MatrixD> maps, MatrixD vectors, const Settings& settings)
    : maps_(std::move(maps)),
      vectors_(std::move(vectors)),
      settings_(settings),
      choices_(maps_.size(), 0),
      gram_(block_size, block_size),
      products_(maps_.size(), MatrixD(vectors_.rows(), block_size)),
      changes_(products_),
      projected_(vectors_.rows()),
      map_scores_(vectors_.cols()),
      scores_(vectors_.cols()),
      best_map_(static_cast<std::size_t>(vectors_.cols())) {
  if (settings_.average)
    for (const MatrixD& map : maps_) totals_.push_back(MatrixD::Zero(map.rows(), map.cols()));
}

Progress Ranking::learn(const ConstView<double>& samples, const std::int64_t* labels, const double* weights,
                        const Poll& poll) {
  Progress progress{0, 0};
  for (Index first = 0; first < samples.cols(); first += block_size) {
    const Index size = std::min(block_size, samples.cols() - first);
    const ConstView<double> block(samples.data() + first * samples.outerStride(), samples.rows(), size,
                                  Eigen::OuterStride<>(samples.outerStride()));
    learn_block(block, labels + first, weights ? weights + first : nullptr, progress);
    poll();
  }
  return progress;
}

std::vector<MatrixD> Ranking::mean_maps() const {
  if (n_steps_ == 0 || !settings_.average) return maps_;
  std::vector<MatrixD> means = totals_;
  for (MatrixD& mean : means) mean /= static_cast<double>(n_steps_);
  return means;
}

void Ranking::keep(const std::vector<Index>& some) {
  const auto reduce = [&](auto& all) {
    std::decay_t<decltype(all)> kept;
    for (const Index k : some) kept.push_back(std::move(all[static_cast<std::size_t>(k)]));
    all = std::move(kept);
  };
  reduce(maps_);
  if (settings_.average) reduce(totals_);
  reduce(products_);
  reduce(changes_);
  reduce(choices_);
}

void Ranking::learn_block(const ConstView<double>& samples, const std::int64_t* labels, const double* weights,
                          Progress& progress) {
  const Index size = samples.cols();
  syrk(Op::transpose, 1, samples, 0, gram_.topLeftCorner(size, size));
  for (std::size_t k = 0; k < maps_.size(); ++k) {
    gemm(Op::transpose, Op::none, 1, maps_[k], samples, 0, products_[k].leftCols(size));
    changes_[k].setZero();
  }
  for (Index i = 0; i < size; ++i) {
    find_scores(i);
    progress.loss += take_step(i, static_cast<Index>(labels[i]), weights ? weights[i] : 1);
    progress.n_updates += !violating_.empty();
  }
  apply_changes(samples);
}

void Ranking::find_scores(Index sample) {
  const auto similarities = gram_.row(sample).head(sample).transpose();
  for (std::size_t k = 0; k < maps_.size(); ++k) {
    projected_ = products_[k].col(sample);
    projected_.noalias() += settings_.rate * (changes_[k].leftCols(sample) * similarities);
    VectorD& scores = k == 0 ? scores_ : map_scores_;
    scores.noalias() = vectors_.transpose() * projected_;
    if (k == 0) std::fill(best_map_.begin(), best_map_.end(), 0);
    if (k == 0) continue;
    for (Index j = 0; j < scores_.size(); ++j)
      if (map_scores_[j] > scores_[j]) {
        scores_[j] = map_scores_[j];
        best_map_[static_cast<std::size_t>(j)] = static_cast<Index>(k);
      }
  }
}

double Ranking::take_step(Index sample, Index own, double factor) {
  const std::uint64_t bits = random_bits(settings_.seed, n_steps_++);
  ++choices_[static_cast<std::size_t>(best_map_[static_cast<std::size_t>(own)])];
  violating_.clear();
  double sum = 0, highest = 0;
  Index worst = own;
  for (Index j = 0; j < scores_.size(); ++j) {
    const double violation = settings_.margin + scores_[j] - scores_[own];
    if (j == own || !(violation > 0)) continue;
    violating_.push_back(j);
    sum += violation;
    if (violation > highest) {
      highest = violation;
      worst = j;
    }
  }
  const Index rank = static_cast<Index>(violating_.size());
  if (rank == 0) return 0;
  switch (settings_.violators) {
    case Violators::any:
      move_against(sample, own, violating_[static_cast<std::size_t>(random_index(bits, rank))], factor);
      return factor * sum;
    case Violators::worst:
      move_against(sample, own, worst, factor);
      return factor * highest;
    default:
      const double weight = factor * harmonic_mean_weight(rank);
      for (const Index j : violating_) move_against(sample, own, j, weight);
      return weight * sum;
  }
}

void Ranking::move_against(Index sample, Index own, Index violator, double weight) {
  const auto map_of = [&](Index j) { return static_cast<std::size_t>(best_map_[static_cast<std::size_t>(j)]); };
  changes_[map_of(own)].col(sample) += weight * vectors_.col(own);
  changes_[map_of(violator)].col(sample) -= weight * vectors_.col(violator);
}

void Ranking::apply_changes(const ConstView<double>& samples) {
  const Index size = samples.cols();
  for (std::size_t k = 0; k < maps_.size(); ++k) {
    const auto changes = changes_[k].leftCols(size);
    if (settings_.average) totals_[k] += static_cast<double>(size) * maps_[k];
    gemm(Op::none, Op::transpose, settings_.rate, samples, changes, 1, maps_[k]);
    if (!settings_.average) continue;
    // The change by sample i is part of the maps after sample i and all later ones of the block.
    for (Index i = 0; i < size; ++i) changes_[k].col(i) *= static_cast<double>(size - i);
    gemm(Op::none, Op::transpose, settings_.rate, samples, changes, 1, totals_[k]);
  }
}

}  // namespace jcmspl::ranking
