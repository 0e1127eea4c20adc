// How strongly a weight may answer a signal that is late: the stability limit of a delayed loop.
//
// A loop e(t+1) = e(t) − k·s(t−d), with s an EWMA (α) of e and d the delay in steps, is stable for
// 0 < k < k_max(d, α). From the loop's characteristic equation on the unit circle, z = e^{iθ} with
// θ at most π:
//
//   (d + ½)·θ + arg(1 − (1−α)e^{−iθ}) = π/2
//   k_max = 2·sin(θ/2)·|1 − (1−α)e^{−iθ}| / α
//
// α = 1 gives the closed form 2·sin(π/(2(2d+1))). d may be fractional. `gain` keeps a margin of 3:
// min(1, k_max/3). Cost: about 100 sine evaluations.
#pragma once

namespace steelyard::weigh {

// d ≥ 0, α in (0, 1].
[[nodiscard]] double k_max(double d, double alpha) noexcept;
[[nodiscard]] double gain(double d, double alpha) noexcept;

}  // namespace steelyard::weigh
