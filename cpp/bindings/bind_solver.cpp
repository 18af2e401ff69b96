#include <pybind11/functional.h>
#include <pybind11/stl.h>

#include <optional>

#include "arrays.hpp"
#include "jcmspl/descent/concept_blocks.hpp"
#include "jcmspl/descent/solve.hpp"
#include "register.hpp"
#include "shared_statistics.hpp"
#include "signals.hpp"

namespace jcmspl::bindings {

namespace {

py::dict timings(const Timings& t) {
  py::dict out;
  out["start"] = t.start;
  out["projections"] = t.projections;
  out["concepts"] = t.concepts;
  out["objective"] = t.objective;
  out["finish"] = t.finish;
  return out;
}

py::array_t<double> terms(const std::vector<Terms>& terms) {
  py::array_t<double> out({static_cast<py::ssize_t>(terms.size()), py::ssize_t(5)});
  auto view = out.mutable_unchecked<2>();
  for (std::size_t i = 0; i < terms.size(); ++i) {
    const auto row = static_cast<py::ssize_t>(i);
    view(row, 0) = terms[i].visual_projection;
    view(row, 1) = terms[i].semantic_projection;
    view(row, 2) = terms[i].class_codes;
    view(row, 3) = terms[i].visual_reconstruction;
    view(row, 4) = terms[i].semantic_reconstruction;
  }
  return out;
}

py::dict as_dict(Results&& results) {
  const Info& info = results.info;
  py::dict out;
  out["n_iter"] = info.n_iter;
  out["converged"] = info.converged;
  out["terms"] = terms(info.terms);
  out["stationarity"] =
      py::make_tuple(info.stationarity.visual, info.stationarity.semantic, info.stationarity.concepts);
  out["timings"] = timings(info.timings);
  out["visual_projection"] = to_numpy(std::move(results.visual_projection));
  out["semantic_projection"] = to_numpy(std::move(results.semantic_projection));
  out["codes_of_samples"] = to_numpy(std::move(results.codes_of_samples));  // empty unless wanted
  out["codes_of_classes"] = to_numpy(std::move(results.codes_of_classes));
  return out;
}

using Callback = std::optional<std::function<void(int, double)>>;

py::dict run(const Spectrum& spectrum, const Settings& settings, const Start& start, const Callback& on_iteration) {
  OnIteration report = [](int, double) {};
  if (on_iteration)
    report = [&](int iteration, double objective) {
      py::gil_scoped_acquire gil;
      (*on_iteration)(iteration, objective);
    };
  Results results = [&] {
    py::gil_scoped_release release;
    return solve(spectrum, settings, start, report, SignalPoll());
  }();
  return as_dict(std::move(results));
}

}  // namespace

void register_solver(py::module_& m) {
  py::class_<Spectrum>(m, "Spectrum")
      .def(py::init([](SharedStatistics& shared, const Contiguous<double>& class_vectors) {
             MatrixD vectors = transposed(class_vectors);
             require(vectors.cols() == shared.n_classes, "expected a class vector for each class");
             py::gil_scoped_release release;
             Statistics statistics = shared.with([](const Statistics& s) { return s; });
             return std::make_unique<Spectrum>(std::move(statistics), vectors, SignalPoll());
           }),
           py::arg("statistics"), py::arg("class_vectors").noconvert())
      .def_property_readonly("n_classes", &Spectrum::n_classes)
      .def_property_readonly("visual_eigenvalues", [](const Spectrum& s) { return to_numpy(s.visual.values()); })
      .def_property_readonly("semantic_eigenvalues", [](const Spectrum& s) { return to_numpy(s.semantic.values()); })
      .def_readonly("visual_seconds", &Spectrum::visual_seconds)
      .def_readonly("semantic_seconds", &Spectrum::semantic_seconds);

  py::class_<Settings>(m, "Settings")
      .def(py::init([](double l1, double l2, double l3, double l4, Index n_concepts, int max_iter, double tol,
                       bool want_codes) { return Settings{l1, l2, l3, l4, n_concepts, max_iter, tol, want_codes}; }),
           py::kw_only(), py::arg("l1"), py::arg("l2"), py::arg("l3"), py::arg("l4"), py::arg("n_concepts"),
           py::arg("max_iter"), py::arg("tol"), py::arg("want_codes"));

  m.def("concept_blocks", &concept_blocks, py::arg("n_concepts"), py::arg("n_classes"));
  m.def(
      "solve",
      [](const Spectrum& spectrum, const Settings& settings, const Contiguous<double>& codes, const Callback& report) {
        // (k, c) in C order is E0' (c x k) in column-major order
        MatrixD start = transposed(codes);
        require(start.rows() == spectrum.n_classes() && start.cols() == settings.n_concepts,
                "expected class codes of shape (n_concepts, n_classes)");
        return run(spectrum, settings, std::move(start), report);
      },
      py::arg("spectrum"), py::arg("settings"), py::arg("class_codes").noconvert(),
      py::arg("on_iteration") = py::none());
  m.def(
      "solve",
      [](const Spectrum& spectrum, const Settings& settings, const StartStatistics& start, const Callback& report) {
        require(start.class_code_sums.rows() == spectrum.n_classes() &&
                    start.class_code_sums.cols() == settings.n_concepts &&
                    start.sample_code.rows() == spectrum.visual.dimension(),
                "the start has other numbers of concepts, features or classes");
        return run(spectrum, settings, start, report);
      },
      py::arg("spectrum"), py::arg("settings"), py::arg("start"), py::arg("on_iteration") = py::none());
}

}  // namespace jcmspl::bindings
