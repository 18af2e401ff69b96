// Conversion between NumPy arrays and the core's matrices. A C-contiguous (r, c) array is a column-major c x r matrix.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <memory>
#include <utility>

#include "jcmspl/data/samples.hpp"
#include "jcmspl/support/types.hpp"

namespace jcmspl::bindings {

namespace py = pybind11;

// Arrays of exactly this dtype, which the Python side has made C-contiguous.
template <class T>
using Contiguous = py::array_t<T, py::array::c_style>;
// Arrays of exactly this dtype, with any strides.
template <class T>
using Strided = py::array_t<T, 0>;
using Labels = Contiguous<std::int64_t>;

inline void require(bool condition, const char* message) {
  if (!condition) throw py::value_error(message);
}

template <class T>
Matrix<T> transposed(const Contiguous<T>& a) {
  require(a.ndim() == 2, "expected a two-dimensional array");
  return Eigen::Map<const Matrix<T>>(a.data(), a.shape(1), a.shape(0));
}

template <class T>
ConstView<T> transposed_view(const Contiguous<T>& a) {
  require(a.ndim() == 2, "expected a two-dimensional array");
  return {a.data(), a.shape(1), a.shape(0), Eigen::OuterStride<>(a.shape(1))};
}

// Passes a matrix to NumPy without a copy, as the array of its transpose.
template <class T>
py::array_t<T> to_numpy(Matrix<T>&& matrix) {
  auto owner = std::make_unique<Matrix<T>>(std::move(matrix));
  const py::ssize_t rows = owner->cols(), cols = owner->rows();
  T* data = owner->data();
  py::capsule capsule(owner.release(), [](void* p) { delete static_cast<Matrix<T>*>(p); });
  return py::array_t<T>({rows, cols}, data, capsule);
}

// The array of a matrix's transpose in the matrix's own memory, which owner keeps alive.
template <class T>
py::array_t<T> view_as_numpy(const Matrix<T>& matrix, const py::object& owner) {
  return py::array_t<T>({matrix.cols(), matrix.rows()}, matrix.data(), owner);
}

template <class T>
py::array_t<T> to_numpy(const Vector<T>& vector) {
  return py::array_t<T>(vector.size(), vector.data());
}

template <class T>
Samples<T> samples(const Strided<T>& x) {
  constexpr auto size = static_cast<py::ssize_t>(sizeof(T));
  require(x.ndim() == 2, "expected a two-dimensional array");
  require(x.strides(0) % size == 0 && x.strides(1) % size == 0 &&
              reinterpret_cast<std::uintptr_t>(x.data()) % alignof(T) == 0,
          "expected an aligned array");
  return {x.data(), x.shape(0), x.shape(1), x.strides(0) / size, x.strides(1) / size};
}

}  // namespace jcmspl::bindings
