// Matrix types of the core. All are column-major, as BLAS expects.
//
// A C-contiguous NumPy array of shape (r, c) has the memory of a column-major c x r matrix. The core therefore keeps
// every "k x m" matrix of the paper transposed, as m x k, and the bindings pass it on without a copy.
#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <functional>

namespace jcmspl {

using Index = Eigen::Index;

template <class T>
using Matrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic>;
template <class T>
using Vector = Eigen::Matrix<T, Eigen::Dynamic, 1>;

// Views with unit inner stride and any leading dimension: the shape of a BLAS argument.
template <class T>
using View = Eigen::Map<Matrix<T>, 0, Eigen::OuterStride<>>;
template <class T>
using ConstView = Eigen::Map<const Matrix<T>, 0, Eigen::OuterStride<>>;

using MatrixD = Matrix<double>;
using VectorD = Vector<double>;

template <class Derived>
View<typename Derived::Scalar> view(Eigen::MatrixBase<Derived>& a) {
  return {a.derived().data(), a.rows(), a.cols(), Eigen::OuterStride<>(a.derived().outerStride())};
}

// Called between two kernels of a long computation; may throw to stop it.
using Poll = std::function<void()>;

}  // namespace jcmspl
