# The target lone_headers compiles every public header by itself, without a precompiled one: each header includes what
# it uses. Slow, so it is built by scripts/check only.
if(RIND_WITH_CAF)
  file(GLOB_RECURSE headers CONFIGURE_DEPENDS RELATIVE "${PROJECT_SOURCE_DIR}"
    "${PROJECT_SOURCE_DIR}/messages/*.hpp" "${PROJECT_SOURCE_DIR}/runtime/*.hpp" "${PROJECT_SOURCE_DIR}/actors/*.hpp")
  set(lone_sources)
  foreach(header IN LISTS headers)
    set(source "${PROJECT_BINARY_DIR}/generated/lone/${header}.cpp")
    file(GENERATE OUTPUT "${source}" CONTENT "#include \"${header}\"\n#include \"${header}\"\n")
    list(APPEND lone_sources "${source}")
  endforeach()
  if(lone_sources)
    add_library(lone_headers OBJECT EXCLUDE_FROM_ALL ${lone_sources})
    target_link_libraries(lone_headers PRIVATE rind::actors)
  else()
    add_custom_target(lone_headers)
  endif()
endif()
