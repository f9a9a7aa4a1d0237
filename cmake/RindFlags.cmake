# Compiler and linker settings that hold for every target of the tree. Nothing of this reaches those who link rind.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "Build type" FORCE)
endif()

# Assertions stay on in every build: a broken invariant stops at the place where it broke.
foreach(config RELEASE RELWITHDEBINFO MINSIZEREL)
  string(REGEX REPLACE "(^| )-DNDEBUG( |$)" " " CMAKE_CXX_FLAGS_${config} "${CMAKE_CXX_FLAGS_${config}}")
endforeach()
add_compile_definitions(_GLIBCXX_ASSERTIONS)
add_compile_options(-Wall -Wextra -Wpedantic -Wshadow -Werror)
# GCC 12 sees overlapping copies in std::string where there are none (its bug 105651).
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  add_compile_options(-Wno-restrict)
endif()

if(RIND_SANITIZE STREQUAL "address")
  # The check of dynamic types opens a pipe at each look: with no descriptor left, which tests bring about, it lies.
  add_compile_options(-fsanitize=address,undefined -fno-sanitize=vptr -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=address,undefined)
elseif(RIND_SANITIZE STREQUAL "thread")
  add_compile_options(-fsanitize=thread -fno-omit-frame-pointer)
  add_link_options(-fsanitize=thread)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # Asio's headers use fences, of which GCC says that the thread sanitizer does not model them.
    add_compile_options(-Wno-tsan)
  endif()
elseif(NOT RIND_SANITIZE STREQUAL "")
  message(FATAL_ERROR "RIND_SANITIZE is empty, address or thread, not '${RIND_SANITIZE}'")
endif()

if(RIND_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()

# GCC's own instrumentation makes it see uninitialised optionals where there are none.
if(NOT RIND_SANITIZE STREQUAL "" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  add_compile_options(-Wno-maybe-uninitialized)
endif()

# ccache needs to be told that a precompiled header is safe to cache; GCC has to keep its inclusion visible.
find_program(RIND_CCACHE ccache)
mark_as_advanced(RIND_CCACHE)
if(RIND_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER
    "${CMAKE_COMMAND}" -E env CCACHE_SLOPPINESS=pch_defines,time_macros
    "${RIND_CCACHE}")
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    add_compile_options(-fpch-preprocess)
  endif()
endif()

# The fastest linker that is there; none of them is needed.
foreach(linker mold lld gold)
  find_program(RIND_LINKER_${linker} ld.${linker})
  mark_as_advanced(RIND_LINKER_${linker})
  if(RIND_LINKER_${linker})
    include(CheckCXXSourceCompiles)
    set(CMAKE_REQUIRED_LINK_OPTIONS -fuse-ld=${linker})
    check_cxx_source_compiles("int main() { return 0; }" RIND_LINKS_WITH_${linker})
    unset(CMAKE_REQUIRED_LINK_OPTIONS)
    if(RIND_LINKS_WITH_${linker})
      add_link_options(-fuse-ld=${linker})
      break()
    endif()
  endif()
endforeach()
