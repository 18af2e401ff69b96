#include "descent/workspace.hpp"

namespace jcmspl::descent {

Workspace::Workspace(const Problem& problem)
    : Bt_on_At(problem.q, problem.r, problem.k),
      YCt_on_Ct(problem.q, problem.s, problem.k),
      CYt(problem.k, problem.q),
      CCt(MatrixD::Zero(problem.k, problem.k)),
      AAt(MatrixD::Zero(problem.k, problem.k)),
      BBt(MatrixD::Zero(problem.k, problem.k)) {}

}  // namespace jcmspl::descent
