// The entry point that libFuzzer and replay.cpp call; each target is a file of its own.
#pragma once

#include <cstddef>
#include <cstdint>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
