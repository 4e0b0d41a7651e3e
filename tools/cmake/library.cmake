# cs_library(NAME [DEPS targets...] [PRIVATE_DEPS targets...])
#   One static library from every .cpp directly in the current folder. A folder is one library; its headers are public.
function(cs_library name)
  cmake_parse_arguments(ARG "" "" "DEPS;PRIVATE_DEPS;EXTRA" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  list(APPEND sources ${ARG_EXTRA})
  if(sources)
    add_library(${name} STATIC ${sources})
    target_link_libraries(${name} PUBLIC ${ARG_DEPS} PRIVATE ${ARG_PRIVATE_DEPS})
  else()
    add_library(${name} INTERFACE)
    target_link_libraries(${name} INTERFACE ${ARG_DEPS} ${ARG_PRIVATE_DEPS})
  endif()
endfunction()

# cs_tool(NAME DEPS targets...): an executable from every .cpp in the current folder.
function(cs_tool name)
  cmake_parse_arguments(ARG "" "" "DEPS" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  if(sources)
    add_executable(${name} ${sources})
    target_link_libraries(${name} PRIVATE ${ARG_DEPS})
    install(TARGETS ${name})
  endif()
endfunction()

# cs_test(NAME DEPS targets...): a GoogleTest binary from every .cpp in the current folder.
function(cs_test name)
  cmake_parse_arguments(ARG "" "" "DEPS" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  if(sources)
    add_executable(${name} ${sources})
    target_link_libraries(${name} PRIVATE ${ARG_DEPS} GTest::gtest_main GTest::gmock)
    target_compile_definitions(${name} PRIVATE CS_SOURCE_DIR="${PROJECT_SOURCE_DIR}" CS_BINARY_DIR="${PROJECT_BINARY_DIR}")
    gtest_discover_tests(${name} DISCOVERY_TIMEOUT 60 PROPERTIES TIMEOUT 300)
  endif()
endfunction()

# cs_embed(NAME ROOT files...): a generated .cpp that holds the files as text:
#   const std::vector<std::pair<std::string_view, std::string_view>>& cs::embedded_NAME();   // path below ROOT, text
# Sets NAME_SOURCE in the caller.
function(cs_embed name root)
  set(out ${CMAKE_CURRENT_BINARY_DIR}/${name}.cpp)
  string(REPLACE ";" "|" files "${ARGN}")
  add_custom_command(
    OUTPUT ${out}
    COMMAND ${CMAKE_COMMAND} -DNAME=${name} -DROOT=${root} "-DFILES=${files}" -DOUT=${out}
            -P ${PROJECT_SOURCE_DIR}/tools/cmake/embed.cmake
    DEPENDS ${ARGN} ${PROJECT_SOURCE_DIR}/tools/cmake/embed.cmake VERBATIM)
  set(${name}_SOURCE ${out} PARENT_SCOPE)
endfunction()
