# Language level, warnings, hardening and sanitizers: the same for every target.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)

include(CheckPIESupported)
check_pie_supported()

find_program(CCACHE ccache)
if(CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE})
endif()

add_compile_options(-Wall -Wextra -Wshadow -Wconversion -Werror)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # GCC 12 sees overlaps in std::string's operator+ that are not there (its bug 105651).
  add_compile_options(-Wno-restrict)
endif()

# -O2: the usual -O3 makes a larger binary, which starts more slowly, and nothing faster here.
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")

set(POLYBOX_SANITIZE "" CACHE STRING "Sanitizers to build with, as -fsanitize takes them")
if(POLYBOX_SANITIZE)
  add_compile_options(-fsanitize=${POLYBOX_SANITIZE} -fno-sanitize-recover=all
                      -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${POLYBOX_SANITIZE})
  if(POLYBOX_SANITIZE MATCHES "thread" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # Asio has fences, which ThreadSanitizer does not see; what it guards with them is behind mutexes too.
    add_compile_options(-Wno-tsan)
  endif()
endif()

if(CMAKE_BUILD_TYPE STREQUAL "Release")
  add_compile_options(-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3 -D_GLIBCXX_ASSERTIONS
                      -fstack-protector-strong -fstack-clash-protection)
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|amd64")
    add_compile_options(-fcf-protection)
  endif()
  add_link_options(-Wl,-z,relro,-z,now,-z,noexecstack)
  # The same binary goes into every image: it needs nothing but the C library there.
  add_link_options(-static-libstdc++ -static-libgcc)
endif()
