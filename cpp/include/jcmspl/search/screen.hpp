// A screen before the exact search: bounds on the scores rule out nearly all candidates of a sample, and only the rest
// are scored.
//
// The bounds come from products of bytes, which take a quarter of the time of products of floats; docs/algorithm.md
// derives them. They hold for any data. What depends on the data is how many candidates are left: where they are too
// many, a sample is left undecided, for the caller to find its best in another way.
#pragma once

#include <utility>
#include <vector>

#include "jcmspl/search/best.hpp"
#include "jcmspl/search/byte_products.hpp"
#include "jcmspl/support/types.hpp"

namespace jcmspl {

// The candidates of an affine score x . w_c + b_c, as bytes.
template <class T>
class Screen {
public:
  // Whether this CPU can, and it is worth while.
  static bool pays(Index n_samples, Index n_features, Index n_candidates, Index n_best);

  // Bounds are the closer the nearer samples are to their origin; any will do.
  Screen(const ConstView<T>& weights, const Vector<T>& bias, VectorD origin, Index n_threads, const Poll& poll);

  bool exists() const { return exists_; }  // not if all candidates are the same, or too far apart in size for bytes

private:
  template <class>
  friend class ScreenedSearch;

  Index n_panels() const { return static_cast<Index>(codes_.size()) / panel_bytes_; }
  bytes::Panel panel(Index p) const;
  // What is bounded for a sample is (score - common) / unit, and error what rounding can change of that in double
  // precision.
  struct Units {
    double common, unit, error;
  };
  // False if nothing can be said of this sample.
  bool find_terms(const bytes::Rounded& sample, bytes::SampleTerms& terms, Units& units) const;
  void scale_terms(const MatrixD& raw);

  ConstView<T> weights_;  // in the caller's memory
  Vector<T> bias_;
  VectorD origin_, centre_;  // of samples and candidates
  double origin_length_, centre_length_;
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
  static constexpr Index block_rows = 32 * bytes::tile_height;

  ScreenedSearch(const Screen<T>& screen, Index n_best);

  // For each sample, a column of x that is to be multiplied with its factor (or 1), the n_best best candidates and
  // their scores. Returns which samples are left undecided.
  const std::vector<Index>& operator()(const ConstView<T>& x, const Vector<T>* factors, std::int64_t* indices,
                                       T* scores, const Poll& poll);

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

  void begin(const ConstView<T>& x, const Vector<T>* factors);
  void meet(const bytes::Panel& panel, Index first_candidate, Index tile);
  void add(Index row, Survivor survivor, double width);
  void drop_excluded(Index row);
  void give_up(Index row);
  bool is_closed(Index tile) const;  // whether all of its samples are given up
  void decide(Index row, const T* x, double factor, std::int64_t* indices, T* scores);

  const Screen<T>& screen_;
  const Index n_best_, limit_;
  std::vector<std::int8_t> codes_;
  std::vector<bytes::SampleTerms> terms_;
  std::vector<float> thresholds_;  // no candidate with a bound below it is among the best
  std::vector<Row> rows_;
  std::vector<Index> undecided_;
  bytes::Bounds bounds_;
  Best<double> best_;
};

}  // namespace jcmspl
