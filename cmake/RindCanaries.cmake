# rind_canaries: the program with its planted bugs (runtime/canary/canary.hpp), for `rind sim --canaries`. The files that
# hold one are compiled a second time, with RIND_CANARIES, and stand before the libraries: such an object defines all
# that the same file gives its archive, so the linker never takes the member without the bug. Which files those are is
# looked up when CMake configures: planting the first bug of a file takes another configuration.
if(NOT TARGET rind)
  return()
endif()

rind_sources(canary_candidates messages runtime actors hosts EXCLUDE "/hosts/main\\.cpp$")
set(canary_sources)
foreach(source IN LISTS canary_candidates)
  file(STRINGS "${source}" marks REGEX "RIND_(PLANTED|CANARIES)" LIMIT_COUNT 1)
  if(marks)
    list(APPEND canary_sources "${source}")
  endif()
endforeach()

add_executable(rind_canaries EXCLUDE_FROM_ALL $<TARGET_OBJECTS:rind> ${canary_sources})
target_compile_definitions(rind_canaries PRIVATE RIND_CANARIES)
target_link_libraries(rind_canaries PRIVATE rind::hosts)
set_target_properties(rind_canaries PROPERTIES OUTPUT_NAME rind RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/canaries")
