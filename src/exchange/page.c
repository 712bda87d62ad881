// SPDX-License-Identifier: MIT
//
// Error pages and reason phrases. What is not ours in a page, the request's method and a sentence
// of the program's, is cut and escaped; the style is allowed by its hash, so that a page can load
// and run nothing else.

#include "exchange/page.h"

#include "base/assert.h"

static const char page_style[] =
    ":root{color-scheme:light dark}"
    "body{font:1.1rem/1.5 system-ui,sans-serif;max-width:32rem;margin:15vh auto;padding:0 1rem}"
    "h1{font-size:1.6rem;font-weight:600}";

const char *const page_policy = "default-src 'none'; "
                                "style-src 'sha256-4tw9AjL/GuJZEdCQLG4IXtvLrqSxWxrAdaiLNjwWjQE='";

typedef struct page_entry {
    uint16_t status;
    const char *reason;
    const char *sentence; // NULL: the reason says it all
} page_entry;

// The IANA registry of status codes, in order. 306 and 418 are registered as unused.
static const page_entry page_entries[] = {
    { 100, "Continue", NULL },
    { 101, "Switching Protocols", NULL },
    { 102, "Processing", NULL },
    { 103, "Early Hints", NULL },
    { 104, "Upload Resumption Supported", NULL },
    { 200, "OK", NULL },
    { 201, "Created", NULL },
    { 202, "Accepted", NULL },
    { 203, "Non-Authoritative Information", NULL },
    { 204, "No Content", NULL },
    { 205, "Reset Content", NULL },
    { 206, "Partial Content", NULL },
    { 207, "Multi-Status", NULL },
    { 208, "Already Reported", NULL },
    { 226, "IM Used", NULL },
    { 300, "Multiple Choices", NULL },
    { 301, "Moved Permanently", "This address has moved for good." },
    { 302, "Found", "This is elsewhere for now." },
    { 303, "See Other", "The answer is at another address." },
    { 304, "Not Modified", NULL },
    { 305, "Use Proxy", NULL },
    { 307, "Temporary Redirect", "This is elsewhere for now." },
    { 308, "Permanent Redirect", "This address has moved for good." },
    { 400, "Bad Request", "The server could not understand the request." },
    { 401, "Unauthorized", "You have to sign in to see this." },
    { 402, "Payment Required", NULL },
    { 403, "Forbidden", "You may not see this." },
    { 404, "Not Found", "There is nothing at this address." },
    { 405, "Method Not Allowed", "This address does not take the method" },
    { 406, "Not Acceptable", "There is no version of this that your client accepts." },
    { 407, "Proxy Authentication Required", NULL },
    { 408, "Request Timeout", "The request took too long to arrive." },
    { 409, "Conflict", "The request does not fit the present state of things." },
    { 410, "Gone", "This was here once and will not come back." },
    { 411, "Length Required", "The request has to state the length of its content." },
    { 412, "Precondition Failed", "What the request took for granted is not so." },
    { 413, "Content Too Large", "The request carries more than the server takes." },
    { 414, "URI Too Long", "The address is longer than the server takes." },
    { 415, "Unsupported Media Type", "The server does not take content of this type." },
    { 416, "Range Not Satisfiable", "The file has no such part." },
    { 417, "Expectation Failed", "The server cannot do what the request expects." },
    { 421, "Misdirected Request", "This server does not answer for that host name." },
    { 422, "Unprocessable Content", "The content was understood, but makes no sense here." },
    { 423, "Locked", NULL },
    { 424, "Failed Dependency", NULL },
    { 425, "Too Early", "Please try again." },
    { 426, "Upgrade Required", "This address speaks another protocol." },
    { 428, "Precondition Required", NULL },
    { 429, "Too Many Requests", "Please wait a little and try again." },
    { 431, "Request Header Fields Too Large",
      "The request's fields are larger than the server takes." },
    { 451, "Unavailable For Legal Reasons", NULL },
    { 500, "Internal Server Error", "Something went wrong on the server." },
    { 501, "Not Implemented", "The server does not know the method" },
    { 502, "Bad Gateway", "A server behind this one gave no proper answer." },
    { 503, "Service Unavailable", "The server is too busy just now. Please try again soon." },
    { 504, "Gateway Timeout", "A server behind this one did not answer in time." },
    { 505, "HTTP Version Not Supported", "The server does not speak this version of HTTP." },
    { 506, "Variant Also Negotiates", NULL },
    { 507, "Insufficient Storage", "The server has no room left for this." },
    { 508, "Loop Detected", NULL },
    { 510, "Not Extended", NULL },
    { 511, "Network Authentication Required", "You have to sign in to this network first." },
};

enum { PAGE_ENTRIES = sizeof page_entries / sizeof *page_entries, PAGE_METHOD_MAX = 32 };

static const page_entry *page_find(int status)
{
    for (size_t i = 0; i < PAGE_ENTRIES; i++) {
        if (page_entries[i].status == status) return &page_entries[i];
    }
    return NULL;
}

const char *page_reason(int status)
{
    const page_entry *entry = page_find(status);
    return entry ? entry->reason : "";
}

static char *page_put(char *at, const char *text)
{
    size_t len = strlen(text);
    memcpy(at, text, len);
    return at + len;
}

static char *page_put_status(char *at, int status)
{
    *at++ = (char)('0' + status / 100);
    *at++ = (char)('0' + status / 10 % 10);
    *at++ = (char)('0' + status % 10);
    const char *reason = page_reason(status);
    if (*reason) *at++ = ' ';
    return page_put(at, reason);
}

// A method is a token, and of those only letters, digits and a few marks say anything to a reader;
// what is none of these, "&" and "'" among them, is shown as "?", which is safe in HTML and in a
// terminal.
static char *page_put_method(char *at, slice method)
{
    size_t len = method.len < PAGE_METHOD_MAX ? method.len : PAGE_METHOD_MAX;
    for (size_t i = 0; i < len; i++) {
        char c = method.ptr[i];
        bool plain = (octet_lower(c) >= 'a' && octet_lower(c) <= 'z') || (c >= '0' && c <= '9') ||
                     c == '-' || c == '_' || c == '.';
        *at++ = plain ? c : '?';
    }
    return len < method.len ? page_put(at, "...") : at;
}

// Cut before a character that does not fit: the octets 10xxxxxx continue one.
static slice page_cut(slice sentence)
{
    if (sentence.len <= PAGE_SENTENCE_OCTETS_MAX) return sentence;
    size_t len = PAGE_SENTENCE_OCTETS_MAX;
    while (len && ((unsigned char)sentence.ptr[len] & 0xc0) == 0x80)
        len--;
    return slice_make(sentence.ptr, len);
}

static char *page_put_escaped(char *at, slice sentence)
{
    sentence = page_cut(sentence);
    for (size_t i = 0; i < sentence.len; i++) {
        switch (sentence.ptr[i]) {
        case '<': at = page_put(at, "&lt;"); break;
        case '>': at = page_put(at, "&gt;"); break;
        case '&': at = page_put(at, "&amp;"); break;
        case '"': at = page_put(at, "&quot;"); break;
        default: *at++ = sentence.ptr[i];
        }
    }
    return at;
}

// 405 and 501 are about the method, so their sentence goes on with it.
static char *page_put_sentence(char *at, const page_entry *entry, slice method)
{
    at = page_put(at, entry->sentence);
    if (entry->status != 405 && entry->status != 501) return at;
    if (method.len) {
        *at++ = ' ';
        at = page_put_method(at, method);
    } else {
        at = page_put(at, " of the request");
    }
    *at++ = '.';
    return at;
}

size_t page_write(int status, slice method, slice sentence, char *out, size_t room)
{
    SKUA_ASSERT(status >= 100 && status <= 999);
    SKUA_ASSERT(room >= PAGE_OCTETS_MAX);
    const page_entry *entry = page_find(status);
    char *at = page_put(out, "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n"
                             "<meta name=\"viewport\" content=\"width=device-width\">\n<title>");
    at = page_put_status(at, status);
    at = page_put(at, "</title>\n<style>");
    at = page_put(at, page_style);
    at = page_put(at, "</style>\n<h1>");
    at = page_put_status(at, status);
    at = page_put(at, "</h1>\n");
    if (sentence.len || (entry && entry->sentence)) {
        at = page_put(at, "<p>");
        at = sentence.len ? page_put_escaped(at, sentence) : page_put_sentence(at, entry, method);
        at = page_put(at, "</p>\n");
    }
    return (size_t)(at - out);
}

size_t page_write_text(int status, slice method, slice sentence, char *out, size_t room)
{
    SKUA_ASSERT(status >= 100 && status <= 999);
    SKUA_ASSERT(room >= PAGE_TEXT_OCTETS_MAX);
    const page_entry *entry = page_find(status);
    char *at = page_put_status(out, status);
    if (sentence.len) {
        sentence = page_cut(sentence);
        at = page_put(at, ". ");
        memcpy(at, sentence.ptr, sentence.len);
        at += sentence.len;
    } else if (entry && entry->sentence) {
        at = page_put(at, ". ");
        at = page_put_sentence(at, entry, method);
    }
    *at++ = '\n';
    return (size_t)(at - out);
}
