// numpy's arrays and the library's: the same memory on both sides.
#pragma once

#include <string>

#include <pybind11/numpy.h>
#include <wafersmith/array.h>

namespace wafersmith::python {

// Borrows the memory of an array in C order and of this computer's byte order, which must stay there; else TypeError.
Array borrow(const std::string& name, const pybind11::array&);
// An array that owns what the library made; bf16, which numpy has not, as its bits in uint16.
pybind11::array hand_over(Array&&);
pybind11::dict hand_over(std::vector<Array>&&);

}  // namespace wafersmith::python
