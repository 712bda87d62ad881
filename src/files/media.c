// SPDX-License-Identifier: MIT
//
// Media types by the ending of a file's name, from the IANA registry, and for text always in UTF-8.
// JavaScript is text/javascript (RFC 9239); a charset is added only where the type defines one.
// Source text of programs is plain text whatever its language: what a browser does not run without
// a type (JSX, PHP, a page of Vue) it shall not run with one.

#include "files/media.h"

#include "base/contract.h"
#include "base/utf8.h"

typedef struct media_entry {
    char ending[12];
    const char *type;
} media_entry;

// Sorted by ending, for the binary search.
static const media_entry media_entries[] = {
    { "3gp", "video/3gpp" },
    { "7z", "application/x-7z-compressed" },
    { "aac", "audio/aac" },
    { "aif", "audio/aiff" },
    { "aiff", "audio/aiff" },
    { "apk", "application/vnd.android.package-archive" },
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
    { "go", "text/plain; charset=utf-8" },
    { "gpx", "application/gpx+xml" },
    { "gz", "application/gzip" },
    { "h", "text/plain; charset=utf-8" },
    { "heic", "image/heic" },
    { "heif", "image/heif" },
    { "hpp", "text/plain; charset=utf-8" },
    { "htm", "text/html; charset=utf-8" },
    { "html", "text/html; charset=utf-8" },
    { "ico", "image/vnd.microsoft.icon" },
    { "ics", "text/calendar; charset=utf-8" },
    { "ini", "text/plain; charset=utf-8" },
    { "ipynb", "application/x-ipynb+json" },
    { "jar", "application/java-archive" },
    { "java", "text/plain; charset=utf-8" },
    { "jfif", "image/jpeg" },
    { "jpeg", "image/jpeg" },
    { "jpg", "image/jpeg" },
    { "js", "text/javascript; charset=utf-8" },
    { "json", "application/json" },
    { "jsonl", "application/jsonl" },
    { "jsonld", "application/ld+json" },
    { "jsx", "text/plain; charset=utf-8" },
    { "jxl", "image/jxl" },
    { "kml", "application/vnd.google-earth.kml+xml" },
    { "kmz", "application/vnd.google-earth.kmz" },
    { "log", "text/plain; charset=utf-8" },
    { "m3u", "audio/mpegurl" },
    { "m3u8", "application/vnd.apple.mpegurl" },
    { "m4a", "audio/mp4" },
    { "m4b", "audio/mp4" },
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
    { "php", "text/plain; charset=utf-8" },
    { "png", "image/png" },
    { "ppt", "application/vnd.ms-powerpoint" },
    { "pptx", "application/vnd.openxmlformats-officedocument.presentationml.presentation" },
    { "ps", "application/postscript" },
    { "py", "text/plain; charset=utf-8" },
    { "rar", "application/vnd.rar" },
    { "rb", "text/plain; charset=utf-8" },
    { "rs", "text/plain; charset=utf-8" },
    { "rss", "application/rss+xml" },
    { "rst", "text/plain; charset=utf-8" },
    { "rtf", "application/rtf" },
    { "scss", "text/plain; charset=utf-8" },
    { "sh", "text/plain; charset=utf-8" },
    { "sql", "application/sql" },
    { "srt", "application/x-subrip" },
    { "svg", "image/svg+xml" },
    { "svgz", "image/svg+xml" },
    { "tar", "application/x-tar" },
    { "text", "text/plain; charset=utf-8" },
    { "tgz", "application/gzip" },
    { "tif", "image/tiff" },
    { "tiff", "image/tiff" },
    { "toml", "application/toml" },
    { "ts", "text/plain; charset=utf-8" },
    { "tsv", "text/tab-separated-values; charset=utf-8" },
    { "tsx", "text/plain; charset=utf-8" },
    { "ttc", "font/collection" },
    { "ttf", "font/ttf" },
    { "txt", "text/plain; charset=utf-8" },
    { "vcf", "text/vcard; charset=utf-8" },
    { "vtt", "text/vtt; charset=utf-8" },
    { "vue", "text/plain; charset=utf-8" },
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

static const char media_plain[] = "text/plain; charset=utf-8";
static const char media_unknown[] = "application/octet-stream";

// ---- Names ----

// The last segment of a path.
static slice media_base(slice name)
{
    size_t at = name.len;
    while (at && name.ptr[at - 1] != '/')
        at--;
    return slice_from(name, at);
}

// The octets after the last "."; none if that is where the name begins: ".profile" is a name
// without an ending.
static slice media_ending(slice name)
{
    slice base = media_base(name);
    for (size_t i = base.len; i-- > 1;) {
        if (base.ptr[i] == '.') return slice_from(base, i + 1);
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

// The type of an ending; NULL when it is not known.
static const char *media_of_ending(slice ending)
{
    bool fits = ending.len && ending.len < sizeof media_entries[0].ending;
    size_t low = 0, high = fits ? MEDIA_ENTRIES : 0;
    while (low < high) {
        size_t middle = (low + high) / 2;
        int order = media_compare(ending, media_entries[middle].ending);
        if (order == 0) return media_entries[middle].type;
        if (order < 0) high = middle;
        else low = middle + 1;
    }
    return NULL;
}

// Texts that by custom have no ending.
static bool media_is_text_by_custom(slice base)
{
    static const char *const names[] = { "makefile", "readme",     "license", "licence",
                                         "copying",  "dockerfile", "changes", "changelog" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (slice_equal_nocase(base, slice_of(names[i]))) return true;
    }
    return false;
}

// NULL when the name does not tell.
static const char *media_of_name(slice name)
{
    const char *type = media_of_ending(media_ending(name));
    return !type && media_is_text_by_custom(media_base(name)) ? media_plain : type;
}

const char *skua_media_type(skua_slice name)
{
    CONTRACT_SLICE(name);
    const char *type = media_of_name(name);
    return type ? type : media_unknown;
}

// ---- Content ----

// An ending of two owners: TypeScript, and the streams of digital television.
static bool media_may_be_stream(slice name)
{
    return slice_equal_nocase(media_ending(name), SKUA_SLICE("ts"));
}

bool media_needs_look(slice name)
{
    return !media_of_name(name) || media_may_be_stream(name);
}

static bool media_is_text_control(uint32_t point)
{
    return (point >= '\t' && point <= '\r') || point == 0x1b; // terminals' colours, in logs
}

// Whether all that is left is a character that the end of what is looked at cuts in two.
static bool media_is_cut(slice left, bool cut)
{
    unsigned first = (unsigned char)left.ptr[0];
    return cut && left.len < 4 && first >= 0xc2 && first < 0xf5;
}

// Whether octets are UTF-8 without the controls that no text has.
static bool media_is_text(slice octets)
{
    bool cut = octets.len == MEDIA_LOOK_OCTETS;
    while (octets.len) {
        uint32_t point = 0;
        size_t len = utf8_read(octets, &point);
        if (len == 0) return media_is_cut(octets, cut);
        if ((point < 0x20 && !media_is_text_control(point)) || point == 0x7f) return false;
        octets = slice_from(octets, len);
    }
    return true;
}

// Each packet of a transport stream begins with 0x47, ISO/IEC 13818-1 §2.4.3.2. That is "G", so a
// program that begins with it is told by being text.
const char *media_type(slice name, slice beginning)
{
    const char *type = media_of_name(name);
    if (!media_needs_look(name)) return type;
    if (beginning.len > MEDIA_LOOK_OCTETS) beginning.len = MEDIA_LOOK_OCTETS;
    if (media_is_text(beginning)) return media_plain;
    if (!media_may_be_stream(name)) return media_unknown;
    return beginning.ptr[0] == 0x47 ? "video/mp2t" : media_unknown;
}

// ---- Guards ----

// Plain text is what a script in disguise would be sent as. An XML that is not made for browsers
// may still hold a script of XHTML, which a browser that shows every XML would run.
bool media_guard(const char *type, skua_field *field)
{
    static const char *const foreign[] = { "application/gpx+xml",
                                           "application/vnd.google-earth.kml+xml" };
    if (strcmp(type, media_plain) == 0) {
        *field = (skua_field){ SKUA_SLICE("X-Content-Type-Options"), SKUA_SLICE("nosniff") };
        return true;
    }
    for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++) {
        if (strcmp(type, foreign[i]) != 0) continue;
        *field = (skua_field){ SKUA_SLICE("Content-Security-Policy"), SKUA_SLICE("sandbox") };
        return true;
    }
    return false;
}
