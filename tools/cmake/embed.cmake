# Writes OUT: a C++ file with the text of FILES (separated by |), named by their path below ROOT.
string(REPLACE "|" ";" files "${FILES}")
set(text "#include <string_view>\n#include <utility>\n#include <vector>\n\nnamespace cs {\n"
    "const std::vector<std::pair<std::string_view, std::string_view>>& embedded_${NAME}() {\n"
    "  static const std::vector<std::pair<std::string_view, std::string_view>> files = {\n")
string(JOIN "" text ${text})
foreach(file IN LISTS files)
  if(file)
    file(RELATIVE_PATH path ${ROOT} ${file})
    file(SIZE ${file} size)
    file(READ ${file} body)
    # A raw string literal is limited to 64 KB by some compilers; kernels and library files are far smaller.
    string(APPEND text "    {\"${path}\", R\"CSLTEXT(")
    string(APPEND text "${body}")
    string(APPEND text ")CSLTEXT\"},\n")
  endif()
endforeach()
string(APPEND text "  };\n  return files;\n}\n}  // namespace cs\n")
file(WRITE ${OUT} "${text}")
