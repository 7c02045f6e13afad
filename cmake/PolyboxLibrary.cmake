# polybox_library(NAME [FOLDERS folder...] [DEPENDS folder...] [LINK target...] [TEST_DEPENDS folder...])
#
# The library of one folder: every *.cc there and in its own FOLDERS, with *_test.cc as one test program beside
# it. DEPENDS is the layering rule: a folder may include headers of the folders and parts it lists and of no others. LINK
# names libraries from outside. tools/layering.py reads these lines and fails when the sources disagree.
function(polybox_library name)
  cmake_parse_arguments(ARG "" "" "FOLDERS;DEPENDS;LINK;TEST_DEPENDS" ${ARGN})
  list(TRANSFORM ARG_FOLDERS APPEND /*.cc)
  file(GLOB sources CONFIGURE_DEPENDS *.cc ${ARG_FOLDERS})
  set(tests ${sources})
  list(FILTER sources EXCLUDE REGEX "_test\\.cc$")
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")

  add_library(polybox_${name} STATIC ${sources})
  target_include_directories(polybox_${name} PUBLIC ${CMAKE_SOURCE_DIR}/src)
  list(FILTER ARG_DEPENDS EXCLUDE REGEX "/")  # parts are built with their libraries
  list(TRANSFORM ARG_DEPENDS PREPEND polybox_)
  target_link_libraries(polybox_${name} PUBLIC ${ARG_DEPENDS} ${ARG_LINK})

  if(tests AND POLYBOX_TESTS)
    list(TRANSFORM ARG_TEST_DEPENDS PREPEND polybox_)
    add_executable(${name}_test ${tests})
    target_link_libraries(${name}_test PRIVATE polybox_${name} ${ARG_TEST_DEPENDS} GTest::gtest_main)
    target_compile_definitions(${name}_test PRIVATE POLYBOX_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
    gtest_discover_tests(${name}_test DISCOVERY_MODE PRE_TEST
                         PROPERTIES TIMEOUT 60 LABELS unit)
  endif()
endfunction()
