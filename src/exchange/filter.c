// SPDX-License-Identifier: MIT
//
// Filters of content. A filter sees octets, and never where they come from: content in memory, files
// and pulled content are read piece by piece by a pull function of this file. It takes so many octets
// at a time that a turn stays short, whatever little comes out of them.

#include "exchange/filter.h"

#include "base/memory.h"
#include "base/sized.h"
#include "exchange/carrier.h"
#include "exchange/complaint.h"
#include "exchange/fields.h"
#include "exchange/prepared.h"
#include "exchange/worker.h"

enum {
    FILTER_WHOLE_MAX = 32768, // content that is filtered at once
    FILTER_WHOLE_SPARE = 64,  // what it may grow by before there is more room
    FILTER_INPUT_OCTETS = 16384,
    FILTER_STEP_OCTETS = 65536, // taken in one call
    FILTER_PIECE_OCTETS = 4096, // pushed content leaves the filter in pieces of so many
    FILTER_FIELDS_SPARE = 256   // of the fields' octets, for what a filter adds
};

struct response_filter {
    skua_request *request; // NULL: it has ended, but a reading or a letter is under way
    skua_worker *worker;
    skua_filter hooks;
    void *state;            // of the filter; NULL: it does not run
    response_source source; // that of the response, to be released; kind NONE: there is none
    slice input;            // read, and not taken by the filter
    bool ended;             // nothing comes behind input
    bool unflushed;         // octets were taken since the last flush
    bool loading, resting;  // a reading, or the letter, is under way
    bool failed;            // the file could not be read
    skua_file *file;
    uint64_t offset;
    int64_t left; // of the source; -1: not known
    skua_pull_fn *pull;
    void *pull_user;
    mail letter;
    char *buffer; // of FILTER_INPUT_OCTETS; NULL: none is needed
    char *whole;  // content that was filtered at once, and is the queue's once that has it
};

// ---- Adding ----

skua_status skua_filter_add_sized(skua_request *r, const skua_filter *filter,
                                  const skua_sizes *sizes)
{
    request_expect(r, __func__);
    CONTRACT_GIVEN(filter);
    CONTRACT_SIZES(sizes);
    skua_filter own;
    filter = SIZED_GIVEN(filter, sizes->filter, &own);
    CONTRACT(filter->begin, "filter->begin must not be NULL");
    CONTRACT(filter->run, "filter->run must not be NULL");
    if (r->responding > RESPONSE_HEADING) return request_refusal(r);
    if (r->filtering) return SKUA_EEXIST;
    response_filter *f = counted_zeroed(&r->worker->memory, sizeof *f);
    if (!f) return SKUA_ENOMEM;
    *f = (response_filter){ .request = r, .worker = r->worker, .hooks = *filter };
    r->filter = f;
    r->filtering = FILTERING_ADDED;
    r->is_followed = true;
    return SKUA_OK;
}

// ---- Ending ----

static void filter_end_state(response_filter *f)
{
    void *state = f->state;
    f->state = NULL;
    if (state && f->hooks.end) f->hooks.end(state);
}

static void filter_release_source(response_filter *f)
{
    response_source source = f->source;
    f->source = (response_source){ 0 };
    if (source.release) source.release(source.user);
}

static void filter_free(response_filter *f)
{
    if (f->loading || f->resting) return;
    filter_release_source(f);
    counted_free(f->buffer);
    counted_free(f);
}

// The content has passed: what a filter holds, such as the tables of a coder, goes before the client
// has read everything.
static void filter_close(skua_request *r)
{
    filter_end_state(r->filter);
    r->filtering = FILTERING_OVER;
}

static void filter_free_octets(void *user)
{
    counted_free(user);
}

// The filter gives back what it has made, and leaves the caller what is his.
void filter_cancel(skua_request *r)
{
    response_filter *f = r->filter;
    counted_free(f->whole);
    if (f->source.release == filter_free_octets) counted_free(f->source.user);
    f->source = (response_source){ 0 };
    filter_close(r);
}

void filter_let_go(skua_request *r)
{
    response_filter *f = r->filter;
    if (!r->filtering) return;
    r->filtering = FILTERING_NONE;
    filter_end_state(f);
    f->request = NULL;
    filter_free(f);
}

// ---- Running ----

// The program's filter has a contract too. One that takes and gives nothing would be called for ever.
static skua_filtered filter_run(response_filter *f, skua_flush flush, char *to, size_t room,
                                size_t *octets)
{
    slice piece = f->input;
    if (piece.len > FILTER_STEP_OCTETS) {
        piece.len = FILTER_STEP_OCTETS;
        flush = SKUA_FLUSH_NONE;
    }
    size_t given = piece.len;
    skua_filtered filtered = f->hooks.run(f->state, &piece, flush, to, room, octets);
    if (*octets > room)
        contract_broken("skua_filter.run", "gave more octets than there was room for");
    if (piece.len > given) contract_broken("skua_filter.run", "took more octets than there were");
    if (filtered == SKUA_FILTER_MORE && *octets == 0)
        contract_broken("skua_filter.run", "returned SKUA_FILTER_MORE without any octets");
    if (filtered == SKUA_FILTER_ALL && piece.len)
        contract_broken("skua_filter.run", "returned SKUA_FILTER_ALL and has not taken everything");
    f->input = slice_from(f->input, given - piece.len);
    if (given) f->unflushed = true;
    if (flush && filtered == SKUA_FILTER_ALL) f->unflushed = false;
    return filtered;
}

// ---- The input of pulled content ----

static void filter_loaded(skua_worker *w, skua_status status, size_t octets, void *user)
{
    (void)w;
    response_filter *f = user;
    f->loading = false;
    if (!f->request) {
        filter_free(f);
        return;
    }
    f->failed = status || octets == 0;
    f->input = slice_make(f->buffer, octets);
    f->offset += octets;
    f->left -= (int64_t)octets;
    f->ended = f->left == 0;
    skua_wake(f->request);
}

static skua_pulled filter_feed_file(response_filter *f)
{
    if (f->failed) return SKUA_PULL_ERROR;
    if (f->loading) return SKUA_PULL_PENDING;
    size_t most = f->left < FILTER_INPUT_OCTETS ? (size_t)f->left : FILTER_INPUT_OCTETS;
    f->loading = true;
    skua_file_load(f->file, f->offset, f->buffer, most, filter_loaded, f);
    return SKUA_PULL_PENDING;
}

static skua_pulled filter_feed_pulled(skua_request *r, response_filter *f)
{
    size_t octets = 0;
    skua_pulled pulled = f->pull(r, f->buffer, FILTER_INPUT_OCTETS, &octets, f->pull_user);
    if (octets > FILTER_INPUT_OCTETS)
        contract_broken("skua_pull_fn", "gave more octets than there was room for");
    if (f->left >= 0 && octets > (uint64_t)f->left) {
        complain(r, "more content was given than the response states; the rest is cut off");
        octets = (size_t)f->left;
        pulled = SKUA_PULL_END;
    }
    if (f->left >= 0) f->left -= (int64_t)octets;
    if (pulled == SKUA_PULL_END && f->left > 0) {
        complain(r, "less content was given than the response states; it is cut off");
        return SKUA_PULL_ERROR;
    }
    f->input = slice_make(f->buffer, octets);
    f->ended = pulled == SKUA_PULL_END;
    return pulled;
}

// Reads on when everything has been taken.  Returns: SKUA_PULL_PENDING if nothing is there now.
static skua_pulled filter_feed(skua_request *r, response_filter *f)
{
    if (f->input.len) return SKUA_PULL_OCTETS;
    if (f->ended) return SKUA_PULL_END;
    return f->file ? filter_feed_file(f) : filter_feed_pulled(r, f);
}

// ---- Pulling ----

static void filter_rested(mail *letter, void *reader)
{
    response_filter *f =
        (response_filter *)(void *)((char *)letter - offsetof(response_filter, letter));
    disk_home_of(reader)->file_ops--;
    f->resting = false;
    if (f->request) skua_wake(f->request);
    else filter_free(f);
}

// Much was taken and nothing came of it: others have their turn first.
static skua_pulled filter_rest(response_filter *f)
{
    if (f->resting) return SKUA_PULL_PENDING;
    f->resting = true;
    f->letter.deliver = filter_rested;
    disk_home_of(f->worker)->file_ops++;
    worker_post(f->worker, &f->letter);
    return SKUA_PULL_PENDING;
}

static skua_flush filter_flush(const response_filter *f, skua_pulled fed)
{
    if (f->ended) return SKUA_FLUSH_END;
    return fed == SKUA_PULL_PENDING ? SKUA_FLUSH_NOW : SKUA_FLUSH_NONE;
}

// Content that its source has none of now is flushed, so that the client waits for nothing that is
// known. A file only makes the worker wait, and is not.
static skua_pulled filter_pull(skua_request *r, char *to, size_t room, size_t *octets, void *user)
{
    response_filter *f = user;
    for (size_t taken = 0; taken < FILTER_STEP_OCTETS;) {
        skua_pulled fed = filter_feed(r, f);
        if (fed == SKUA_PULL_ERROR || request_is_answered(r)) return SKUA_PULL_ERROR;
        bool waits = fed == SKUA_PULL_PENDING && !f->input.len;
        if (waits && (f->file || !f->unflushed)) return fed;
        size_t before = f->input.len, made = 0;
        skua_filtered filtered =
            filter_run(f, filter_flush(f, fed), to + *octets, room - *octets, &made);
        *octets += made;
        taken += before - f->input.len;
        if (filtered == SKUA_FILTER_FAILED) return SKUA_PULL_ERROR;
        if (filtered == SKUA_FILTER_MORE) return SKUA_PULL_OCTETS;
        if (f->ended && !f->input.len) {
            filter_close(r);
            return SKUA_PULL_END;
        }
        if (fed == SKUA_PULL_PENDING) return fed;
        if (*octets == room) return SKUA_PULL_OCTETS;
    }
    return *octets ? SKUA_PULL_OCTETS : filter_rest(f);
}

// ---- Pushing ----

static bool filter_queue(skua_request *r, slice octets)
{
    if (!octets.len) return true;
    char *at = r->carrier->table->reserve(r, octets.len, NULL);
    if (!at) return false;
    memcpy(at, octets.ptr, octets.len);
    r->carrier->table->commit(r, octets.len);
    r->sent_octets += octets.len;
    return true;
}

// Octets that were taken cannot be given back, so a failure breaks the response.
skua_status filter_push(skua_request *r, slice octets, skua_flush flush)
{
    response_filter *f = r->filter;
    char piece[FILTER_PIECE_OCTETS];
    skua_filtered filtered = SKUA_FILTER_MORE;
    f->input = octets;
    while (filtered == SKUA_FILTER_MORE || f->input.len) {
        size_t made = 0;
        filtered = filter_run(f, flush, piece, sizeof piece, &made);
        if (filtered == SKUA_FILTER_FAILED || !filter_queue(r, slice_make(piece, made))) {
            complain(r, "the content could not be filtered; it is cut off");
            request_break(r);
            return filtered == SKUA_FILTER_FAILED ? SKUA_EIO : SKUA_ENOMEM;
        }
    }
    if (flush == SKUA_FLUSH_END) filter_close(r);
    return SKUA_OK;
}

// ---- The head ----

// Octets that are made anew are not those that a strong tag names, and have no ranges.
static bool filter_weaken(skua_request *r, slice *etag)
{
    if (etag->len < 2 || etag->ptr[0] != '"') return true;
    char *weak = arena_alloc(&r->memory, etag->len + 2);
    if (!weak) return false;
    memcpy(weak, "W/", 2);
    memcpy(weak + 2, etag->ptr, etag->len);
    *etag = slice_make(weak, etag->len + 2);
    return true;
}

static bool filter_renew_fields(skua_request *r)
{
    response_fields *fields = &r->fields;
    unsigned kept = 0;
    for (unsigned i = 0; i < fields->count; i++) {
        response_field field = fields->at[i];
        if (slice_equal_nocase(field.name, SKUA_SLICE("accept-ranges"))) continue;
        if (slice_equal_nocase(field.name, SKUA_SLICE("etag")) && !filter_weaken(r, &field.value))
            return false;
        fields->at[kept++] = field;
    }
    fields->count = kept;
    return true;
}

// A prepared response has its length written in it; so its fields become those of this one.
static skua_status filter_unfold(skua_request *r, response *given)
{
    const skua_prepared *prepared = given->prepared;
    given->prepared = NULL;
    for (unsigned i = 0; i < prepared->fields_count; i++) {
        const response_field *field = &prepared->fields[i];
        skua_status added = SKUA_OK;
        if (field->id != FIELD_CONTENT_TYPE) added = fields_append(r, field->name, field->value);
        else if (!given->type.len) given->type = field->value;
        if (added) return added;
    }
    return SKUA_OK;
}

static skua_status filter_renew_head(skua_request *r, response *given)
{
    skua_status unfolded = given->prepared ? filter_unfold(r, given) : SKUA_OK;
    if (unfolded) return unfolded;
    return filter_renew_fields(r) ? SKUA_OK : SKUA_ENOMEM;
}

// ---- The source ----

static bool filter_is_whole(const response_source *source)
{
    return (source->kind == SOURCE_COPIED || source->kind == SOURCE_LENT) &&
           source->octets.len <= FILTER_WHOLE_MAX;
}

// Short content is filtered at once, so that its length is known and it leaves with its head.
static skua_status filter_whole(response_filter *f, response_source *source)
{
    size_t room = source->octets.len + FILTER_WHOLE_SPARE, len = 0;
    char *octets = counted_alloc(&f->worker->memory, room);
    skua_filtered filtered = SKUA_FILTER_MORE;
    f->input = source->octets;
    while (octets && filtered == SKUA_FILTER_MORE) {
        size_t made = 0;
        if (len == room) {
            char *more = counted_resize(&f->worker->memory, octets, room *= 2);
            if (!more) counted_free(octets);
            octets = more;
            continue;
        }
        filtered = filter_run(f, SKUA_FLUSH_END, octets + len, room - len, &made);
        len += made;
    }
    if (!octets) return SKUA_ENOMEM;
    if (filtered == SKUA_FILTER_FAILED) {
        counted_free(octets);
        return SKUA_EIO;
    }
    if (source->kind == SOURCE_LENT) f->source = *source;
    f->whole = octets;
    *source = (response_source){ .kind = SOURCE_LENT,
                                 .octets = slice_make(octets, len),
                                 .length = (int64_t)len,
                                 .release = filter_free_octets,
                                 .user = octets };
    return SKUA_OK;
}

// The input of content in memory is the whole of it. A copy is made of what the caller does not lend.
static skua_status filter_take_octets(response_filter *f, response_source *source)
{
    f->source = *source;
    f->ended = true;
    f->input = source->octets;
    if (source->kind == SOURCE_LENT) return SKUA_OK;
    char *copy = counted_alloc(&f->worker->memory, source->octets.len);
    if (!copy) return SKUA_ENOMEM;
    memcpy(copy, source->octets.ptr, source->octets.len);
    f->input.ptr = copy;
    f->source.release = filter_free_octets;
    f->source.user = copy;
    return SKUA_OK;
}

static skua_status filter_take_source(skua_request *r, response_filter *f, response_source *source,
                                      skua_file *file)
{
    bool reads = source->kind == SOURCE_FILE || source->kind == SOURCE_PULL;
    if (reads && !(f->buffer = counted_alloc(&f->worker->memory, FILTER_INPUT_OCTETS)))
        return SKUA_ENOMEM;
    if (!reads) return filter_take_octets(f, source);
    f->source = *source;
    f->left = source->length;
    f->file = file;
    f->offset = source->offset;
    f->ended = file && source->length == 0;
    f->pull = r->pull;
    f->pull_user = r->pull_user;
    return SKUA_OK;
}

static skua_status filter_divert(skua_request *r, response *given, skua_file *file)
{
    response_filter *f = r->filter;
    response_source *source = &given->source;
    r->filtering = FILTERING_RUNS;
    if (filter_is_whole(source)) {
        skua_status made = filter_whole(f, source);
        filter_end_state(f);
        return made;
    }
    bool pushed = source->kind == SOURCE_PUSH;
    if (!pushed) {
        skua_status taken = filter_take_source(r, f, source, file);
        if (taken) return taken;
        r->pull = filter_pull;
        r->pull_user = f;
        r->pull_left = -1;
    }
    *source = (response_source){ .kind = pushed ? SOURCE_PUSH : SOURCE_PULL, .length = -1 };
    return SKUA_OK;
}

static skua_file *filter_file(const response *given)
{
    if (given->source.kind != SOURCE_FILE) return NULL;
    return given->prepared ? given->prepared->file : given->source.user;
}

// ---- Beginning ----

// Tells the filter of a head that fits, as middleware is told.
static skua_status filter_ask(skua_request *r, const response *given)
{
    response_filter *f = r->filter;
    if (!r->carrier->table->head_fits(r, given, &r->head_left)) return SKUA_ELIMIT;
    r->given = given;
    request_set_responding(r, RESPONSE_HEADING);
    f->state = f->hooks.begin(r, given->status, f->hooks.user);
    if (r->responding == RESPONSE_HEADING) request_set_responding(r, RESPONSE_NONE);
    if (request_is_answered(r)) return request_refusal(r);
    return r->spoiled ? SKUA_ELIMIT : SKUA_OK;
}

// Whether the fields of a prepared response have room among those of this one.
static bool filter_has_room(const skua_request *r, const response *given)
{
    size_t own = given->prepared ? given->prepared->fields_octets : 0;
    return own + r->fields.octets + FILTER_FIELDS_SPARE <= FIELDS_OCTETS_MAX;
}

skua_status filter_begin(skua_request *r, response *given)
{
    if (r->filtering != FILTERING_ADDED) return SKUA_OK;
    r->filtering = FILTERING_OVER;
    if (r->faulted || r->erring) return SKUA_OK; // an error is whole at once
    if (given->source.kind == SOURCE_NONE || !filter_has_room(r, given)) return SKUA_OK;
    skua_status asked = filter_ask(r, given);
    if (asked || !r->filter->state) return asked;
    skua_file *file = filter_file(given);
    bool bare = response_is_bare(given->status) && given->status != 304;
    skua_status renewed = bare ? SKUA_OK : filter_renew_head(r, given);
    if (renewed) return renewed;
    if (request_gets_content(r, given->status)) return filter_divert(r, given, file);
    filter_end_state(r->filter);
    given->source.no_length = given->source.no_length || !bare;
    return SKUA_OK;
}

// ---- Looking at the response ----

static const response_field *filter_find_field(const response_field *fields, unsigned count,
                                               slice name, field_id id)
{
    for (unsigned i = 0; i < count; i++) {
        if (fields[i].id == id && (id || slice_equal_nocase(fields[i].name, name)))
            return &fields[i];
    }
    return NULL;
}

skua_slice skua_response_field(const skua_request *r, const char *name)
{
    request_expect(r, __func__);
    CONTRACT_GIVEN(name);
    if (r->responding != RESPONSE_HEADING) return (slice){ 0 };
    slice key = slice_of(name);
    const skua_prepared *prepared = r->given->prepared;
    field_id id = field_identify(key);
    if (id == FIELD_CONTENT_TYPE) {
        if (r->typed == TYPE_BEHIND_RESPONSE) return r->type;
        if (r->given->type.len) return r->given->type;
    }
    const response_field *found = filter_find_field(r->fields.at, r->fields.count, key, id);
    if (!found && prepared)
        found = filter_find_field(prepared->fields, prepared->fields_count, key, id);
    return found ? found->value : (slice){ 0 };
}

int64_t skua_response_length(const skua_request *r)
{
    request_expect(r, __func__);
    return r->responding == RESPONSE_HEADING ? r->given->source.length : -1;
}
