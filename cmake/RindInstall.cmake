# Installation for those who embed rind: headers keep their folders below include/rind, and find_package(rind) gives
# rind::messages, rind::runtime, rind::actors and rind::testkit.
if(NOT RIND_WITH_CAF)
  return()
endif()
include(CMakePackageConfigHelpers)
set(rind_package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/rind")

get_property(rind_exported GLOBAL PROPERTY RIND_EXPORTED)
set(rind_kit_targets ${rind_exported})
list(FILTER rind_kit_targets INCLUDE REGEX "testkit")
list(FILTER rind_exported EXCLUDE REGEX "testkit")

install(TARGETS ${rind_exported} EXPORT rindTargets ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}")
install(EXPORT rindTargets NAMESPACE rind:: DESTINATION "${rind_package_dir}")
set(rind_header_folders messages runtime actors)
if(rind_kit_targets)
  install(TARGETS ${rind_kit_targets} EXPORT rindTestkitTargets ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}")
  install(EXPORT rindTestkitTargets NAMESPACE rind:: DESTINATION "${rind_package_dir}")
  list(APPEND rind_header_folders tests/kit)
endif()

foreach(folder IN LISTS rind_header_folders)
  if(IS_DIRECTORY "${PROJECT_SOURCE_DIR}/${folder}")
    install(DIRECTORY "${folder}/" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/rind/${folder}"
      FILES_MATCHING PATTERN "*.hpp")
  endif()
endforeach()
install(FILES "${rind_generated}/messages/version.hpp" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/rind/messages")

configure_package_config_file(cmake/rindConfig.cmake.in "${PROJECT_BINARY_DIR}/rindConfig.cmake"
  INSTALL_DESTINATION "${rind_package_dir}")
write_basic_package_version_file("${PROJECT_BINARY_DIR}/rindConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/rindConfig.cmake" "${PROJECT_BINARY_DIR}/rindConfigVersion.cmake"
  cmake/FindCAF.cmake DESTINATION "${rind_package_dir}")
