// A screen before the exact search: bounds on the scores exclude nearly all candidates of a sample, and only the rest
// are scored.
//
// The bounds come from products of bytes, which take a quarter of the time of products of floats; docs/algorithm.md
// derives them. They hold for any data, but the number of candidates they keep depends on it: with too many of them a
// sample stays undecided, and the caller must find its best candidates in another way.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "jcmspl/support/types.hpp"
#include "search/best.hpp"
#include "search/byte_products.hpp"

namespace jcmspl::search {

// The candidates of an affine score x . w_c + b_c, as bytes.
template <class T>
class Screen {
public:
  // Whether the CPU has the instructions, and the search is large enough to be faster with a screen.
  static bool pays(Index n_samples, Index n_features, Index n_candidates, Index n_best);

  // The bounds hold for any origin, and are closer the nearer the samples are to it. bias_error: a bound on the error
  // of each bias.
  Screen(const ConstView<T>& weights, const Vector<T>& bias, double bias_error, VectorD origin, Index n_threads,
         const Poll& poll);

  // False if there are no bounds: all candidates are equal, or their sizes differ too much for bytes.
  bool exists() const { return exists_; }

private:
  template <class>
  friend class ScreenedSearch;

  Index n_panels() const { return static_cast<Index>(codes_.size()) / panel_bytes_; }
  Panel panel(Index p) const;
  // The bounds of a sample are bounds on (score - common) / unit. error: the rounding error of that quantity when the
  // score is computed in double precision.
  struct Units {
    double common, unit, error;
  };
  struct SampleBounds {
    SampleTerms terms;
    Units units;
  };
  // Empty if the sample has no useful bounds.
  std::optional<SampleBounds> bounds_of(const Rounded& sample) const;
  void scale_terms(const MatrixD& raw, double bias_error);

  ConstView<T> weights_;  // in the caller's memory
  Vector<T> bias_;
  VectorD origin_, centre_;  // subtracted from samples and from candidates
  double origin_length_, centre_length_;
  Index groups_, panel_bytes_;
  std::vector<std::uint8_t> codes_;
  Matrix<float> terms_;                     // a column each: step, length, error, bias
  std::vector<std::int32_t> largest_runs_;  // of each panel
  double common_ = 0, largest_length_ = 0, largest_bias_ = 0, bias_error_ = 0;
  bool exists_ = true;
};

// Finds the best candidates of blocks of samples, one block after the other.
template <class T>
class ScreenedSearch {
public:
  static constexpr Index block_rows = 32 * tile_height;

  ScreenedSearch(const Screen<T>& screen, Index n_best);

  // Writes the n_best best candidates and their keys for each sample, a column of x times its factor (1 if factors is
  // null). Returns the samples that stay undecided, for which nothing is written.
  //
  // Candidates that the bounds keep are compared by keys.key(sample, candidate), which grows with the score;
  // keys.score_of(sample, key) is the least score that a candidate with this key can have. keys.prefetch(candidate) is
  // called some time before the candidate's key is computed.
  template <class Keys, class Out>
  const std::vector<Index>& operator()(const ConstView<T>& x, const Vector<T>* factors, const Keys& keys,
                                       std::int64_t* indices, Out* best_keys, const Poll& poll) {
    begin(x, factors);
    for (Index p = 0; p < screen_.n_panels(); ++p) {
      const Panel panel = screen_.panel(p);
      for (Index tile = 0; tile < x.cols(); tile += tile_height) {
        if (is_given_up(tile)) continue;
        bound(panel, p * panel_width, tile);
        for (Index i = tile; i < tile + tile_height; ++i)
          if (is_long(i)) decide(i, keys);
      }
      poll();
    }
    undecided_.clear();
    for (Index i = 0; i < x.cols(); ++i) {
      decide(i, keys);
      if (rows_[i].undecided)
        undecided_.push_back(i);
      else
        rows_[i].best.write(indices + i * n_best_, best_keys + i * n_best_);
      poll();
    }
    return undecided_;
  }

private:
  struct Survivor {
    float upper;  // bound of its score
    std::int32_t candidate;
  };
  struct Row {
    bool undecided;
    typename Screen<T>::Units units;
    std::vector<Survivor> survivors;  // whose keys are not known yet
    std::vector<float> best_lower;    // a heap of the n_best largest lower bounds, the least in front
    Best<double> best;                // keys of survivors
    Index n_keys;                     // that were computed
  };

  void begin(const ConstView<T>& x, const Vector<T>* factors);
  void bound(const Panel& panel, Index first_candidate, Index tile);
  void add(Index row, Survivor survivor, double width);
  bool is_long(Index row);  // after dropping those that the bounds exclude
  void drop_excluded(Index row);
  void sort_survivors(Index row);  // those that the bounds do not exclude, the largest bounds first
  void raise_threshold(Index row, double bound);
  void give_up(Index row);
  bool is_given_up(Index tile) const;  // all of its samples

  // Compares the survivors by their keys, those with the largest bounds first. Keys exclude more candidates than lower
  // bounds do: also those that come later.
  template <class Keys>
  void decide(Index i, const Keys& keys) {
    Row& row = rows_[i];
    const auto& [common, unit, error] = row.units;
    const auto least = [&] { return (keys.score_of(i, row.best.worst()) - common) / unit - error; };
    sort_survivors(i);
    for (std::size_t s = 0; s < row.survivors.size(); ++s) {
      const Survivor& survivor = row.survivors[s];
      if (s + 1 < row.survivors.size()) keys.prefetch(row.survivors[s + 1].candidate);
      if (row.best.is_full() && survivor.upper < least()) break;
      if (++row.n_keys > limit_) return give_up(i);
      row.best.offer(keys.key(i, survivor.candidate), survivor.candidate);
    }
    row.survivors.clear();
    if (row.best.is_full()) raise_threshold(i, least());
  }

  const Screen<T>& screen_;
  const Index n_best_, limit_, long_;
  std::vector<std::int8_t> codes_;
  std::vector<std::int32_t> run_starts_;
  std::vector<SampleTerms> terms_;
  std::vector<float> thresholds_;  // a candidate whose upper bound is below it is not among the best
  std::vector<Row> rows_;
  std::vector<Index> undecided_;
  Bounds bounds_;
};

}  // namespace jcmspl::search
