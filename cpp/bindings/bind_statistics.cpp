#include <mutex>

#include "arrays.hpp"
#include "jcmspl/statistics.hpp"
#include "register.hpp"
#include "shared_statistics.hpp"
#include "signals.hpp"

namespace jcmspl::bindings {

namespace {

template <class T>
void update(SharedStatistics& self, const Strided<T>& x, const Labels& labels, bool unit_rows) {
  require(x.ndim() == 2 && labels.ndim() == 1 && x.shape(0) == labels.shape(0), "expected a label for each sample");
  const Samples<T> chunk = samples(x);
  const std::int64_t* label_data = labels.data();
  py::gil_scoped_release release;
  const std::lock_guard lock(self.mutex);
  self.value.update(chunk, label_data, unit_rows, SignalPoll());
}

// Both objects' locks are taken without the GIL, which whoever holds them may need.
template <class Function>
void combine(SharedStatistics& self, SharedStatistics& other, Function function) {
  py::gil_scoped_release release;
  const Statistics copy = other.copy();
  const std::lock_guard lock(self.mutex);
  function(self.value, copy);
}

SharedStatistics from_arrays(const Contiguous<double>& gram, const Contiguous<double>& class_sums,
                             const Contiguous<std::int64_t>& counts) {
  require(gram.ndim() == 2 && class_sums.ndim() == 2 && counts.ndim() == 1 && gram.shape(0) == gram.shape(1) &&
              class_sums.shape(1) == gram.shape(0) && class_sums.shape(0) == counts.shape(0),
          "expected gram (m, m), class_sums (c, m) and counts (c,)");
  SharedStatistics out(gram.shape(0), counts.shape(0));
  out.value.gram_lower = transposed<double>(gram).triangularView<Eigen::Lower>();
  out.value.class_sums = transposed<double>(class_sums);
  out.value.counts = Eigen::Map<const Counts>(counts.data(), counts.shape(0));
  return out;
}

}  // namespace

void register_statistics(py::module_& m) {
  py::class_<SharedStatistics>(m, "Statistics")
      .def(py::init<Index, Index>(), py::arg("n_features"), py::arg("n_classes"))
      .def_static("from_arrays", &from_arrays, py::arg("gram").noconvert(), py::arg("class_sums").noconvert(),
                  py::arg("counts").noconvert())
      .def("update", &update<float>, py::arg("X").noconvert(), py::arg("labels").noconvert(), py::arg("unit_rows"))
      .def("update", &update<double>, py::arg("X").noconvert(), py::arg("labels").noconvert(), py::arg("unit_rows"))
      .def(
          "add",
          [](SharedStatistics& a, SharedStatistics& b) {
            combine(a, b, [](Statistics& x, const Statistics& y) { x.add(y); });
          },
          py::arg("other"))
      .def(
          "subtract",
          [](SharedStatistics& a, SharedStatistics& b) {
            combine(a, b, [](Statistics& x, const Statistics& y) { x.subtract(y); });
          },
          py::arg("other"))
      .def_property_readonly("n_features", [](SharedStatistics& s) { return s.value.n_features(); })
      .def_property_readonly("n_classes", [](SharedStatistics& s) { return s.value.n_classes(); })
      .def_property_readonly("gram", [](SharedStatistics& s) { return to_numpy(s.copy().gram()); })
      .def_property_readonly("class_sums", [](SharedStatistics& s) { return to_numpy(MatrixD(s.copy().class_sums)); })
      .def_property_readonly("counts", [](SharedStatistics& s) { return to_numpy(Counts(s.copy().counts)); });

  py::class_<StartStatistics>(m, "StartStatistics")
      .def(py::init<Index, Index, Index>(), py::arg("n_concepts"), py::arg("n_features"), py::arg("n_classes"))
      .def(
          "update",
          [](StartStatistics& self, const Contiguous<double>& codes, const Contiguous<double>& x,
             const Labels& labels) {
            const auto c = transposed_view(codes), s = transposed_view(x);
            require(c.rows() == self.code_gram.rows() && s.rows() == self.sample_code.rows() && c.cols() == s.cols() &&
                        labels.ndim() == 1 && labels.shape(0) == s.cols(),
                    "expected codes (n, k), samples (n, m) and labels (n,)");
            self.update(c, s, labels.data());
          },
          py::arg("codes").noconvert(), py::arg("X").noconvert(), py::arg("labels").noconvert());
}

}  // namespace jcmspl::bindings
