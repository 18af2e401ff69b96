#include "jcmspl/solver.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

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

// <a, b> of two symmetric matrices given by their lower triangles.
double symmetric_dot(const MatrixD& a, const MatrixD& b) {
  double off_diagonal = 0;
  for (Index j = 0; j + 1 < a.cols(); ++j) {
    const Index below = a.rows() - j - 1;
    off_diagonal += a.col(j).tail(below).dot(b.col(j).tail(below));
  }
  return 2 * off_diagonal + a.diagonal().dot(b.diagonal());
}

MatrixD full(const MatrixD& lower) {
  MatrixD both = lower;
  mirror_lower(both);
  return both;
}

// Inner products over samples, gathered while the columns of the large matrices are in cache.
struct Sums {
  double PGP = 0;  // |P X|^2
  double DGD = 0;  // |(A - P) X|^2
  double DME = 0;  // <(A - P) M, E>
  double PME = 0;  // <P M, E>
  double PMH = 0;  // <P M, Hc>
  double AXC = 0;  // <A, C X'>
};

// The descent's state and workspace. Names follow the paper; a trailing t marks a transposed
// matrix, and AB a pair of matrices, the visual one (r rows) on top of the semantic one (q rows):
// one product then serves both.
class Descent {
public:
  Descent(const Spectrum& spectrum, const Settings& settings);

  void begin(const Start& start);
  void update_projections();
  void update_concepts(const Poll& poll);
  Terms objective() const;
  Stationarity stationarity() const;

  auto At() const { return data_.visual_rows(ABt_); }    // r x k
  auto Bt() const { return data_.semantic_rows(ABt_); }  // q x k
  auto Pt() const { return data_.visual_rows(PBt_); }    // r x k
  MatrixD Et;                                            // c x k: C = P X + E L'

private:
  void invert_K();
  void find_codes_of_classes();
  void find_products_with_samples();
  void find_code_gram();
  // |P X + E L'|^2 for any P, E of the right shape
  double squared_norm(const MatrixD& pt, const MatrixD& et) const;
  Index class_of(Index concept_row) const { return class_of_[static_cast<std::size_t>(concept_row)]; }

  const Spectrum& data_;
  const Settings& set_;
  const Index k_, c_, r_, q_;
  std::vector<Index> class_of_;
  const VectorD g_, h_;  // eigenvalues of XX' and of YY'
  const VectorD root_counts_;

  MatrixD ABt_;        // A' on top of B'
  MatrixD XYCt_;       // X C' on top of Y C'
  MatrixD PBt_;        // P' on top of (1 + l3) B'K^-1
  MatrixD EMt_;        // M E' on top of Yc N E'
  MatrixD CCt_;        // CC' (k x k), lower triangle
  MatrixD AAt_, BBt_;  // AA', BB' (k x k), lower triangles
  MatrixD K_inverse_;  // k x k, both triangles
  MatrixD BYt_;        // (B Yc)'   c x k
  MatrixD half_;       // [XX'P'/2 + M E',  XY']      r x (k + q)
  MatrixD with_P_;     // the transpose of that times P'   (k + q) x k
  MatrixD weighted_;   // E' with its rows times the roots of the counts
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
      g_(spectrum.visual.values()),
      h_(spectrum.semantic.values()),
      root_counts_(spectrum.counts.cwiseSqrt()),
      ABt_(r_ + q_, k_),
      XYCt_(r_ + q_, k_),
      PBt_(r_ + q_, k_),
      EMt_(r_ + q_, k_),
      CCt_(MatrixD::Zero(k_, k_)),
      AAt_(MatrixD::Zero(k_, k_)),
      BBt_(MatrixD::Zero(k_, k_)),
      K_inverse_(k_, k_),
      BYt_(c_, k_),
      half_(r_, k_ + q_),
      with_P_(k_ + q_, k_),
      weighted_(c_, k_) {
  Et.resize(c_, k_);
  half_.rightCols(q_) = data_.cross;
  const std::vector<Index> block = concept_blocks(k_, c_);
  for (Index cls = 0; cls < c_; ++cls) class_of_.insert(class_of_.end(), block[cls + 1] - block[cls], cls);
}

void Descent::begin(const Start& start) {
  if (const auto* codes = std::get_if<MatrixD>(&start)) {
    const MatrixD CLt = data_.counts.asDiagonal() * *codes;
    gemm(Op::transpose, Op::none, 1, *codes, CLt, 0, CCt_);
    gemm(Op::none, Op::none, 1, data_.class_sums, *codes, 0, XYCt_);
    return;
  }
  const auto& sums = std::get<StartStatistics>(start);
  CCt_ = sums.code_gram;
  data_.visual_rows(XYCt_) = data_.visual.project(sums.sample_code);
  gemm(Op::none, Op::none, 1, data_.vectors, sums.class_code_sums, 0, data_.semantic_rows(XYCt_));
}

// A:  (l3 CC') A + A XX'      = (1 + l3)  C X'
// B:  (l4 CC') B + B (l1 YY') = (l1 + l4) C Y'
void Descent::update_projections() {
  shifted_.reset(CCt_);
  shifted_.solve({{{set_.l3, 1 + set_.l3, g_}, {set_.l4, set_.l1 + set_.l4, set_.l1 * h_}}}, XYCt_, ABt_);
}

// C:  K C = l2 H + (1 + l3) A X + (l1 + l4) B Y   with   K = (1 + l1 + l2) I + l3 AA' + l4 BB'
//
// The new C is never formed, and nothing larger than C times its own kind is: K^-1 is applied to A
// and B before they are multiplied with the data. (CC' = K^-1 J J' K^-1 would be cheaper, and lose
// twice as many digits.)
void Descent::update_concepts(const Poll& poll) {
  invert_K();
  poll();
  gemm(Op::none, Op::none, 1 + set_.l3, ABt_, K_inverse_, 0, PBt_);
  find_codes_of_classes();
  poll();
  gemm(Op::none, Op::none, 1, data_.class_sums, Et, 0, EMt_);
  find_products_with_samples();
  find_code_gram();
}

void Descent::invert_K() {
  syrk(Op::transpose, 1, At(), 0, AAt_);
  syrk(Op::transpose, 1, Bt(), 0, BBt_);
  K_inverse_ = set_.l3 * AAt_ + set_.l4 * BBt_;
  K_inverse_.diagonal().array() += 1 + set_.l1 + set_.l2;
  invert_positive_definite(K_inverse_);
}

// E = K^-1 (l2 Hc + (l1 + l4) B Yc): Hc only picks columns of K^-1, and B has few columns in its
// eigenbasis.
void Descent::find_codes_of_classes() {
  gemm(Op::transpose, Op::none, 1, data_.vectors, Bt(), 0, BYt_);
  gemm(Op::transpose, Op::none, (set_.l1 + set_.l4) / (1 + set_.l3), data_.vectors, data_.semantic_rows(PBt_), 0, Et);
  for (Index j = 0; j < k_; ++j)
    for (Index i = 0; i < k_; ++i) Et(class_of(i), j) += set_.l2 * K_inverse_(i, j);
}

// X C' = XX'P' + M E',   Y C' = Yc M'P' + Yc N E'
void Descent::find_products_with_samples() {
  sums_ = {};
  for (Index i = 0; i < k_; ++i) {
    const auto a = ABt_.col(i).head(r_).array(), p = PBt_.col(i).head(r_).array(), em = EMt_.col(i).head(r_).array();
    auto xc = XYCt_.col(i).head(r_).array();
    auto half = half_.col(i).array();
    xc = g_.array() * p;  // for now without M E'
    sums_.PGP += (p * xc).sum();
    half = 0.5 * xc + em;
    xc += em;
    sums_.DGD += ((a - p).square() * g_.array()).sum();
    sums_.DME += ((a - p) * em).sum();
    sums_.PME += (p * em).sum();
    sums_.PMH += (p * data_.class_sums.col(class_of(i)).head(r_).array()).sum();
    sums_.AXC += (a * xc).sum();
  }
  gemm(Op::transpose, Op::none, 1, half_, Pt(), 0, with_P_);
  data_.semantic_rows(XYCt_) = data_.semantic_rows(EMt_) + with_P_.bottomRows(q_);
}

// CC' = P XX' P' + P M E' + E M'P' + E N E': the first three are F + F' with F = P (XX'P'/2 + M E')
void Descent::find_code_gram() {
  CCt_ = with_P_.topRows(k_);
  add_transpose_to_lower(CCt_);
  weighted_.noalias() = root_counts_.asDiagonal() * Et;
  syrk(Op::transpose, 1, weighted_, 1, CCt_);
}

double Descent::squared_norm(const MatrixD& pt, const MatrixD& et) const {
  MatrixD pmt(c_, k_);
  gemm(Op::transpose, Op::none, 1, data_.visual_rows(data_.class_sums), pt, 0, pmt);
  return (pt.array().square().colwise() * g_.array()).sum() + 2 * dot(pmt, et) +
         (et.array().square().colwise() * data_.counts.array()).sum();
}

// Each residual is written in the differences that make it small, so that little cancels.
Terms Descent::objective() const {
  const auto N = data_.counts.array();
  double ENE = 0;  // |E L'|^2
  double FNF = 0;  // |(B Yc - E) L'|^2
  double ONO = 0;  // |(E - Hc) L'|^2
  for (Index i = 0; i < k_; ++i) {
    const auto e = Et.col(i).array();
    const double at_own_class = Et(class_of(i), i), count = data_.counts[class_of(i)];
    const double column = (e.square() * N).sum();
    ENE += column;
    FNF += ((BYt_.col(i).array() - e).square() * N).sum();
    ONO += column - count * at_own_class * at_own_class + count * (at_own_class - 1) * (at_own_class - 1);
  }
  const double PMF = dot(Bt(), with_P_.bottomRows(q_)) - sums_.PME;  // <P M, B Yc - E>
  Terms terms;
  terms.visual_projection = 0.5 * (sums_.DGD - 2 * sums_.DME + ENE);
  terms.semantic_projection = 0.5 * set_.l1 * (FNF - 2 * PMF + sums_.PGP);
  terms.class_codes = 0.5 * set_.l2 * (sums_.PGP + 2 * (sums_.PME - sums_.PMH) + ONO);
  terms.visual_reconstruction = 0.5 * set_.l3 * (data_.visual_trace - 2 * sums_.AXC + symmetric_dot(AAt_, CCt_));
  terms.semantic_reconstruction =
      0.5 * set_.l4 * (data_.semantic_trace - 2 * dot(Bt(), data_.semantic_rows(XYCt_)) + symmetric_dot(BBt_, CCt_));
  return terms;
}

Stationarity Descent::stationarity() const {
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
  out.visual = relative(At(), g_, set_.l3, 1 + set_.l3, data_.visual_rows(XYCt_));
  out.semantic = relative(Bt(), set_.l1 * h_, set_.l4, set_.l1 + set_.l4, data_.semantic_rows(XYCt_));

  // K C - J in the form P X + E L', against J
  MatrixD K = full(set_.l3 * AAt_ + set_.l4 * BBt_);
  K.diagonal().array() += 1 + set_.l1 + set_.l2;
  const MatrixD Jp = (1 + set_.l3) * At();
  MatrixD Je = (set_.l1 + set_.l4) * BYt_;
  for (Index i = 0; i < k_; ++i) Je(class_of(i), i) += set_.l2;
  MatrixD Rp = Jp, Re = Je;
  gemm(Op::none, Op::none, 1, Pt(), K, -1, Rp);
  gemm(Op::none, Op::none, 1, Et, K, -1, Re);
  const double size = squared_norm(Jp, Je);
  out.concept_codes = size > 0 ? std::sqrt(std::max(0.0, squared_norm(Rp, Re)) / size) : 0;
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
  info.timings.start = clock.lap();
  double before = std::numeric_limits<double>::infinity();
  while (info.n_iter < settings.max_iter && !info.converged) {
    descent.update_projections();
    info.timings.projections += clock.lap();
    poll();
    descent.update_concepts(poll);
    info.timings.concepts += clock.lap();
    info.terms.push_back(descent.objective());
    info.timings.objective += clock.lap();
    ++info.n_iter;
    const double now = info.terms.back().sum();
    if (!std::isfinite(now)) throw Diverged(info.n_iter);
    on_iteration(info.n_iter, now);
    poll();
    info.converged = settings.tol > 0 && info.n_iter > 1 && before - now <= settings.tol * std::abs(before);
    before = now;
  }
  info.stationarity = descent.stationarity();
  results.visual_projection = spectrum.visual.lift(descent.At());
  poll();
  results.semantic_projection = spectrum.semantic.lift(descent.Bt());
  if (settings.want_codes) {
    results.codes_of_samples = spectrum.visual.lift(descent.Pt());
    results.codes_of_classes = std::move(descent.Et);
  }
  info.timings.finish = clock.lap();
  return results;
}

}  // namespace jcmspl
