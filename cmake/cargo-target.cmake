# SPDX-License-Identifier: MIT OR Apache-2.0
# Sets cargo_target: Rust's name of the machine that is compiled for, empty for this one.
set(cargo_target)
if(CMAKE_CROSSCOMPILING AND NOT OFP8_CARGO_TARGET)
    string(TOLOWER "${CMAKE_SYSTEM_PROCESSOR}" processor)
    string(REGEX REPLACE "^(amd64|x64)$" "x86_64" processor "${processor}")
    string(REGEX REPLACE "^arm64$" "aarch64" processor "${processor}")
    string(REGEX REPLACE "^riscv64$" "riscv64gc" processor "${processor}")

    set(system_Linux unknown-linux-gnu)
    set(system_Android linux-android)
    set(system_Darwin apple-darwin)
    set(system_Windows pc-windows-msvc)
    if(NOT processor MATCHES "^(x86_64|aarch64|riscv64gc)$" OR NOT DEFINED system_${CMAKE_SYSTEM_NAME})
        message(FATAL_ERROR "Set OFP8_CARGO_TARGET: Rust's name of ${CMAKE_SYSTEM_NAME} on ${CMAKE_SYSTEM_PROCESSOR}, "
            "such as thumbv7em-none-eabihf ('rustc --print target-list' has them all)")
    endif()
    set(cargo_target ${processor}-${system_${CMAKE_SYSTEM_NAME}})
endif()
