# The test kit: scripted actors and the simulated world. It is free of GoogleTest, for the program carries it (`rind sim`)
# and users link it. Two libraries: what is free of CAF, and the folders that stand on it.
set(rind_kit_with_caf "/tests/kit/(actors|simulation|scenario|invariants)/")
rind_sources(kit_core_sources tests/kit EXCLUDE "${rind_kit_with_caf}")
rind_library(testkit_core SOURCES ${kit_core_sources} LINK rind::runtime)

if(RIND_WITH_CAF)
  rind_sources(kit_caf_sources tests/kit)
  list(FILTER kit_caf_sources INCLUDE REGEX "${rind_kit_with_caf}")
  rind_library(testkit SOURCES ${kit_caf_sources} PCH rind_pch_caf LINK rind::testkit_core rind::actors)
endif()
