#include "arrays.hpp"
#include "jcmspl/data/spectrum.hpp"
#include "register.hpp"
#include "shared_statistics.hpp"
#include "signals.hpp"

namespace jcmspl::bindings {

namespace {

std::unique_ptr<Spectrum> make_spectrum(SharedStatistics& shared, const Contiguous<double>& class_vectors,
                                        double idle_labels, Index n_threads) {
  const MatrixD vectors = transposed(class_vectors);
  require(vectors.cols() == shared.n_classes, "expected a class vector for each class");
  py::gil_scoped_release release;
  Statistics statistics = shared.with([](const Statistics& s) { return s; });
  return std::make_unique<Spectrum>(std::move(statistics), vectors, Team{n_threads, SignalPoll()}, idle_labels);
}

}  // namespace

void register_spectrum(py::module_& m) {
  py::class_<Spectrum>(m, "Spectrum")
      .def(py::init(&make_spectrum), py::arg("statistics"), py::arg("class_vectors").noconvert(),
           py::arg("idle_labels") = 0.0, py::arg("n_threads") = 1)
      .def_property_readonly("n_classes", &Spectrum::n_classes)
      .def_property_readonly("visual_eigenvalues", [](const Spectrum& s) { return to_numpy(s.visual.values()); })
      .def_property_readonly("semantic_eigenvalues", [](const Spectrum& s) { return to_numpy(s.semantic.values()); })
      .def_readonly("visual_seconds", &Spectrum::visual_seconds)
      .def_readonly("semantic_seconds", &Spectrum::semantic_seconds);
}

}  // namespace jcmspl::bindings
