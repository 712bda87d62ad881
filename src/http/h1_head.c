// SPDX-License-Identifier: MIT
//
// The head of an HTTP/1 request, read stage by stage: each stage takes what it can of the input and
// names the next. This is the hottest code of the server: a field line costs one wide look at its
// name, one for each sixteen octets of its whole, and a comparison or two.
//
// Invariant: octets before head->at have been checked and are never looked at again, so a peer that
// sends one octet at a time costs no more than linear work.

#include "http/h1_head.h"
#include "http/syntax.h"
#include "http/wide.h"

#include "base/assert.h"

typedef enum h1_stage {
    H1_STAGE_START,    // before the first octet, or after an empty line
    H1_STAGE_EMPTY_LF, // after the CR of an empty line
    H1_STAGE_METHOD,
    H1_STAGE_TARGET,
    H1_STAGE_VERSION, // and the end of the request line
    H1_STAGE_LINE,    // before a field line
    H1_STAGE_NAME,
    H1_STAGE_SPACE, // between colon and value
    H1_STAGE_VALUE,
    H1_STAGE_VALUE_LF,
    H1_STAGE_END_LF, // after the CR of the empty line that ends the head
    H1_STAGE_DONE,
    H1_STAGE_FAULTED,
    H1_STAGE_WAIT // of no head: a stage that needs another octet says so
} h1_stage;

// Flags for what the lines so far have asked for.
enum {
    H1_FLAG_CLOSE = 1,
    H1_FLAG_KEEP_ALIVE = 2,
    H1_FLAG_CHUNKED = 4,      // chunked was the last coding
    H1_FLAG_OTHER_CODING = 8, // another came before
    H1_FLAG_OTHER_EXPECTATION = 16
};

// The input of one call. Lives in registers.
typedef struct h1_reader {
    request_head *head;
    const char *base, *at, *end;
    const char *mark; // start of the word that at is in
    const char *stop; // of a field line: its first octet that no field line may hold, or end
} h1_reader;

__attribute__((cold, noinline)) static h1_stage h1_fail(request_head *head, uint16_t status,
                                                        const char *reason)
{
    head->fault = fault_framing(status, reason);
    return H1_STAGE_FAULTED;
}

static inline uint16_t h1_offset(const char *base, const char *p)
{
    return (uint16_t)(p - base);
}

// The line that is being read.
static inline head_field *h1_line(const request_head *head)
{
    return &head->fields[head->count];
}

// ---- Spans ----

// The first octet from p on that is not of the class, or end. The octets from base on are readable,
// so the last few are looked at together with some before them.
static inline const char *h1_skip(const char *base, const char *p, const char *end,
                                  wide_class class)
{
    if (end - base < WIDE_OCTETS) {
        while (p < end && syntax_is(*p, wide_grammar(class)))
            p++;
        return p;
    }
    const char *last = end - WIDE_OCTETS;
    for (; p <= last; p += WIDE_OCTETS) {
        wide_mask outside = wide_outside(class, p);
        if (outside) return p + wide_first(outside);
    }
    if (p == end) return p;
    wide_mask outside = wide_drop(wide_outside(class, last), (size_t)(p - last));
    return outside ? p + wide_first(outside) : end;
}

__attribute__((noinline)) static const char *h1_skip_any_field(const char *base, const char *p,
                                                               const char *end)
{
    return h1_skip(base, p, end, WIDE_FIELD);
}

// The first octet from p on that no field line may hold, or end. HTAB and obs-text are rare.
static inline const char *h1_skip_field(const char *base, const char *p, const char *end)
{
    p = h1_skip(base, p, end, WIDE_TEXT);
    return p == end || *p == '\r' ? p : h1_skip_any_field(base, p, end);
}

// ---- What single lines mean ----

// Names, IPv4 addresses and their ports are told wide; what else there is, syntax.h knows.
static bool host_is_valid(const char *base, slice value)
{
    const char *end = value.ptr + value.len;
    const char *p = h1_skip(base, value.ptr, end, WIDE_HOST);
    if (p == end) return true;
    if (*p != ':' || p == value.ptr) return syntax_is_host(value);
    while (++p < end && *p >= '0' && *p <= '9')
        continue;
    return p == end;
}

// RFC 9112 §3.2: one Host line, of the right form, in any version.
static h1_stage line_host(request_head *head, const char *base, slice value, uint16_t index)
{
    if (head->host) return h1_fail(head, 400, "Host repeated");
    if (!host_is_valid(base, value)) return h1_fail(head, 400, "malformed Host");
    head->host = (uint16_t)(index + 1);
    return H1_STAGE_LINE;
}

// The flag for a member of Connection, or 0.
static uint8_t connection_flag(slice member)
{
    if (member.len == 5 && field_folds_to(member.ptr, "close", 5)) return H1_FLAG_CLOSE;
    if (member.len == 10 && field_folds_to(member.ptr, "keep-alive", 10)) return H1_FLAG_KEEP_ALIVE;
    return 0;
}

static h1_stage line_connection(request_head *head, slice value)
{
    slice member;
    uint8_t flag = connection_flag(value); // one member is what most clients send
    head->flags |= flag;
    while (!flag && syntax_list_next(&value, &member))
        head->flags |= connection_flag(member);
    return H1_STAGE_LINE;
}

static inline bool h1_saw(const request_head *head, field_id id)
{
    return (head->seen & 1u << id) != 0;
}

// A list of equal lengths may be taken as one (RFC 9110 §8.6), but peers differ in whether they do:
// refused.
static h1_stage line_length(request_head *head, slice value)
{
    if (h1_saw(head, FIELD_CONTENT_LENGTH)) return h1_fail(head, 400, "Content-Length repeated");
    if (h1_saw(head, FIELD_TRANSFER_ENCODING)) {
        return h1_fail(head, 400, "Content-Length with Transfer-Encoding");
    }
    if (!head_read_length(value, &head->content_length)) {
        return h1_fail(head, 400, "malformed Content-Length");
    }
    return H1_STAGE_LINE;
}

// One transfer coding, RFC 9112 §6.1 and §7: chunked comes once, and last. Nothing that is known
// here has parameters, so a member is a token.
static h1_stage coding_take(request_head *head, slice coding)
{
    if (!syntax_is_token(coding)) return h1_fail(head, 400, "malformed Transfer-Encoding");
    if (head->flags & H1_FLAG_CHUNKED) return h1_fail(head, 400, "a coding after chunked");
    bool chunked = coding.len == 7 && field_folds_to(coding.ptr, "chunked", 7);
    head->flags |= chunked ? H1_FLAG_CHUNKED : H1_FLAG_OTHER_CODING;
    return H1_STAGE_LINE;
}

static h1_stage line_codings(request_head *head, slice value)
{
    if (head->version == 10) return h1_fail(head, 400, "Transfer-Encoding in HTTP/1.0");
    if (h1_saw(head, FIELD_CONTENT_LENGTH)) {
        return h1_fail(head, 400, "Content-Length with Transfer-Encoding");
    }
    slice coding;
    while (syntax_list_next(&value, &coding)) {
        if (coding_take(head, coding) == H1_STAGE_FAULTED) return H1_STAGE_FAULTED;
    }
    return H1_STAGE_LINE;
}

// RFC 9110 §10.1.1: from an HTTP/1.0 client, 100-continue is to be ignored.
static h1_stage line_expect(request_head *head, slice value)
{
    if (head->version == 10) return H1_STAGE_LINE;
    slice member;
    while (syntax_list_next(&value, &member)) {
        bool known = member.len == 12 && field_folds_to(member.ptr, "100-continue", 12);
        if (known) head->expect_continue = true;
        if (!known) head->flags |= H1_FLAG_OTHER_EXPECTATION;
    }
    return H1_STAGE_LINE;
}

// The lines that the engine itself obeys are looked at as they come, as they decide how the rest is
// read.
__attribute__((noinline)) static h1_stage line_known(request_head *head, const head_field *field,
                                                     const char *base)
{
    slice value = slice_make(base + field->value, field->value_len);
    field_id id = (field_id)field->id;
    if (id == FIELD_HOST) return line_host(head, base, value, (uint16_t)(field - head->fields));
    if (id == FIELD_CONNECTION) return line_connection(head, value);
    if (id == FIELD_CONTENT_LENGTH) return line_length(head, value);
    if (id == FIELD_TRANSFER_ENCODING) return line_codings(head, value);
    return line_expect(head, value);
}

// ---- Stages ----

// The octet at which the wide look stopped may still be one of the rarer token octets.
__attribute__((noinline)) static const char *h1_skip_any_token(const char *base, const char *p,
                                                               const char *end)
{
    p = h1_skip(base, p, end, WIDE_NAME);
    while (p < end && syntax_is(*p, SYNTAX_TOKEN))
        p++;
    return p;
}

// One look is enough for most names.
static inline const char *h1_skip_token(const char *base, const char *p, const char *end)
{
    wide_mask outside = end - p >= WIDE_OCTETS ? wide_outside(WIDE_NAME, p) : 0;
    if (outside && p[wide_first(outside)] == ':') return p + wide_first(outside);
    return h1_skip_any_token(base, p, end);
}

// Octets beyond ASCII are let through: whether they are UTF-8 is seen when the target is read.
__attribute__((noinline)) static const char *h1_skip_any_target(const char *base, const char *p,
                                                                const char *end)
{
    for (;;) {
        p = h1_skip(base, p, end, WIDE_TARGET);
        if (p == end || !(*p & 0x80)) return p;
        while (p < end && (*p & 0x80))
            p++;
    }
}

// And for many targets, of the octets that most are made of.
static inline const char *h1_skip_target(const char *base, const char *p, const char *end)
{
    wide_mask outside = end - p >= WIDE_OCTETS ? wide_outside(WIDE_PATH, p) : 0;
    if (outside && p[wide_first(outside)] == ' ') return p + wide_first(outside);
    return h1_skip_any_target(base, p, end);
}

// Most requests are GET: a guess that needs no look at where the method ends.
static inline bool h1_is_get(const h1_reader *in)
{
    return in->end - in->mark >= 4 && memcmp(in->mark, "GET ", 4) == 0;
}

// The end of the input, or of what may be looked at of the word that at is in: no octet past the
// first one that is too many, so that what is too long is that whatever follows.
static inline const char *h1_word_end(const h1_reader *in, size_t octets_max)
{
    return (size_t)(in->end - in->mark) > octets_max ? in->mark + octets_max + 1 : in->end;
}

// A method that is longer than any we know is none of them (RFC 9112 §3).
static inline h1_stage h1_on_method(h1_reader *in)
{
    if (h1_is_get(in)) {
        in->at = in->mark + 3;
    } else {
        size_t octets_max = in->head->limits->method_octets_max;
        in->at = h1_skip_token(in->base, in->at, h1_word_end(in, octets_max));
        if ((size_t)(in->at - in->mark) > octets_max)
            return h1_fail(in->head, 501, "method too long");
        if (in->at == in->end) return H1_STAGE_WAIT;
        if (*in->at != ' ' || in->at == in->mark) return h1_fail(in->head, 400, "malformed method");
    }
    in->head->method_len = (uint16_t)(in->at - in->mark);
    in->mark = ++in->at;
    return H1_STAGE_TARGET;
}

static inline h1_stage h1_on_target(h1_reader *in)
{
    size_t octets_max = in->head->limits->target_octets_max;
    in->at = h1_skip_target(in->base, in->at, h1_word_end(in, octets_max));
    if ((size_t)(in->at - in->mark) > octets_max) return h1_fail(in->head, 414, "target too long");
    if (in->at == in->end) return H1_STAGE_WAIT;
    if (*in->at != ' ' || in->at == in->mark) return h1_fail(in->head, 400, "malformed target");
    in->head->target = h1_offset(in->base, in->mark);
    in->head->target_len = (uint16_t)(in->at - in->mark);
    in->mark = ++in->at;
    return H1_STAGE_VERSION;
}

// RFC 9112 §2.3: the name is case-sensitive, both versions are one digit. 1.2 and up are read
// as 1.1, the highest minor version known here (RFC 9110 §2.5). A version is judged as soon as it
// is all there: a peer that speaks another may send nothing more.
static h1_stage h1_on_any_version(h1_reader *in)
{
    static const char form[] = "HTTP/0.0\r\n";
    for (; (size_t)(in->at - in->mark) < sizeof(form) - 1; in->at++) {
        if (in->at - in->mark == 8 && in->mark[5] != '1') {
            return h1_fail(in->head, 505, "major version not 1");
        }
        if (in->at == in->end) return H1_STAGE_WAIT;
        char want = form[in->at - in->mark];
        bool fits = want == '0' ? *in->at >= '0' && *in->at <= '9' : *in->at == want;
        if (!fits) return h1_fail(in->head, 400, *in->at == '\n' ? "bare LF" : "malformed version");
    }
    in->head->version = in->mark[7] == '0' ? 10 : 11;
    return H1_STAGE_LINE;
}

static inline h1_stage h1_on_version(h1_reader *in)
{
    if (in->end - in->mark < 10 || memcmp(in->mark, "HTTP/1.1\r\n", 10) != 0) {
        return h1_on_any_version(in);
    }
    in->at = in->mark + 10;
    in->head->version = 11;
    return H1_STAGE_LINE;
}

static inline h1_stage h1_on_line(h1_reader *in)
{
    if (in->at == in->end) return H1_STAGE_WAIT;
    if (*in->at == '\r') {
        in->at++;
        return H1_STAGE_END_LF;
    }
    if (in->head->count == in->head->limits->fields_max)
        return h1_fail(in->head, 431, "too many fields");
    in->mark = in->at;
    in->stop = h1_skip_field(in->base, in->at, in->end);
    return H1_STAGE_NAME;
}

__attribute__((cold, noinline)) static h1_stage h1_name_fail(request_head *head, const char *at,
                                                             bool first)
{
    if (*at == ' ' || *at == '\t') {
        return h1_fail(head, 400,
                       first ? "white space before a field name" : "white space before a colon");
    }
    return h1_fail(head, 400, first && *at == ':' ? "empty field name" : "malformed field name");
}

static inline void h1_set_name(head_field *field, const char *base, const char *from,
                               const char *to)
{
    field->name = h1_offset(base, from);
    field->name_len = (uint16_t)(to - from);
}

static inline h1_stage h1_on_name(h1_reader *in)
{
    in->at = h1_skip_token(in->base, in->at, in->end);
    if (in->at == in->end) return H1_STAGE_WAIT;
    if (*in->at != ':' || in->at == in->mark)
        return h1_name_fail(in->head, in->at, in->at == in->mark);
    h1_set_name(h1_line(in->head), in->base, in->mark, in->at);
    in->at++;
    return H1_STAGE_SPACE;
}

static inline h1_stage h1_on_space(h1_reader *in)
{
    while (in->at < in->end && (*in->at == ' ' || *in->at == '\t'))
        in->at++;
    if (in->at == in->end) return H1_STAGE_WAIT;
    in->mark = in->at;
    return H1_STAGE_VALUE;
}

// [from, to), without white space around it. Of the octets a field line may hold, SP and HTAB are
// the least.
static inline void h1_set_value(head_field *field, const char *base, const char *from,
                                const char *to)
{
    if (from < to && *from == ' ') from++; // usually all there is
    while (from < to && (unsigned char)*from <= ' ')
        from++;
    while (from < to && (unsigned char)to[-1] <= ' ')
        to--;
    field->value = h1_offset(base, from);
    field->value_len = (uint16_t)(to - from);
}

// The line is complete.
static inline h1_stage h1_end_line(request_head *head, head_field *field, const char *base)
{
    field_id id = field_match(base + field->name, field->name_len);
    h1_stage next = H1_STAGE_LINE;
    field->id = (uint16_t)id;
    if (id != FIELD_OTHER && id <= FIELD_EXPECT) next = line_known(head, field, base);
    head->count++;
    head->seen |= 1u << id & ~(1u << FIELD_OTHER);
    return next;
}

static inline h1_stage h1_on_value(h1_reader *in)
{
    in->at = in->stop;
    if (in->at == in->end) return H1_STAGE_WAIT;
    if (*in->at != '\r') return h1_fail(in->head, 400, "malformed field value");
    h1_set_value(h1_line(in->head), in->base, in->mark, in->at);
    in->at++;
    return H1_STAGE_VALUE_LF;
}

static inline h1_stage h1_on_value_lf(h1_reader *in)
{
    if (in->at == in->end) return H1_STAGE_WAIT;
    if (*in->at != '\n') return h1_fail(in->head, 400, "bare CR");
    in->at++;
    return h1_end_line(in->head, h1_line(in->head), in->base);
}

// A line that lies in the input whole is read at once, and *at moved behind it; of any other, and
// of one with a fault that its octets make, nothing is, and the stages see to it: WAIT. Its end is
// looked for
// first: names and values hold none of the octets that can stop the look, and the next line then
// needn't wait until the processor has found the colon in this one.
static inline h1_stage h1_take_line(request_head *head, head_field *field, const char *base,
                                    const char **at, const char *end)
{
    const char *cr = h1_skip_field(base, *at, end);
    if (end - cr < 2 || cr[0] != '\r' || cr[1] != '\n') return H1_STAGE_WAIT;
    const char *colon = h1_skip_token(base, *at, end);
    if (*colon != ':' || colon == *at) return H1_STAGE_WAIT;
    h1_set_name(field, base, *at, colon);
    h1_set_value(field, base, colon + 1, cr);
    *at = cr + 2;
    return h1_end_line(head, field, base);
}

// Takes lines as long as it can. Returns: the octet after them; head->fault says whether there was
// one. A function of its own, with few arguments: inside of the stages it would have to share
// registers.
__attribute__((noinline)) static const char *h1_take_lines(request_head *head, const char *base,
                                                           const char *at, const char *end)
{
    const head_field *fields_end = head->fields + head->limits->fields_max;
    for (head_field *field = h1_line(head); at < end && *at != '\r' && field < fields_end;
         field++) {
        if (h1_take_line(head, field, base, &at, end) != H1_STAGE_LINE) break;
    }
    return at;
}

static inline h1_stage h1_on_lines(h1_reader *in)
{
    in->at = h1_take_lines(in->head, in->base, in->at, in->end);
    return in->head->fault.status ? H1_STAGE_FAULTED : h1_on_line(in);
}

// RFC 9112 §6.3. Without a final chunked a request's content has no end that both sides agree on.
static h1_stage h1_settle_content(request_head *head)
{
    if (h1_saw(head, FIELD_TRANSFER_ENCODING)) {
        if (!(head->flags & H1_FLAG_CHUNKED))
            return h1_fail(head, 400, "chunked isn't the last coding");
        if (head->flags & H1_FLAG_OTHER_CODING)
            return h1_fail(head, 501, "unknown transfer coding");
        head->content = HEAD_CONTENT_STREAMED;
    } else if (h1_saw(head, FIELD_CONTENT_LENGTH)) {
        head->content = HEAD_CONTENT_LENGTH;
    }
    return H1_STAGE_DONE;
}

static inline h1_stage h1_settle(request_head *head)
{
    const uint32_t framing = 1u << FIELD_CONTENT_LENGTH | 1u << FIELD_TRANSFER_ENCODING;
    if (!head->host && head->version == 11) return h1_fail(head, 400, "Host missing");
    if ((head->seen & framing) && h1_settle_content(head) == H1_STAGE_FAULTED)
        return H1_STAGE_FAULTED;
    if (head->flags & H1_FLAG_OTHER_EXPECTATION) return h1_fail(head, 417, "unknown expectation");
    head->keep_alive = !(head->flags & H1_FLAG_CLOSE) &&
                       (head->version == 11 || (head->flags & H1_FLAG_KEEP_ALIVE));
    return H1_STAGE_DONE;
}

static inline h1_stage h1_on_end_lf(h1_reader *in)
{
    if (in->at == in->end) return H1_STAGE_WAIT;
    if (*in->at != '\n') return h1_fail(in->head, 400, "bare CR");
    in->at++;
    return h1_settle(in->head);
}

// Runs stages until the head is done, is faulty, or waits: then head->stage says where.
static inline h1_stage h1_run(h1_reader *in, h1_stage stage)
{
    for (;;) {
        h1_stage next = H1_STAGE_WAIT;
        switch (stage) {
        case H1_STAGE_METHOD: next = h1_on_method(in); break;
        case H1_STAGE_TARGET: next = h1_on_target(in); break;
        case H1_STAGE_VERSION: next = h1_on_version(in); break;
        case H1_STAGE_LINE: next = h1_on_lines(in); break;
        case H1_STAGE_NAME: next = h1_on_name(in); break;
        case H1_STAGE_SPACE: next = h1_on_space(in); break;
        case H1_STAGE_VALUE: next = h1_on_value(in); break;
        case H1_STAGE_VALUE_LF: next = h1_on_value_lf(in); break;
        case H1_STAGE_END_LF: next = h1_on_end_lf(in); break;
        case H1_STAGE_START:
        case H1_STAGE_EMPTY_LF:
        case H1_STAGE_WAIT:
        case H1_STAGE_DONE:
        case H1_STAGE_FAULTED: return stage;
        }
        if (next == H1_STAGE_WAIT) return stage;
        stage = next;
    }
}

// RFC 9112 §2.2: CRLFs before the request line are skipped, a few of them.
static h1_stage h1_skip_empty_lines(request_head *head, slice octets)
{
    h1_stage stage = (h1_stage)head->stage;
    for (; head->at < octets.len; head->at++) {
        char c = octets.ptr[head->at];
        if (stage == H1_STAGE_EMPTY_LF) {
            if (c != '\n') return h1_fail(head, 400, "bare CR");
            stage = H1_STAGE_START;
        } else if (c != '\r') {
            head->start = (uint16_t)head->at;
            head->mark = head->at;
            return H1_STAGE_METHOD;
        } else if (head->at == 2 * H1_EMPTY_LINES_MAX) {
            return h1_fail(head, 400, "too many empty lines");
        } else {
            stage = H1_STAGE_EMPTY_LF;
        }
    }
    return stage;
}

// Where the head must have ended.
static inline size_t h1_limit(const request_head *head)
{
    size_t limit = (size_t)head->start + head->limits->head_octets_max;
    return limit < HEAD_OCTETS_MAX ? limit : HEAD_OCTETS_MAX;
}

static h1_stage h1_read_lines(request_head *head, slice octets, size_t limit)
{
    size_t len = octets.len < limit ? octets.len : limit;
    h1_reader in = { .head = head,
                     .base = octets.ptr,
                     .at = octets.ptr + head->at,
                     .end = octets.ptr + len,
                     .mark = octets.ptr + head->mark };
    h1_stage stage = (h1_stage)head->stage;
    if (stage > H1_STAGE_LINE) in.stop = h1_skip_field(in.base, in.at, in.end);
    stage = h1_run(&in, stage);
    head->at = (uint32_t)(in.at - in.base);
    head->mark = (uint32_t)(in.mark - in.base);
    return stage;
}

// The head has used up its limit without an end. A target that long is too long.
__attribute__((cold)) static h1_stage h1_limit_fail(request_head *head)
{
    if (head->stage == H1_STAGE_TARGET) return h1_fail(head, 414, "target too long");
    return h1_fail(head, 431, "head too large");
}

h1_result h1_head_read(request_head *head, slice octets)
{
    SKUA_ASSERT(head->stage < H1_STAGE_DONE);
    SKUA_ASSERT(octets.len >= head->at);
    if (head->stage <= H1_STAGE_EMPTY_LF) head->stage = (uint8_t)h1_skip_empty_lines(head, octets);
    if (head->stage <= H1_STAGE_EMPTY_LF) return H1_MORE;
    if (head->stage == H1_STAGE_FAULTED) return H1_FAULT;
    size_t limit = h1_limit(head);
    head->stage = (uint8_t)h1_read_lines(head, octets, limit);
    if (head->stage == H1_STAGE_DONE) {
        head->octets = head->at;
        return H1_DONE;
    }
    if (head->stage != H1_STAGE_FAULTED && octets.len >= limit)
        head->stage = (uint8_t)h1_limit_fail(head);
    return head->stage == H1_STAGE_FAULTED ? H1_FAULT : H1_MORE;
}
