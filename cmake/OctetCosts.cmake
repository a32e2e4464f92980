# src/backends/cuda/arch/costs.csv as rows that a C++ file includes: costs.inc, made by `cmake -DINPUT=... -DOUTPUT=... -P OctetCosts.cmake` when it changes.
# What is no row is an error here; a word that nobody knows is one of the compiler's, which names the line of costs.csv.

set(OCTET_COSTS_MAKER ${CMAKE_CURRENT_LIST_FILE})

function(octet_write_costs input output)
  set(word "[a-z][a-z0-9_]*")
  set(number "[0-9]+(\\.[0-9]+)?")
  file(READ ${input} text)
  string(REPLACE ";" "," text "${text}")  # lists are not ours
  string(REPLACE "[" "(" text "${text}")
  string(REPLACE "]" ")" text "${text}")
  string(REPLACE "\n" ";" lines "${text}")
  set(rows "")
  set(at 0)
  foreach(line IN LISTS lines)
    math(EXPR at "${at} + 1")
    if(line MATCHES "^#" OR line STREQUAL "" OR line STREQUAL "architecture,family,term,value,unit,chip,date,residual")
      continue()
    endif()
    # Nine groups are what a match has: the first three words are one.
    if(NOT line MATCHES "^(${word},${word},${word}),(${number}),(${word}),([A-Za-z0-9 ]*),([0-9-]+),(${number})?$")
      message(FATAL_ERROR "${input}:${at}: expected architecture,family,term,value,unit,chip,date,residual; got '${line}'")
    endif()
    set(names "${CMAKE_MATCH_1}")
    set(value "${CMAKE_MATCH_2}")
    set(unit "${CMAKE_MATCH_4}")
    set(chip "${CMAKE_MATCH_5}")
    set(date "${CMAKE_MATCH_6}")
    set(residual "${CMAKE_MATCH_7}")
    if(residual STREQUAL "")
      set(residual "-1")
    endif()
    string(REPLACE "," ", " names "${names}")
    string(APPEND rows "#line ${at} \"src/backends/cuda/arch/costs.csv\"\nROW(${names}, ${value}, ${unit}, \"${chip}\", \"${date}\", ${residual})\n")
  endforeach()
  file(WRITE ${output} "${rows}")
endfunction()

# octet_cuda_costs(INPUT SOURCE): SOURCE includes "cuda_costs/costs.inc".
function(octet_cuda_costs input source)
  set(output ${PROJECT_BINARY_DIR}/generated/cuda_costs/costs.inc)
  add_custom_command(OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} -DINPUT=${input} -DOUTPUT=${output} -P ${OCTET_COSTS_MAKER}
    DEPENDS ${input} ${OCTET_COSTS_MAKER})
  octet_made(cuda_costs ${output})
  set_source_files_properties(${source} PROPERTIES OBJECT_DEPENDS ${output} INCLUDE_DIRECTORIES ${PROJECT_BINARY_DIR}/generated
    SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()

if(CMAKE_SCRIPT_MODE_FILE)
  octet_write_costs(${INPUT} ${OUTPUT})
endif()
