# SPDX-License-Identifier: MIT
#
# Files that make install leaves: the program, the libraries, the headers, and how CMake and pkg-config find
# them. Nothing of it holds the path it was installed to, so the tree may be moved.

if(SKUA_FORM STREQUAL "split" OR SKUA_TESTS OR SKUA_FUZZ)
    # The static library of such a build shows names that are not public.
    install(CODE "message(FATAL_ERROR \"This build is for work on Skua and is not installed. Use make install, \"
        \"or the preset release: SKUA_FORM single, no SKUA_TESTS, no SKUA_FUZZ.\")")
    return()
endif()

include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(SKUA_CMAKE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/Skua)
set(SKUA_LIBRARIES skua_library)
if(SKUA_SHARED)
    list(APPEND SKUA_LIBRARIES skua_shared)
endif()

if(SKUA_PROGRAM)
    install(TARGETS skua RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
    # Manual pages and completions are made from the program's tables and the documents.
    file(GLOB SKUA_TABLES CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tools/release/*.py ${PROJECT_SOURCE_DIR}/program/*/*.c)
    set(SKUA_MADE ${PROJECT_BINARY_DIR}/share)
    add_custom_command(
        OUTPUT ${SKUA_MADE}/.made
        COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tools/release/man.py ${SKUA_MADE}
        COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tools/release/completions.py ${SKUA_MADE}/completions
        COMMAND ${CMAKE_COMMAND} -E touch ${SKUA_MADE}/.made
        DEPENDS ${SKUA_TABLES} ${PROJECT_SOURCE_DIR}/README.md ${PROJECT_SOURCE_DIR}/docs/configuration.md
        COMMENT "Writing the manual pages and completions")
    add_custom_target(skua_manuals ALL DEPENDS ${SKUA_MADE}/.made)
    install(FILES ${SKUA_MADE}/man1/skua.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
    install(FILES ${SKUA_MADE}/man5/skua.conf.5 DESTINATION ${CMAKE_INSTALL_MANDIR}/man5)
    install(FILES ${SKUA_MADE}/completions/skua.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions
        RENAME skua)
    install(FILES ${SKUA_MADE}/completions/_skua DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
    install(FILES ${SKUA_MADE}/completions/skua.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
endif()
set_target_properties(skua_library PROPERTIES EXPORT_NAME skua)
install(TARGETS ${SKUA_LIBRARIES} EXPORT SkuaTargets
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/skua ${PROJECT_SOURCE_DIR}/compat/skua
        ${PROJECT_SOURCE_DIR}/middleware/skua
    DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})

install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})

install(EXPORT SkuaTargets NAMESPACE Skua:: DESTINATION ${SKUA_CMAKE_DIR})
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/SkuaConfig.cmake.in
    ${PROJECT_BINARY_DIR}/SkuaConfig.cmake INSTALL_DESTINATION ${SKUA_CMAKE_DIR})
# Before 1.0 only the same minor version will do.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/SkuaConfigVersion.cmake
    COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/SkuaConfig.cmake ${PROJECT_BINARY_DIR}/SkuaConfigVersion.cmake
        ${CMAKE_CURRENT_LIST_DIR}/SkuaAssets.cmake
    DESTINATION ${SKUA_CMAKE_DIR})

file(RELATIVE_PATH SKUA_PC_PREFIX /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
# A program that links with the shared library does not need what it is linked with; a static one is all that they have.
# A static libbrotlienc needs libm behind it, which its own file does not name.
set(SKUA_PC_LIBS)
if(SKUA_BROTLI AND SKUA_SHARED)
    set(SKUA_PC_LIBS "\nLibs.private: -lbrotlienc -lbrotlicommon -lm")
elseif(SKUA_BROTLI)
    set(SKUA_PC_LIBS " -lbrotlienc -lbrotlicommon -lm")
endif()
set(SKUA_PC_REQUIRES ${SKUA_CODINGS})
list(FILTER SKUA_PC_REQUIRES EXCLUDE REGEX brotli)
list(TRANSFORM SKUA_PC_REQUIRES REPLACE ".*=" "")
if(SKUA_TLS)
    list(PREPEND SKUA_PC_REQUIRES libssl libcrypto)
endif()
if(SKUA_REDIS)
    list(APPEND SKUA_PC_REQUIRES hiredis)
endif()
if(SKUA_PC_REQUIRES)
    list(JOIN SKUA_PC_REQUIRES " " SKUA_PC_REQUIRES)
    if(SKUA_SHARED)
        set(SKUA_PC_REQUIRES "Requires.private: ${SKUA_PC_REQUIRES}\n")
    else()
        set(SKUA_PC_REQUIRES "Requires: ${SKUA_PC_REQUIRES}\n")
    endif()
endif()
configure_file(${CMAKE_CURRENT_LIST_DIR}/skua.pc.in ${PROJECT_BINARY_DIR}/skua.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/skua.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

# Files that were installed last are removed again, with the folders that were made for them.
add_custom_target(uninstall COMMAND ${CMAKE_COMMAND}
    -D MANIFEST=${PROJECT_BINARY_DIR}/install_manifest.txt -P ${CMAKE_CURRENT_LIST_DIR}/uninstall.cmake)
