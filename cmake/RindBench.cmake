# The benchmarks: one program over everything in bench/.
find_package(benchmark REQUIRED)
rind_sources(bench_sources bench)
if(bench_sources)
  add_executable(rind_bench ${bench_sources})
  target_link_libraries(rind_bench PRIVATE rind::runtime benchmark::benchmark)
  set_target_properties(rind_bench PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bench")
endif()
