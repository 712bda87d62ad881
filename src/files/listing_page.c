// SPDX-License-Identifier: MIT
//
// Writing of the page. Each href is relative, begins with "./" or "../" and is percent-encoded;
// what is shown goes through markup_text.

#include "files/listing_page.h"

#include <stdio.h>
#include <time.h>

// Outlines of 16 by 16: one for each kind of file, drawn once and used by name.
static const char listing_page_icons[] =
    "<svg hidden>"
    "<symbol id=\"dir\" viewBox=\"0 0 16 16\"><path d=\"M1.5 12V4.2c0-.7.5-1.2 1.2-1.2h3l1.6 "
    "1.8h6c.7 0 1.2.5"
    " 1.2 1.2v6c0 .7-.5 1.2-1.2 1.2H2.7c-.7 0-1.2-.5-1.2-1.2z\"/></symbol>"
    "<symbol id=\"up\" viewBox=\"0 0 16 16\"><path d=\"M8 13V3.5M4 7.2l4-4 4 4\"/></symbol>"
    "<symbol id=\"file\" viewBox=\"0 0 16 16\"><path d=\"M9.3 1.7H4.2c-.7 0-1.2.5-1.2 1.2v10.2c0 "
    ".7.5 1.2 1.2"
    " 1.2h7.6c.7 0 1.2-.5 1.2-1.2V5.4zM9.3 1.7v3.7H13\"/></symbol>"
    "<symbol id=\"text\" viewBox=\"0 0 16 16\"><path d=\"M9.3 1.7H4.2c-.7 0-1.2.5-1.2 1.2v10.2c0 "
    ".7.5 1.2 1.2"
    " 1.2h7.6c.7 0 1.2-.5 1.2-1.2V5.4zM9.3 1.7v3.7H13M5.5 8.5h5M5.5 11h5\"/></symbol>"
    "<symbol id=\"pic\" viewBox=\"0 0 16 16\"><rect x=\"1.8\" y=\"2.5\" width=\"12.4\" "
    "height=\"11\" rx=\"1.3\"/>"
    "<circle cx=\"5.4\" cy=\"6\" r=\"1.1\"/><path d=\"M2 11.6l3.4-2.9 2.4 2 3-3.2 3.3 "
    "3.4\"/></symbol>"
    "<symbol id=\"play\" viewBox=\"0 0 16 16\"><rect x=\"1.8\" y=\"2.5\" width=\"12.4\" "
    "height=\"11\" rx=\"1.3\"/>"
    "<path d=\"M6.6 5.6v4.8l4-2.4z\"/></symbol>"
    "<symbol id=\"pack\" viewBox=\"0 0 16 16\"><path d=\"M2.2 5v7.6c0 .6.4 1 1 1h9.6c.6 0 1-.4 "
    "1-1V5M1.5"
    " 2.4h13V5h-13zM6.3 7.8h3.4\"/></symbol>"
    "<symbol id=\"none\" viewBox=\"0 0 16 16\"><circle cx=\"8\" cy=\"8\" r=\"6\"/><path d=\"M3.8 "
    "12.2l8.4-8.4\"/>"
    "</symbol></svg>\n";

// ---- Values ----

static void listing_page_size(markup *m, uint64_t octets)
{
    static const char *const units[] = { "KB", "MB", "GB", "TB", "PB", "EB" };
    char text[32];
    if (octets < 1000) {
        (void)snprintf(text, sizeof text, "%u B", (unsigned)octets);
    } else {
        size_t unit = 0;
        while (octets >= 999500 && unit < 5) {
            octets /= 1000;
            unit++;
        }
        (void)snprintf(text, sizeof text, octets < 99950 ? "%.1f %s" : "%.0f %s",
                       (double)octets / 1000, units[unit]);
    }
    markup_literal(m, text);
}

static void listing_page_time(markup *m, int64_t time_ns)
{
    time_t seconds = (time_t)(time_ns / 1000000000);
    struct tm utc;
    char text[96];
    if (!gmtime_r(&seconds, &utc) || utc.tm_year < 0 || utc.tm_year > 8099) return;
    (void)snprintf(text, sizeof text,
                   "<time datetime=\"%04d-%02d-%02dT%02d:%02dZ\">%04d-%02d-%02d %02d:%02d</time>",
                   utc.tm_year + 1900, utc.tm_mon + 1, utc.tm_mday, utc.tm_hour, utc.tm_min,
                   utc.tm_year + 1900, utc.tm_mon + 1, utc.tm_mday, utc.tm_hour, utc.tm_min);
    markup_literal(m, text);
}

static bool listing_page_begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

static const char *listing_page_icon(const listing_entry *entry)
{
    static const struct {
        const char *type, *icon;
    } icons[] = {
        { "image/", "pic" },
        { "video/", "play" },
        { "audio/", "play" },
        { "text/", "text" },
        { "application/json", "text" },
        { "application/xml", "text" },
        { "application/yaml", "text" },
        { "application/toml", "text" },
        { "application/sql", "text" },
        { "application/pdf", "doc" },
        { "application/zip", "pack" },
        { "application/gzip", "pack" },
        { "application/x-tar", "pack" },
        { "application/x-xz", "pack" },
        { "application/x-bzip2", "pack" },
        { "application/zstd", "pack" },
        { "application/x-7z", "pack" },
        { "application/vnd.rar", "pack" },
        { "application/java-archive", "pack" },
    };
    if (entry->kind == SKUA_FILE_DIRECTORY) return "dir";
    if (entry->kind == SKUA_FILE_OTHER) return "none";
    const char *type = skua_media_type(slice_of(entry->name));
    for (size_t i = 0; i < sizeof icons / sizeof *icons; i++) {
        if (listing_page_begins(type, icons[i].type)) return icons[i].icon;
    }
    return "file";
}

// An icon's name is its class; a document has the outline of text in its own colour.
static void listing_page_put_icon(markup *m, const char *icon)
{
    markup_literal(m, "<svg class=\"");
    markup_literal(m, icon);
    markup_literal(m, "\" aria-hidden=\"true\"><use href=\"#");
    markup_literal(m, strcmp(icon, "doc") == 0 ? "text" : icon);
    markup_literal(m, "\"/></svg>");
}

// ---- Links ----

static const char *const listing_page_sorts[] = { "name", "size", "time" };

// The query of an order, nothing for the usual one; with what is searched for.
static void listing_page_query(markup *m, slice search, listing_sort sort, bool descending)
{
    bool is_usual = sort == LISTING_BY_NAME && !descending;
    if (search.len) {
        markup_literal(m, "?search=");
        markup_segment(m, search);
    }
    if (is_usual) return;
    markup_literal(m, search.len ? "&amp;sort=" : "?sort=");
    markup_literal(m, listing_page_sorts[sort]);
    markup_literal(m, descending ? "&amp;order=desc" : "&amp;order=asc");
}

// That of another folder, where nothing is searched for.
static void listing_page_order(markup *m, const listing_view *view)
{
    listing_page_query(m, slice_make(NULL, 0), view->sort, view->descending);
}

// A path with a backslash is never served.
static bool listing_page_can_link(const listing_entry *entry)
{
    return entry->kind != SKUA_FILE_OTHER && !strchr(entry->name, '\\');
}

static void listing_page_up(markup *m, size_t levels, const listing_view *view)
{
    if (levels == 0) markup_literal(m, "./");
    while (levels--)
        markup_literal(m, "../");
    listing_page_order(m, view);
}

// ---- Parts of the page ----

static size_t listing_page_depth(slice below)
{
    size_t depth = 0;
    for (size_t i = 0; i < below.len; i++)
        depth += below.ptr[i] == '/';
    return depth;
}

// A step on the way down, as a link if it is levels above where we are.
static void listing_page_crumb(markup *m, const listing_view *view, slice name, size_t levels)
{
    if (levels) {
        markup_literal(m, "<a href=\"");
        listing_page_up(m, levels, view);
        markup_literal(m, "\">");
    }
    markup_literal(m, "<bdi dir=\"ltr\">");
    markup_text(m, name, true);
    markup_literal(m, levels ? "</bdi></a>" : "</bdi>");
}

// The way from the site's root, whose own name ends in "/", to here.
static void listing_page_crumbs(markup *m, const listing_view *view)
{
    slice below = slice_from(view->path, view->prefix_len);
    size_t levels = listing_page_depth(below);
    markup_literal(m, "<h1>");
    listing_page_crumb(m, view, slice_make(view->path.ptr, view->prefix_len), levels);
    for (const char *separator = " "; levels; separator = "<span>/</span>") {
        slice name = slice_make(below.ptr, 0);
        while (name.ptr[name.len] != '/')
            name.len++;
        below = slice_from(below, name.len + 1);
        markup_literal(m, separator);
        listing_page_crumb(m, view, name, --levels);
    }
    markup_literal(m, "</h1>\n");
}

static void listing_page_count(markup *m, size_t count, const char *one, const char *many)
{
    markup_number(m, count);
    markup_literal(m, count == 1 ? one : many);
}

static void listing_page_summary(markup *m, const listing *l)
{
    size_t directories = 0, files = 0;
    uint64_t octets = 0;
    for (size_t i = 0; i < l->count; i++) {
        if (l->entries[i].kind == SKUA_FILE_DIRECTORY) directories++;
        if (l->entries[i].kind != SKUA_FILE_REGULAR) continue;
        files++;
        if (__builtin_add_overflow(octets, l->entries[i].size, &octets)) octets = UINT64_MAX;
    }
    markup_literal(m, "<p>");
    listing_page_count(m, directories, " folder, ", " folders, ");
    listing_page_count(m, files, " file, ", " files, ");
    listing_page_size(m, octets);
    if (l->cut) {
        markup_literal(m, ". There is more here than a page can show: these are only the first ");
        markup_number(m, l->count);
        markup_literal(m, " entries found.");
    }
    markup_literal(m, "</p>\n");
}

// The link turns the order around if this column has it already. Large and new come first
// otherwise.
static void listing_page_column(markup *m, const listing_view *view, listing_sort sort,
                                const char *title)
{
    bool current = view->sort == sort;
    markup_literal(m, "<th scope=\"col\"");
    if (current) {
        markup_literal(m,
                       view->descending ? " aria-sort=\"descending\"" : " aria-sort=\"ascending\"");
    }
    markup_literal(m, "><a href=\"./");
    listing_page_query(m, view->search, sort,
                       current ? !view->descending : sort != LISTING_BY_NAME);
    markup_literal(m, "\">");
    markup_literal(m, title);
    markup_literal(m, "</a></th>");
}

static void listing_page_name(markup *m, const listing_view *view, const listing_entry *entry)
{
    slice name = slice_of(entry->name);
    bool link = listing_page_can_link(entry), directory = entry->kind == SKUA_FILE_DIRECTORY;
    if (link) {
        markup_literal(m, "<td><a href=\"./");
        markup_segment(m, name);
        if (directory) {
            markup_literal(m, "/");
            listing_page_order(m, view);
        }
        markup_literal(m, "\">");
    } else {
        markup_literal(m, "<td class=\"plain\"><div>");
    }
    listing_page_put_icon(m, listing_page_icon(entry));
    markup_literal(m, "<bdi dir=\"ltr\">");
    markup_text(m, name, true);
    markup_literal(m, directory ? "/</bdi>" : "</bdi>");
    markup_literal(m, link ? "</a></td>" : "</div></td>");
}

static void listing_page_row(markup *m, const listing_view *view, const listing_entry *entry)
{
    markup_literal(m, "<tr>");
    listing_page_name(m, view, entry);
    if (entry->kind == SKUA_FILE_REGULAR) {
        markup_literal(m, "<td title=\"");
        markup_number(m, entry->size);
        markup_literal(m, entry->size == 1 ? " octet\">" : " octets\">");
        listing_page_size(m, entry->size);
        markup_literal(m, "</td><td>");
    } else {
        markup_literal(m, "<td></td><td>");
    }
    if (entry->kind != SKUA_FILE_OTHER) listing_page_time(m, entry->mtime_ns);
    markup_literal(m, "</td></tr>\n");
}

static void listing_page_top_rows(markup *m, const listing *l, const listing_view *view)
{
    if (view->path.len > view->prefix_len) {
        markup_literal(m, "<tr class=\"up\"><td><a href=\"");
        listing_page_up(m, 1, view);
        markup_literal(m, "\">");
        listing_page_put_icon(m, "up");
        markup_literal(m, "<bdi>..</bdi></a></td><td></td><td></td></tr>\n");
    }
    if (l->count == 0) {
        markup_literal(m, "<tr><td class=\"plain\" colspan=\"3\"><p>");
        markup_literal(m,
                       view->search.len ? "No name here has that in it." : "This folder is empty.");
        markup_literal(m, "</p></td></tr>\n");
    }
}

// A form of GET has its fields for a query, in the place of the address's own.
static void listing_page_search(markup *m, const listing_view *view)
{
    markup_literal(m,
                   "<form role=\"search\"><input type=\"search\" name=\"search\" maxlength=\"255\" "
                   "placeholder=\"Search\" aria-label=\"Search for names\" value=\"");
    markup_text(m, view->search, false);
    markup_literal(m, "\">");
    if (view->sort != LISTING_BY_NAME || view->descending) {
        markup_literal(m, "<input type=\"hidden\" name=\"sort\" value=\"");
        markup_literal(m, listing_page_sorts[view->sort]);
        markup_literal(m, "\"><input type=\"hidden\" name=\"order\" value=\"");
        markup_literal(m, view->descending ? "desc\">" : "asc\">");
    }
    markup_literal(m, "</form>\n");
}

static void listing_page_table(markup *m, const listing *l, const listing_view *view)
{
    markup_literal(m, "<table>\n<thead><tr>");
    listing_page_column(m, view, LISTING_BY_NAME, "Name");
    listing_page_column(m, view, LISTING_BY_SIZE, "Size");
    listing_page_column(m, view, LISTING_BY_TIME, "Modified (UTC)");
    markup_literal(m, "</tr></thead>\n<tbody>\n");
    listing_page_top_rows(m, l, view);
}

static void listing_page_begin(const listing *l, const listing_view *view, markup *m)
{
    markup_literal(
        m, "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
           "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>");
    markup_text(m, view->path, false);
    markup_literal(m, "</title>\n<style>");
    markup_literal(m, listing_page_style);
    markup_literal(m, "</style>\n</head>\n<body>\n");
    markup_literal(m, listing_page_icons);
    markup_literal(m, "<main>\n");
    listing_page_crumbs(m, view);
    listing_page_summary(m, l);
    listing_page_search(m, view);
    if (view->markup) markup_literal(m, view->markup);
    listing_page_table(m, l, view);
}

static size_t listing_page_write(const listing *l, const listing_view *view, size_t first,
                                 size_t octets, markup *m)
{
    while (first < l->count && m->len < octets && !m->failed)
        listing_page_row(m, view, &l->entries[first++]);
    return first;
}

static void listing_page_end(const listing_view *view, markup *m)
{
    markup_literal(m, "</tbody>\n</table>\n</main>\n<script>");
    markup_literal(m, listing_page_script);
    if (view->script) {
        markup_literal(m, "</script>\n<script>");
        markup_literal(m, view->script);
    }
    markup_literal(m, "</script>\n</body>\n</html>\n");
}

const listing_form listing_page = { "text/html; charset=utf-8", listing_page_begin,
                                    listing_page_write, listing_page_end };
