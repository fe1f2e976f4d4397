# Finds LibTorch and makes the target fx_torch. Order: Torch_DIR given by the user, the torch of an installed Python, the
# project's own virtual environment. Own import target: torch's package file insists on a CUDA toolkit for CUDA wheels.
set(fx_torch_root "")
if(Torch_DIR)
  get_filename_component(fx_torch_root ${Torch_DIR}/../../.. ABSOLUTE)
endif()
set(fx_pythons python3 ${CMAKE_SOURCE_DIR}/build/venv/bin/python)
foreach(python ${fx_pythons})
  if(NOT fx_torch_root)
    execute_process(COMMAND ${python} -c "import importlib.util as u, os; s = u.find_spec('torch'); print(os.path.dirname(s.origin) if s else '')"
                    OUTPUT_VARIABLE fx_torch_root OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  endif()
endforeach()
if(NOT EXISTS "${fx_torch_root}/lib/libtorch_cpu.so")
  message(FATAL_ERROR "LibTorch was not found: run scripts/bootstrap.sh, or pass -DTorch_DIR=.../torch/share/cmake/Torch, "
                      "or configure the preset core, which needs none")
endif()
message(STATUS "LibTorch: ${fx_torch_root}")

find_path(FX_GLOO_INCLUDE gloo/context.h REQUIRED DOC "Debian: libgloo-dev")
add_library(fx_torch INTERFACE)
target_include_directories(fx_torch SYSTEM INTERFACE ${fx_torch_root}/include ${fx_torch_root}/include/torch/csrc/api/include)
target_compile_definitions(fx_torch INTERFACE USE_DISTRIBUTED USE_C10D_GLOO)
target_link_directories(fx_torch INTERFACE ${fx_torch_root}/lib)
target_link_options(fx_torch INTERFACE -Wl,-rpath,${fx_torch_root}/lib -Wl,--no-as-needed)
target_link_libraries(fx_torch INTERFACE torch torch_cpu c10 pthread)
