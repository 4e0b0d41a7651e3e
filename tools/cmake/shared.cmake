# For folders whose libraries become part of a shared one too, the Python module: from here on position-independent code,
# whose functions the compiler inlines within a file as it does in a program.
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
add_compile_options(-fno-semantic-interposition)
