// The orthonormal basis of the concept space that A, B and C are written in.
//
// The update of A and B finds them in another basis, Q, than C is in (linalg/shifted.hpp). All equations hold in any
// orthonormal basis of the concepts; only H is given in one. So there are two ways to continue, and make_concept_basis
// chooses the one with less work:
//
//   FixedBasis   A and B are multiplied with Q', which takes them back to the basis of H.
//   MovingBasis  A, B and C stay in the new basis, which is the product of all Q so far, and H is rotated to it.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "descent/problem.hpp"
#include "descent/workspace.hpp"
#include "linalg/shifted.hpp"

namespace jcmspl::descent {

class ConceptBasis {
public:
  virtual ~ConceptBasis() = default;

  // Solves the equations of B and A with the coefficient CC' (lower triangle), in this basis. Right-hand sides and
  // solutions have the rows of B' on top of those of A'. A moving basis changes by this call.
  virtual void solve(const MatrixD& CCt, const ConstView<double>& rhs, const std::array<ShiftedRows, 2>& parts,
                     View<double> Bt_on_At) = 0;

  // Writes the right-hand side of the equation of C, transposed: (l2 H + (1 + l3) A X + (l1 + l4) B Y)'.
  virtual void find_target(const Workspace& workspace, View<double> target) const = 0;

  // Hc', the codes H of each class, in this basis: c x k.
  virtual MatrixD class_codes() const = 0;

  // Rotates a matrix with k columns from this basis to that of H.
  virtual MatrixD rotated_back(MatrixD x) const = 0;
};

class FixedBasis final : public ConceptBasis {
public:
  explicit FixedBasis(const Problem& problem) : problem_(problem), found_(problem.q + problem.r, problem.k) {}

  void solve(const MatrixD& CCt, const ConstView<double>& rhs, const std::array<ShiftedRows, 2>& parts,
             View<double> Bt_on_At) override;
  void find_target(const Workspace& workspace, View<double> target) const override;
  MatrixD class_codes() const override;
  MatrixD rotated_back(MatrixD x) const override { return x; }

private:
  const Problem& problem_;
  ShiftedSolver shifted_;
  MatrixD found_;  // scratch: the solutions in the basis Q
};

class MovingBasis final : public ConceptBasis {
public:
  explicit MovingBasis(const Problem& problem);

  void solve(const MatrixD& CCt, const ConstView<double>& rhs, const std::array<ShiftedRows, 2>& parts,
             View<double> Bt_on_At) override;
  void find_target(const Workspace& workspace, View<double> target) const override;
  MatrixD class_codes() const override;
  MatrixD rotated_back(MatrixD x) const override;

private:
  const Problem& problem_;
  ShiftedSolver shifted_;
  MatrixD basis_;  // columns: the vectors of this basis in that of H   k x k
  MatrixD next_;   // scratch: the next basis
};

std::unique_ptr<ConceptBasis> make_concept_basis(const Problem& problem);

}  // namespace jcmspl::descent
