#include "jcmspl/solver.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "jcmspl/clock.hpp"
#include "jcmspl/kernels.hpp"
#include "jcmspl/shifted.hpp"

namespace jcmspl {

namespace {

double dot(const MatrixD& a, const MatrixD& b) { return a.cwiseProduct(b).sum(); }

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

// The descent's state and workspace. Names follow the paper; a trailing t marks a transposed matrix.
class Descent {
 public:
  Descent(const Spectrum& spectrum, const Settings& settings);

  void begin(const Start& start);
  void update_visual();
  void update_semantic();
  void update_concepts(const Poll& poll);
  Terms objective() const;
  Stationarity stationarity() const;

  MatrixD At, Bt;  // r x k, q x k
  MatrixD Pt, Et;  // r x k, c x k: C = P X + E L'

 private:
  void invert_K();
  void find_codes_of_classes();
  void find_code_gram();
  // |P X + E L'|^2 for any P, E of the right shape
  double squared_norm(const MatrixD& pt, const MatrixD& et) const;

  const Spectrum& data_;
  const Settings& set_;
  const Index k_, c_;
  const std::vector<Index> block_;
  const VectorD g_, h_;  // eigenvalues of XX' and of YY'

  MatrixD CCt_;            // CC' (k x k), lower triangle
  MatrixD XCt_;            // X C'   r x k
  MatrixD YCt_;            // Y C'   q x k
  MatrixD AAt_, BBt_;      // AA', BB' (k x k), lower triangles
  MatrixD K_inverse_;      // k x k, both triangles
  MatrixD BYt_;            // (B Yc)'  c x k
  MatrixD EMt_;            // M E'     r x k
  MatrixD PMt_;            // (P M)'   c x k
  MatrixD CLt_;            // (C L)'   c x k
  MatrixD scratch_, half_;
  ShiftedSolver shifted_;
};

Descent::Descent(const Spectrum& spectrum, const Settings& settings)
    : data_(spectrum),
      set_(settings),
      k_(settings.n_concepts),
      c_(spectrum.n_classes()),
      block_(concept_blocks(k_, c_)),
      g_(spectrum.visual.values()),
      h_(spectrum.semantic.values()),
      CCt_(MatrixD::Zero(k_, k_)),
      XCt_(g_.size(), k_),
      YCt_(h_.size(), k_),
      AAt_(MatrixD::Zero(k_, k_)),
      BBt_(MatrixD::Zero(k_, k_)),
      K_inverse_(k_, k_),
      BYt_(c_, k_),
      EMt_(g_.size(), k_),
      PMt_(c_, k_),
      CLt_(c_, k_),
      scratch_(g_.size(), k_),
      half_(c_, k_) {
  Pt.resize(g_.size(), k_);
  Et.resize(c_, k_);
}

void Descent::begin(const Start& start) {
  if (const auto* codes = std::get_if<MatrixD>(&start)) {
    CLt_ = data_.counts.asDiagonal() * *codes;
    gemm(Op::transpose, Op::none, 1, *codes, CLt_, 0, CCt_);
    gemm(Op::none, Op::none, 1, data_.class_sums, *codes, 0, XCt_);
  } else {
    const auto& sums = std::get<StartStatistics>(start);
    CLt_ = sums.class_code_sums;
    CCt_ = sums.code_gram;
    XCt_ = data_.visual.project(sums.sample_code);
  }
  gemm(Op::none, Op::none, 1, data_.vectors, CLt_, 0, YCt_);
}

// A:  (l3 CC') A + A XX' = (1 + l3) C X'
void Descent::update_visual() {
  shifted_.reset(CCt_);
  At = (1 + set_.l3) * XCt_;
  shifted_.solve(set_.l3, g_, At);
}

// B:  (l4 CC') B + B (l1 YY') = (l1 + l4) C Y'
void Descent::update_semantic() {
  Bt = (set_.l1 + set_.l4) * YCt_;
  shifted_.solve(set_.l4, set_.l1 * h_, Bt);
}

// C:  K C = l2 H + (1 + l3) A X + (l1 + l4) B Y   with   K = (1 + l1 + l2) I + l3 AA' + l4 BB'
void Descent::update_concepts(const Poll& poll) {
  invert_K();
  poll();
  gemm(Op::none, Op::none, 1 + set_.l3, At, K_inverse_, 0, Pt);
  find_codes_of_classes();
  gemm(Op::none, Op::none, 1, data_.class_sums, Et, 0, EMt_);
  gemm(Op::transpose, Op::none, 1, data_.class_sums, Pt, 0, PMt_);
  poll();
  find_code_gram();
  CLt_.noalias() = data_.counts.asDiagonal() * Et;
  CLt_ += PMt_;
  XCt_.noalias() = g_.asDiagonal() * Pt;
  XCt_ += EMt_;
  gemm(Op::none, Op::none, 1, data_.vectors, CLt_, 0, YCt_);
}

void Descent::invert_K() {
  syrk(Op::transpose, 1, At, 0, AAt_);
  syrk(Op::transpose, 1, Bt, 0, BBt_);
  K_inverse_ = set_.l3 * AAt_ + set_.l4 * BBt_;
  K_inverse_.diagonal().array() += 1 + set_.l1 + set_.l2;
  char lower = 'L';
  int order = as_int(k_), info = 0;
  // K is at least the identity: only a value that is not finite can make these fail, and the caller looks for one.
  kernels<double>().potrf(&lower, &order, K_inverse_.data(), &order, &info);
  if (info == 0) kernels<double>().potri(&lower, &order, K_inverse_.data(), &order, &info);
  if (info != 0) K_inverse_.setConstant(std::nan(""));
  mirror_lower(K_inverse_);
}

// E = K^-1 (l2 Hc + (l1 + l4) B Yc): Hc only picks columns of K^-1, and B has few columns in its eigenbasis.
void Descent::find_codes_of_classes() {
  gemm(Op::transpose, Op::none, 1, data_.vectors, Bt, 0, BYt_);
  MatrixD KB(h_.size(), k_);
  gemm(Op::none, Op::none, 1, Bt, K_inverse_, 0, KB);
  gemm(Op::transpose, Op::none, set_.l1 + set_.l4, data_.vectors, KB, 0, Et);
  for (Index cls = 0; cls < c_; ++cls)
    for (Index i = block_[cls]; i < block_[cls + 1]; ++i) Et.row(cls) += set_.l2 * K_inverse_.row(i);
}

// CC' = P XX' P' + PM E' + (PM E')' + E N E'. The last three are F + F' with F = (PM + E N / 2) E'.
void Descent::find_code_gram() {
  half_.noalias() = (0.5 * data_.counts).asDiagonal() * Et;
  half_ += PMt_;
  MatrixD F(k_, k_);
  gemm(Op::transpose, Op::none, 1, half_, Et, 0, F);
  CCt_ = F + F.transpose();
  scratch_.noalias() = g_.cwiseSqrt().asDiagonal() * Pt;
  syrk(Op::transpose, 1, scratch_, 1, CCt_);
}

double Descent::squared_norm(const MatrixD& pt, const MatrixD& et) const {
  MatrixD pmt(c_, k_);
  gemm(Op::transpose, Op::none, 1, data_.class_sums, pt, 0, pmt);
  return (pt.array().square().colwise() * g_.array()).sum() + 2 * dot(pmt, et) +
         (et.array().square().colwise() * data_.counts.array()).sum();
}

// Each residual is written in the differences that make it small, so that little cancels.
Terms Descent::objective() const {
  const auto N = data_.counts.array();
  double PGP = 0, DGD = 0, DME = 0, AXC = 0;
  for (Index i = 0; i < k_; ++i) {  // one pass over the large matrices
    const auto p = Pt.col(i).array();
    const auto d = At.col(i).array() - p;
    PGP += (p.square() * g_.array()).sum();
    DGD += (d.square() * g_.array()).sum();
    DME += (d * EMt_.col(i).array()).sum();
    AXC += At.col(i).dot(XCt_.col(i));
  }
  double ENE = 0, FNF = 0, FMP = 0, ONO = 0, OMP = 0;
  for (Index i = 0; i < k_; ++i) {
    const auto e = Et.col(i).array();
    const auto f = BYt_.col(i).array() - e;
    ENE += (e.square() * N).sum();
    FNF += (f.square() * N).sum();
    FMP += (f * PMt_.col(i).array()).sum();
  }
  MatrixD offset = Et;  // E - Hc
  for (Index cls = 0; cls < c_; ++cls)
    for (Index i = block_[cls]; i < block_[cls + 1]; ++i) offset(cls, i) -= 1;
  for (Index i = 0; i < k_; ++i) {
    const auto o = offset.col(i).array();
    ONO += (o.square() * N).sum();
    OMP += (o * PMt_.col(i).array()).sum();
  }
  Terms terms;
  terms.visual_projection = 0.5 * (DGD - 2 * DME + ENE);
  terms.semantic_projection = 0.5 * set_.l1 * (FNF - 2 * FMP + PGP);
  terms.class_codes = 0.5 * set_.l2 * (PGP + 2 * OMP + ONO);
  terms.visual_reconstruction = 0.5 * set_.l3 * (data_.visual_trace - 2 * AXC + symmetric_dot(AAt_, CCt_));
  terms.semantic_reconstruction =
      0.5 * set_.l4 * (data_.semantic_trace - 2 * dot(Bt, YCt_) + symmetric_dot(BBt_, CCt_));
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
  out.visual = relative(At, g_, set_.l3, 1 + set_.l3, XCt_);
  out.semantic = relative(Bt, set_.l1 * h_, set_.l4, set_.l1 + set_.l4, YCt_);

  // K C - J in the form P X + E L', against J
  MatrixD K = full(set_.l3 * AAt_ + set_.l4 * BBt_);
  K.diagonal().array() += 1 + set_.l1 + set_.l2;
  const MatrixD Jp = (1 + set_.l3) * At;
  MatrixD Je = (set_.l1 + set_.l4) * BYt_;
  for (Index cls = 0; cls < c_; ++cls)
    for (Index i = block_[cls]; i < block_[cls + 1]; ++i) Je(cls, i) += set_.l2;
  MatrixD Rp = Jp, Re = Je;
  gemm(Op::none, Op::none, 1, Pt, K, -1, Rp);
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
    descent.update_visual();
    info.timings.visual_update += clock.lap();
    poll();
    descent.update_semantic();
    info.timings.semantic_update += clock.lap();
    poll();
    descent.update_concepts(poll);
    info.timings.concept_update += clock.lap();
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
  results.visual_projection = spectrum.visual.lift(descent.At);
  poll();
  results.semantic_projection = spectrum.semantic.lift(descent.Bt);
  results.codes_of_samples = spectrum.visual.lift(descent.Pt);
  results.codes_of_classes = std::move(descent.Et);
  info.timings.finish = clock.lap();
  return results;
}

}  // namespace jcmspl
