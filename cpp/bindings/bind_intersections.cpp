#include "arrays.hpp"
#include "jcmspl/linalg/intersections.hpp"
#include "register.hpp"
#include "signals.hpp"

namespace jcmspl::bindings {

namespace {

VectorD checked_weights(const ConstView<double>& samples, const ConstView<double>& thresholds,
                        const Contiguous<double>& weights) {
  require(samples.rows() == thresholds.rows() && weights.ndim() == 1 && weights.size() == samples.rows(),
          "expected samples (n, m), thresholds (c, m) and weights (m,)");
  return Eigen::Map<const VectorD>(weights.data(), weights.size());
}

}  // namespace

void register_intersections(py::module_& m) {
  m.def(
      "intersections",
      [](const Contiguous<double>& x, const Contiguous<double>& v, const Contiguous<double>& weights, Index n_threads) {
        const ConstView<double> samples = transposed_view(x), thresholds = transposed_view(v);
        const VectorD w = checked_weights(samples, thresholds, weights);
        MatrixD out;
        {
          py::gil_scoped_release release;
          intersections(samples, thresholds, w, out, n_threads, SignalPoll());
        }
        return to_numpy(std::move(out));
      },
      py::arg("X").noconvert(), py::arg("thresholds").noconvert(), py::arg("weights").noconvert(),
      py::arg("n_threads"));
  m.def(
      "intersection_gradients",
      [](const Contiguous<double>& x, const Contiguous<double>& v, const Contiguous<double>& weights,
         const Contiguous<double>& factors, Index n_threads) {
        const ConstView<double> samples = transposed_view(x), thresholds = transposed_view(v),
                                of_scores = transposed_view(factors);
        const VectorD w = checked_weights(samples, thresholds, weights);
        require(of_scores.rows() == thresholds.cols() && of_scores.cols() == samples.cols(), "expected factors (n, c)");
        VectorD of_weights = VectorD::Zero(w.size());
        MatrixD of_thresholds = MatrixD::Zero(thresholds.rows(), thresholds.cols());
        {
          py::gil_scoped_release release;
          add_intersection_gradients(samples, thresholds, w, of_scores, of_weights, of_thresholds, n_threads,
                                     SignalPoll());
        }
        const py::array_t<double> first = to_numpy(of_weights);
        return py::make_tuple(first, to_numpy(std::move(of_thresholds)));
      },
      py::arg("X").noconvert(), py::arg("thresholds").noconvert(), py::arg("weights").noconvert(),
      py::arg("factors").noconvert(), py::arg("n_threads"));
}

}  // namespace jcmspl::bindings
