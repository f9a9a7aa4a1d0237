# The test kit, one test program a label, the examples and the checks that run as tests.
include(GoogleTest)

set(rind_test_env
  "ASAN_OPTIONS=detect_leaks=1:detect_stack_use_after_return=1:strict_string_checks=1"
  "UBSAN_OPTIONS=print_stacktrace=1"
  "TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1")
set(rind_test_timeout_s 300)

# Optimised builds keep line numbers in the tests, not every variable: a quarter less time to compile.
set(rind_test_options "$<$<CONFIG:RelWithDebInfo>:-g1>")

rind_pch(rind_pch_test HEADERS <nlohmann/json.hpp> <gtest/gtest.h> OPTIONS "${rind_test_options}"
  LINK nlohmann_json::nlohmann_json GTest::gtest)
if(RIND_WITH_CAF)
  rind_pch(rind_pch_test_caf HEADERS <nlohmann/json.hpp> <gtest/gtest.h> ${RIND_CAF_HEADERS}
    OPTIONS "${rind_test_options}" LINK nlohmann_json::nlohmann_json GTest::gtest ${RIND_CAF_TARGETS})
endif()

# rind_tests(NAME LABEL label SOURCES ... LINK ... PCH target [PROGRAM]): the test program NAME, its cases found when
# ctest runs. PROGRAM: the cases start the built program, whose path is RIND_PROGRAM.
function(rind_tests name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "PROGRAM" "LABEL;PCH" "SOURCES;LINK")
  if(NOT arg_SOURCES OR (arg_PROGRAM AND NOT TARGET rind))
    return()
  endif()
  if("rind::testkit" IN_LIST arg_LINK)
    list(APPEND arg_SOURCES tests/complaints.cpp)
  endif()
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE ${arg_LINK} rapidcheck rapidcheck_gtest GTest::gmock_main)
  target_compile_options(${name} PRIVATE "${rind_test_options}")
  target_precompile_headers(${name} REUSE_FROM ${arg_PCH})
  target_compile_definitions(${name} PRIVATE RIND_TEST_DATA="${PROJECT_SOURCE_DIR}/tests/data")
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/tests")
  if(arg_PROGRAM)
    target_compile_definitions(${name} PRIVATE RIND_PROGRAM="$<TARGET_FILE:rind>"
      RIND_DEV_CERTS="${CMAKE_CURRENT_SOURCE_DIR}/scripts/dev-certs")
    add_dependencies(${name} rind)
  endif()
  # Cases that share a database server run in one process, see below.
  gtest_discover_tests(${name} TEST_PREFIX "${arg_LABEL}." TEST_FILTER "-*postgres*"
    DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 60
    PROPERTIES LABELS "${arg_LABEL}" TIMEOUT ${rind_test_timeout_s} ENVIRONMENT "${rind_test_env}")
endfunction()

# What stands on CAF among the unit tests: the actors, and the hosts but for the clients.
set(rind_unit_with_caf "/tests/unit/(actors/|hosts/(demo|replay)/)")
rind_sources(unit_sources tests/unit EXCLUDE "${rind_unit_with_caf}")
rind_tests(unit_tests LABEL unit SOURCES ${unit_sources} PCH rind_pch_test
  LINK rind::testkit_core rind::mock_provider rind::client)
rind_sources(contract_sources tests/contract)
rind_tests(contract_tests LABEL contract SOURCES ${contract_sources} PCH rind_pch_test
  LINK rind::testkit_core rind::mock_provider rind::client)

if(RIND_WITH_CAF)
  rind_sources(unit_caf_sources tests/unit)
  list(FILTER unit_caf_sources INCLUDE REGEX "${rind_unit_with_caf}")
  rind_tests(unit_caf_tests LABEL unit SOURCES ${unit_caf_sources} PCH rind_pch_test_caf
    LINK rind::testkit rind::hosts)
  foreach(label actor simulation)
    rind_sources(label_sources tests/${label})
    rind_tests(${label}_tests LABEL ${label} SOURCES ${label_sources} PCH rind_pch_test_caf
      LINK rind::testkit rind::hosts)
  endforeach()
  foreach(label protocol cluster)
    rind_sources(label_sources tests/${label})
    rind_tests(${label}_tests LABEL ${label} SOURCES ${label_sources} PCH rind_pch_test_caf PROGRAM
      LINK rind::testkit rind::hosts)
  endforeach()
  rind_sources(e2e_sources tests/e2e EXCLUDE "/tests/e2e/preload/")
  rind_tests(e2e_tests LABEL e2e SOURCES ${e2e_sources} PCH rind_pch_test PROGRAM
    LINK rind::testkit_core rind::mock_provider rind::client)
  if(TARGET e2e_tests)
    add_library(rind_slow_disk MODULE tests/e2e/preload/slow_disk.cpp)
    target_link_libraries(rind_slow_disk PRIVATE ${CMAKE_DL_LIBS})
    set_target_properties(rind_slow_disk PROPERTIES LIBRARY_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/tests")
    target_compile_definitions(e2e_tests PRIVATE RIND_SLOW_DISK="$<TARGET_FILE:rind_slow_disk>")
    add_dependencies(e2e_tests rind_slow_disk)
  endif()

  # The program with one known fault, for scripts/check-canaries: the journal's sources with the fault stand before the library's.
  if(TARGET e2e_tests AND TARGET rind)
    foreach(fault answer_before_commit split_boundary)
      string(TOUPPER "RIND_CANARY_${fault}" definition)
      add_executable(rind_canary_${fault} EXCLUDE_FROM_ALL $<TARGET_OBJECTS:rind>
        runtime/journal/writer.cpp runtime/journal/sqlite_store.cpp)
      target_compile_definitions(rind_canary_${fault} PRIVATE ${definition})
      target_link_libraries(rind_canary_${fault} PRIVATE rind::hosts)
      set_target_properties(rind_canary_${fault} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/canaries")
    endforeach()
  endif()
endif()

# rind_check_test(NAME LABEL COMMAND ...): a test that is a command.
function(rind_check_test name label)
  add_test(NAME ${name} COMMAND ${ARGN})
  set_tests_properties(${name} PROPERTIES LABELS ${label} TIMEOUT ${rind_test_timeout_s}
    ENVIRONMENT "${rind_test_env}")
endfunction()

rind_check_test(contract.postgres contract contract_tests --gtest_filter=*postgres*)
rind_check_test(layers unit bash "${PROJECT_SOURCE_DIR}/scripts/check-layers" "${PROJECT_SOURCE_DIR}")
rind_check_test(layers.refuse_what_breaks_them unit bash "${PROJECT_SOURCE_DIR}/scripts/check-layers" --self-test)

if(NOT RIND_WITH_CAF)
  return()
endif()
rind_check_test(e2e.postgres e2e e2e_tests --gtest_filter=*postgres*)

# Seeds of the simulated world. Under a sanitizer a run takes ten times as long.
set(rind_sim_seeds 500)
if(NOT RIND_SANITIZE STREQUAL "")
  set(rind_sim_seeds 60)
endif()
foreach(part RANGE 0 3)
  math(EXPR first "${part} * ${rind_sim_seeds} + 1")
  math(EXPR last "(${part} + 1) * ${rind_sim_seeds}")
  rind_check_test(sim.seeds_from_${first} simulation rind sim --seeds ${first}..${last} --faults many)
endforeach()
rind_check_test(sim.three_nodes simulation rind sim --seeds 1..${rind_sim_seeds} --nodes 3 --sessions 6 --faults many)
rind_check_test(sim.without_faults simulation rind sim --seeds 1..100 --faults none)

# Each folder of examples/ is a program; embed is none of them, it is built against the installed tree.
file(GLOB example_folders CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/examples/*")
foreach(folder IN LISTS example_folders)
  get_filename_component(example "${folder}" NAME)
  rind_sources(example_sources examples/${example})
  if(example STREQUAL "embed" OR NOT example_sources)
    continue()
  endif()
  add_executable(example_${example} ${example_sources})
  target_link_libraries(example_${example} PRIVATE rind::actors)
  if(example STREQUAL "scripted_session")
    target_link_libraries(example_${example} PRIVATE rind::testkit GTest::gmock_main)
  elseif(example STREQUAL "simulate_your_agent")
    target_link_libraries(example_${example} PRIVATE rind::testkit)
  endif()
  set_target_properties(example_${example} PROPERTIES OUTPUT_NAME ${example}
    RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/examples")
endforeach()
foreach(example quickstart custom_tool scripted_session simulate_your_agent)
  if(TARGET example_${example})
    rind_check_test(example.${example} e2e example_${example})
  endif()
endforeach()

if(RIND_SANITIZE STREQUAL "")
  rind_check_test(example.embed e2e "${CMAKE_COMMAND}" -D "BUILD=${CMAKE_BINARY_DIR}"
    -D "CONSUMER=${PROJECT_SOURCE_DIR}/examples/embed" -D "COMPILER=${CMAKE_CXX_COMPILER}"
    -D "GENERATOR=${CMAKE_GENERATOR}" -P "${PROJECT_SOURCE_DIR}/cmake/embed_test.cmake")
endif()
