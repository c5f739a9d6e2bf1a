# SPDX-License-Identifier: MIT OR Apache-2.0
# The targets, the same in a source tree and where ofp8 is installed:
#
#   ofp8::ofp8     the static library and the headers
#   ofp8::shared   the shared library and the headers
#   ofp8::headers  the headers alone: ofp8_arith.hpp and the types of ofp8.hpp need no library
#   ofp8::cuda     the CUDA headers and, where the project has enabled the language CUDA before, the kernels' C entry
#                  (ofp8_cuda.h), compiled for the project's CMAKE_CUDA_ARCHITECTURES; links ofp8::ofp8
#
# Whoever includes this file has set ofp8_INCLUDE_DIR, ofp8_STATIC_LIBRARY, ofp8_SHARED_LIBRARY (empty if there is none),
# ofp8_CUDA_INCLUDE_DIR and ofp8_CUDA_SOURCE.
if(TARGET ofp8::headers)
    return()
endif()

add_library(ofp8::headers INTERFACE IMPORTED GLOBAL)
target_include_directories(ofp8::headers INTERFACE "${ofp8_INCLUDE_DIR}")

add_library(ofp8::ofp8 STATIC IMPORTED GLOBAL)
set_target_properties(ofp8::ofp8 PROPERTIES IMPORTED_LOCATION "${ofp8_STATIC_LIBRARY}")
target_link_libraries(ofp8::ofp8 INTERFACE ofp8::headers)

if(ofp8_SHARED_LIBRARY)
    add_library(ofp8::shared SHARED IMPORTED GLOBAL)
    set_target_properties(ofp8::shared PROPERTIES IMPORTED_LOCATION "${ofp8_SHARED_LIBRARY}")
    target_link_libraries(ofp8::shared INTERFACE ofp8::headers)
endif()

get_property(ofp8_languages GLOBAL PROPERTY ENABLED_LANGUAGES)
if("CUDA" IN_LIST ofp8_languages)
    add_library(ofp8_cuda STATIC EXCLUDE_FROM_ALL "${ofp8_CUDA_SOURCE}")
    target_compile_features(ofp8_cuda PUBLIC cuda_std_17)
    target_include_directories(ofp8_cuda PUBLIC "${ofp8_CUDA_INCLUDE_DIR}")
    target_link_libraries(ofp8_cuda PUBLIC ofp8::ofp8)
    set_target_properties(ofp8_cuda PROPERTIES POSITION_INDEPENDENT_CODE ON)
    add_library(ofp8::cuda ALIAS ofp8_cuda)
else()
    add_library(ofp8::cuda INTERFACE IMPORTED GLOBAL)
    target_include_directories(ofp8::cuda INTERFACE "${ofp8_CUDA_INCLUDE_DIR}")
    target_link_libraries(ofp8::cuda INTERFACE ofp8::ofp8)
endif()
