# Target fx_tree_sitter_python: the tree-sitter runtime 0.20.7 and the Python grammar, C source of fixed versions out of a PyPI and an
# npm package, kept in build/downloads for all presets and compiled once. The runtime is compiled as one file (its lib.c): it parses
# an eighth faster than Debian's library of the same version.
function(fx_fetch_parser)
  cmake_parse_arguments(arg "" "REGISTRY;PACKAGE;VERSION;SHA256;FOLDER;INTO" "FILES" ${ARGN})
  foreach(file ${arg_FILES})
    if(NOT EXISTS ${arg_INTO}/${file})
      set(missing TRUE)
    endif()
  endforeach()
  if(NOT missing)
    return()
  endif()
  message(STATUS "Getting the ${arg_PACKAGE} ${arg_VERSION} source (once)")
  execute_process(
    COMMAND ${CMAKE_SOURCE_DIR}/scripts/fetch_source.sh
      --registry ${arg_REGISTRY} --package ${arg_PACKAGE} --version ${arg_VERSION} --sha256 ${arg_SHA256}
      --folder ${arg_FOLDER} --into ${arg_INTO} ${arg_FILES}
    RESULT_VARIABLE result ERROR_VARIABLE error ERROR_STRIP_TRAILING_WHITESPACE)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "${arg_PACKAGE} is missing: ${error}. Configure again with network.")
  endif()
endfunction()

set(fx_tree_sitter_folder ${CMAKE_SOURCE_DIR}/build/downloads/tree-sitter-0.20.7)
fx_fetch_parser(
  REGISTRY pypi PACKAGE tree_sitter VERSION 0.20.1 SHA256 e93f082c545d6649bcfb5d681ed255eb004a6ce22988971a128f40692feec60d
  FOLDER tree_sitter/core/lib INTO ${fx_tree_sitter_folder}
  FILES include/tree_sitter/api.h include/tree_sitter/parser.h
        src/alloc.c src/alloc.h src/array.h src/atomic.h src/clock.h src/error_costs.h src/get_changed_ranges.c
        src/get_changed_ranges.h src/host.h src/language.c src/language.h src/length.h src/lexer.c src/lexer.h src/lib.c src/node.c
        src/parser.c src/point.h src/query.c src/reduce_action.h src/reusable_node.h src/stack.c src/stack.h src/subtree.c
        src/subtree.h src/tree.c src/tree.h src/tree_cursor.c src/tree_cursor.h src/unicode.h src/unicode/ptypes.h
        src/unicode/umachine.h src/unicode/urename.h src/unicode/utf.h src/unicode/utf16.h src/unicode/utf8.h)

set(fx_grammar_folder ${CMAKE_SOURCE_DIR}/build/downloads/tree-sitter-python-0.23.6)
fx_fetch_parser(
  REGISTRY npm PACKAGE tree-sitter-python VERSION 0.23.6 SHA256 aab5b860d93dbf84b37fed532f7dacc0468ede5387d0c74911d68f964287662a
  FOLDER src INTO ${fx_grammar_folder}
  FILES parser.c scanner.c tree_sitter/alloc.h tree_sitter/array.h tree_sitter/parser.h)

add_library(fx_tree_sitter STATIC ${fx_tree_sitter_folder}/src/lib.c)
target_include_directories(fx_tree_sitter PRIVATE SYSTEM ${fx_tree_sitter_folder}/src PUBLIC SYSTEM ${fx_tree_sitter_folder}/include)
target_compile_definitions(fx_tree_sitter PRIVATE _DEFAULT_SOURCE)
target_compile_options(fx_tree_sitter PRIVATE -O2)  # also in debug builds: parsing is bounded by its time

add_library(fx_tree_sitter_python STATIC ${fx_grammar_folder}/parser.c ${fx_grammar_folder}/scanner.c)
target_include_directories(fx_tree_sitter_python PRIVATE SYSTEM ${fx_grammar_folder})
target_compile_definitions(fx_tree_sitter_python PRIVATE TREE_SITTER_REUSE_ALLOCATOR)  # the scanner allocates as the runtime does
target_link_libraries(fx_tree_sitter_python PUBLIC fx_tree_sitter)
