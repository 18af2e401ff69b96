#include <pybind11/stl.h>

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "arrays.hpp"
#include "jcmspl/data/half.hpp"
#include "jcmspl/data/start_statistics.hpp"
#include "jcmspl/data/statistics.hpp"
#include "register.hpp"
#include "shared_statistics.hpp"
#include "signals.hpp"

namespace jcmspl::bindings {

namespace {

// Labels are indices, and another thread may write to the caller's array between their check and their use.
template <class T>
std::vector<T> copied(const Contiguous<T>& array) {
  return {array.data(), array.data() + array.size()};
}

using Weights = std::optional<Contiguous<double>>;

template <class T>
void add_chunk(SharedStatistics& self, const Samples<T>& chunk, const Labels& labels, Scaling scaling, Index first_row,
               const Weights& weights, Index n_threads) {
  require(labels.ndim() == 1 && chunk.rows == labels.shape(0), "expected a label for each sample");
  require(!weights || (weights->ndim() == 1 && weights->shape(0) == chunk.rows), "expected a weight for each sample");
  const std::vector<std::int64_t> own_labels = copied(labels);
  const std::int64_t* label_data = own_labels.data();
  const std::vector<double> own_weights = weights ? copied(*weights) : std::vector<double>();
  const double* weight_data = weights ? own_weights.data() : nullptr;
  py::gil_scoped_release release;
  try {
    // A large chunk is summed outside the lock, where it may poll for signals.
    if (chunk.rows > self.block_rows) {
      Statistics part =
          Statistics::of(chunk, label_data, self.n_classes, scaling, SignalPoll(), weight_data, n_threads);
      self.with([&](Statistics& total) { total.add(std::move(part)); });
    } else {
      self.with([&](Statistics& total) { total.update(chunk, label_data, scaling, [] {}, weight_data); });
    }
  } catch (const BadValue& e) {
    throw BadValue(first_row + e.row, e.finite);
  }
}

template <class T>
void update(SharedStatistics& self, const Strided<T>& x, const Labels& labels, bool unit_rows, bool roots,
            Index first_row, const Weights& weights, Index n_threads) {
  add_chunk(self, samples(x), labels, {roots, unit_rows}, first_row, weights, n_threads);
}

// NumPy has no type for bfloat16, and pybind11 none for float16: both come as the integers with their bits.
template <class T>
void update_bits(SharedStatistics& self, const Strided<std::uint16_t>& bits, const Labels& labels, bool unit_rows,
                 bool roots, Index first_row, const Weights& weights, Index n_threads) {
  const auto [data, rows, cols, row_stride, col_stride] = samples(bits);
  const Samples<T> chunk{reinterpret_cast<const T*>(data), rows, cols, row_stride, col_stride};
  add_chunk(self, chunk, labels, {roots, unit_rows}, first_row, weights, n_threads);
}

template <class Class, class Function>
void define_update(Class& statistics, const char* name, Function function) {
  statistics.def(name, function, py::arg("X").noconvert(), py::arg("labels").noconvert(), py::arg("unit_rows"),
                 py::arg("roots") = false, py::arg("first_row") = 0, py::arg("weights") = py::none(),
                 py::arg("n_threads") = 1);
}

template <class Function>
void combine(SharedStatistics& self, SharedStatistics& other, Function function) {
  py::gil_scoped_release release;
  Statistics copy = other.with([](const Statistics& s) { return s; });
  self.with([&](Statistics& total) { function(total, std::move(copy)); });
}

// A copy of a part of the statistics, taken without the GIL.
template <class Function>
auto snapshot(SharedStatistics& self, Function part) {
  py::gil_scoped_release release;
  return self.with(part);
}

std::unique_ptr<SharedStatistics> from_arrays(const Contiguous<double>& gram, const Contiguous<double>& class_sums,
                                              const Contiguous<double>& counts) {
  require(gram.ndim() == 2 && class_sums.ndim() == 2 && counts.ndim() == 1 && gram.shape(0) == gram.shape(1) &&
              class_sums.shape(1) == gram.shape(0) && class_sums.shape(0) == counts.shape(0),
          "expected gram (m, m), class_sums (c, m) and counts (c,)");
  Statistics out(gram.shape(0), counts.shape(0));
  out.gram_lower = transposed<double>(gram).triangularView<Eigen::Lower>();
  out.class_sums = transposed<double>(class_sums);
  out.counts = Eigen::Map<const VectorD>(counts.data(), counts.shape(0));
  return std::make_unique<SharedStatistics>(std::move(out));
}

template <class Code, class T>
void update_start(SharedStart& self, const Strided<Code>& codes, const Strided<T>& x, const Labels& labels) {
  const Samples<Code> c = samples(codes);
  const Samples<T> s = samples(x);
  require(labels.ndim() == 1 && labels.shape(0) == s.rows, "expected a label for each sample");
  const std::vector<std::int64_t> own_labels = copied(labels);
  py::gil_scoped_release release;
  self.with([&](StartStatistics& start) { start.update(c, s, own_labels.data()); });
}

template <class Code, class T>
void register_update(py::class_<SharedStart>& start) {
  start.def("update", &update_start<Code, T>, py::arg("codes").noconvert(), py::arg("X").noconvert(),
            py::arg("labels").noconvert());
}

}  // namespace

void register_statistics(py::module_& m) {
  py::class_<SharedStatistics> statistics(m, "Statistics");
  define_update(statistics, "update", &update<float>);
  define_update(statistics, "update", &update<double>);
  define_update(statistics, "update_float16", &update_bits<Half>);
  define_update(statistics, "update_bfloat16", &update_bits<BFloat16>);
  statistics.def(py::init<Index, Index>(), py::arg("n_features"), py::arg("n_classes"))
      .def_static("from_arrays", &from_arrays, py::arg("gram").noconvert(), py::arg("class_sums").noconvert(),
                  py::arg("counts").noconvert())
      .def(
          "add",
          [](SharedStatistics& self, SharedStatistics& other) {
            combine(self, other, [](Statistics& x, Statistics&& y) { x.add(std::move(y)); });
          },
          py::arg("other"))
      .def(
          "subtract",
          [](SharedStatistics& self, SharedStatistics& other) {
            combine(self, other, [](Statistics& x, Statistics&& y) { x.subtract(y); });
          },
          py::arg("other"))
      .def_readonly("n_features", &SharedStatistics::n_features)
      .def_readonly("n_classes", &SharedStatistics::n_classes)
      .def_readonly("block_rows", &SharedStatistics::block_rows)
      .def_property_readonly(
          "gram",
          [](SharedStatistics& self) { return to_numpy(snapshot(self, [](const Statistics& s) { return s.gram(); })); })
      .def_property_readonly("squares",
                             [](SharedStatistics& self) {
                               return to_numpy<double>(snapshot(
                                   self, [](const Statistics& s) -> VectorD { return s.gram_lower.diagonal(); }));
                             })
      .def_property_readonly("class_sums",
                             [](SharedStatistics& self) {
                               return to_numpy(snapshot(self, [](const Statistics& s) { return s.class_sums; }));
                             })
      .def_property_readonly("counts", [](SharedStatistics& self) {
        return to_numpy(snapshot(self, [](const Statistics& s) { return s.counts; }));
      });

  py::class_<SharedStart> start(m, "StartStatistics");
  start.def(py::init<Index, Index, Index>(), py::arg("n_concepts"), py::arg("n_features"), py::arg("n_classes"));
  register_update<double, double>(start);
  register_update<double, float>(start);
  register_update<float, double>(start);
  register_update<float, float>(start);
}

}  // namespace jcmspl::bindings
