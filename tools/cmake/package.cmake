# What an installation has beside programs and libraries: manual pages, completion for shells, the licence; and the Debian
# package of it (`cpack` in the build tree).
include(GNUInstallDirs)
set(tools cs-compile cs-sim cs-objdump cs-regress cs-sweep cs-cache cslc csl-fmt csl-lsp)

# A manual page says what --help says.
find_program(HELP2MAN help2man)
if(HELP2MAN)
  foreach(tool IN LISTS tools)
    set(page ${PROJECT_BINARY_DIR}/man/${tool}.1)
    add_custom_command(
      OUTPUT ${page}
      COMMAND ${CMAKE_COMMAND} -E make_directory ${PROJECT_BINARY_DIR}/man
      COMMAND ${CMAKE_COMMAND} -E env SOURCE_DATE_EPOCH=0
              ${HELP2MAN} --no-info --no-discard-stderr --output=${page} ./$<TARGET_FILE_NAME:${tool}>
      WORKING_DIRECTORY $<TARGET_FILE_DIR:${tool}>  # help2man gives a shell the program, whose path may have spaces
      DEPENDS ${tool} VERBATIM)
    list(APPEND pages ${page})
  endforeach()
  add_custom_target(manual_pages ALL DEPENDS ${pages})
  install(FILES ${pages} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
endif()

foreach(tool IN LISTS tools)
  install(FILES ${PROJECT_SOURCE_DIR}/tools/completion/wafersmith.bash RENAME ${tool}
          DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
endforeach()
install(FILES ${PROJECT_SOURCE_DIR}/tools/completion/_wafersmith DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE RENAME copyright DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES ${PROJECT_SOURCE_DIR}/CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR})

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME wafersmith)
set(CPACK_PACKAGE_CONTACT "Wafersmith <wafersmith@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "Compiles tensor graphs and CSL for a wafer-scale engine and simulates them")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_DEPENDS "python3-numpy")
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "libsystemc-dev, pybind11-dev, openmpi-bin")
include(CPack)
