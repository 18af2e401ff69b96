#include "search/distances.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include "linalg/blas.hpp"
#include "linalg/norm.hpp"
#include "search/best.hpp"
#include "search/query_reader.hpp"
#include "search/screened_search.hpp"
#include "support/parallel.hpp"

namespace jcmspl::search {

namespace {

constexpr Index sample_block = 1024;
constexpr Index prototype_block = 2048;

// In each coordinate the median of some prototypes: unlike the mean it is not moved by one that is far away.
template <class T>
VectorD median_of_some(const ConstView<T>& prototypes) {
  const Index stride = std::max<Index>(1, prototypes.cols() / 256);
  VectorD median(prototypes.rows());
  std::vector<double> values;
  for (Index j = 0; j < prototypes.rows(); ++j) {
    values.clear();
    for (Index c = 0; c < prototypes.cols(); c += stride) values.push_back(static_cast<double>(prototypes(j, c)));
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    median[j] = *middle;
  }
  return median;
}

// The prototypes in a form that ranks them by one product, with bounds on its rounding error: the computed score of
// prototype c for a centred sample x is within |x| by_length[c] + fixed[c] of the true one.
struct Scoring {
  VectorD origin;
  MatrixD centred;  // p - o
  VectorD bias;     // -|p - o|^2 / 2
  double rounding;  // of a product or a sum of squares, relative to the lengths of the vectors
  VectorD by_length, fixed;
  bool exists;  // false if squares overflow

  template <class T>
  explicit Scoring(const ConstView<T>& prototypes)
      : origin(median_of_some(prototypes)), centred(prototypes.template cast<double>().colwise() - origin) {
    const VectorD squares = centred.colwise().squaredNorm();
    bias = -0.5 * squares;
    // m products and sums, the two subtractions of the origin, the bias and its addition, each with half an epsilon;
    // and underflow.
    const double terms = static_cast<double>(prototypes.rows()) + 8;
    rounding = terms * std::numeric_limits<double>::epsilon();
    const double underflow = terms * std::numeric_limits<double>::min();
    by_length = rounding * squares.array().sqrt() + underflow;
    fixed = rounding * squares.array() + underflow;
    exists = squares.allFinite();
  }
};

// The prototypes that may be among the n best of a sample.
class Shortlist {
public:
  Shortlist(Index n_best, Index limit) : lower_(n_best), limit_(static_cast<std::size_t>(limit)) {}

  void clear() {
    lower_.clear();
    entries_.clear();
    is_full_ = false;
  }

  // The scores of consecutive prototypes, and bounds on their errors.
  template <class Scores, class Errors>
  void offer(const Scores& scores, const Errors& errors, Index first) {
    for (Index c = 0; c < scores.size() && !is_full_; ++c) {
      const double upper = scores[c] + errors[c], lower = scores[c] - errors[c];
      if (lower_.is_full() && upper < lower_.worst()) continue;
      lower_.offer(lower, first + c);
      entries_.push_back({upper, first + c});
      if (entries_.size() > limit_) drop_excluded();
    }
  }

  // False if the list became too long or the scores have no bounds: then any prototype may be among the best.
  bool is_useful() const { return !is_full_; }
  void give_up() { is_full_ = true; }

  template <class Function>
  void for_each(Function function) {
    drop_excluded();
    for (const Entry& entry : entries_) function(entry.prototype);
  }

private:
  struct Entry {
    double upper;
    Index prototype;
  };

  void drop_excluded() {
    if (!lower_.is_full()) return;
    const auto excluded = [&](const Entry& entry) { return entry.upper < lower_.worst(); };
    entries_.erase(std::remove_if(entries_.begin(), entries_.end(), excluded), entries_.end());
    if (2 * entries_.size() > limit_) is_full_ = true;
  }

  Best<double> lower_;
  std::vector<Entry> entries_;
  const std::size_t limit_;
  bool is_full_ = false;
};

// The distance of a sample, in double precision, from a prototype.
template <class X, class P>
double distance(const X& x, const P& prototype) {
  return frobenius_norm(x - prototype.template cast<double>());
}

// Minus the true distances, which are the keys of the candidates that a screen keeps.
template <class T>
struct TrueDistances {
  const Samples<T>& samples;
  const ConstView<T>& prototypes;
  const Scoring& scoring;

  class OfBlock {
  public:
    OfBlock(const TrueDistances& all, Index first, const ConstView<double>& centred)
        : all_(all), centred_(centred), reader_(all.samples), raw_(reader_.read(first, centred.cols())) {}
    double key(Index i, Index c) const { return -distance(raw_.col(i), all_.prototypes.col(c)); }
    double score_of(Index i, double key) const {
      const double length = centred_.col(i).squaredNorm(), square = key * key;
      return 0.5 * (length - square) - all_.scoring.rounding * (length + square);
    }

    void prefetch(Index c) const { search::prefetch(all_.prototypes.col(c).data(), all_.prototypes.rows()); }

  private:
    const TrueDistances& all_;
    const ConstView<double> centred_;
    SampleReader<double, T> reader_;
    const ConstView<double> raw_;
  };
  OfBlock of_block(Index first, const ConstView<double>& x, const Vector<double>*) const { return {*this, first, x}; }
};

template <class T>
class DistanceSearch {
public:
  DistanceSearch(const ConstView<T>& prototypes, Index n_best, Index n_threads, const Poll& poll)
      : prototypes_(prototypes), scoring_(prototypes), n_best_(n_best), n_threads_(n_threads), poll_(poll) {}

  void operator()(const Samples<T>& samples, std::int64_t* indices, T* distances) {
    const auto by_product = [&](const Samples<T>& some, std::int64_t* found, T* keys) {
      search_by_product(some, found, keys);
    };
    if (const auto rest = search_by_screen(samples, indices, distances))
      search_rest(samples, *rest, n_best_, indices, distances, by_product);
    else
      search_by_product(samples, indices, distances);
    Eigen::Map<Matrix<T>> keys(distances, n_best_, samples.rows);
    keys = -keys;
  }

private:
  std::optional<std::vector<Index>> search_by_screen(const Samples<T>& samples, std::int64_t* indices, T* keys) const {
    const bool pays = Screen<double>::pays(samples.rows, samples.cols, prototypes_.cols(), n_best_);
    if (!pays || !scoring_.exists) return std::nullopt;
    const QueryReader<double, T> reader(samples, &scoring_.origin, {});
    const ConstView<double> centred{scoring_.centred.data(), samples.cols, prototypes_.cols(),
                                    Eigen::OuterStride<>(samples.cols)};
    const Screen<double> screen(centred, scoring_.bias, scoring_.fixed.maxCoeff(), mean_of_first(reader), n_threads_,
                                poll_);
    const TrueDistances<T> exact{samples, prototypes_, scoring_};
    return search_by_bounds(screen, reader, exact, n_best_, indices, keys, n_threads_, poll_);
  }

  void search_by_product(const Samples<T>& samples, std::int64_t* indices, T* keys) {
    QueryReader<double, T> reader(samples, &scoring_.origin, {});
    const Index step = std::min(sample_block, samples.rows), width = std::min(prototype_block, prototypes_.cols());
    const Index limit = 2 * (n_best_ + std::clamp<Index>(prototypes_.cols() / 16, 64, 4096));
    std::vector<Shortlist> lists(static_cast<std::size_t>(step), Shortlist(n_best_, limit));
    scores_.resize(width, step);
    for (Index first = 0; first < samples.rows; first += step) {
      const Index rows = std::min(step, samples.rows - first);
      shorten(reader.read(first, rows), lists);
      decide(samples, first, rows, lists, indices, keys);
    }
  }

  void shorten(const ConstView<double>& x, std::vector<Shortlist>& lists) {
    const VectorD lengths = x.colwise().norm();
    const double largest = scoring_.by_length.maxCoeff();
    for (Index i = 0; i < x.cols(); ++i) {
      lists[i].clear();
      if (!scoring_.exists || !std::isfinite(lengths[i] * largest)) lists[i].give_up();
    }
    for (Index c = 0; c < prototypes_.cols() && scoring_.exists; c += prototype_block) {
      const Index width = std::min(prototype_block, prototypes_.cols() - c);
      auto scores = scores_.topLeftCorner(width, x.cols());
      gemm(Op::transpose, Op::none, 1, scoring_.centred.middleCols(c, width), x, 0, scores);
      poll_();
      for_ranges_in_parallel(x.cols(), width, n_threads_, poll_, [&] {
        return [&, errors = VectorD(width)](Index from, Index to, const Poll&) mutable {
          for (Index i = from; i < to; ++i) {
            if (!lists[i].is_useful()) continue;
            scores.col(i) += scoring_.bias.segment(c, width);
            errors = lengths[i] * scoring_.by_length.segment(c, width) + scoring_.fixed.segment(c, width);
            lists[i].offer(scores.col(i), errors, c);
          }
        };
      });
    }
  }

  // By true distances.
  void decide(const Samples<T>& samples, Index first, Index rows, std::vector<Shortlist>& lists, std::int64_t* indices,
              T* keys) {
    for_ranges_in_parallel(rows, samples.cols * n_best_, n_threads_, poll_, [&] {
      return [&, reader = SampleReader<double, T>(samples), best = Best<double>(n_best_)](
                 Index from, Index to, const Poll& own_poll) mutable {
        for (Index i = from; i < to; ++i) {
          const ConstView<double> x = reader.read(first + i, 1);
          best.clear();
          const auto offer = [&](Index c) { best.offer(-distance(x.col(0), prototypes_.col(c)), c); };
          if (lists[i].is_useful())
            lists[i].for_each(offer);
          else
            for (Index c = 0; c < prototypes_.cols(); ++c) {
              offer(c);
              if (c % 1024 == 0) own_poll();
            }
          best.write(indices + (first + i) * n_best_, keys + (first + i) * n_best_);
          own_poll();
        }
      };
    });
  }

  const ConstView<T> prototypes_;
  const Scoring scoring_;
  const Index n_best_, n_threads_;
  const Poll& poll_;
  MatrixD scores_;
};

}  // namespace

template <class T>
void nearest_by_distance(const Samples<T>& samples, const ConstView<T>& prototypes, Index n_best, std::int64_t* indices,
                         T* distances, Index n_threads, const Poll& poll) {
  DistanceSearch<T>(prototypes, n_best, n_threads, poll)(samples, indices, distances);
}

template void nearest_by_distance(const Samples<float>&, const ConstView<float>&, Index, std::int64_t*, float*, Index,
                                  const Poll&);
template void nearest_by_distance(const Samples<double>&, const ConstView<double>&, Index, std::int64_t*, double*,
                                  Index, const Poll&);

}  // namespace jcmspl::search
