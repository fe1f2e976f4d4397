# Compile options shared by every target of ours. Third-party code never sees the warnings.
find_program(FX_CCACHE ccache)
if(FX_CCACHE)
  # Paths below the source folder are made relative, so that two checkouts share the cache.
  set(fx_launcher ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1 ${FX_CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${fx_launcher})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${fx_launcher})
endif()

set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O1 -g1")
set(CMAKE_CXX_FLAGS_RELEASE "-O2")
set(CMAKE_CXX_FLAGS_DEBUG "-O1 -g1")

add_library(fx_options INTERFACE)
if(FX_FUZZ)
  # clang warns about other things than the compiler that we build for.
  add_compile_options(-fsanitize=fuzzer-no-link)
else()
  target_compile_options(fx_options INTERFACE -Wall -Wextra -Wshadow -Wconversion -Werror)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    # At -O2 it sees overlaps in plain std::string assignments (GCC bug 105651).
    target_compile_options(fx_options INTERFACE -Wno-restrict)
  endif()
endif()
target_include_directories(fx_options INTERFACE ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR}/generated)
if(FX_SANITIZE)
  add_compile_options(-fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer)
  add_link_options(-fsanitize=address,undefined)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # The sanitizers' instrumentation makes it see uninitialized members in std::regex (GCC bug 105562).
    target_compile_options(fx_options INTERFACE -Wno-maybe-uninitialized)
  endif()
endif()

# fx_library(NAME source...): a static library of one folder, with our warnings.
function(fx_library name)
  add_library(${name} STATIC ${ARGN})
  target_link_libraries(${name} PRIVATE fx_options)
endfunction()
