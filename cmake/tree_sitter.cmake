# Target fx_tree_sitter_python: Debian's tree-sitter runtime and the Python grammar, compiled once. The grammar is C source of a
# fixed version out of its npm package, kept in build/downloads for all presets.
find_path(FX_TREE_SITTER_INCLUDE tree_sitter/api.h REQUIRED DOC "Debian: libtree-sitter-dev")
find_library(FX_TREE_SITTER_LIBRARY NAMES libtree-sitter.a tree-sitter REQUIRED DOC "Debian: libtree-sitter-dev")

set(fx_grammar_folder ${CMAKE_SOURCE_DIR}/build/downloads/tree-sitter-python-0.23.6)
set(fx_grammar_files parser.c scanner.c tree_sitter/alloc.h tree_sitter/array.h tree_sitter/parser.h)
foreach(file ${fx_grammar_files})
  if(NOT EXISTS ${fx_grammar_folder}/${file})
    set(fx_grammar_missing TRUE)
  endif()
endforeach()
if(fx_grammar_missing)
  message(STATUS "Getting the tree-sitter-python 0.23.6 source (once)")
  execute_process(
    COMMAND ${CMAKE_SOURCE_DIR}/scripts/fetch_source.sh
      --registry npm --package tree-sitter-python --version 0.23.6
      --sha256 aab5b860d93dbf84b37fed532f7dacc0468ede5387d0c74911d68f964287662a
      --folder src --into ${fx_grammar_folder} ${fx_grammar_files}
    RESULT_VARIABLE fx_grammar_result ERROR_VARIABLE fx_grammar_error ERROR_STRIP_TRAILING_WHITESPACE)
  if(NOT fx_grammar_result EQUAL 0)
    message(FATAL_ERROR "the Python grammar is missing: ${fx_grammar_error}. Configure again with network.")
  endif()
endif()

add_library(fx_tree_sitter_python STATIC ${fx_grammar_folder}/parser.c ${fx_grammar_folder}/scanner.c)
target_include_directories(fx_tree_sitter_python PRIVATE SYSTEM ${fx_grammar_folder} PUBLIC SYSTEM ${FX_TREE_SITTER_INCLUDE})
target_link_libraries(fx_tree_sitter_python PUBLIC ${FX_TREE_SITTER_LIBRARY})
