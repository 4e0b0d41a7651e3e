# Every third-party package in one place. Where each may be included from is checked by tools/check_style.py.
find_package(Threads REQUIRED)
find_package(PkgConfig REQUIRED)
find_package(Protobuf REQUIRED)            # before ONNX: ONNXTargets.cmake names protobuf::libprotobuf
find_package(ONNX REQUIRED CONFIG)
find_package(Boost 1.81 REQUIRED)
find_package(TBB REQUIRED)
find_package(yaml-cpp REQUIRED)
find_package(CLI11 REQUIRED)
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(Eigen3 REQUIRED)
find_package(FlatBuffers REQUIRED CONFIG)
find_package(ZLIB REQUIRED)
pkg_check_modules(XXHASH REQUIRED IMPORTED_TARGET libxxhash)
pkg_check_modules(HIREDIS REQUIRED IMPORTED_TARGET hiredis)
set(MPI_CXX_SKIP_MPICXX ON)
find_package(MPI QUIET COMPONENTS CXX)     # optional: simulator/mpi is built where it is there
pkg_check_modules(SYSTEMC REQUIRED IMPORTED_TARGET systemc)

# Debian builds SystemC as C++17; from C++20 it links only when told so.
add_library(systemc_cxx17 INTERFACE)
target_link_libraries(systemc_cxx17 INTERFACE PkgConfig::SYSTEMC)
target_compile_definitions(systemc_cxx17 INTERFACE SC_CPLUSPLUS=201703L)
