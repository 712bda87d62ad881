// SPDX-License-Identifier: MIT
//
// Content piece by piece, forms with files, tunnels, files and JSON, in C++. Files are those of CPP_FILES.
#include "cpp_content.hpp"

#include <cstdlib>
#include <cstring>
#include <memory>
#include <stdexcept>

#if __has_include(<nlohmann/json.hpp>)
#include <nlohmann/json.hpp>
template <> struct skua::json_codec<nlohmann::json> {
    static std::string write(const nlohmann::json &value)
    {
        return value.dump();
    }
    static nlohmann::json read(std::string_view text)
    {
        return nlohmann::json::parse(text);
    }
};
#endif

#if __has_include(<rapidjson/document.h>)
#include <rapidjson/document.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>
template <> struct skua::json_codec<rapidjson::Document> {
    static std::string write(const rapidjson::Document &value)
    {
        rapidjson::StringBuffer out;
        rapidjson::Writer<rapidjson::StringBuffer> writer(out);
        value.Accept(writer);
        return { out.GetString(), out.GetSize() };
    }
    static rapidjson::Document read(std::string_view text)
    {
        rapidjson::Document value;
        if (value.Parse(text.data(), text.size()).HasParseError()) throw std::invalid_argument("JSON");
        return value;
    }
};
#endif

static void add_readers(skua::server &app)
{
    app.post("/cpp/count", [](skua::request &req) {
        skua::read_content(req, [octets = std::size_t(0)](skua::request &self, skua_content_event event,
                                                          std::string_view piece) mutable {
            octets += piece.size();
            if (event == SKUA_CONTENT_END) self.text(std::to_string(octets));
        });
    });
    app.post("/cpp/throws", [](skua::request &req) {
        skua::read_content(req, [](skua::request &, skua_content_event, std::string_view) {
            throw skua::http_error(409, "enough");
        });
    });
    app.post("/cpp/halves", [](skua::request &req) {
        auto owed = std::make_shared<std::size_t>(0);
        skua::read_content(req, [owed](skua::request &self, skua_content_event event,
                                       std::string_view piece) -> std::size_t {
            if (event == SKUA_CONTENT_END) self.text("all");
            if (*owed) skua::consume(self, *owed); // that of the piece before
            *owed = piece.size() - piece.size() / 2;
            return piece.size() / 2;
        });
    });
    app.post("/cpp/parts", [](skua::request &req) {
        skua::read_parts(req, [told = std::string()](skua::request &self, skua_part_event event,
                                                     const skua_part *part,
                                                     std::string_view octets) mutable {
            if (event == SKUA_PART_BEGIN) told += std::string(skua::view(part->name)) + "=";
            if (event == SKUA_PART_DATA) told += octets;
            if (event == SKUA_PART_END) told += ";";
            if (event == SKUA_PARTS_END) self.text(told);
        });
    });
    app.post("/cpp/form", [](skua::request &req) {
        skua::collect_parts(
            req,
            [](skua::request &self, std::span<const skua_form_part> parts) {
                std::string told;
                for (const skua_form_part &each : parts)
                    told += std::string(skua::view(each.part.name)) + " " +
                            std::to_string(each.upload.length) + (each.upload.file ? " file;" : ";");
                self.text(told);
            },
            100);
    });
    app.post("/cpp/spool", [](skua::request &req) {
        skua::spool(
            req,
            [](skua::request &self, const skua_upload &upload) {
                char begins[4] = {};
                if (upload.file) skua::file(upload.file).read(0, begins);
                self.text(std::to_string(upload.length), " ", std::string_view(begins, 3));
            },
            100);
    });
}

static void add_writers(skua::server &app)
{
    app.get("/cpp/pull/{n}", [](skua::request &req) {
        auto left = req.param<unsigned>("n");
        skua::pull(req, 200, "text/plain", -1, [req, left](std::span<char> room, std::size_t &octets) mutable {
            if (left == 0) {
                skua::trailer(req, "X-Sum", "done");
                return SKUA_PULL_END;
            }
            if (left == 13) throw std::runtime_error("thirteen");
            left--;
            octets = 1;
            room[0] = 'x';
            return SKUA_PULL_OCTETS;
        });
    });
    app.get("/cpp/woken", [](skua::request &req) {
        auto asked = std::make_shared<int>(0);
        skua::pull(req, 200, "text/plain", 2, [req, asked](std::span<char> room, std::size_t &octets) {
            if ((*asked)++ == 0) {
                skua::ticket(req).resume([](skua::request &again) { skua::wake(again); });
                return SKUA_PULL_PENDING;
            }
            octets = std::string_view("ok").copy(room.data(), 2);
            return SKUA_PULL_END;
        });
    });
    app.get("/cpp/tunnel", [](skua::request &req) {
        if (!skua::upgrade(req, "echo")) {
            req.set("Upgrade", "echo").respond(426);
            return;
        }
        skua::read_content(req, [](skua::request &self, skua_content_event event, std::string_view piece) {
            if (event == SKUA_CONTENT_DATA) self.write(piece);
            if (event == SKUA_CONTENT_END) self.finish();
        });
    });
}

static void add_files(skua::server &app, const skua::root &files)
{
    app.get("/cpp/file/{path...}", [&files](skua::request req) -> skua::task<> {
        skua::opened found = co_await skua::open(files, req.param("path"));
        skua::respond_file(req, "text/plain", found.file, 1, found.info.size - 1);
    });
    app.get("/cpp/loaded/{path...}", [&files](skua::request req) -> skua::task<> {
        skua::opened found = co_await skua::open(files, req.param("path"));
        char room[64];
        std::size_t n = co_await skua::load(found.file, 2, room);
        req.stream(200, "text/plain");
        req.write({ room, n });
        skua::write_file(req, found.file, 0, 2);
    });
    app.get("/cpp/served/{path...}",
            [&files](skua::request &req) { req.serve_file(files.raw(), req.param("path")); });
    app.get("/cpp/listed", [&files](skua::request &req) {
        std::size_t octets = 0;
        files.list("", [&](std::string_view, const skua_file_info &info) { octets += info.size; });
        try {
            files.list("", [](std::string_view, const skua_file_info &) { throw std::runtime_error("no"); });
        } catch (const std::runtime_error &) {
            req.text(std::to_string(octets));
        }
    });
    app.post("/cpp/keep/{path}", [&files](skua::request &req) {
        std::string path(req.param("path"));
        skua::spool(
            req,
            [&files, path](skua::request &self, const skua_upload &upload) {
                skua::file(upload.file).keep(files, path);
                self.respond(201);
            },
            1);
    });
}

template <class T> static void add_json(skua::server &app, const char *path)
{
    app.post(path, [](skua::request req) -> skua::task<> {
        skua::respond_json(req, skua::read_json<T>(co_await req.body()), 201);
    });
}

void add_content(skua::server &app)
{
    add_readers(app);
    add_writers(app);
    if (const char *folder = std::getenv("CPP_FILES")) {
        static skua::root files(folder); // which outlives the server
        add_files(app, files);
    }
#if __has_include(<nlohmann/json.hpp>)
    add_json<nlohmann::json>(app, "/cpp/nlohmann");
#endif
#if __has_include(<rapidjson/document.h>)
    add_json<rapidjson::Document>(app, "/cpp/rapidjson");
#endif
}
