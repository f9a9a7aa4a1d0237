# Functions that make the targets of the tree. Each makes nothing, quietly, while its folder has no source.

# Precompiled headers stand only where most files include what is heavy: measured, they save a second a file around CAF
# and half a second in tests, and cost a third of a second in files that include only standard headers.
set(RIND_CAF_HEADERS <caf/actor_system.hpp> <caf/actor_system_config.hpp> <caf/typed_actor.hpp>
  <caf/typed_event_based_actor.hpp> <caf/typed_response_promise.hpp>)

# rind_sources(OUT FOLDER... [EXCLUDE REGEX...]): the .cpp files below the folders.
function(rind_sources out)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "EXCLUDE")
  set(patterns)
  foreach(folder IN LISTS arg_UNPARSED_ARGUMENTS)
    list(APPEND patterns "${PROJECT_SOURCE_DIR}/${folder}/*.cpp")
  endforeach()
  file(GLOB_RECURSE found CONFIGURE_DEPENDS ${patterns})
  foreach(regex IN LISTS arg_EXCLUDE)
    list(FILTER found EXCLUDE REGEX "${regex}")
  endforeach()
  set(${out} "${found}" PARENT_SCOPE)
endfunction()

# rind_pch(NAME HEADERS ... LINK ... [OPTIONS ...]): one precompiled header that several targets reuse.
function(rind_pch name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "HEADERS;LINK;OPTIONS")
  set(source "${PROJECT_BINARY_DIR}/generated/pch/${name}.cpp")
  file(GENERATE OUTPUT "${source}" CONTENT "// Carries a precompiled header; holds no code.\n")
  add_library(${name} OBJECT EXCLUDE_FROM_ALL "${source}")
  target_link_libraries(${name} PRIVATE ${arg_LINK})
  target_compile_options(${name} PRIVATE ${arg_OPTIONS})
  target_precompile_headers(${name} PRIVATE ${arg_HEADERS})
endfunction()

# rind_library(NAME [INTERNAL] SOURCES ... LINK ... [PCH target] [OPTIONS ...]): the target rind_NAME with the alias
# rind::NAME; INTERNAL: not installed. Without sources it is an interface target, so that a header-only or still empty layer links all the same.
function(rind_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "INTERNAL" "PCH" "SOURCES;LINK;OPTIONS")
  set(target rind_${name})
  if(arg_SOURCES)
    add_library(${target} STATIC ${arg_SOURCES})
    set(scope PUBLIC)
    target_compile_options(${target} PRIVATE ${arg_OPTIONS})
    if(arg_PCH)
      target_precompile_headers(${target} REUSE_FROM ${arg_PCH})
    endif()
  else()
    add_library(${target} INTERFACE)
    set(scope INTERFACE)
  endif()
  add_library(rind::${name} ALIAS ${target})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${name})
  target_compile_features(${target} ${scope} cxx_std_20)
  target_include_directories(${target} ${scope}
    "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>"
    "$<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/generated>"
    "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/rind>")
  target_link_libraries(${target} ${scope} ${arg_LINK})
  if(NOT arg_INTERNAL)
    set_property(GLOBAL APPEND PROPERTY RIND_EXPORTED ${target})
  endif()
endfunction()
