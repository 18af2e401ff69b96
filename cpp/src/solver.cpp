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
  double PGP = 0;  // |P X|^2
  double DGD = 0;  // |(A - P) X|^2
  double DME = 0;  // <(A - P) M, E>
  double PME = 0;  // <P M, E>
  double AXC = 0;  // <A, C X'>
  double ENE = 0;  // |E L'|^2
  double FNF = 0;  // |(B Yc - E) L'|^2
};

// For one concept, with columns a of A', p of P' and em of M E': xc = g p + em, half = g p / 2 + em, and its
// share of the sums. One loop over everything: each of these columns is fetched from memory once.
void add_products(Index n, const double* g, const double* a, const double* p, const double* em, double* xc,
                  double* half, Sums& sums) {
  const auto accumulate = [&](auto lanes, Index begin, Index end) {
    using Lanes = decltype(lanes);
    constexpr Index width = Lanes::SizeAtCompileTime;
    const auto load = [](const double* x) { return Lanes(Eigen::Map<const Lanes>(x)); };
    Lanes PGP = Lanes::Zero(), DGD = PGP, DME = PGP, PME = PGP, AXC = PGP;
    for (Index i = begin; i < end; i += width) {
      const Lanes gi = load(g + i), ai = load(a + i), pi = load(p + i), emi = load(em + i);
      const Lanes gp = gi * pi, x = gp + emi, d = ai - pi;
      Eigen::Map<Lanes>(xc + i) = x;
      Eigen::Map<Lanes>(half + i) = 0.5 * gp + emi;
      PGP += pi * gp;
      DGD += d * d * gi;
      DME += d * emi;
      PME += pi * emi;
      AXC += ai * x;
    }
    sums.PGP += PGP.sum();
    sums.DGD += DGD.sum();
    sums.DME += DME.sum();
    sums.PME += PME.sum();
    sums.AXC += AXC.sum();
  };
  const Index whole = n - n % 2;
  accumulate(Eigen::Array<double, 2, 1>(), 0, whole);
  accumulate(Eigen::Array<double, 1, 1>(), whole, n);
}

// The descent's state and workspace. Names follow the paper; a trailing t marks a transposed
// matrix, and AB a pair of matrices, the visual one (r rows) on top of the semantic one (q rows):
// one product then serves both.
//
// Nothing but H ties the model to a basis of the concept space. The equations for A and B are solved in one that suits
// CC', and the descent goes on from there, in yet another basis after each iteration; only the results are rotated
// back.
class Descent {
public:
  Descent(const Spectrum& spectrum, const Settings& settings);

  void begin(const Start& start);
  bool finite() const { return std::isfinite(CC_size_) && XYCt_.allFinite(); }
  void update_projections();
  void update_concepts(const Poll& poll);
  // The terms of the objective, and a bound on the rounding errors of their sum.
  Terms objective(double& noise) const;
  Stationarity stationarity();

  // x' in the original basis of the concept space, for x' = A', B', P' or E'
  template <class M>
  MatrixD rotate_back(const M& xt) const {
    MatrixD out(xt.rows(), k_);
    gemm(Op::none, Op::transpose, 1, xt, basis_, 0, out);
    return out;
  }

  auto At() const { return data_.visual_rows(ABt_); }    // r x k
  auto Bt() const { return data_.semantic_rows(ABt_); }  // q x k
  auto Pt() const { return PEt_.topRows(r_); }           // r x k
  auto Et() const { return PEt_.bottomRows(c_); }        // c x k: C = P X + E L'

private:
  void find_codes();
  void find_products_with_samples();
  void find_code_gram();
  // |P X + E L'|^2 for any P, E of the right shape
  double squared_norm(const MatrixD& pt, const MatrixD& et) const;
  void find_K();
  // What K E is: l2 Hc' + (l1 + l4) (B Yc)'
  template <class Codes>
  void find_class_side(Codes&& codes) const;
  Index class_of(Index concept_row) const { return class_of_[static_cast<std::size_t>(concept_row)]; }

  const Spectrum& data_;
  const Settings& set_;
  const Index k_, c_, r_, q_;
  std::vector<Index> class_of_;
  const VectorD g_, h_;  // eigenvalues of XX' and of YY'
  const VectorD root_counts_;

  MatrixD basis_;       // of the concept space, k x k
  MatrixD ABt_;         // A' on top of B'
  MatrixD XYCt_;        // X C' on top of Y C'
  MatrixD PEt_;         // P' on top of E'
  MatrixD EMt_;         // M E' on top of Yc N E'
  MatrixD CCt_;         // CC' (k x k), lower triangle
  double CC_size_ = 0;  // what was added up to it, in norm; its rounding errors are relative to that
  MatrixD AAt_, BBt_;   // AA', BB' (k x k), lower triangles
  MatrixD K_;           // k x k, lower triangle; used up by its inversion
  InverseCholeskyFactor K_inverse_;
  MatrixD BYt_;        // (B Yc)'   c x k
  MatrixD half_;       // [XX'P'/2 + M E',  XY']      r x (k + q)
  MatrixD with_P_;     // the transpose of that times P'   (k + q) x k
  MatrixD weighted_;   // E' with its rows times the roots of the counts
  double H_size_ = 0;  // |H|^2
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
      basis_(MatrixD::Identity(k_, k_)),
      ABt_(r_ + q_, k_),
      XYCt_(r_ + q_, k_),
      PEt_(r_ + c_, k_),
      EMt_(r_ + q_, k_),
      CCt_(MatrixD::Zero(k_, k_)),
      AAt_(MatrixD::Zero(k_, k_)),
      BBt_(MatrixD::Zero(k_, k_)),
      K_(k_, k_),
      BYt_(c_, k_),
      half_(r_, k_ + q_),
      with_P_(k_ + q_, k_),
      weighted_(c_, k_) {
  half_.rightCols(q_) = data_.cross;
  const std::vector<Index> block = concept_blocks(k_, c_);
  for (Index cls = 0; cls < c_; ++cls) class_of_.insert(class_of_.end(), block[cls + 1] - block[cls], cls);
  for (Index i = 0; i < k_; ++i) H_size_ += data_.counts[class_of(i)];
}

void Descent::begin(const Start& start) {
  if (const auto* codes = std::get_if<MatrixD>(&start)) {
    const MatrixD CLt = data_.counts.asDiagonal() * *codes;
    gemm(Op::transpose, Op::none, 1, *codes, CLt, 0, CCt_);
    gemm(Op::none, Op::none, 1, data_.class_sums, *codes, 0, XYCt_);
    CC_size_ = CCt_.trace();
    return;
  }
  const auto& sums = std::get<StartStatistics>(start);
  CCt_ = sums.code_gram;
  data_.visual_rows(XYCt_) = data_.visual.project(sums.sample_code);
  gemm(Op::none, Op::none, 1, data_.vectors, sums.class_code_sums, 0, data_.semantic_rows(XYCt_));
  CC_size_ = CCt_.trace();
}

// A:  (l3 CC') A + A XX'      = (1 + l3)  C X'
// B:  (l4 CC') B + B (l1 YY') = (l1 + l4) C Y'
void Descent::update_projections() {
  ABt_.swap(XYCt_);
  shifted_.solve(std::move(CCt_), CC_size_, {{{set_.l3, 1 + set_.l3, g_}, {set_.l4, set_.l1 + set_.l4, set_.l1 * h_}}},
                 ABt_, XYCt_);
  shifted_.rotate(basis_, K_);  // K is about to be overwritten anyway
}

// C:  K C = l2 H + (1 + l3) A X + (l1 + l4) B Y   with   K = (1 + l1 + l2) I + l3 AA' + l4 BB'
//
// The new C is never formed, and nothing larger than C times its own kind is: K^-1 is applied to A
// and B before they are multiplied with the data. (CC' = K^-1 J J' K^-1 would be cheaper, and lose
// twice as many digits.)
void Descent::update_concepts(const Poll& poll) {
  find_codes();
  poll();
  gemm(Op::none, Op::none, 1, data_.class_sums, Et(), 0, EMt_);
  find_products_with_samples();
  find_code_gram();
}

// P = (1 + l3) K^-1 A,   E = K^-1 (l2 Hc + (l1 + l4) B Yc)
void Descent::find_codes() {
  syrk(Op::transpose, 1, At(), 0, AAt_);
  syrk(Op::transpose, 1, Bt(), 0, BBt_);
  find_K();
  K_inverse_.compute(std::move(K_));

  gemm(Op::transpose, Op::none, 1, data_.vectors, Bt(), 0, BYt_);
  PEt_.topRows(r_) = (1 + set_.l3) * At();
  find_class_side(PEt_.bottomRows(c_));
  K_inverse_.divide(PEt_);
}

void Descent::find_K() {
  K_.resize(k_, k_);
  for (Index j = 0; j < k_; ++j)
    K_.col(j).tail(k_ - j) = set_.l3 * AAt_.col(j).tail(k_ - j) + set_.l4 * BBt_.col(j).tail(k_ - j);
  K_.diagonal().array() += 1 + set_.l1 + set_.l2;
}

template <class Codes>
void Descent::find_class_side(Codes&& codes) const {
  for (Index j = 0; j < k_; ++j) {
    if (k_ == c_) {  // Hc is the identity
      codes.col(j) = (set_.l1 + set_.l4) * BYt_.col(j) + set_.l2 * basis_.col(j);
      continue;
    }
    codes.col(j) = (set_.l1 + set_.l4) * BYt_.col(j);
    for (Index i = 0; i < k_; ++i) codes(class_of(i), j) += set_.l2 * basis_(i, j);
  }
}

// X C' = XX'P' + M E',   Y C' = Yc M'P' + Yc N E'
void Descent::find_products_with_samples() {
  sums_ = {};
  for (Index i = 0; i < k_; ++i)
    add_products(r_, g_.data(), ABt_.col(i).data(), PEt_.col(i).data(), EMt_.col(i).data(), XYCt_.col(i).data(),
                 half_.col(i).data(), sums_);
  gemm(Op::transpose, Op::none, 1, half_, Pt(), 0, with_P_);
  data_.semantic_rows(XYCt_) = data_.semantic_rows(EMt_) + with_P_.bottomRows(q_);
}

// CC' = P XX' P' + P M E' + E M'P' + E N E': the first three are F + F' with F = P (XX'P'/2 + M E')
void Descent::find_code_gram() {
  CCt_.resize(k_, k_);
  lower_of_sum_with_transpose(with_P_.topRows(k_), CCt_);
  const auto N = data_.counts.array();
  for (Index i = 0; i < k_; ++i) {
    const auto e = PEt_.col(i).tail(c_).array();
    weighted_.col(i) = root_counts_.array() * e;
    sums_.ENE += (e.square() * N).sum();
    sums_.FNF += ((BYt_.col(i).array() - e).square() * N).sum();
  }
  syrk(Op::transpose, 1, weighted_, 1, CCt_);
  const double PX = std::sqrt(sums_.PGP), EL = std::sqrt(sums_.ENE);
  CC_size_ = (PX + EL) * (PX + EL);
}

double Descent::squared_norm(const MatrixD& pt, const MatrixD& et) const {
  MatrixD pmt(c_, k_);
  gemm(Op::transpose, Op::none, 1, data_.visual_rows(data_.class_sums), pt, 0, pmt);
  return (pt.array().square().colwise() * g_.array()).sum() + 2 * dot(pmt, et) +
         (et.array().square().colwise() * data_.counts.array()).sum();
}

// Each residual is written in the differences that make it small, so that little cancels.
Terms Descent::objective(double& noise) const {
  constexpr double rounding = 8 * std::numeric_limits<double>::epsilon();
  const double BMP = dot(Bt(), with_P_.bottomRows(q_));  // <P M, B Yc>
  const double BYC = dot(Bt(), data_.semantic_rows(XYCt_));
  const auto [AACC, BBCC] = symmetric_dots(AAt_, BBt_, CCt_);
  // l2 <C, H> = <C, K C> - <C, J - l2 H>, because C solves its equation
  const double CC = CCt_.trace(), KCC = (1 + set_.l1 + set_.l2) * CC + set_.l3 * AACC + set_.l4 * BBCC,
               JC = (1 + set_.l3) * sums_.AXC + (set_.l1 + set_.l4) * BYC;
  const auto term = [&](double weight, std::initializer_list<double> parts) {
    double sum = 0;
    for (const double part : parts) {
      sum += part;
      noise += 0.5 * weight * rounding * std::abs(part);
    }
    return 0.5 * weight * (sum < 0 ? 0 : sum);  // NaN stays
  };
  noise = 0;
  return {
      term(1, {sums_.DGD, -2 * sums_.DME, sums_.ENE}), term(set_.l1, {sums_.FNF, -2 * BMP, 2 * sums_.PME, sums_.PGP}),
      set_.l2 == 0 ? 0 : term(1, {set_.l2 * CC, set_.l2 * H_size_, -2 * KCC, 2 * JC}),
      term(set_.l3, {data_.visual_trace, -2 * sums_.AXC, AACC}), term(set_.l4, {data_.semantic_trace, -2 * BYC, BBCC})};
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
  out.visual = relative(At(), g_, set_.l3, 1 + set_.l3, data_.visual_rows(XYCt_));
  out.semantic = relative(Bt(), set_.l1 * h_, set_.l4, set_.l1 + set_.l4, data_.semantic_rows(XYCt_));

  // K C - J in the form P X + E L', against J
  find_K();
  const MatrixD K = full(K_), Jp = (1 + set_.l3) * At();
  MatrixD Je(c_, k_);
  find_class_side(Je);
  MatrixD Rp = Jp, Re = Je;
  gemm(Op::none, Op::none, 1, Pt(), K, -1, Rp);
  gemm(Op::none, Op::none, 1, Et(), K, -1, Re);
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
  results.visual_projection = spectrum.visual.lift(descent.rotate_back(descent.At()));
  poll();
  results.semantic_projection = spectrum.semantic.lift(descent.rotate_back(descent.Bt()));
  if (settings.want_codes) {
    results.codes_of_samples = spectrum.visual.lift(descent.rotate_back(descent.Pt()));
    results.codes_of_classes = descent.rotate_back(descent.Et());
  }
  info.timings.finish = clock.lap();
  return results;
}

}  // namespace jcmspl
