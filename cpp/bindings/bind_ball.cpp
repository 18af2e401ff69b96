#include "arrays.hpp"
#include "jcmspl/linalg/ball.hpp"
#include "register.hpp"

namespace jcmspl::bindings {

void register_ball(py::module_& m) {
  m.def(
      "descend_within_ball",
      [](const Contiguous<double>& rows, const Contiguous<double>& owed, const Contiguous<double>& gram, double noise) {
        MatrixD columns = transposed(rows), left = transposed(owed);
        const ConstView<double> products = transposed_view(gram);
        require(left.rows() == columns.rows() && left.cols() == columns.cols() && products.rows() == columns.cols() &&
                    products.cols() == columns.cols(),
                "expected (b, m), (b, m) and (b, b)");
        {
          py::gil_scoped_release release;
          descend_within_ball(products, noise, left, columns);
        }
        return to_numpy(std::move(columns));
      },
      py::arg("rows").noconvert(), py::arg("owed").noconvert(), py::arg("gram").noconvert(), py::arg("noise"));
}

}  // namespace jcmspl::bindings
