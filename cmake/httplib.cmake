# Target fx_httplib: cpp-httplib, compiled once. An installed one of version 0.44 or newer (older ones have known holes), else the
# source of a fixed version out of a Python package's source distribution, kept in build/downloads for all presets.
find_package(Threads REQUIRED)
find_package(httplib 0.44 CONFIG QUIET)
if(httplib_FOUND)
  add_library(fx_httplib INTERFACE)
  target_link_libraries(fx_httplib INTERFACE httplib::httplib Threads::Threads)
  return()
endif()

set(fx_httplib_folder ${CMAKE_SOURCE_DIR}/build/downloads/cpp-httplib-0.58.0)
if(NOT EXISTS ${fx_httplib_folder}/httplib.cpp OR NOT EXISTS ${fx_httplib_folder}/httplib.h)
  message(STATUS "Getting the cpp-httplib 0.58.0 source (once)")
  execute_process(
    COMMAND ${CMAKE_SOURCE_DIR}/scripts/fetch_source.sh
      --registry pypi --package llama-cpp-python --version 0.3.36
      --sha256 832db0699007f1be95a7e41ef12e88926b02ba836461e36a36372db2760c1a2e
      --folder vendor/llama.cpp/vendor/cpp-httplib --into ${fx_httplib_folder} httplib.h httplib.cpp
    RESULT_VARIABLE fx_httplib_result ERROR_VARIABLE fx_httplib_error ERROR_STRIP_TRAILING_WHITESPACE)
  if(NOT fx_httplib_result EQUAL 0)
    message(FATAL_ERROR "cpp-httplib is missing: ${fx_httplib_error}. Configure again with network, or install cpp-httplib 0.44 or newer.")
  endif()
endif()

add_library(fx_httplib STATIC ${fx_httplib_folder}/httplib.cpp)
target_include_directories(fx_httplib SYSTEM PUBLIC ${fx_httplib_folder})
target_link_libraries(fx_httplib PUBLIC Threads::Threads)
