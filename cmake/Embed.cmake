# polybox_embed(TARGET HEADER header.h FUNCTION name [BASE folder] FILES file...)
#
# Adds `std::span<const polybox::EmbeddedFile> NAME()` to TARGET: the files' names and contents, in the
# order given. The declaration is in HEADER, which the target's folder holds. With BASE, a name is the file's path below
# that folder. A folder may embed several lists, each with a NAME of its own.
function(polybox_embed target)
  cmake_parse_arguments(ARG "" "HEADER;FUNCTION;BASE" "FILES" ${ARGN})
  string(REGEX REPLACE ".*::" "" name ${ARG_FUNCTION})
  set(output ${CMAKE_CURRENT_BINARY_DIR}/embedded_${name}.cc)
  add_custom_command(
    OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} -DOUTPUT=${output} -DHEADER=${ARG_HEADER} -DFUNCTION=${ARG_FUNCTION} -DBASE=${ARG_BASE}
            "-DFILES=${ARG_FILES}" -P ${CMAKE_SOURCE_DIR}/cmake/EmbedFiles.cmake
    DEPENDS ${ARG_FILES} ${CMAKE_SOURCE_DIR}/cmake/EmbedFiles.cmake
    VERBATIM)
  target_sources(${target} PRIVATE ${output})
endfunction()
