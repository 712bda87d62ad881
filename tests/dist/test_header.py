# SPDX-License-Identifier: MIT
"""dist/skua.h compiles wherever it is put, keeps its names to itself, and is a server."""

import re
import shutil
import subprocess
import sys
import time
import zlib

import pytest
from compiling import APP, C_WARNINGS, CXX_WARNINGS, answers, connected, make_header, refused, run, symbols
from h2_socket import PING, PREFACE, frame, settings
from server import ROOT

IMPLEMENTATION = '#define SKUA_IMPLEMENTATION\n#include "skua.h"\n'
HELLO_OCTETS_MAX = 740_000
HELLO_WITHOUT_WEBSOCKET_OCTETS_MAX = 674_000
HELLO_WITHOUT_HTTP2_OCTETS_MAX = {"gcc": 625_000, "clang": 689_000}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with skua.h in it, and its implementation in impl.c and compiled in impl.o."""
    folder = tmp_path_factory.mktemp("header")
    make_header(folder / "skua.h")
    (folder / "impl.c").write_text(IMPLEMENTATION)
    run(["cc", "-std=c11", "-O1", *C_WARNINGS, "-c", "impl.c", "-o", "impl.o"], cwd=folder)
    return folder


def stripped_octets(program):
    run(["strip", program])
    return program.stat().st_size


def compile_text(folder, name, text, words):
    (folder / name).write_text(text)
    return [*words, "-I", folder, "-c", folder / name, "-o", folder / f"{name}.o"]


@pytest.mark.test_all
@pytest.mark.parametrize("standard,level", [("c11", "-O0"), ("c17", "-O0"), ("gnu17", "-O3"), ("c2x", "-O2")])
@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_implementation_compiles_clean(folder, compiler, standard, level):
    words = [compiler, f"-std={standard}", level, *C_WARNINGS]
    run(compile_text(folder, f"{compiler}-{standard}{level}.c", IMPLEMENTATION, words))


@pytest.mark.parametrize("compiler,standard,level", [
    ("clang", "c2x", "-O0"),
    pytest.param("gcc", "c11", "-O2", marks=pytest.mark.test_all),
    pytest.param("gcc", "c2x", "-O0", marks=pytest.mark.test_all),
    pytest.param("clang", "c11", "-O2", marks=pytest.mark.test_all),
])
def test_implementation_with_tls_compiles_clean(folder, compiler, standard, level):
    name = f"tls-{compiler}-{standard}"
    words = [compiler, f"-std={standard}", level, "-DSKUA_TLS", *C_WARNINGS]
    run(compile_text(folder, f"{name}.c", IMPLEMENTATION + APP.replace("<skua.h>", '"skua.h"'), words))
    run([compiler, folder / f"{name}.c.o", "-lssl", "-lcrypto", "-lpthread", "-o", folder / name])
    assert answers(folder / name) == b"Hello, World!"


@pytest.mark.test_all
@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_implementation_without_http2(folder, compiler):
    """HTTP/1 is served, and the preface of HTTP/2 is a request of another version."""
    name = f"no-http2-{compiler}"
    words = [compiler, "-std=c17", "-O2", "-DSKUA_NO_HTTP2", *C_WARNINGS]
    run(compile_text(folder, f"{name}.c", IMPLEMENTATION + APP.replace("<skua.h>", '"skua.h"'), words))
    run([compiler, folder / f"{name}.c.o", "-lpthread", "-o", folder / name])
    assert answers(folder / name) == b"Hello, World!"
    names = run(["nm", folder / name])
    assert "hpack" not in names and "skua__h2_" not in names
    assert stripped_octets(folder / name) < HELLO_WITHOUT_HTTP2_OCTETS_MAX[compiler]


@pytest.mark.test_all
def test_implementation_without_websocket(folder):
    """Its functions are there and say that it is not."""
    name = "no-websocket"
    words = ["gcc", "-std=c17", "-O2", "-DSKUA_NO_WEBSOCKET", *C_WARNINGS]
    run(compile_text(folder, f"{name}.c", IMPLEMENTATION + APP.replace("<skua.h>", '"skua.h"'), words))
    run(["gcc", folder / f"{name}.c.o", "-lpthread", "-o", folder / name])
    assert answers(folder / name) == b"Hello, World!"
    names = run(["nm", folder / name])
    assert "skua_websocket" in names and "skua__ws_" not in names and "sha1" not in names
    with connected(folder / name) as peer:
        peer.sendall(PREFACE + settings())
        time.sleep(3)  # the session is looked at each second, and its SETTINGS stay unacknowledged
        peer.sendall(frame(PING, 0, 0, b"are you?"))
        came = b""
        while b"are you?" not in came:
            came += peer.recv(65536) or pytest.fail("the connection has ended")
    assert stripped_octets(folder / name) < HELLO_WITHOUT_WEBSOCKET_OCTETS_MAX


BRIDGED = """#include "skua.h"
#include <stdio.h>
int main(void)
{
    skua_server *server = skua_server_new(NULL);
    skua_status status = skua_topic_bridge(server, &(skua_topic_bridge_desc){ .url = "redis://localhost" });
    printf("%s\\n%s", skua_status_text(status), skua_server_error(server));
    skua_server_free(server);
}
"""


@pytest.mark.test_all
def test_topics_over_several_machines_are_an_option(folder):
    """The header includes and needs hiredis with SKUA_REDIS alone; without it the function says that it is not there."""
    said = {}
    for option in ([], ["-DSKUA_REDIS"]):
        name = "bridged" + "".join(option)
        words = ["gcc", "-std=c17", "-O0", *option, *C_WARNINGS]
        run(compile_text(folder, f"{name}.c", IMPLEMENTATION + BRIDGED, words))
        run(["gcc", folder / f"{name}.c.o", "-lpthread", *(["-lhiredis"] if option else []), "-o", folder / name])
        said[name] = run([folder / name])
    assert "SKUA_REDIS" in said["bridged"]
    assert said["bridged-DSKUA_REDIS"] == "no error\n"


def test_the_program_without_tls_says_so_when_it_is_asked_for(folder, tmp_path):
    program, sources = folder / "without-tls", sorted((ROOT / "program").glob("**/*.c"))
    words = ["cc", "-std=c17", "-D_GNU_SOURCE", "-I", ROOT / "include", "-I", ROOT / "middleware", "-I", ROOT / "program", *sources,
             folder / "impl.o", "-lpthread", "-o", program]
    run(words)
    for asked in (["--tls"], ["--cert", "a.pem", "--key", "a.key"], ["--tls-listen", "0"]):
        done = subprocess.run([program, tmp_path, *asked], capture_output=True, text=True, timeout=20, check=False)
        assert (done.returncode, done.stderr) == (1, "skua: this skua was built without TLS, which needs OpenSSL 3.0 or later\n")


@pytest.mark.parametrize("standard", ["c11", "gnu17", "c2x"])
@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_declarations_compile_clean(folder, compiler, standard):
    words = [compiler, f"-std={standard}", *C_WARNINGS]
    run(compile_text(folder, f"declares-{compiler}-{standard}.c", '#include "skua.h"\n#include "skua.h"\n', words))


@pytest.mark.parametrize("standard", ["c++17", "c++20", "gnu++20"])
@pytest.mark.parametrize("compiler", ["g++", "clang++"])
def test_declarations_compile_clean_as_cxx(folder, compiler, standard):
    text = '#include "skua.h"\nskua_slice slice() { return SKUA_SLICE("x"); }\n'
    run(compile_text(folder, f"{compiler}-{standard}.cpp", text, [compiler, f"-std={standard}", *CXX_WARNINGS]))


def test_no_function_is_dead(folder):
    """Functions that nobody calls here are called by the tests, or by a file for another system."""
    text = re.sub(r"(?m)^#pragma GCC diagnostic.*$", "", (folder / "skua.h").read_text())
    (folder / "bare.h").write_text(text)
    (folder / "bare.c").write_text(IMPLEMENTATION.replace("skua.h", "bare.h"))
    words = ["cc", "-std=c17", "-Wunused-function", "-Wunused-const-variable", "-c", "bare.c", "-o", "bare.o"]
    said = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=True).stderr
    unused = set(re.findall(r"skua__(\w+).*\[-Wunused", said))
    assert unused  # the warnings are on
    sources = [p for root in ("src", "tests", "bench") for p in (ROOT / root).rglob("*.c")]
    called = {name for p in sources for name in re.findall(r"(?<!\w)(?:[^\W\d]\w*)", without_definitions(p.read_text()))}
    assert unused - called == set()


def without_definitions(text):
    """A C file without the lines at which functions and objects are defined: those that begin at the margin."""
    return re.sub(r"(?m)^[A-Za-z_].*$", "", text)


WRAPPED = """#include "skua.hpp"
#include <cstdio>
// Members are named in any number, without a warning about the others.
[[maybe_unused]] static void every_struct(skua::server &app)
{
    skua::server other({ .stats = true, .http2 = { .tunnels = true } });
    other.tls_reload({ .certificates = { { .file = "a.pem", .clients = skua::tls_clients{ .ca_file = "ca.pem" } } } });
    app.directory("/a/", "a", { .list = true, .types = { { ".a", "text/a" } }, .tries = { "{path}.a" } });
    app.compress("/a/", { .octets_min = 1000 }).bridge({ .url = "redis://localhost" });
    app.listener_add({ .address = ":8080" });
    app.get("/b", [](skua::request &req) { req.set({ .name = "a", .secure = true }).text("b"); }, { .name = "b" });
    app.websocket("/c", { .message = [](skua::socket, std::string_view, bool) {}, .how = { .protocols = "c" } });
}
int main()
{
    skua::server app;
    app.get("/{name}", [](skua::request req) -> skua::task<> {
        std::size_t n = co_await skua::blocking([&] { return req.param("name").size(); });
        req.text(std::to_string(n));
    });
    std::string answer = app.test("GET /five5 HTTP/1.1\\r\\nHost: a\\r\\n\\r\\n");
    std::puts(answer.c_str());
    return answer.ends_with("\\r\\n\\r\\n5") ? 0 : 1;
}
"""


@pytest.mark.parametrize("compiler", ["g++", "clang++"])
def test_wrapper_beside_it(folder, compiler):
    """dist/skua.hpp: one file, clean, and working over the C implementation."""
    words = [compiler, "-std=c++20", *CXX_WARNINGS, "-Wconversion", "-Wsign-conversion", "-Wshadow"]
    run(compile_text(folder, f"wrapped-{compiler}.cpp", WRAPPED, words))
    program = folder / f"wrapped-{compiler}"
    run([compiler, folder / f"wrapped-{compiler}.cpp.o", folder / "impl.o", "-lpthread", "-o", program])
    run([program])


@pytest.mark.parametrize("compiler,standard", [("g++", "c++17"), ("g++", "c++11"), ("clang++", "c++17"), ("gcc", "c17")])
def test_wrapper_before_cxx20_says_so_once(folder, compiler, standard):
    language = "c" if compiler == "gcc" else "c++"
    words = [compiler, "-x", language, f"-std={standard}", "-fsyntax-only"]
    said = refused(compile_text(folder, "early.cpp", '#include "skua.hpp"\n', words))
    assert said.count("error:") == 1 and "-std=c++20" in said


HOSTILE = """
#include <curses.h>
#include <errno.h>
#undef OK
#define OK 1 2 3
#define min(a, b) ((a) < (b) ? (a) : (b))
#define max [
#define status ]
#undef linux
#undef unix
#define linux windows
#define unix {
#include "skua.h"
int hostile(const int *numbers);
int hostile(const int *numbers) unix return min(numbers max 1 status, 2); }
"""


@pytest.mark.parametrize("define", ["", "#define SKUA_IMPLEMENTATION\n"])
@pytest.mark.parametrize("standard", ["c11", "gnu17"])
@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_after_headers_and_macros_of_others(folder, compiler, standard, define):
    text = define + HOSTILE
    words = [compiler, f"-std={standard}", "-fsyntax-only", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror"]
    run(compile_text(folder, "hostile.c", text, words))


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.parametrize("before", ["#include <errno.h>\n#include <stdio.h>\n", '#include <stdint.h>\n#define _GNU_SOURCE\n',
                                    '#include "skua.h"\n'])
def test_system_header_first_without_features(folder, compiler, before):
    words = compile_text(folder, "late.c", before + IMPLEMENTATION, [compiler, "-std=c11", "-fsyntax-only"])
    said = refused(words)
    assert said.count("error:") == 1
    assert "skua.h needs _GNU_SOURCE" in said and "-D_GNU_SOURCE" in said
    run([*words, "-D_GNU_SOURCE", "-Wno-macro-redefined"])


@pytest.mark.parametrize("compiler", ["g++", "clang++"])
def test_implementation_in_cxx(folder, compiler):
    said = refused(compile_text(folder, "impl.cpp", IMPLEMENTATION, [compiler]))
    assert said.count("error:") == 1
    assert "define it in a .c file" in said


def test_several_translation_units(folder):
    """The implementation in one, the declarations in others, one of them C++: and it serves."""
    main = APP.replace("<skua.h>", '"skua.h"').replace("return 0;", "return unit() + other();")
    main = main.replace("int main", "int unit(void);\nint other(void);\n\nint main")
    run(compile_text(folder, "main.c", main, ["cc", "-std=c11"]))
    run(compile_text(folder, "unit.c", '#include "skua.h"\nint unit(void) { return skua_version()[0] != \'0\'; }\n', ["cc"]))
    other = '#include "skua.h"\nextern "C" int other() { return skua_status_text(SKUA_OK) == nullptr; }\n'
    run(compile_text(folder, "other.cpp", other, ["c++"]))
    objects = [folder / n for n in ("impl.o", "main.c.o", "unit.c.o", "other.cpp.o")]
    run(["cc", *objects, "-o", folder / "several", "-lpthread"])
    assert answers(folder / "several") == b"Hello, World!"


@pytest.mark.test_all
def test_codings_that_are_not_built_in_are_not_tried(folder, tmp_path):
    """A directory that compresses, in a library that has gzip alone: a client that likes another more gets gzip."""
    text = APP.replace("<skua.h>", '"skua.h"').replace('skua_route(server, "GET /", hello, NULL)', (
        f'skua_route_directory(server, "/", "{tmp_path}", &(skua_directory_config){{ .compress = true, .index = "a.txt" }})'))
    assert "skua_route_directory" in text
    (tmp_path / "a.txt").write_text("some text " * 1000)
    (folder / "gzip.c").write_text("#define SKUA_IMPLEMENTATION\n" + text)
    run(["cc", "-O0", "-DSKUA_ZLIB", "gzip.c", "-lz", "-lpthread", "-o", "gzip"], cwd=folder)
    answer = answers(folder / "gzip", lines="Accept-Encoding: br, zstd, gzip\r\n")
    assert zlib.decompress(answer, 31) == b"some text " * 1000


def test_bare_program_is_small(folder):
    """cc -O2 hello.c -lpthread, with skua.h beside it, is all; stripped, the program stays small."""
    text = "#define SKUA_IMPLEMENTATION\n" + APP.replace("<skua.h>", '"skua.h"')
    (folder / "hello.c").write_text(text)
    run(["cc", "-O2", "hello.c", "-lpthread", "-o", "hello"], cwd=folder)
    assert answers(folder / "hello") == b"Hello, World!"
    assert stripped_octets(folder / "hello") < HELLO_OCTETS_MAX


@pytest.mark.skipif(not shutil.which("musl-gcc"), reason="musl-gcc is not installed")
def test_libc_alone(folder):
    """musl-gcc of Debian's musl-tools sees the headers of that libc and none of the kernel's."""
    (folder / "no_kernel.c").write_text("#include <linux/types.h>\n")
    assert "No such file" in refused(["musl-gcc", "-E", folder / "no_kernel.c"])
    text = "#define SKUA_IMPLEMENTATION\n" + APP.replace("<skua.h>", '"skua.h"')
    (folder / "musl.c").write_text(text)
    run(["musl-gcc", "-std=c11", "-O0", *C_WARNINGS, "-static", "musl.c", "-lpthread", "-o", "musl"], cwd=folder)
    assert answers(folder / "musl") == b"Hello, World!"


def test_only_public_names_are_exported(folder):
    exported = symbols(folder / "impl.o", "-g", "--defined-only")
    assert len(exported) > 50
    assert [name for name in exported if not re.match(r"skua_[a-z]", name)] == []


def test_names_in_the_object(folder):
    """Static functions and objects too; what a function keeps for itself is named NAME.NUMBER by the compiler."""
    for name in symbols(folder / "impl.o", "--defined-only"):
        assert re.match(r"skua__?[a-zA-Z]", name) or re.search(r"\.\d+$", name) or name.startswith("."), name


def test_names_in_the_text(folder):
    sys.path.insert(0, str(ROOT / "tools"))
    try:
        from c_names import Source
    finally:
        sys.path.pop(0)
    source = Source((folder / "skua.h").read_text())
    names = {n.text for n in [*source.file_scope_names(), *source.nested_names()]}
    assert len(names) > 1000
    system = {"_GNU_SOURCE", "_DARWIN_C_SOURCE", "_FILE_OFFSET_BITS"}
    assert {n for n in names if not n.startswith(("skua_", "SKUA_"))} == system


def test_macros_are_undefined_at_the_end(folder):
    text = run(["cc", "-E", "-dM", folder / "impl.c"])
    left = {line.split()[1].split("(")[0] for line in text.splitlines()}
    assert "SKUA_H" in left
    assert {n for n in left if n.startswith("skua_")} == set()
    written = set(re.findall(r"^\s*#\s*define\s+(\w+)", "".join(p.read_text() for p in (ROOT / "src").glob("*/*.[ch]")), re.M))
    assert left & written == set()


def test_static_api(folder):
    """SKUA_API=static, in a program of one file, exports nothing, and warns of nothing."""
    text = '#define SKUA_API static\n' + IMPLEMENTATION
    for compiler in ("gcc", "clang"):
        run(compile_text(folder, "static.c", text, [compiler, "-std=c11", "-O0", *C_WARNINGS]))
        assert symbols(folder / "static.c.o", "-g", "--defined-only") == {}


def test_portable(folder):
    run(compile_text(folder, "portable.c", "#define SKUA_PORTABLE\n" + IMPLEMENTATION, ["cc", *C_WARNINGS]))


@pytest.mark.test_all
def test_own_assertion(folder):
    """A program's SKUA_ASSERT is used, and is still there afterwards."""
    text = """
#define SKUA_ASSERT(condition) ((condition) ? (void)0 : give_up(#condition))
_Noreturn void give_up(const char *condition);
#define SKUA_IMPLEMENTATION
#include "skua.h"
#include <stdlib.h>
_Noreturn void give_up(const char *condition) { exit(condition[0] ? 7 : 8); }
int main(void)
{
    SKUA_ASSERT(1 + 1 == 2);
    skua_server *server = skua_server_new(NULL);
    return skua_route(server, "GET /", NULL, NULL) == SKUA_OK;
}
"""
    (folder / "assert.c").write_text(text)
    run(["cc", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror", folder / "assert.c", "-o", folder / "assert", "-lpthread"])
    assert subprocess.run([folder / "assert"], check=False).returncode == 7


def test_reproducible(folder, tmp_path):
    text = (folder / "skua.h").read_text()
    assert make_header(tmp_path / "again.h").read_text() == text
    assert re.search(r"^// Skua \d+\.\d+\.\d+, commit (unknown|[0-9a-f]{12})", text, re.M)
    assert str(ROOT) not in text
    assert text.count("SPDX-License-Identifier: MIT") > 50 and "WITHOUT WARRANTY OF ANY KIND" in text
