# The fuzz targets of tests/fuzz. With libFuzzer (RIND_FUZZ, by clang) each is a fuzzer; in every other build it
# replays its corpus, as a test.
set(rind_fuzz_targets sse_parser chat_codec responses_codec anthropic_codec classifier)

foreach(target IN LISTS rind_fuzz_targets)
  add_executable(fuzz_${target} tests/fuzz/${target}.cpp tests/fuzz/play.cpp)
  target_link_libraries(fuzz_${target} PRIVATE rind::runtime)
  set_target_properties(fuzz_${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/fuzz")
  if(RIND_FUZZ)
    target_link_options(fuzz_${target} PRIVATE -fsanitize=fuzzer)
  else()
    target_sources(fuzz_${target} PRIVATE tests/fuzz/replay.cpp)
    rind_check_test(fuzz.${target} unit fuzz_${target} "${PROJECT_SOURCE_DIR}/tests/fuzz/corpus/${target}")
  endif()
endforeach()
