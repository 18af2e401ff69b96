#include "arrays.hpp"
#include "jcmspl/linalg/lasso.hpp"
#include "register.hpp"
#include "signals.hpp"

namespace jcmspl::bindings {

void register_lasso(py::module_& m) {
  m.def(
      "sparse_codes",
      [](const Contiguous<double>& gram, const Contiguous<double>& products, const Contiguous<double>& squares,
         double penalty, double tolerance, Index max_sweeps, Index n_threads) {
        const MatrixD of_atoms = transposed(gram);
        const ConstView<double> of_samples = transposed_view(products);
        require(of_atoms.rows() == of_atoms.cols() && of_atoms.rows() == of_samples.rows() && of_atoms.rows() > 0 &&
                    squares.ndim() == 1 && squares.size() == of_samples.cols(),
                "expected (r, r), (n, r) and (n,)");
        const VectorD lengths = Eigen::Map<const VectorD>(squares.data(), squares.size());
        MatrixD codes;
        VectorD values, gaps;
        {
          py::gil_scoped_release release;
          sparse_codes(of_atoms, of_samples, lengths, {penalty, tolerance, max_sweeps}, codes, values, gaps, n_threads,
                       SignalPoll());
        }
        const py::array_t<double> least = to_numpy(values), above = to_numpy(gaps);
        return py::make_tuple(to_numpy(std::move(codes)), least, above);
      },
      py::arg("gram").noconvert(), py::arg("products").noconvert(), py::arg("squares").noconvert(), py::arg("penalty"),
      py::arg("tolerance"), py::arg("max_sweeps"), py::arg("n_threads"));
}

}  // namespace jcmspl::bindings
