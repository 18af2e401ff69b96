#include <memory>
#include <optional>
#include <utility>

#include "arrays.hpp"
#include "jcmspl/data/normalisation.hpp"
#include "register.hpp"
#include "shared_statistics.hpp"
#include "signals.hpp"

namespace jcmspl::bindings {

namespace {

using Values = Contiguous<double>;

VectorD of_columns(const SharedStatistics& statistics, const Values& values) {
  require(values.ndim() == 1 && values.shape(0) == statistics.n_features, "expected a value for each column");
  return Eigen::Map<const VectorD>(values.data(), values.shape(0));
}

std::unique_ptr<SharedStatistics> shared(Statistics&& statistics) {
  return std::make_unique<SharedStatistics>(std::move(statistics));
}

Statistics copy_of(SharedStatistics& statistics) {
  return statistics.with([](const Statistics& s) { return s; });
}

std::unique_ptr<SharedStatistics> shift_and_scale(SharedStatistics& self, const Values& shift, const Values& scale,
                                                  const Values& noise) {
  const VectorD shifts = of_columns(self, shift), scales = of_columns(self, scale), noises = of_columns(self, noise);
  py::gil_scoped_release release;
  return shared(shifted_and_scaled(copy_of(self), shifts, scales, noises));
}

py::object whiten_statistics(SharedStatistics& self, double shrinkage, const Values& noise, bool symmetric,
                             Index n_threads) {
  const VectorD noises = of_columns(self, noise);
  std::optional<Whitening> out;
  {
    py::gil_scoped_release release;
    out = whiten(copy_of(self), shrinkage, noises, symmetric, {n_threads, SignalPoll()});
  }
  if (!out) return py::none();
  return py::make_tuple(to_numpy(std::move(out->Tt)), shared(std::move(out->statistics)));
}

std::unique_ptr<SharedStatistics> whitened_by(SharedStatistics& self, const Values& T, const Values& noise,
                                              Index n_threads) {
  const VectorD noises = of_columns(self, noise);
  const MatrixD Tt = transposed(T);
  require(Tt.rows() == self.n_features, "expected a matrix with a column for each feature");
  py::gil_scoped_release release;
  return shared(whitened(copy_of(self), Tt, noises, {n_threads, SignalPoll()}));
}

}  // namespace

void register_normalisation(py::module_& m) {
  m.def("shift_and_scale", &shift_and_scale, py::arg("statistics"), py::arg("shift").noconvert(),
        py::arg("scale").noconvert(), py::arg("noise").noconvert());
  m.def("whiten", &whiten_statistics, py::arg("statistics"), py::arg("shrinkage"), py::arg("noise").noconvert(),
        py::arg("symmetric"), py::arg("n_threads"));
  m.def("whitened_by", &whitened_by, py::arg("statistics"), py::arg("T").noconvert(), py::arg("noise").noconvert(),
        py::arg("n_threads"));
}

}  // namespace jcmspl::bindings
