# Installs the build into a fresh prefix, then builds and runs the consumer against nothing but that prefix.
# Takes BUILD, CONSUMER, COMPILER and GENERATOR.
set(work "${BUILD}/embed")
file(REMOVE_RECURSE "${work}")

function(step)
  execute_process(COMMAND ${ARGN} COMMAND_ECHO STDOUT RESULT_VARIABLE result)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "failed with ${result}: ${ARGN}")
  endif()
endfunction()

step("${CMAKE_COMMAND}" --install "${BUILD}" --prefix "${work}/prefix")
step("${CMAKE_COMMAND}" -S "${CONSUMER}" -B "${work}/build" -G "${GENERATOR}" "-DCMAKE_CXX_COMPILER=${COMPILER}"
  "-DCMAKE_PREFIX_PATH=${work}/prefix")
step("${CMAKE_COMMAND}" --build "${work}/build")
step("${work}/build/embed")
