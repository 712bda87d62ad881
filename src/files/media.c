// SPDX-License-Identifier: MIT
//
// Media types by the ending of a file's name, from the IANA registry, and for text always in UTF-8.
// JavaScript is text/javascript (RFC 9239); a charset is added only where the type defines one.

#include "base/slice.h"

typedef struct media_entry {
    char ending[12];
    const char *type;
} media_entry;

// Sorted by ending, for the binary search.
static const media_entry media_entries[] = {
    { "3gp", "video/3gpp" },
    { "7z", "application/x-7z-compressed" },
    { "aac", "audio/aac" },
    { "apng", "image/apng" },
    { "asc", "text/plain; charset=utf-8" },
    { "atom", "application/atom+xml" },
    { "avi", "video/x-msvideo" },
    { "avif", "image/avif" },
    { "bin", "application/octet-stream" },
    { "bmp", "image/bmp" },
    { "bz2", "application/x-bzip2" },
    { "c", "text/plain; charset=utf-8" },
    { "cc", "text/plain; charset=utf-8" },
    { "cjs", "text/javascript; charset=utf-8" },
    { "conf", "text/plain; charset=utf-8" },
    { "cpp", "text/plain; charset=utf-8" },
    { "css", "text/css; charset=utf-8" },
    { "csv", "text/csv; charset=utf-8" },
    { "diff", "text/plain; charset=utf-8" },
    { "doc", "application/msword" },
    { "docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document" },
    { "eot", "application/vnd.ms-fontobject" },
    { "epub", "application/epub+zip" },
    { "flac", "audio/flac" },
    { "geojson", "application/geo+json" },
    { "gif", "image/gif" },
    { "glb", "model/gltf-binary" },
    { "gltf", "model/gltf+json" },
    { "gz", "application/gzip" },
    { "h", "text/plain; charset=utf-8" },
    { "heic", "image/heic" },
    { "hpp", "text/plain; charset=utf-8" },
    { "htm", "text/html; charset=utf-8" },
    { "html", "text/html; charset=utf-8" },
    { "ico", "image/vnd.microsoft.icon" },
    { "ics", "text/calendar; charset=utf-8" },
    { "ini", "text/plain; charset=utf-8" },
    { "jar", "application/java-archive" },
    { "jpeg", "image/jpeg" },
    { "jpg", "image/jpeg" },
    { "js", "text/javascript; charset=utf-8" },
    { "json", "application/json" },
    { "jsonld", "application/ld+json" },
    { "jxl", "image/jxl" },
    { "log", "text/plain; charset=utf-8" },
    { "m3u8", "application/vnd.apple.mpegurl" },
    { "m4a", "audio/mp4" },
    { "m4v", "video/mp4" },
    { "map", "application/json" },
    { "markdown", "text/markdown; charset=utf-8" },
    { "md", "text/markdown; charset=utf-8" },
    { "mid", "audio/midi" },
    { "midi", "audio/midi" },
    { "mjs", "text/javascript; charset=utf-8" },
    { "mkv", "video/matroska" },
    { "mov", "video/quicktime" },
    { "mp3", "audio/mpeg" },
    { "mp4", "video/mp4" },
    { "mpd", "application/dash+xml" },
    { "mpeg", "video/mpeg" },
    { "mpg", "video/mpeg" },
    { "odp", "application/vnd.oasis.opendocument.presentation" },
    { "ods", "application/vnd.oasis.opendocument.spreadsheet" },
    { "odt", "application/vnd.oasis.opendocument.text" },
    { "oga", "audio/ogg" },
    { "ogg", "audio/ogg" },
    { "ogv", "video/ogg" },
    { "opus", "audio/ogg" },
    { "otf", "font/otf" },
    { "patch", "text/plain; charset=utf-8" },
    { "pdf", "application/pdf" },
    { "png", "image/png" },
    { "ppt", "application/vnd.ms-powerpoint" },
    { "pptx", "application/vnd.openxmlformats-officedocument.presentationml.presentation" },
    { "ps", "application/postscript" },
    { "py", "text/plain; charset=utf-8" },
    { "rar", "application/vnd.rar" },
    { "rs", "text/plain; charset=utf-8" },
    { "rss", "application/rss+xml" },
    { "rst", "text/plain; charset=utf-8" },
    { "rtf", "application/rtf" },
    { "sh", "text/plain; charset=utf-8" },
    { "sql", "application/sql" },
    { "svg", "image/svg+xml" },
    { "svgz", "image/svg+xml" },
    { "tar", "application/x-tar" },
    { "text", "text/plain; charset=utf-8" },
    { "tgz", "application/gzip" },
    { "tif", "image/tiff" },
    { "tiff", "image/tiff" },
    { "toml", "application/toml" },
    { "ts", "video/mp2t" },
    { "tsv", "text/tab-separated-values; charset=utf-8" },
    { "ttf", "font/ttf" },
    { "txt", "text/plain; charset=utf-8" },
    { "vcf", "text/vcard; charset=utf-8" },
    { "vtt", "text/vtt; charset=utf-8" },
    { "wasm", "application/wasm" },
    { "wav", "audio/wav" },
    { "weba", "audio/webm" },
    { "webm", "video/webm" },
    { "webmanifest", "application/manifest+json" },
    { "webp", "image/webp" },
    { "woff", "font/woff" },
    { "woff2", "font/woff2" },
    { "xhtml", "application/xhtml+xml" },
    { "xls", "application/vnd.ms-excel" },
    { "xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet" },
    { "xml", "application/xml" },
    { "xsl", "application/xslt+xml" },
    { "xz", "application/x-xz" },
    { "yaml", "application/yaml" },
    { "yml", "application/yaml" },
    { "zip", "application/zip" },
    { "zst", "application/zstd" },
};

enum { MEDIA_ENTRIES = sizeof media_entries / sizeof *media_entries };

// The octets after the last "." of the last segment; none if that is where the name begins:
// ".profile" is a name without an ending.
static slice media_ending(slice name)
{
    for (size_t i = name.len; i-- > 1;) {
        if (name.ptr[i] == '/') break;
        if (name.ptr[i] == '.') {
            return name.ptr[i - 1] == '/' ? slice_make(NULL, 0) : slice_from(name, i + 1);
        }
    }
    return slice_make(NULL, 0);
}

// Orders ending, whatever its case, against an entry's.
static int media_compare(slice ending, const char *of_entry)
{
    for (size_t i = 0; i < ending.len; i++) {
        int difference = (unsigned char)octet_lower(ending.ptr[i]) - (unsigned char)of_entry[i];
        if (difference) return difference;
    }
    return of_entry[ending.len] ? -1 : 0;
}

const char *skua_media_type(skua_slice name)
{
    slice ending = media_ending(name);
    size_t low = 0,
           high = ending.len && ending.len < sizeof media_entries[0].ending ? MEDIA_ENTRIES : 0;
    while (low < high) {
        size_t middle = (low + high) / 2;
        int order = media_compare(ending, media_entries[middle].ending);
        if (order == 0) return media_entries[middle].type;
        if (order < 0) high = middle;
        else low = middle + 1;
    }
    return "application/octet-stream";
}
