// SPDX-FileCopyrightText: the tbk authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <generic/program.h>

namespace tbk::generic {

/// Names what a reduction computes. Values in brackets are its outputs; NaN stays, but for kNanSum and
/// the ones of truth values, and of equal extremes the first counts.
enum class Recipe : uint8_t {
  kSum,        ///< [sum]; 0 of nothing
  kNanSum,     ///< [sum of what is no NaN]
  kProd,       ///< [product]; 1 of nothing
  kMean,       ///< [sum / number 0]
  kAny,        ///< [whether one is not 0]
  kAll,        ///< [whether none is 0]
  kCount,      ///< [how many are not 0]
  kMax,        ///< [greatest]
  kMaxFinite,  ///< [greatest, or 0 where that is infinite]
  kMin,        ///< [least]
  kMinMax,     ///< [least, greatest]
  kMaxIndex,   ///< [greatest, where], the place an INT64 in the inner space
  kMinIndex,   ///< [least, where]
  kArgMax,     ///< [where]
  kArgMin,     ///< [where]
  kVar,        ///< [squared deviations / number 0]
  kStd,        ///< [its root]
  kVarMean,    ///< [variance as above, mean]
  kStdMean,    ///< [its root, mean]
  kScale,  ///< [1 / root of (sum of squares of differences of two inputs / number 0 + number 1)]
  kLogSumExp,  ///< [logarithm of the sum of exponentials]
  kSumExp,     ///< [sum of exponentials of differences of two inputs]
  kLogOfSum,   ///< [logarithm of that]
  kNorm1,      ///< [sum of sizes]
  kNorm2,      ///< [root of the sum of squares]
  kNormMost,   ///< [greatest size]
  kNormLeast,  ///< [least size]
  kNormP,      ///< [(sum of sizes to the power number 0) to the power 1 / number 0]
  kDot,        ///< [sum of products of two inputs]
};

/// Returns the reduction `recipe` of inputs of dtype `in`, which are cast to `as` before anything is
/// computed, with values returned as `out`. The same address each time. NULL where it has no meaning
/// for these dtypes. Numbers are of the dtype that `as` is computed in, and so is what is taken away in a
/// difference. Any thread.
const Reduction* reduction_of(Recipe recipe, at::ScalarType in, at::ScalarType as,
                              at::ScalarType out);

}  // namespace tbk::generic
