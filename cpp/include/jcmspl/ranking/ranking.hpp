// Learning to rank classes by a bilinear score, one sample at a time.
//
// The score of class j for a sample x is F(x, j) = max over k of x' W_k s_j. A class that is not the sample's own
// violates the margin if F(x, j) + margin > F(x, own). A step moves the maps against the violators:
// W += rate x (s_own - s_j)'. With several maps s_own and s_j each change the map that gave their score.
//
// Steps are taken in blocks, with the same result. In a block W changes by a sum of x u', so that W'x_i is its value
// before the block, one matrix product for all, plus the sum of (x_i'x) u over the steps since.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "jcmspl/support/types.hpp"

namespace jcmspl::ranking {

// The classes that a step learns from, of all that violate the margin.
enum class Violators {
  any,    // one at random, each equally likely
  worst,  // the one with the highest score; of equal scores the first
  all     // all r, each with the weight (1 + 1/2 + ... + 1/r) / r
};

struct Settings {
  Violators violators;
  double margin;
  double rate;
  std::uint64_t seed;  // of the random choices
  bool average;        // whether to keep the mean of the maps over all steps
};

struct Progress {
  double loss;      // the sum of the losses of the samples, each before its step
  Index n_updates;  // the number of samples with a violated margin
};

class Ranking {
public:
  // maps: W_k, m x d, to start with; vectors: s_j, d x c.
  Ranking(std::vector<MatrixD> maps, MatrixD vectors, const Settings& settings);

  // Takes a step for each sample, in their order. samples: m x n; labels: a class 0..c-1 for each; weights: a factor
  // for each step (null: 1). If the poll throws, the samples of some blocks have been learnt from.
  Progress learn(const ConstView<double>& samples, const std::int64_t* labels, const double* weights, const Poll& poll);

  Index n_features() const { return maps_.front().rows(); }
  Index n_classes() const { return vectors_.cols(); }
  const std::vector<MatrixD>& maps() const { return maps_; }
  // The mean of the maps after each step so far; the maps themselves before the first.
  std::vector<MatrixD> mean_maps() const;
  // For each map the number of samples so far whose own class got its score from it.
  const std::vector<std::int64_t>& choices() const { return choices_; }
  // Drops all maps but those with these numbers.
  void keep(const std::vector<Index>& some);

private:
  void learn_block(const ConstView<double>& samples, const std::int64_t* labels, const double* weights,
                   Progress& progress);
  void find_scores(Index sample);
  double take_step(Index sample, Index own, double factor);
  void move_against(Index sample, Index own, Index violator, double weight);
  void apply_changes(const ConstView<double>& samples);

  std::vector<MatrixD> maps_, totals_;
  MatrixD vectors_;
  Settings settings_;
  std::uint64_t n_steps_ = 0;
  std::vector<std::int64_t> choices_;

  // Scratch of the current block.
  MatrixD gram_;                   // x_i'x_j
  std::vector<MatrixD> products_;  // W'x, d x block
  std::vector<MatrixD> changes_;   // u, d x block
  // Scratch of the current sample.
  VectorD projected_, map_scores_, scores_;
  std::vector<Index> best_map_, violating_;
};

}  // namespace jcmspl::ranking
