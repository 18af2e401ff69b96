#pragma once

#include "descent/problem.hpp"
#include "descent/stacked.hpp"
#include "linalg/inverse.hpp"

namespace jcmspl::descent {

// How A X compares with C, over all samples.
struct VisualFit {
  double product = 0;           // <A X, C>
  double squared_distance = 0;  // |A X - C|^2
};

// The state that changes from one iteration to the next. Names follow the paper; a trailing t marks a transposed
// matrix. A, B, X and Y are in the eigenbases of the Spectrum, C in its s coordinates in place of the n samples.
//
// At the start only CC', Y C' and the first r coordinates of C are known: an update of A and B needs no more.
struct Workspace {
  explicit Workspace(const Problem& problem);

  View<double> Ct() { return YCt_on_Ct.bottom(); }
  View<double> YCt() { return YCt_on_Ct.top(); }

  ConstView<double> At() const { return Bt_on_At.bottom(); }   // A'     r x k
  ConstView<double> Bt() const { return Bt_on_At.top(); }      // B'     q x k
  ConstView<double> Ct() const { return YCt_on_Ct.bottom(); }  // C'     s x k
  ConstView<double> YCt() const { return YCt_on_Ct.top(); }    // Y C'   q x k

  // The right-hand sides of the equations of B and A, up to factors by row: Y C' on top of the first r coordinates of
  // C', which are X C' divided by the roots of the eigenvalues of XX'.
  ConstView<double> data_times_Ct(const Problem& problem) const { return YCt_on_Ct.first_rows(problem.q + problem.r); }

  Stacked Bt_on_At;                 // B' on top of A'
  Stacked YCt_on_Ct;                // Y C' on top of C'
  MatrixD CYt;                      // C Y', of which Y C' above is the transpose   k x q
  MatrixD CCt;                      // CC', lower triangle                          k x k
  MatrixD AAt, BBt;                 // AA' and BB', lower triangles                 k x k
  InverseCholeskyFactor K_inverse;  // of K, the matrix of the last update of C
  VisualFit visual_fit;
};

}  // namespace jcmspl::descent
