# SPDX-License-Identifier: MIT
#
# Removes what was installed last, and the folders of the library's own that are empty then.
#
#     [DESTDIR=folder] cmake -D MANIFEST=install_manifest.txt [-D PREFIX=folder] -P cmake/uninstall.cmake
#
# PREFIX: where the caller believes that it was installed. A manifest of another place is left alone.

if(NOT EXISTS "${MANIFEST}")
    message(FATAL_ERROR "${MANIFEST} is missing, which lists what was installed. "
        "Install once more, with the same prefix, and it is there again.")
endif()
file(STRINGS "${MANIFEST}" files)

foreach(file IN LISTS files)
    string(FIND "${file}" "${PREFIX}/" at)
    if(DEFINED PREFIX AND NOT at EQUAL 0)
        string(REGEX REPLACE "/(bin|include|lib[^/]*|share)/.*" "" last "${file}")
        message(FATAL_ERROR "Skua was last installed elsewhere: make uninstall PREFIX=${last}")
    endif()
endforeach()

foreach(file IN LISTS files)
    set(path "$ENV{DESTDIR}${file}")
    if(EXISTS "${path}" OR IS_SYMLINK "${path}")
        message(STATUS "Removing ${path}")
        file(REMOVE "${path}")
    endif()
    # Others share the folders that do not bear the library's name.
    get_filename_component(folder "${path}" DIRECTORY)
    while(folder MATCHES "/[Ss]kua(/[a-z]+)?$" AND IS_DIRECTORY "${folder}")
        file(GLOB left "${folder}/*" "${folder}/.*")
        if(left)
            break()
        endif()
        file(REMOVE_RECURSE "${folder}")
        get_filename_component(folder "${folder}" DIRECTORY)
    endwhile()
endforeach()
