#include <pybind11/functional.h>
#include <pybind11/stl.h>

#include <functional>
#include <optional>

#include "arrays.hpp"
#include "jcmspl/descent/concept_blocks.hpp"
#include "jcmspl/descent/solve.hpp"
#include "register.hpp"
#include "shared_statistics.hpp"
#include "signals.hpp"

namespace jcmspl::bindings {

namespace {

using namespace descent;

// One row of five terms for each iteration.
py::array_t<double> terms(const Info& info) {
  py::array_t<double> out({static_cast<py::ssize_t>(info.terms.size()), py::ssize_t(5)});
  double* value = out.mutable_data();
  for (const Terms& t : info.terms)
    for (const double term : {t.visual_projection, t.semantic_projection, t.class_codes, t.visual_reconstruction,
                              t.semantic_reconstruction})
      *value++ = term;
  return out;
}

// A property: a matrix of the results as an array, without a copy; the array keeps the results alive. None for an empty
// matrix.
template <MatrixD Results::* member>
std::optional<py::array_t<double>> matrix(const py::object& self) {
  const MatrixD& stored = self.cast<const Results&>().*member;
  if (stored.size() == 0) return std::nullopt;
  return view_as_numpy(stored, self);
}

void register_settings(py::module_& m) {
  py::class_<Settings>(m, "Settings")
      .def(py::init([](double l1, double l2, double l3, double l4, Index n_concepts, int max_iter, double tol,
                       bool want_codes) { return Settings{l1, l2, l3, l4, n_concepts, max_iter, tol, want_codes}; }),
           py::kw_only(), py::arg("l1"), py::arg("l2"), py::arg("l3"), py::arg("l4"), py::arg("n_concepts"),
           py::arg("max_iter"), py::arg("tol"), py::arg("want_codes"))
      .def_readonly("l1", &Settings::l1)
      .def_readonly("l2", &Settings::l2)
      .def_readonly("l3", &Settings::l3)
      .def_readonly("l4", &Settings::l4)
      .def_readonly("n_concepts", &Settings::n_concepts)
      .def_readonly("max_iter", &Settings::max_iter)
      .def_readonly("tol", &Settings::tol)
      .def_readonly("want_codes", &Settings::want_codes);
}

void register_results(py::module_& m) {
  py::class_<Stationarity>(m, "Stationarity")
      .def_readonly("visual", &Stationarity::visual)
      .def_readonly("semantic", &Stationarity::semantic)
      .def_readonly("concepts", &Stationarity::concepts);
  py::class_<Timings>(m, "Timings")
      .def_readonly("start", &Timings::start)
      .def_readonly("projections", &Timings::projections)
      .def_readonly("concepts", &Timings::concepts)
      .def_readonly("objective", &Timings::objective)
      .def_readonly("finish", &Timings::finish);
  py::class_<Info>(m, "Info")
      .def_readonly("n_iter", &Info::n_iter)
      .def_readonly("converged", &Info::converged)
      .def_property_readonly("terms", &terms)
      .def_readonly("stationarity", &Info::stationarity)
      .def_readonly("timings", &Info::timings);
  py::class_<Results>(m, "Results")
      .def_property_readonly("visual_projection", &matrix<&Results::visual_projection>)
      .def_property_readonly("semantic_projection", &matrix<&Results::semantic_projection>)
      .def_property_readonly("codes_of_samples", &matrix<&Results::codes_of_samples>)
      .def_property_readonly("codes_of_classes", &matrix<&Results::codes_of_classes>)
      .def_readonly("info", &Results::info);
}

using Callback = std::optional<std::function<void(int, double)>>;

Results run(const Spectrum& spectrum, const Settings& settings, const Start& start, const Callback& on_iteration,
            Index n_threads) {
  OnIteration report = [](int, double) {};
  if (on_iteration)
    report = [&](int iteration, double objective) {
      py::gil_scoped_acquire gil;
      (*on_iteration)(iteration, objective);
    };
  py::gil_scoped_release release;
  return descent::solve(spectrum, settings, start, report, {n_threads, SignalPoll()});
}

Results solve_from_class_codes(const Spectrum& spectrum, const Settings& settings, const Contiguous<double>& codes,
                               const Callback& on_iteration, Index n_threads) {
  MatrixD start = transposed(codes);  // E0'
  require(start.rows() == spectrum.n_classes() && start.cols() == settings.n_concepts,
          "expected class codes of shape (n_concepts, n_classes)");
  return run(spectrum, settings, std::move(start), on_iteration, n_threads);
}

Results solve_from_sample_codes(const Spectrum& spectrum, const Settings& settings, SharedStart& shared,
                                const Callback& on_iteration, Index n_threads) {
  const StartStatistics start = [&] {
    py::gil_scoped_release release;
    return shared.with([](const StartStatistics& s) { return s; });
  }();
  require(start.n_classes() == spectrum.n_classes() && start.n_concepts() == settings.n_concepts &&
              start.n_features() == spectrum.visual.dimension(),
          "the start has other numbers of concepts, features or classes");
  return run(spectrum, settings, start, on_iteration, n_threads);
}

}  // namespace

void register_descent(py::module_& m) {
  register_settings(m);
  register_results(m);
  m.def("concept_blocks", &descent::concept_blocks, py::arg("n_concepts"), py::arg("n_classes"));
  m.def("solve", &solve_from_class_codes, py::arg("spectrum"), py::arg("settings"), py::arg("class_codes").noconvert(),
        py::arg("on_iteration") = py::none(), py::arg("n_threads") = 1);
  m.def("solve", &solve_from_sample_codes, py::arg("spectrum"), py::arg("settings"), py::arg("start"),
        py::arg("on_iteration") = py::none(), py::arg("n_threads") = 1);
}

}  // namespace jcmspl::bindings
