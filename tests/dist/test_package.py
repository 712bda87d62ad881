# SPDX-License-Identifier: MIT
"""Projects outside of this one find the library in each way that the documents name, and serve with it."""

import os
import re
import shutil
import subprocess

import pytest
from compiling import APP, C_WARNINGS, answers, make_header, needed_libraries, refused, run, symbols
from server import RELEASE, ROOT

CMAKE_LISTS = """
cmake_minimum_required(VERSION 3.21)
project(outside LANGUAGES C)
{find}
add_executable(app app.c)
target_link_libraries(app PRIVATE {library})
# Targets of these names are the project's own.
add_executable(hello app.c)
target_link_libraries(hello PRIVATE {library})
add_executable(skua app.c)
target_link_libraries(skua PRIVATE {library})
"""
ADD = 'add_subdirectory("{root}" skua-build)'
FETCH = 'include(FetchContent)\nFetchContent_Declare(Skua SOURCE_DIR "{root}")\nFetchContent_MakeAvailable(Skua)'
FIND = "find_package(Skua 0.2 REQUIRED)"


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """The tree that make install leaves, moved away from where it was told to go."""
    stage = tmp_path_factory.mktemp("install")
    run(["make", "install", "PREFIX=/opt/skua", f"DESTDIR={stage}"], cwd=ROOT)
    moved = stage / "elsewhere"
    shutil.move(stage / "opt/skua", moved)
    return moved


@pytest.fixture(scope="module")
def installed_as_documented(tmp_path_factory):
    """The tree that the README's commands leave."""
    commands = re.search(r"^(cmake --preset .*?)&& sudo (cmake --install .*)$", (ROOT / "README.md").read_text(), re.M)
    prefix = tmp_path_factory.mktemp("documented")
    run(["sh", "-c", f"{commands.group(1)} && {commands.group(2)} --prefix {prefix}"], cwd=ROOT)
    return prefix


@pytest.fixture(params=["installed", "installed_as_documented"])
def archive(request):
    """The static library, whichever way it was installed."""
    return next(request.getfixturevalue(request.param).rglob("libskua.a"))


def lib(installed):
    return next(installed.rglob("libskua.a")).parent


@pytest.fixture
def project(tmp_path):
    (tmp_path / "app.c").write_text(APP.replace("<skua.h>", "<skua/skua.h>"))
    return tmp_path


def build(project, find, library, *options):
    (project / "CMakeLists.txt").write_text(CMAKE_LISTS.format(find=find, library=library))
    run(["cmake", "-S", project, "-B", project / "build", "-G", "Ninja", *options])
    run(["cmake", "--build", project / "build", "-j", "2"])
    return project / "build"


@pytest.mark.test_all
@pytest.mark.parametrize("find", [ADD, FETCH])
def test_built_along(project, find):
    """As part of another project it brings its library and nothing else: no program, no test, no install rule."""
    folder = build(project, find.format(root=ROOT), "Skua::skua", f"-DCMAKE_INSTALL_PREFIX={project}/to")
    assert answers(folder / "app") == b"Hello, World!"
    run(["cmake", "--install", folder])
    assert not (project / "to").exists()


@pytest.mark.parametrize("library", ["Skua::skua", "Skua::shared"])
def test_find_package(project, installed, library):
    folder = build(project, FIND, library, f"-DCMAKE_PREFIX_PATH={installed}")
    assert answers(folder / "app") == b"Hello, World!"
    assert ("libskua.so.0.2" in run(["ldd", folder / "app"])) == (library == "Skua::shared")


def test_find_package_of_another_version(project, installed):
    (project / "CMakeLists.txt").write_text(CMAKE_LISTS.format(find=FIND.replace("0.2", "0.1"), library="Skua::skua"))
    done = subprocess.run(["cmake", "-S", project, "-B", project / "build", f"-DCMAKE_PREFIX_PATH={installed}"],
                          capture_output=True, text=True, check=False)
    assert done.returncode != 0 and "SkuaConfig.cmake, version: 0.2.0" in done.stderr


@pytest.mark.parametrize("static", [True, False])
def test_pkg_config(project, installed, static):
    env = {**os.environ, "PKG_CONFIG_PATH": str(lib(installed) / "pkgconfig"), "LD_LIBRARY_PATH": str(lib(installed))}
    flags = run(["pkg-config", "--cflags", "--libs", *["--static"] * static, "skua"], env=env).split()
    if static:
        flags = ["-static", *flags]
    run(["cc", *C_WARNINGS, project / "app.c", *flags, "-o", project / "app"])
    assert answers(project / "app", env=env) == b"Hello, World!"
    assert run(["pkg-config", "--modversion", "skua"], env=env).strip() == "0.2.0"


@pytest.mark.parametrize("compiler,name", [("cc", "example.c"), ("c++", "example.cpp")])
def test_commands_of_the_readme(installed_as_documented, tmp_path, compiler, name):
    """Its examples, compiled by its commands."""
    text = (ROOT / "README.md").read_text()
    fence = "cpp" if name.endswith("cpp") else "c"
    (tmp_path / name).write_text(re.search(rf"```{fence}\n(.*?)```", text, re.S).group(1))
    command = re.search(rf"^{re.escape(compiler)} .*{re.escape(name)} .*$", text, re.M).group()
    env = {**os.environ, "PKG_CONFIG_PATH": str(lib(installed_as_documented) / "pkgconfig")}
    run(["sh", "-c", command], cwd=tmp_path, env=env)
    assert (tmp_path / "a.out").exists()


def test_bare_header(project):
    """The header in the folder, and nothing but cc."""
    make_header(project / "skua.h")
    (project / "app.c").write_text("#define SKUA_IMPLEMENTATION\n" + APP.replace("<skua.h>", '"skua.h"'))
    run(["cc", "app.c", "-lpthread"], cwd=project)
    assert answers(project / "a.out") == b"Hello, World!"


def test_installed_program(installed):
    assert run([installed / "bin/skua", "--version"]).startswith("skua 0.2.0")


def private(exported):
    assert len(exported) > 50
    return [n for n in exported if not re.match(r"skua_[a-z]", n)]


def test_only_public_names_are_in_the_archive(archive):
    assert private(symbols(archive, "-g", "--defined-only")) == []


def test_only_public_names_are_in_the_shared_library(installed):
    assert private(exported(lib(installed) / "libskua.so")) == []


VERSION = "SKUA_0.2"


def exported(library):
    """The names that a shared library exports, without their versions and without the names of versions."""
    found = symbols(library, "-D", "--defined-only", "--without-symbol-versions")
    return {name: letter for name, letter in found.items() if name != VERSION}


def test_functions_of_the_shared_library_have_a_version(installed):
    found = symbols(lib(installed) / "libskua.so", "-D", "--defined-only", "--with-symbol-versions")
    assert set(found) == {f"{name}@@{VERSION}" for name in exported(lib(installed) / "libskua.so")} | {VERSION}
    assert f"skua_server_new_sized@@{VERSION}" in found
    assert f"Name: {VERSION}" in run(["readelf", "-V", lib(installed) / "libskua.so"])


def test_programs_ask_for_the_version(project, installed):
    flags = ["-I", installed / "include", "-L", lib(installed), "-lskua"]
    run(["cc", *C_WARNINGS, project / "app.c", *flags, "-o", project / "app"])
    needed = symbols(project / "app", "-D", "--undefined-only", "--with-symbol-versions")
    assert f"skua_server_new_sized@{VERSION}" in needed
    assert {name.split("@")[1] for name in needed if name.startswith("skua_")} == {VERSION}


def is_machine_code(file):
    """Whether no compiler has to finish what is in the objects of an archive."""
    return ".gnu.lto" not in run(["objdump", "-h", file]) and not run(["readelf", "-h", file]).count("<unknown>")


LINKERS = [["gcc"], ["gcc", "-fno-lto"], ["gcc", "-flto"], ["clang"], ["clang", "-static"]]


@pytest.mark.parametrize("linker", LINKERS, ids=" ".join)
def test_archive_links(project, archive, linker):
    assert is_machine_code(archive)
    run([*linker, "-I", ROOT / "include", project / "app.c", archive, *needed_libraries(RELEASE), "-pthread", "-o", project / "app"])
    assert answers(project / "app") == b"Hello, World!"


def test_archive_beside_the_same_names(project, archive, tmp_path):
    """A program may define every name that the library's files share."""
    make_header(tmp_path / "skua.h", names=tmp_path / "names.h")
    names = re.findall(r"#define (\w+) (\w+)", (tmp_path / "names.h").read_text())
    assert len(names) > 300
    own = [f"int {name}(void);\nint {name}(void) {{ return 1; }}\n" for pair in names for name in pair]
    (project / "own.c").write_text("".join(own))
    run(["cc", "-I", ROOT / "include", "-fno-builtin", "app.c", "own.c", archive, *needed_libraries(RELEASE), "-pthread", "-o", "app"], cwd=project)
    assert answers(project / "app") == b"Hello, World!"


@pytest.mark.test_all
@pytest.mark.parametrize("option", ["-DCMAKE_C_FLAGS=-flto", "-DCMAKE_INTERPROCEDURAL_OPTIMIZATION=ON"])
def test_archive_of_a_build_with_lto(option, tmp_path):
    """The flags that a distribution asks of all of its packages change nothing in it."""
    run(["cmake", "-S", ROOT, "-B", tmp_path, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Debug", option])
    run(["cmake", "--build", tmp_path, "--target", "skua_library"])
    assert is_machine_code(tmp_path / "libskua.a")
    assert private(symbols(tmp_path / "libskua.a", "-g", "--defined-only")) == []


@pytest.mark.parametrize("option", ["-DSKUA_FORM=split", "-DSKUA_TESTS=ON"])
def test_builds_for_work_on_the_library_are_not_installed(option, tmp_path):
    run(["cmake", "-S", ROOT, "-B", tmp_path / "build", "-G", "Ninja", option])
    said = refused(["cmake", "--install", tmp_path / "build", "--prefix", tmp_path / "to"])
    assert "make install" in said and not (tmp_path / "to").exists()


def test_release_is_the_default(tmp_path):
    run(["cmake", "-S", ROOT, "-B", tmp_path, "-G", "Ninja"])
    assert "CMAKE_BUILD_TYPE:STRING=Release" in (tmp_path / "CMakeCache.txt").read_text()


def test_licence_is_installed(installed, archive):
    for place in (installed, archive.parent.parent):
        (text,) = place.rglob("doc/skua/LICENSE")
        assert text.read_text() == (ROOT / "LICENSE").read_text()


def files_below(folder):
    return sorted(p.relative_to(folder) for p in folder.rglob("*") if not p.is_dir())


def test_uninstall(tmp_path):
    """It removes what make install has put there, its own folders too, and nothing else."""
    words = ["PREFIX=/opt/skua", f"DESTDIR={tmp_path}/stage"]
    others = tmp_path / "stage/opt/skua/include/others.h"
    others.parent.mkdir(parents=True)
    others.write_text("")
    run(["make", "install", *words], cwd=ROOT)
    assert len(files_below(tmp_path)) > 10
    run(["make", "uninstall", *words], cwd=ROOT)
    assert files_below(tmp_path / "stage/opt/skua") == [others.relative_to(tmp_path / "stage/opt/skua")]
    assert not list((tmp_path / "stage").rglob("*skua/*skua*"))
    run(["make", "uninstall", *words], cwd=ROOT)  # nothing is left to do


def test_uninstall_of_what_went_elsewhere(tmp_path):
    """It is not guessed where a library went that was installed to another place than the last one."""
    run(["make", "install", "PREFIX=/opt/skua", f"DESTDIR={tmp_path}"], cwd=ROOT)
    said = refused(["make", "uninstall", "PREFIX=/usr", f"DESTDIR={tmp_path}"], cwd=ROOT)
    assert "PREFIX=/opt/skua" in said and next(tmp_path.rglob("libskua.a"))


def test_both_libraries_and_the_header_export_the_same(installed, tmp_path):
    make_header(tmp_path / "skua.h")
    (tmp_path / "impl.c").write_text('#define SKUA_IMPLEMENTATION\n#include "skua.h"\n')
    run(["cc", "-c", "impl.c"], cwd=tmp_path)
    static = set(symbols(lib(installed) / "libskua.a", "-g", "--defined-only"))
    assert static == set(exported(lib(installed) / "libskua.so"))
    assert static == set(symbols(tmp_path / "impl.o", "-g", "--defined-only"))


def test_shared_library_has_a_version(installed):
    assert "Library soname: [libskua.so.0.2]" in run(["readelf", "-d", lib(installed) / "libskua.so"])


def test_ready_middleware_is_installed(installed, tmp_path):
    """Each header by itself, in C and in C++."""
    for header in sorted((ROOT / "middleware/skua/middleware").glob("*.h")):
        assert (installed / "include/skua/middleware" / header.name).is_file()
        for compiler, standard, suffix in (("cc", "c17", "c"), ("c++", "c++20", "cpp")):
            source = tmp_path / f"{header.stem}.{suffix}"
            source.write_text(f"#include <skua/middleware/{header.name}>\nint main(void) {{ return 0; }}\n")
            run([compiler, f"-std={standard}", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only",
                 "-I", installed / "include", source])


def test_compat_header_is_installed(installed, tmp_path):
    """A program for httpserver.h is compiled with what was installed, by pkg-config."""
    env = {**os.environ, "PKG_CONFIG_PATH": str(lib(installed) / "pkgconfig")}
    (tmp_path / "app.cpp").write_text("""#define HTTPSERVER_IMPL
#include <skua/compat/httpserver.h>
int main() { return http_server_init(0, nullptr) ? 0 : 1; }
""")
    flags = run(["pkg-config", "--static", "--cflags", "--libs", "skua"], env=env).split()
    run(["c++", tmp_path / "app.cpp", "-static", *flags, "-o", tmp_path / "app"])
    run([tmp_path / "app"])


EMBEDDING = """
cmake_minimum_required(VERSION 3.21)
project(outside LANGUAGES C)
{find}
add_executable(app app.c)
target_link_libraries(app PRIVATE Skua::skua)
skua_assets(app public NAME pages)
add_executable(skua other.c) # a target of the project's own
"""


@pytest.fixture
def embedding(project):
    (project / "public/sub").mkdir(parents=True)
    (project / "public/index.html").write_text("Hello, World!")
    (project / "other.c").write_text("int main(void) { return 1; }\n")
    handler = "static void hello(skua_request *request, void *user)"
    text = (project / "app.c").read_text()
    assert handler in text and "hello, NULL" in text
    app = re.sub(r'skua_route\(server, "[^"]*", hello, NULL\)', 'skua_route_assets(server, "/", &pages, NULL)', text)
    (project / "app.c").write_text('#include "pages.h"\n' + app.replace(handler, "__attribute__((unused)) " + handler))
    return project


def with_assets(project, find, *options):
    (project / "CMakeLists.txt").write_text(EMBEDDING.format(find=find))
    return ["cmake", "-S", project, "-B", project / "build", "-G", "Ninja", *options]


def test_assets_by_the_installed_program(embedding, installed):
    """skua_assets of the package runs the skua that was installed with it, wherever that has been moved to."""
    run(with_assets(embedding, FIND, f"-DCMAKE_PREFIX_PATH={installed}"))
    run(["cmake", "--build", embedding / "build", "-j", "2"])
    assert answers(embedding / "build/app") == b"Hello, World!"
    made = (embedding / "build/app_assets/pages.h").read_text()
    assert "made by: skua embed" in made and f"SKUA_EMBED_PROGRAM:FILEPATH={installed}/bin/skua" in (embedding / "build/CMakeCache.txt").read_text()
    (embedding / "public/index.html").write_text("Another, world")
    run(["cmake", "--build", embedding / "build"])
    assert answers(embedding / "build/app") == b"Another, world"


@pytest.mark.skipif(shutil.which("skua") is not None, reason="a skua is in the path")
@pytest.mark.parametrize("find", [FIND, ADD.format(root=ROOT)])
def test_assets_without_the_program(embedding, installed, tmp_path, find):
    """A library that was installed or built along without its program says what is missing."""
    without = tmp_path / "without"
    shutil.copytree(installed, without, ignore=shutil.ignore_patterns("bin"))
    said = refused(with_assets(embedding, find, f"-DCMAKE_PREFIX_PATH={without}"))
    assert "skua_assets needs the program skua" in said and "set SKUA_EMBED_PROGRAM" in " ".join(said.split())
    run(with_assets(embedding, find, f"-DCMAKE_PREFIX_PATH={without}", f"-DSKUA_EMBED_PROGRAM={installed}/bin/skua"))


def test_nothing_holds_the_place_it_was_installed_to(installed):
    for file in [*installed.rglob("*.cmake"), *installed.rglob("*.pc"), *installed.rglob("*.h")]:
        text = file.read_text()
        assert "/opt/skua" not in text and str(ROOT) not in text, file


def test_forms_are_checked(tmp_path):
    assert "it can be split or single" in refused(["cmake", "-S", ROOT, "-B", tmp_path, "-DSKUA_FORM=round"])
