// Learning to rank classes by a bilinear score, one sample at a time.
//
// The score of class j for a sample x is F(x, j) = max over k of x' W_k s_j. A class that is not the sample's own
// violates the margin if F(x, j) + margin > F(x, own). A step moves the maps against the violators:
// W += rate x (s_own - s_j)', where several maps compete each part in the map that gave the score.
//
// Steps are taken in blocks, with the same result. In a block W changes by a sum of x u', so that W'x_i is what it was
// before the block, one matrix product for all, plus the sum of (x_i'x) u over the steps since.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "jcmspl/support/types.hpp"

namespace jcmspl::ranking {

// What a step learns from, of all classes that violate the margin.
enum class Violators {
  any,    // one of them, each as likely as the others; that is the first in random order
  worst,  // the one of the highest score, the first of several
  all     // all r of them, with the weight (1 + 1/2 + ... + 1/r) / r each
};

struct Settings {
  Violators violators;
  double margin;
  double rate;
  std::uint64_t seed;  // of what is random
  bool average;        // whether the mean of the maps over all steps is wanted
};

struct Progress {
  double loss;      // the sum over samples, each as it was before its step
  Index n_updates;  // the number of samples that any class violated the margin of
};

class Ranking {
public:
  // maps: W_k, m x d, to start with; vectors: s_j, d x c.
  Ranking(std::vector<MatrixD> maps, MatrixD vectors, const Settings& settings);

  // Takes a step for each sample, in their order; m x n samples, a class 0..c-1 for each, and what its step is
  // multiplied by (null: 1). If the poll throws, the samples of some blocks have been learnt from.
  Progress learn(const ConstView<double>& samples, const std::int64_t* labels, const double* weights, const Poll& poll);

  Index n_features() const { return maps_.front().rows(); }
  Index n_classes() const { return vectors_.cols(); }
  const std::vector<MatrixD>& maps() const { return maps_; }
  // The mean over all steps so far of the maps after each; the maps themselves before the first.
  std::vector<MatrixD> mean_maps() const;
  // For how many samples so far each map gave the score of their own class.
  const std::vector<std::int64_t>& choices() const { return choices_; }
  // Goes on with some of the maps, given by their numbers.
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

  // of the block
  MatrixD gram_;                   // x_i'x_j
  std::vector<MatrixD> products_;  // W'x, d x block
  std::vector<MatrixD> changes_;   // u, d x block
  // of the sample
  VectorD place_, of_map_, scores_;
  std::vector<Index> best_map_, violating_;
};

}  // namespace jcmspl::ranking
