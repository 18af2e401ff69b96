#include "arrays.hpp"
#include "jcmspl/linalg/simplex.hpp"
#include "register.hpp"
#include "signals.hpp"

namespace jcmspl::bindings {

void register_simplex(py::module_& m) {
  m.def(
      "project_onto_simplex",
      [](const Contiguous<double>& rows) {
        MatrixD columns = transposed(rows);
        {
          py::gil_scoped_release release;
          project_onto_simplex(columns, SignalPoll());
        }
        return to_numpy(std::move(columns));
      },
      py::arg("rows").noconvert());
  m.def(
      "minimise_on_simplex",
      [](const Contiguous<double>& quadratic, const Contiguous<double>& linear, Index n_threads) {
        const MatrixD q = transposed(quadratic);
        const ConstView<double> b = transposed_view(linear);
        require(q.rows() == q.cols() && q.rows() == b.rows() && q.rows() > 0, "expected (p, p) and (n, p)");
        MatrixD z;
        VectorD gaps;
        {
          py::gil_scoped_release release;
          minimise_on_simplex(q, b, z, gaps, n_threads, SignalPoll());
        }
        const py::array_t<double> of_columns = to_numpy(gaps);
        return py::make_tuple(to_numpy(std::move(z)), of_columns);
      },
      py::arg("quadratic").noconvert(), py::arg("linear").noconvert(), py::arg("n_threads"));
}

}  // namespace jcmspl::bindings
