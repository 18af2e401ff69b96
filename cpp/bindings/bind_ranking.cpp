#include <pybind11/stl.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "arrays.hpp"
#include "jcmspl/ranking/ranking.hpp"
#include "register.hpp"
#include "signals.hpp"

namespace jcmspl::bindings {

namespace {

using ranking::Ranking;
using ranking::Violators;

// A (k, d, m) array is k matrices, m x d each.
std::vector<MatrixD> maps_of(const Contiguous<double>& array) {
  require(array.ndim() == 3 && array.size() > 0, "expected maps (k, d, m)");
  const Index rows = array.shape(2), cols = array.shape(1);
  std::vector<MatrixD> maps;
  for (Index k = 0; k < array.shape(0); ++k)
    maps.emplace_back(Eigen::Map<const MatrixD>(array.data() + k * rows * cols, rows, cols));
  return maps;
}

py::array_t<double> to_array(const std::vector<MatrixD>& maps) {
  const Index rows = maps.front().rows(), cols = maps.front().cols();
  py::array_t<double> array({static_cast<Index>(maps.size()), cols, rows});
  double* data = array.mutable_data();
  for (const MatrixD& map : maps) data = std::copy(map.data(), map.data() + map.size(), data);
  return array;
}

Ranking make(const Contiguous<double>& start, const Contiguous<double>& vectors, Violators violators, double margin,
             double rate, std::uint64_t seed, bool average) {
  std::vector<MatrixD> maps = maps_of(start);
  MatrixD columns = transposed(vectors);
  require(columns.rows() == maps.front().cols() && columns.cols() > 0, "expected class vectors (c, d)");
  return Ranking(std::move(maps), std::move(columns), {violators, margin, rate, seed, average});
}

std::pair<double, Index> learn(Ranking& self, const Contiguous<double>& x, const Labels& labels,
                               const std::optional<Contiguous<double>>& weights) {
  const ConstView<double> samples = transposed_view(x);
  require(samples.rows() == self.n_features(), "expected samples (n, m)");
  require(labels.ndim() == 1 && labels.shape(0) == samples.cols(), "expected a label for each sample");
  require(!weights || (weights->ndim() == 1 && weights->shape(0) == samples.cols()),
          "expected a weight for each sample");
  const auto is_class = [&](std::int64_t label) { return label >= 0 && label < self.n_classes(); };
  require(std::all_of(labels.data(), labels.data() + labels.size(), is_class), "expected labels 0..c-1");
  const double* factors = weights ? weights->data() : nullptr;
  py::gil_scoped_release release;
  const ranking::Progress progress = self.learn(samples, labels.data(), factors, SignalPoll());
  return {progress.loss, progress.n_updates};
}

void keep(Ranking& self, const std::vector<Index>& some) {
  const Index n_maps = static_cast<Index>(self.maps().size());
  Index last = -1;
  for (const Index k : some) {
    require(k > last && k < n_maps, "expected ascending numbers of maps");
    last = k;
  }
  require(!some.empty(), "expected a map to keep");
  self.keep(some);
}

}  // namespace

void register_ranking(py::module_& m) {
  py::enum_<Violators>(m, "Violators")
      .value("any", Violators::any)
      .value("worst", Violators::worst)
      .value("all", Violators::all);
  py::class_<Ranking>(m, "Ranking")
      .def(py::init(&make), py::arg("maps").noconvert(), py::arg("vectors").noconvert(), py::kw_only(),
           py::arg("violators"), py::arg("margin"), py::arg("rate"), py::arg("seed"), py::arg("average"))
      .def("learn", &learn, py::arg("X").noconvert(), py::arg("labels").noconvert(),
           py::arg("weights").noconvert() = py::none())
      .def_property_readonly("maps", [](const Ranking& self) { return to_array(self.maps()); })
      .def_property_readonly("mean_maps", [](const Ranking& self) { return to_array(self.mean_maps()); })
      .def_property_readonly("choices", &Ranking::choices)
      .def("keep", &keep, py::arg("maps"));
}

}  // namespace jcmspl::bindings
