# tandem_module(NAME [DEPS module...] [LIBS cmake-target...] [PRIVATE_LIBS cmake-target...])
#   NAME is a folder under src/ ("store/sqlite" becomes target store_sqlite). Sources are all *.cc beside
#   each other; *_test.cc become one test program per module, *_fuzz.cc one fuzz target each, *_bench.cc one
#   benchmark program. DEPS are the only modules it may include; tools/layers.py checks the same table
#   against the includes. Adapters of core's ports (stores, executors, blob) include core/ports.h alone, which
#   needs no object code: core is not linked into them.
# tandem_program(NAME SOURCES file... DEPS module...)  an executable.

add_library(tandem_flags INTERFACE)
target_include_directories(tandem_flags INTERFACE ${CMAKE_SOURCE_DIR}/src)
set(TANDEM_WARNINGS -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Werror)
target_compile_options(tandem_flags INTERFACE ${TANDEM_WARNINGS}
  # g++ 12 sees uninitialised values in std::optional and std::variant where there are none.
  $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
# A planted defect is compiled into the sources that name it and into no others, so that the rest of the build
# comes out of the compiler cache. Tests prove that each one is found (tools/planted.txt).
set(TANDEM_PLANT_MACRO "")
if(TANDEM_PLANT)
  string(TOUPPER "TANDEM_PLANT_${TANDEM_PLANT}" TANDEM_PLANT_MACRO)
  string(REPLACE "-" "_" TANDEM_PLANT_MACRO ${TANDEM_PLANT_MACRO})
  set_property(GLOBAL PROPERTY tandem_plant_sites 0)
  cmake_language(DEFER DIRECTORY ${CMAKE_SOURCE_DIR} CALL tandem_require_plant)
endif()

function(tandem_require_plant)
  get_property(sites GLOBAL PROPERTY tandem_plant_sites)
  if(sites EQUAL 0)
    message(FATAL_ERROR "no .cc file of a module names ${TANDEM_PLANT_MACRO}")
  endif()
endfunction()

function(tandem_plant_in)
  if(NOT TANDEM_PLANT_MACRO)
    return()
  endif()
  foreach(source ${ARGN})
    file(STRINGS ${source} mentions REGEX "${TANDEM_PLANT_MACRO}([^A-Z0-9_]|$)")
    if(mentions)
      set_property(SOURCE ${source} APPEND PROPERTY COMPILE_DEFINITIONS ${TANDEM_PLANT_MACRO}=1)
      get_property(sites GLOBAL PROPERTY tandem_plant_sites)
      math(EXPR sites "${sites} + 1")
      set_property(GLOBAL PROPERTY tandem_plant_sites ${sites})
    endif()
  endforeach()
endfunction()

if(TANDEM_BENCHES)
  find_package(benchmark REQUIRED)
endif()

if(TANDEM_TESTS)
  find_package(GTest REQUIRED)
endif()

# With TANDEM_PCH (clang) the library headers that most files include are parsed once, not once per file. A build
# without it (release) proves that every file still includes what it uses. The rules are ours and not CMake's because
# all paths in them are relative: only so do two checkouts share one compiler cache. For the same reason clang does
# not validate the inputs again; ninja, by the dependency file, and the cache, by content, do. No header of our own is
# among them: one that another checkout precompiled would be taken for another file, in spite of its #pragma once.
set(TANDEM_STANDARD_HEADERS algorithm array charconv chrono cstdint filesystem functional map memory mutex optional
  set string string_view thread utility variant vector fmt/format.h)

# tandem_make_precompiled(NAME header...): the rule for precompiled/NAME.pch in the build folder.
function(tandem_make_precompiled name)
  list(TRANSFORM ARGN REPLACE "(.+)" "#include <\\1>" OUTPUT_VARIABLE lines)
  list(JOIN lines "\n" lines)
  file(GENERATE OUTPUT ${CMAKE_BINARY_DIR}/precompiled/${name}.h CONTENT "${lines}\n")
  string(TOUPPER "${CMAKE_BUILD_TYPE}" type)
  separate_arguments(flags UNIX_COMMAND "${CMAKE_CXX_FLAGS} ${CMAKE_CXX_FLAGS_${type}}")
  if(ARGN MATCHES "gtest")  # a test's command line has these too
    get_target_property(options GTest::gtest INTERFACE_COMPILE_OPTIONS)
    list(APPEND flags ${options})
  endif()
  add_custom_command(OUTPUT ${CMAKE_BINARY_DIR}/precompiled/${name}.pch
    COMMAND ${CMAKE_CXX_COMPILER_LAUNCHER} ${CMAKE_CXX_COMPILER} -DFMT_SHARED ${flags} ${TANDEM_WARNINGS}
      ${CMAKE_CXX23_STANDARD_COMPILE_OPTION} -fpch-instantiate-templates -Xclang -fno-pch-timestamp
      -MD -MF precompiled/${name}.d -x c++-header -o precompiled/${name}.pch
      -c ${CMAKE_BINARY_DIR}/precompiled/${name}.h
    DEPENDS ${CMAKE_BINARY_DIR}/precompiled/${name}.h DEPFILE ${CMAKE_BINARY_DIR}/precompiled/${name}.d
    WORKING_DIRECTORY ${CMAKE_BINARY_DIR} COMMENT "Precompiling headers of ${name}" VERBATIM)
endfunction()
if(TANDEM_PCH)
  tandem_make_precompiled(tandem ${TANDEM_STANDARD_HEADERS})
  tandem_make_precompiled(tandem_test ${TANDEM_STANDARD_HEADERS} gtest/gtest.h gmock/gmock.h)
  add_custom_target(precompiled DEPENDS
    ${CMAKE_BINARY_DIR}/precompiled/tandem.pch ${CMAKE_BINARY_DIR}/precompiled/tandem_test.pch)
endif()

# tandem_precompile(TARGET NAME file...): the target's files find the headers of precompiled/NAME.pch parsed.
function(tandem_precompile target name)
  if(NOT TANDEM_PCH)
    return()
  endif()
  target_compile_options(${target} PRIVATE "SHELL:-include-pch precompiled/${name}.pch -Xclang -fno-validate-pch")
  set_property(SOURCE ${ARGN} APPEND PROPERTY OBJECT_DEPENDS ${CMAKE_BINARY_DIR}/precompiled/${name}.pch)
endfunction()

function(tandem_target_name out path)
  string(REPLACE "/" "_" name ${path})
  set(${out} ${name} PARENT_SCOPE)
endfunction()

function(tandem_module path)
  cmake_parse_arguments(arg "" "" "DEPS;LIBS;PRIVATE_LIBS;DEFINES;TEST_DEPS" ${ARGN})
  tandem_target_name(name ${path})
  set(dir ${CMAKE_CURRENT_SOURCE_DIR}/${path})
  if(NOT IS_DIRECTORY ${dir})
    return()
  endif()
  file(GLOB sources CONFIGURE_DEPENDS ${dir}/*.cc)
  file(GLOB tests CONFIGURE_DEPENDS ${dir}/*_test.cc)
  file(GLOB fuzzers CONFIGURE_DEPENDS ${dir}/*_fuzz.cc)
  file(GLOB benches CONFIGURE_DEPENDS ${dir}/*_bench.cc)
  foreach(extra ${tests} ${fuzzers} ${benches})
    list(REMOVE_ITEM sources ${extra})
  endforeach()

  if(sources)
    tandem_plant_in(${sources})
    add_library(${name} STATIC ${sources})
    tandem_precompile(${name} tandem ${sources})
    if(TANDEM_FUZZ)
      target_compile_options(${name} PRIVATE -fsanitize=fuzzer-no-link)
    endif()
    set(scope PUBLIC)
  else()
    add_library(${name} INTERFACE)
    set(scope INTERFACE)
  endif()
  target_link_libraries(${name} ${scope} tandem_flags ${arg_LIBS})
  if(arg_PRIVATE_LIBS AND sources)
    target_link_libraries(${name} PRIVATE ${arg_PRIVATE_LIBS})
  endif()
  if(arg_DEFINES)
    target_compile_definitions(${name} ${scope} ${arg_DEFINES})
  endif()
  foreach(dep ${arg_DEPS})
    tandem_target_name(dep_name ${dep})
    if(TARGET ${dep_name} AND NOT (dep STREQUAL "core" AND path MATCHES "^(store/|executor/|blob$)"))
      target_link_libraries(${name} ${scope} ${dep_name})
    endif()
  endforeach()

  if(TANDEM_TESTS AND tests)
    add_executable(${name}_test ${tests})
    target_link_libraries(${name}_test PRIVATE ${name} GTest::gtest GTest::gmock GTest::gtest_main)
    tandem_precompile(${name}_test tandem_test ${tests})
    foreach(dep ${arg_TEST_DEPS})
      tandem_target_name(dep_name ${dep})
      target_link_libraries(${name}_test PRIVATE ${dep_name})
    endforeach()
    add_test(NAME ${path} COMMAND ${name}_test --gtest_brief=1)
    set_tests_properties(${path} PROPERTIES TIMEOUT 300)
  endif()
  if(TANDEM_FUZZ)
    foreach(fuzzer ${fuzzers})
      get_filename_component(stem ${fuzzer} NAME_WE)
      add_executable(${stem} ${fuzzer})
      target_link_libraries(${stem} PRIVATE ${name} -fsanitize=fuzzer)
    endforeach()
  endif()
  if(TANDEM_BENCHES AND benches)
    add_executable(${name}_bench ${benches})
    target_link_libraries(${name}_bench PRIVATE ${name} benchmark::benchmark benchmark::benchmark_main)
    foreach(dep ${arg_TEST_DEPS})
      tandem_target_name(dep_name ${dep})
      target_link_libraries(${name}_bench PRIVATE ${dep_name})
    endforeach()
  endif()
endfunction()

function(tandem_program name)
  cmake_parse_arguments(arg "" "" "SOURCES;DEPS;LIBS" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  tandem_precompile(${name} tandem ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE tandem_flags ${arg_LIBS})
  foreach(dep ${arg_DEPS})
    tandem_target_name(dep_name ${dep})
    target_link_libraries(${name} PRIVATE ${dep_name})
  endforeach()
endfunction()
