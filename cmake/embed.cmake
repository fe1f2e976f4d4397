# fx_embed(TARGET NAME symbol FILES file...): puts text files into a library, as fx::EmbeddedFile rows {path, text}.
function(fx_embed target)
  cmake_parse_arguments(arg "" "NAME;BASE" "FILES" ${ARGN})
  set(out ${CMAKE_BINARY_DIR}/generated/embedded/${arg_NAME}.cpp)
  set(list ${CMAKE_BINARY_DIR}/generated/embedded/${arg_NAME}.txt)
  string(REPLACE ";" "\n" lines "${arg_FILES}")
  file(GENERATE OUTPUT ${list} CONTENT "${lines}\n")
  find_package(Python3 3.9 REQUIRED COMPONENTS Interpreter)
  add_custom_command(
    OUTPUT ${out}
    COMMAND ${Python3_EXECUTABLE} ${CMAKE_SOURCE_DIR}/scripts/embed.py --name ${arg_NAME} --base ${arg_BASE} --list ${list} --out ${out}
    DEPENDS ${arg_FILES} ${list} ${CMAKE_SOURCE_DIR}/scripts/embed.py
    COMMENT "Embedding ${arg_NAME}")
  target_sources(${target} PRIVATE ${out})
endfunction()
