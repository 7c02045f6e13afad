# The script behind polybox_embed: writes OUTPUT, a C++ file that holds FILES as raw string literals.
set(rows "")
foreach(file IN LISTS FILES)
  file(READ ${file} content)
  get_filename_component(name ${file} NAME)
  if(BASE)
    file(RELATIVE_PATH name ${BASE} ${file})
  endif()
  # A literal may not be longer than 64 KiB and may not hold its own delimiter.
  string(LENGTH "${content}" length)
  string(FIND "${content}" ")polybox\"" clash)
  if(length GREATER 65000 OR NOT clash EQUAL -1)
    message(FATAL_ERROR "${file} cannot be embedded: over 65000 bytes, or it holds )polybox\"")
  endif()
  string(APPEND rows "    {\"${name}\", R\"polybox(${content})polybox\"},\n")
endforeach()
file(WRITE ${OUTPUT} "// Made by cmake/EmbedFiles.cmake.
#include \"${HEADER}\"

namespace {
constexpr polybox::EmbeddedFile kFiles[] = {
${rows}};
}  // namespace

std::span<const polybox::EmbeddedFile> ${FUNCTION}() { return kFiles; }
")
