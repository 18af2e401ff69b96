#include "jcmspl/descent/solve.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "jcmspl/linalg/inverse.hpp"
#include "jcmspl/linalg/kernels.hpp"
#include "jcmspl/linalg/shifted.hpp"
#include "jcmspl/support/clock.hpp"

namespace jcmspl {

namespace {

constexpr double rounding_unit = std::numeric_limits<double>::epsilon();
constexpr double rounding = 8 * rounding_unit;  // of a sum

template <class A, class B>
double dot(const A& a, const B& b) {
  return a.cwiseProduct(b).sum();
}

// <a, b>, and |a| |b|, to which its rounding errors are relative.
struct SymmetricProduct {
  double value, size;
};

// Of symmetric matrices given by their lower triangles.
SymmetricProduct symmetric_product(const MatrixD& a, const MatrixD& b) {
  double ab = a.diagonal().dot(b.diagonal()), aa = a.diagonal().squaredNorm(), bb = b.diagonal().squaredNorm();
  for (Index j = 0; j + 1 < a.cols(); ++j) {
    const auto x = a.col(j).tail(a.rows() - j - 1), y = b.col(j).tail(a.rows() - j - 1);
    ab += 2 * x.dot(y);
    aa += 2 * x.squaredNorm();
    bb += 2 * y.squaredNorm();
  }
  return {ab, std::sqrt(aa) * std::sqrt(bb)};
}

// |x|, also where the squares over- or underflow.
template <class M>
double norm(const M& x) {
  const double plain = x.norm();
  return plain > 1e-140 && plain < 1e140 ? plain : x.stableNorm();
}

MatrixD full(const MatrixD& lower) {
  MatrixD both = lower;
  mirror_lower(both);
  return both;
}

// The descent's state and workspace. Names follow the paper; a trailing t marks a transposed
// matrix. C and H have the s coordinates of the Spectrum in place of the n samples. The semantic
// matrices (q rows) stand on top of the visual ones (r rows): one product then serves both.
//
// A and B are found in another orthonormal basis of the concepts than C came in, and every equation
// holds in any. Either they return to the basis of H, or all stay in the new one and H must follow:
// whichever takes less work.
class Descent {
public:
  Descent(const Spectrum& spectrum, const Settings& settings);

  void begin(const Start& start);
  bool finite() const { return std::isfinite(CCt_.trace()) && YC_Ct_.topRows(q_ + r_).allFinite(); }
  void update_projections();
  void update_concepts(const Poll& poll);
  // The terms of the objective, and a bound on the rounding errors of their sum.
  Terms objective(double& noise) const;
  Stationarity stationarity();

  auto At() const { return BAt_.bottomRows(r_); }  // r x k
  auto Bt() const { return BAt_.topRows(q_); }     // q x k
  // P' and E' of C = P X + E L', from A'
  MatrixD codes_of_samples(const MatrixD& visual_projection) const;
  MatrixD codes_of_classes() const;
  // Takes a matrix with k columns from the basis of the descent to that of H.
  MatrixD turned_back(MatrixD x) const;

private:
  // <A X, C>, and |A X - C|^2
  void compare_with_visual_codes();
  void find_products_with_data();
  void find_K();
  // What K C is: l2 H + (1 + l3) A X + (l1 + l4) B Y
  void find_target(View<double> target) const;
  Terms terms_from_products(double& noise) const;
  Terms terms_from_differences(double& noise) const;
  // What coordinates that are subtracted leave of an error: it is relative to all of the size.
  double negative_size(double size) const { return data_.n_negative > 0 ? size : 0; }
  // |x|^2 for x with s rows
  double squared_norm(const MatrixD& x) const {
    return data_.positive_rows(x).squaredNorm() - data_.negative_rows(x).squaredNorm();
  }
  // What H is for each class (c x k).
  MatrixD class_codes() const;
  Index class_of(Index concept_row) const { return class_of_[static_cast<std::size_t>(concept_row)]; }

  const Spectrum& data_;
  const Settings& set_;
  const Index k_, c_, r_, q_, s_;
  std::vector<Index> class_of_;

  const bool turns_;   // whether A, B and C stay in the basis where they were found
  MatrixD basis_;      // the basis that they are in (k x k)
  MatrixD BAt_;        // B' on top of A'
  MatrixD YC_Ct_;      // of both of the next
  View<double> YCt_;   // Y C'   q x k
  View<double> Ct_;    // s x k, the first r of which are C X' but for their scale
  MatrixD CYt_;        // C Y'   k x q
  MatrixD CCt_;        // CC' (k x k), lower triangle
  MatrixD AAt_, BBt_;  // AA', BB' (k x k), lower triangles
  MatrixD K_;          // k x k, lower triangle; used up by its inversion
  InverseCholeskyFactor K_inverse_;
  double H_size_ = 0;                  // |H|^2
  double AXC_ = 0, AXC_distance_ = 0;  // <A X, C>, |A X - C|^2
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
      // H takes part in more of the product with L, but A and B need not be turned back.
      turns_(k_ * k_ + c_ * q_ + s_ * c_ < (r_ + q_) * k_ + s_ * q_),
      basis_(MatrixD::Identity(k_, k_)),
      BAt_(q_ + r_, k_),
      YC_Ct_(q_ + s_, k_),
      YCt_(YC_Ct_.data(), q_, k_, Eigen::OuterStride<>(q_ + s_)),
      Ct_(YC_Ct_.data() + q_, s_, k_, Eigen::OuterStride<>(q_ + s_)),
      CYt_(k_, q_),
      CCt_(MatrixD::Zero(k_, k_)),
      AAt_(MatrixD::Zero(k_, k_)),
      BBt_(MatrixD::Zero(k_, k_)),
      K_(k_, k_) {
  const std::vector<Index> block = concept_blocks(k_, c_);
  for (Index cls = 0; cls < c_; ++cls) class_of_.insert(class_of_.end(), block[cls + 1] - block[cls], cls);
  for (const Index cls : class_of_) H_size_ += data_.counts[cls];
}

// The first update of A and B needs no more of C than CC', Y C' and C on the coordinates of X.
void Descent::begin(const Start& start) {
  if (const auto* codes = std::get_if<MatrixD>(&start)) {
    const MatrixD CLt = data_.counts.asDiagonal() * *codes;
    gemm(Op::transpose, Op::none, 1, *codes, CLt, 0, CCt_);
    gemm(Op::none, Op::none, 1, data_.labels.topRows(r_), *codes, 0, Ct_.topRows(r_));
    gemm(Op::none, Op::none, 1, data_.vectors, CLt, 0, YCt_);
    return;
  }
  const auto& sums = std::get<StartStatistics>(start);
  CCt_ = sums.code_gram;
  Ct_.topRows(r_) = data_.roots.cwiseInverse().asDiagonal() * data_.visual.project(sums.sample_code);
  gemm(Op::none, Op::none, 1, data_.vectors, sums.class_code_sums, 0, YCt_);
}

// A:  (l3 CC') A + A XX'      = (1 + l3)  C X'
// B:  (l4 CC') B + B (l1 YY') = (l1 + l4) C Y'
void Descent::update_projections() {
  const ConstView<double> rhs(YC_Ct_.data(), q_ + r_, k_, Eigen::OuterStride<>(q_ + s_));
  const std::array<ShiftedRows, 2> parts{
      {{set_.l4, VectorD::Constant(q_, set_.l1 + set_.l4), set_.l1 * data_.semantic.values()},
       {set_.l3, (1 + set_.l3) * data_.roots, data_.visual.values()}}};
  if (turns_)
    shifted_.solve_and_turn(std::move(CCt_), rhs, parts, BAt_, basis_);
  else
    shifted_.solve(std::move(CCt_), rhs, parts, BAt_);
}

// C:  K C = l2 H + (1 + l3) A X + (l1 + l4) B Y   with   K = (1 + l1 + l2) I + l3 AA' + l4 BB'
void Descent::update_concepts(const Poll& poll) {
  syrk(Op::transpose, 1, At(), 0, AAt_);
  syrk(Op::transpose, 1, Bt(), 0, BBt_);
  find_K();
  K_inverse_.compute(std::move(K_));
  if (!K_inverse_.exists()) {
    // With k > c AA' is singular, and a weight of 1e18 drowns the rest of K in its rounding errors.
    find_K();
    K_.diagonal().array() += rounding_unit * static_cast<double>(k_) * K_.diagonal().maxCoeff();
    K_inverse_.compute(std::move(K_));
  }
  find_target(Ct_);
  poll();
  // K^-1 meets the target before any product with it is formed: applied to such products it would lose twice as many
  // digits.
  K_inverse_.divide(Ct_);
  poll();
  compare_with_visual_codes();
  find_products_with_data();
}

void Descent::compare_with_visual_codes() {
  AXC_ = AXC_distance_ = 0;
  for (Index i = 0; i < k_; ++i) {
    const auto ax = data_.roots.array() * At().col(i).array();
    const auto c = Ct_.col(i).array();
    const auto outside = c.tail(s_ - r_);
    AXC_ += (ax * c.head(r_)).sum();
    AXC_distance_ += (ax - c.head(r_)).square().sum() + outside.head(s_ - r_ - data_.n_negative).square().sum() -
                     outside.tail(data_.n_negative).square().sum();
  }
}

// Y C' and CC'
void Descent::find_products_with_data() {
  const MatrixD& Yt = data_.semantic_target;
  CCt_.resize(k_, k_);
  // BLAS is faster at C Y' than at Y C'.
  gemm(Op::transpose, Op::none, 1, data_.positive_rows(Ct_), data_.positive_rows(Yt), 0, CYt_);
  syrk(Op::transpose, 1, data_.positive_rows(Ct_), 0, CCt_);
  if (data_.n_negative > 0) {
    gemm(Op::transpose, Op::none, -1, data_.negative_rows(Ct_), data_.negative_rows(Yt), 1, CYt_);
    syrk(Op::transpose, -1, data_.negative_rows(Ct_), 1, CCt_);
  }
  YCt_ = CYt_.transpose();
}

void Descent::find_K() {
  K_.resize(k_, k_);
  for (Index j = 0; j < k_; ++j)
    K_.col(j).tail(k_ - j) = set_.l3 * AAt_.col(j).tail(k_ - j) + set_.l4 * BBt_.col(j).tail(k_ - j);
  K_.diagonal().array() += 1 + set_.l1 + set_.l2;
}

void Descent::find_target(View<double> target) const {
  const auto AXt = [&](Index i) { return (1 + set_.l3) * data_.roots.cwiseProduct(At().col(i)); };
  if (turns_) {
    MatrixD of_classes = set_.l2 * class_codes();
    gemm(Op::transpose, Op::none, set_.l1 + set_.l4, data_.vectors, Bt(), 1, of_classes);
    for (Index i = 0; i < k_; ++i) target.col(i) << AXt(i), VectorD::Zero(s_ - r_);
    gemm(Op::none, Op::none, 1, data_.labels, of_classes, 1, target);
    return;
  }
  for (Index i = 0; i < k_; ++i) {
    target.col(i) = set_.l2 * data_.labels.col(class_of(i));
    target.col(i).head(r_) += AXt(i);
  }
  gemm(Op::none, Op::none, set_.l1 + set_.l4, data_.semantic_target, Bt(), 1, target);
}

MatrixD Descent::class_codes() const {
  MatrixD codes = MatrixD::Zero(c_, k_);
  for (Index j = 0; j < k_; ++j)
    for (Index i = 0; i < k_; ++i) codes(class_of(i), j) += basis_(i, j);
  return codes;
}

// Inner products that are at hand give the objective at no cost, but cancel. Where that would show, it is computed
// anew.
Terms Descent::objective(double& noise) const {
  noise = 0;
  Terms terms = terms_from_products(noise);
  if (noise <= 1e-10 * terms.sum()) return terms;  // not if one of them is NaN
  noise = 0;
  return terms_from_differences(noise);
}

Terms Descent::terms_from_products(double& noise) const {
  const double BYC = dot(Bt(), YCt_), BYBY = dot(data_.semantic.values().asDiagonal() * Bt(), Bt());
  const SymmetricProduct AACC = symmetric_product(AAt_, CCt_), BBCC = symmetric_product(BBt_, CCt_);
  const double CC = CCt_.trace(), CC_size = std::abs(CC);
  // l2 <C, H> = <C, K C> - <C, K C - l2 H>, because C solves its equation
  const double KCC = (1 + set_.l1 + set_.l2) * CC + set_.l3 * AACC.value + set_.l4 * BBCC.value,
               rest = (1 + set_.l3) * AXC_ + (set_.l1 + set_.l4) * BYC,
               KCC_size = (1 + set_.l1 + set_.l2) * CC_size + set_.l3 * AACC.size + set_.l4 * BBCC.size;
  // Half the weighted sum, whose rounding errors are relative to the size of what it adds up.
  const auto term = [&](double weight, double sum, double size) {
    noise += 0.5 * weight * rounding * size;
    return 0.5 * weight * (sum < 0 ? 0 : sum);  // NaN stays
  };
  return {
      term(1, AXC_distance_, AXC_distance_ + std::sqrt(AXC_distance_ * CC_size) + negative_size(CC_size)),
      term(set_.l1, BYBY - 2 * BYC + CC, BYBY + 2 * std::abs(BYC) + CC_size),
      set_.l2 == 0 ? 0
                   : term(1, set_.l2 * (CC + H_size_) - 2 * (KCC - rest),
                          set_.l2 * (CC_size + H_size_) + 2 * (KCC_size + std::abs(rest))),
      term(set_.l3, data_.visual_trace - 2 * AXC_ + AACC.value, data_.visual_trace + 2 * std::abs(AXC_) + AACC.size),
      term(set_.l4, data_.semantic_trace - 2 * BYC + BBCC.value, data_.semantic_trace + 2 * std::abs(BYC) + BBCC.size)};
}

Terms Descent::terms_from_differences(double& noise) const {
  const double C_size = norm(Ct_);
  // Half the weighted squares of differences, each with rounding errors relative to what was subtracted.
  const auto term = [&](double weight, double squares, double size) {
    const double sum = squares < 0 ? 0 : squares;  // NaN stays
    noise += 0.5 * weight * rounding * (sum + std::sqrt(sum) * size + negative_size(size * size));
    return 0.5 * weight * sum;
  };
  MatrixD BY_C = Ct_, C_H = Ct_, X_AC = MatrixD::Zero(s_, r_), Y_BC = data_.semantic_target;
  gemm(Op::none, Op::none, -1, data_.semantic_target, Bt(), 1, BY_C);
  gemm(Op::none, Op::none, -1, data_.labels, class_codes(), 1, C_H);
  X_AC.diagonal() = data_.roots;
  gemm(Op::none, Op::transpose, -1, Ct_, At(), 1, X_AC);
  gemm(Op::none, Op::transpose, -1, Ct_, Bt(), 1, Y_BC);
  return {term(1, AXC_distance_, C_size), term(set_.l1, squared_norm(BY_C), C_size),
          term(set_.l2, squared_norm(C_H), C_size), term(set_.l3, squared_norm(X_AC), norm(At()) * C_size),
          term(set_.l4, squared_norm(Y_BC), norm(Bt()) * C_size)};
}

MatrixD Descent::codes_of_samples(const MatrixD& visual_projection) const {
  MatrixD Pt = (1 + set_.l3) * visual_projection;
  K_inverse_.divide(view(Pt));
  return Pt;
}

MatrixD Descent::codes_of_classes() const {
  MatrixD Et = set_.l2 * class_codes();
  gemm(Op::transpose, Op::none, set_.l1 + set_.l4, data_.vectors, Bt(), 1, Et);
  K_inverse_.divide(view(Et));
  return Et;
}

MatrixD Descent::turned_back(MatrixD x) const {
  if (!turns_) return x;
  MatrixD out(x.rows(), k_);
  gemm(Op::none, Op::transpose, 1, x, basis_, 0, out);
  return out;
}

Stationarity Descent::stationarity() {
  const MatrixD CC = full(CCt_);
  const auto relative = [&](const auto& xt, const VectorD& eigenvalues, double weight, double factor,
                            const auto& rhs_of) {
    MatrixD left(xt.rows(), k_), sizes(k_, 4);  // of the three parts of each column, and of their sum
    gemm(Op::none, Op::none, weight, xt, CC, 0, left);
    for (Index i = 0; i < k_; ++i) {
      const VectorD right = eigenvalues.cwiseProduct(xt.col(i)), rhs = factor * rhs_of(i);
      sizes.row(i) << norm(left.col(i)), norm(right), norm(rhs), norm(left.col(i) + right - rhs);
    }
    const double size = norm(sizes.col(0)) + norm(sizes.col(1)) + norm(sizes.col(2));
    return size > 0 ? norm(sizes.col(3)) / size : 0;
  };
  Stationarity out;
  out.visual = relative(At(), data_.visual.values(), set_.l3, 1 + set_.l3,
                        [&](Index i) { return data_.roots.cwiseProduct(Ct_.col(i).head(r_)); });
  out.semantic = relative(Bt(), set_.l1 * data_.semantic.values(), set_.l4, set_.l1 + set_.l4,
                          [&](Index i) { return YCt_.col(i); });

  find_K();
  MatrixD target(s_, k_);
  find_target(view(target));
  const double size = norm(target);
  gemm(Op::none, Op::none, 1, Ct_, full(K_), -1, target);
  out.concept_codes = size > 0 ? norm(target) / size : 0;
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
  if (!info.stationarity.finite()) throw Diverged(info.n_iter);
  MatrixD At = spectrum.visual.lift(descent.At());
  poll();
  if (settings.want_codes) {
    results.codes_of_samples = descent.turned_back(descent.codes_of_samples(At));
    results.codes_of_classes = descent.turned_back(descent.codes_of_classes());
  }
  results.visual_projection = descent.turned_back(std::move(At));
  results.semantic_projection = descent.turned_back(spectrum.semantic.lift(descent.Bt()));
  info.timings.finish = clock.lap();
  return results;
}

}  // namespace jcmspl
