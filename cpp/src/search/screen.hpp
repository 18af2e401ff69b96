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
  int limit_;  // of the codes of candidates
  Index groups_, panel_bytes_;
  std::vector<std::uint8_t> codes_;
  Matrix<float> terms_;  // a column each: step, length, error, bias
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
  // keys.score_of(sample, key) is the least score that a candidate with this key can have.
  template <class Keys, class Out>
  const std::vector<Index>& operator()(const ConstView<T>& x, const Vector<T>* factors, const Keys& keys,
                                       std::int64_t* indices, Out* best_keys, const Poll& poll) {
    find_survivors(x, factors, poll);
    undecided_.clear();
    for (Index i = 0; i < x.cols(); ++i) {
      if (keep_survivors(i)) {
        decide(i, keys);
        best_.write(indices + i * n_best_, best_keys + i * n_best_);
      } else {
        undecided_.push_back(i);
      }
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
    std::vector<Survivor> survivors;
    std::vector<float> best_lower;  // a heap of the n_best largest lower bounds, the least in front
  };

  void find_survivors(const ConstView<T>& x, const Vector<T>* factors, const Poll& poll);
  bool keep_survivors(Index row);  // sorted by their bounds; false if they do not decide
  void begin(const ConstView<T>& x, const Vector<T>* factors);
  void bound(const Panel& panel, Index first_candidate, Index tile);
  void add(Index row, Survivor survivor, double width);
  void drop_excluded(Index row);
  void give_up(Index row);
  bool is_given_up(Index tile) const;  // all of its samples

  template <class Keys>
  void decide(Index i, const Keys& keys) {
    const auto& [common, unit, error] = rows_[i].units;
    best_.clear();
    for (const Survivor& survivor : rows_[i].survivors) {
      // Exact scores exclude more candidates than lower bounds did.
      if (best_.is_full() && survivor.upper < (keys.score_of(i, best_.worst()) - common) / unit - error) break;
      best_.offer(keys.key(i, survivor.candidate), survivor.candidate);
    }
  }

  const Screen<T>& screen_;
  const Index n_best_, limit_;
  std::vector<std::int8_t> codes_;
  std::vector<SampleTerms> terms_;
  std::vector<float> thresholds_;  // a candidate whose upper bound is below it is not among the best
  std::vector<Row> rows_;
  std::vector<Index> undecided_;
  Bounds bounds_;
  Best<double> best_;
};

}  // namespace jcmspl::search
