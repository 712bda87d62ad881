// SPDX-License-Identifier: MIT
//
// Part of skua.hpp: JSON, by any library. The program defines once how a type is read and written:
//
//     template <> struct skua::json_codec<nlohmann::json> {
//         static std::string write(const nlohmann::json &value) { return value.dump(); }
//         static nlohmann::json read(std::string_view text) { return nlohmann::json::parse(text); }
//     };
//
// Then it responds with such values, and reads them:
//
//     auto order = skua::read_json<nlohmann::json>(co_await req.body());
//     skua::respond_json(req, order, 201);
#ifndef SKUA_CPP_JSON_HPP
#define SKUA_CPP_JSON_HPP

#include "request.hpp"

namespace skua {

// Programs specialise it. read throws any exception if the text is not JSON, or not that of a T.
template <class T> struct json_codec;

template <class T>
concept json_readable = requires(std::string_view text) {
    { json_codec<T>::read(text) } -> std::convertible_to<T>;
};

template <class T>
concept json_writable = requires(const T &value) {
    { json_codec<T>::write(value) } -> std::convertible_to<std::string_view>;
};

// Reads a value. If its codec refuses the text, that is the client's error: http_error 400, without the codec's
// message.
template <json_readable T> T read_json(std::string_view text)
{
    try {
        return json_codec<T>::read(text);
    } catch (const std::bad_alloc &) {
        throw;
    } catch (const std::exception &) {
        throw http_error(400, "the content is not the JSON that was expected");
    }
}

// Responds with a value as application/json.
template <json_writable T> void respond_json(const request &of, const T &value, int status = 200)
{
    const auto &text = json_codec<T>::write(value);
    check(skua_respond_json(of.raw(), status, slice(std::string_view(text))));
}

} // namespace skua

#endif // SKUA_CPP_JSON_HPP
