#include "jcmspl/solver.hpp"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <string>
#include <utility>

#include "jcmspl/clock.hpp"
#include "jcmspl/inverse.hpp"
#include "jcmspl/kernels.hpp"
#include "jcmspl/shifted.hpp"

namespace jcmspl {

namespace {

template <class A, class B>
double dot(const A& a, const B& b) {
  return a.cwiseProduct(b).sum();
}

// <a, c> and <b, c> of symmetric matrices given by their lower triangles.
std::pair<double, double> symmetric_dots(const MatrixD& a, const MatrixD& b, const MatrixD& c) {
  double ac = 0, bc = 0;
  for (Index j = 0; j + 1 < c.cols(); ++j) {
    const Index below = c.rows() - j - 1;
    ac += a.col(j).tail(below).dot(c.col(j).tail(below));
    bc += b.col(j).tail(below).dot(c.col(j).tail(below));
  }
  return {2 * ac + a.diagonal().dot(c.diagonal()), 2 * bc + b.diagonal().dot(c.diagonal())};
}

MatrixD full(const MatrixD& lower) {
  MatrixD both = lower;
  mirror_lower(both);
  return both;
}

// Inner products over samples, gathered while the columns of the large matrices are in cache.
struct Sums {
  double AXC_size = 0;  // |A X - C|^2
  double BYC_size = 0;  // |B Y - C|^2
  double CH_size = 0;   // |C - H|^2
  double AXC = 0;       // <A, C X'>
};

// The columns of one concept.
struct ConceptColumns {
  const double *roots, *a, *by, *c, *h;
  double* xc;
};

// xc = roots c on the first r coordinates, those of X, and the concept's share of the sums on all: on those up to
// n_positive it is added, on the others up to s subtracted. One loop over everything: each of these columns is fetched
// from memory once.
void add_products(Index r, Index n_positive, Index s, const ConceptColumns& of, Sums& sums) {
  const auto accumulate = [&](auto lanes, auto of_X, Index begin, Index end, double sign) {
    using Lanes = decltype(lanes);
    constexpr Index width = Lanes::SizeAtCompileTime;
    const auto load = [](const double* x) { return Lanes(Eigen::Map<const Lanes>(x)); };
    Lanes AXC_size = Lanes::Zero(), BYC_size = AXC_size, CH_size = AXC_size, AXC = AXC_size;
    for (Index i = begin; i < end; i += width) {
      const Lanes c = load(of.c + i);
      if constexpr (decltype(of_X)::value) {
        const Lanes root = load(of.roots + i), a = load(of.a + i), xc = root * c;
        Eigen::Map<Lanes>(of.xc + i) = xc;
        AXC += a * xc;
        AXC_size += (root * a - c).square();
      } else {
        AXC_size += c.square();
      }
      BYC_size += (load(of.by + i) - c).square();
      CH_size += (c - load(of.h + i)).square();
    }
    sums.AXC_size += sign * AXC_size.sum();
    sums.BYC_size += sign * BYC_size.sum();
    sums.CH_size += sign * CH_size.sum();
    sums.AXC += AXC.sum();
  };
  using Pair = Eigen::Array<double, 2, 1>;
  using Single = Eigen::Array<double, 1, 1>;
  const auto accumulate_all = [&](auto of_X, Index begin, Index end, double sign) {
    const Index pairs = end - (end - begin) % 2;
    accumulate(Pair(), of_X, begin, pairs, sign);
    accumulate(Single(), of_X, pairs, end, sign);
  };
  accumulate_all(std::true_type(), 0, r, 1);
  accumulate_all(std::false_type(), r, n_positive, 1);
  accumulate_all(std::false_type(), n_positive, s, -1);
}

// The descent's state and workspace. Names follow the paper; a trailing t marks a transposed
// matrix, and AB a pair of matrices, the visual one (r rows) on top of the semantic one (q rows):
// one product then serves both. C, B Y and H have the s coordinates of the Spectrum in place of the
// n samples.
class Descent {
public:
  Descent(const Spectrum& spectrum, const Settings& settings);

  void begin(const Start& start);
  bool finite() const { return std::isfinite(CCt_.trace()) && XYCt_.allFinite(); }
  void update_projections();
  void update_concepts(const Poll& poll);
  // The terms of the objective, and a bound on the rounding errors of their sum.
  Terms objective(double& noise) const;
  Stationarity stationarity();

  auto At() const { return data_.visual_rows(ABt_); }    // r x k
  auto Bt() const { return data_.semantic_rows(ABt_); }  // q x k
  // P' and E' of C = P X + E L'
  MatrixD codes_of_samples() const;
  MatrixD codes_of_classes() const;

private:
  void find_products_with_data();
  void find_K();
  // What K C is: l2 H + (1 + l3) A X + (l1 + l4) B Y
  void find_target(MatrixD& target) const;
  // H in coordinates, for one concept
  auto Ht(Index concept_row) const { return data_.labels.col(class_of(concept_row)); }
  Index class_of(Index concept_row) const { return class_of_[static_cast<std::size_t>(concept_row)]; }

  const Spectrum& data_;
  const Settings& set_;
  const Index k_, c_, r_, q_, s_;
  std::vector<Index> class_of_;

  MatrixD ABt_;        // A' on top of B'
  MatrixD XYCt_;       // X C' on top of Y C'
  MatrixD Ct_;         // s x k
  MatrixD BYt_;        // s x k
  MatrixD CCt_;        // CC' (k x k), lower triangle
  MatrixD AAt_, BBt_;  // AA', BB' (k x k), lower triangles
  MatrixD K_;          // k x k, lower triangle; used up by its inversion
  InverseCholeskyFactor K_inverse_;
  Sums sums_;
  ShiftedSolver shifted_;
};

Descent::Descent(const Spectrum& spectrum, const Settings& settings)
    : data_(spectrum),
      set_(settings),
      k_(settings.n_concepts),
      c_(spectrum.n_classes()),
      r_(spectrum.visual.rank()),
      q_(spectrum.semantic.rank()),
      s_(spectrum.n_coordinates()),
      ABt_(r_ + q_, k_),
      XYCt_(r_ + q_, k_),
      Ct_(s_, k_),
      BYt_(s_, k_),
      CCt_(MatrixD::Zero(k_, k_)),
      AAt_(MatrixD::Zero(k_, k_)),
      BBt_(MatrixD::Zero(k_, k_)),
      K_(k_, k_) {
  const std::vector<Index> block = concept_blocks(k_, c_);
  for (Index cls = 0; cls < c_; ++cls) class_of_.insert(class_of_.end(), block[cls + 1] - block[cls], cls);
}

void Descent::begin(const Start& start) {
  if (const auto* codes = std::get_if<MatrixD>(&start)) {
    gemm(Op::none, Op::none, 1, data_.labels, *codes, 0, Ct_);
    data_.visual_rows(XYCt_) = data_.roots.asDiagonal() * Ct_.topRows(r_);
    find_products_with_data();
    return;
  }
  // Codes of the samples need not lie in the span of X and L'.
  const auto& sums = std::get<StartStatistics>(start);
  CCt_ = sums.code_gram;
  data_.visual_rows(XYCt_) = data_.visual.project(sums.sample_code);
  gemm(Op::none, Op::none, 1, data_.vectors, sums.class_code_sums, 0, data_.semantic_rows(XYCt_));
}

// A:  (l3 CC') A + A XX'      = (1 + l3)  C X'
// B:  (l4 CC') B + B (l1 YY') = (l1 + l4) C Y'
void Descent::update_projections() {
  ABt_.swap(XYCt_);
  shifted_.solve(std::move(CCt_),
                 {{{set_.l3, 1 + set_.l3, data_.visual.values()},
                   {set_.l4, set_.l1 + set_.l4, set_.l1 * data_.semantic.values()}}},
                 ABt_, XYCt_);
}

// C:  K C = l2 H + (1 + l3) A X + (l1 + l4) B Y   with   K = (1 + l1 + l2) I + l3 AA' + l4 BB'
void Descent::update_concepts(const Poll& poll) {
  syrk(Op::transpose, 1, At(), 0, AAt_);
  syrk(Op::transpose, 1, Bt(), 0, BBt_);
  find_K();
  K_inverse_.compute(std::move(K_));
  gemm(Op::none, Op::none, 1, data_.semantic_target, Bt(), 0, BYt_);
  find_target(Ct_);
  poll();
  // K^-1 meets the target before any product with it is formed: applied to such products it would lose twice as many
  // digits.
  K_inverse_.divide(Ct_);
  poll();
  sums_ = {};
  for (Index i = 0; i < k_; ++i)
    add_products(r_, s_ - data_.n_negative, s_,
                 {data_.roots.data(), ABt_.col(i).data(), BYt_.col(i).data(), Ct_.col(i).data(), Ht(i).data(),
                  XYCt_.col(i).data()},
                 sums_);
  find_products_with_data();
}

// Y C' and CC'
void Descent::find_products_with_data() {
  const MatrixD& Yt = data_.semantic_target;
  auto YCt = data_.semantic_rows(XYCt_);
  CCt_.resize(k_, k_);
  gemm(Op::transpose, Op::none, 1, data_.positive_rows(Yt), data_.positive_rows(Ct_), 0, YCt);
  syrk(Op::transpose, 1, data_.positive_rows(Ct_), 0, CCt_);
  if (data_.n_negative == 0) return;
  gemm(Op::transpose, Op::none, -1, data_.negative_rows(Yt), data_.negative_rows(Ct_), 1, YCt);
  syrk(Op::transpose, -1, data_.negative_rows(Ct_), 1, CCt_);
}

void Descent::find_K() {
  K_.resize(k_, k_);
  for (Index j = 0; j < k_; ++j)
    K_.col(j).tail(k_ - j) = set_.l3 * AAt_.col(j).tail(k_ - j) + set_.l4 * BBt_.col(j).tail(k_ - j);
  K_.diagonal().array() += 1 + set_.l1 + set_.l2;
}

void Descent::find_target(MatrixD& target) const {
  for (Index i = 0; i < k_; ++i) {
    target.col(i) = (set_.l1 + set_.l4) * BYt_.col(i) + set_.l2 * Ht(i);
    target.col(i).head(r_) += (1 + set_.l3) * data_.roots.cwiseProduct(At().col(i));
  }
}

Terms Descent::objective(double& noise) const {
  constexpr double rounding = 8 * std::numeric_limits<double>::epsilon();
  const double BYC = dot(Bt(), data_.semantic_rows(XYCt_)), CC = CCt_.trace();
  const auto [AACC, BBCC] = symmetric_dots(AAt_, BBt_, CCt_);
  noise = 0;
  // A sum of squared differences from C, each with a rounding error relative to C.
  const auto distance = [&](double weight, double squares) {
    const double sum = squares < 0 ? 0 : squares;  // NaN stays
    noise += 0.5 * weight * rounding * (sum + std::sqrt(sum * std::abs(CC)) + (data_.n_negative > 0 ? CC : 0));
    return 0.5 * weight * sum;
  };
  // A sum of numbers that cancel.
  const auto reconstruction = [&](double weight, double size, double product, double square) {
    const double sum = size - 2 * product + square;
    noise += 0.5 * weight * rounding * (size + 2 * std::abs(product) + square);
    return 0.5 * weight * (sum < 0 ? 0 : sum);  // NaN stays
  };
  return {distance(1, sums_.AXC_size), distance(set_.l1, sums_.BYC_size), distance(set_.l2, sums_.CH_size),
          reconstruction(set_.l3, data_.visual_trace, sums_.AXC, AACC),
          reconstruction(set_.l4, data_.semantic_trace, BYC, BBCC)};
}

MatrixD Descent::codes_of_samples() const {
  MatrixD Pt = (1 + set_.l3) * At();
  K_inverse_.divide(Pt);
  return Pt;
}

MatrixD Descent::codes_of_classes() const {
  MatrixD Et(c_, k_);
  gemm(Op::transpose, Op::none, set_.l1 + set_.l4, data_.vectors, Bt(), 0, Et);
  for (Index i = 0; i < k_; ++i) Et(class_of(i), i) += set_.l2;
  K_inverse_.divide(Et);
  return Et;
}

Stationarity Descent::stationarity() {
  const MatrixD CC = full(CCt_);
  const auto relative = [&](const MatrixD& xt, const VectorD& eigenvalues, double weight, double factor,
                            const MatrixD& rhs) {
    MatrixD left(xt.rows(), k_);
    gemm(Op::none, Op::none, weight, xt, CC, 0, left);
    const MatrixD right = eigenvalues.asDiagonal() * xt;
    const double size = left.norm() + right.norm() + factor * rhs.norm();
    return size > 0 ? (left + right - factor * rhs).norm() / size : 0;
  };
  Stationarity out;
  out.visual = relative(At(), data_.visual.values(), set_.l3, 1 + set_.l3, data_.visual_rows(XYCt_));
  out.semantic =
      relative(Bt(), set_.l1 * data_.semantic.values(), set_.l4, set_.l1 + set_.l4, data_.semantic_rows(XYCt_));

  find_K();
  MatrixD target(s_, k_);
  find_target(target);
  const double size = target.norm();
  gemm(Op::none, Op::none, 1, Ct_, full(K_), -1, target);
  out.concept_codes = size > 0 ? target.norm() / size : 0;
  return out;
}

}  // namespace

std::vector<Index> concept_blocks(Index n_concepts, Index n_classes) {
  if (n_classes < 1) throw std::invalid_argument("there must be at least one class");
  if (n_concepts < n_classes)
    throw std::invalid_argument("n_concepts (" + std::to_string(n_concepts) + ") is less than the number of classes (" +
                                std::to_string(n_classes) + ")");
  std::vector<Index> first(static_cast<std::size_t>(n_classes) + 1);
  for (Index cls = 0; cls <= n_classes; ++cls)  // the first k mod c blocks are one longer
    first[cls] = cls * (n_concepts / n_classes) + std::min(cls, n_concepts % n_classes);
  return first;
}

Results solve(const Spectrum& spectrum, const Settings& settings, const Start& start, const OnIteration& on_iteration,
              const Poll& poll) {
  Results results;
  Info& info = results.info;
  Clock clock;
  Descent descent(spectrum, settings);
  descent.begin(start);
  if (!descent.finite()) throw Diverged(0);
  info.timings.start = clock.lap();
  double before = std::numeric_limits<double>::infinity();
  while (info.n_iter < settings.max_iter && !info.converged) {
    descent.update_projections();
    info.timings.projections += clock.lap();
    poll();
    descent.update_concepts(poll);
    info.timings.concepts += clock.lap();
    double noise = 0;
    info.terms.push_back(descent.objective(noise));
    info.timings.objective += clock.lap();
    ++info.n_iter;
    const double now = info.terms.back().sum();
    if (!std::isfinite(now)) throw Diverged(info.n_iter);
    on_iteration(info.n_iter, now);
    poll();
    // A decrease that rounding could hide says nothing.
    const double least = settings.tol * before;
    info.converged = settings.tol > 0 && info.n_iter > 1 && before - now <= least && noise <= least;
    before = now;
  }
  info.stationarity = descent.stationarity();
  results.visual_projection = spectrum.visual.lift(descent.At());
  poll();
  results.semantic_projection = spectrum.semantic.lift(descent.Bt());
  if (settings.want_codes) {
    results.codes_of_samples = spectrum.visual.lift(descent.codes_of_samples());
    results.codes_of_classes = descent.codes_of_classes();
  }
  info.timings.finish = clock.lap();
  return results;
}

}  // namespace jcmspl
