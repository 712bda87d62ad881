// SPDX-License-Identifier: MIT
//
// Content that is collected whole, however large: one spool for it, or one for each part of a form.

#include "base/assert.h"
#include "base/sized.h"
#include "exchange/content.h"
#include "exchange/parts.h"
#include "exchange/request.h"
#include "exchange/error.h"
#include "exchange/respond.h"
#include "exchange/spool.h"
#include "exchange/worker.h"

enum { FORM_MEMORY_OCTETS = 65536 };

// The stricter of a limit of middleware and that of the call.
static skua_status form_limit(skua_request *r, uint64_t octets_max)
{
    if (octets_max == 0) octets_max = worker_config(r->worker)->content_octets_max;
    if (r->content_max && r->content_max < octets_max) octets_max = r->content_max;
    return skua_content_limit(r, octets_max);
}

// Why content was lost.
static skua_status form_lost_status(const skua_request *r)
{
    if (r->delivery == DELIVERY_TOO_LONG || r->status == 413) return SKUA_ELIMIT;
    return r->status == 400 ? SKUA_EPROTOCOL : SKUA_ECLOSED;
}

// ---- The whole content ----

typedef struct content_spooling {
    spool *kept;
    size_t memory_max;
    skua_spooled_fn *fn; // NULL: told
    void *user;
} content_spooling;

static void content_spooled(skua_request *r, content_spooling *c, skua_status status)
{
    skua_spooled_fn *fn = c->fn;
    skua_upload upload = { 0 };
    if (!fn) return;
    c->fn = NULL;
    if (!status) spool_upload(c->kept, &upload);
    fn(r, status, status ? NULL : &upload, c->user);
}

static void content_spool_settled(skua_request *r, spool *kept, void *user)
{
    skua_status status = spool_status(kept);
    if (status == SKUA_ECLOSED) status = form_lost_status(r);
    else if (status) spool_refuse(r, status);
    content_spooled(r, user, status);
}

static void content_spool(skua_request *r, skua_content_event event, slice octets, void *user)
{
    content_spooling *c = user;
    switch (event) {
    case SKUA_CONTENT_DATA:
        if (!spool_is_file(c->kept) && spool_in_memory(c->kept) + octets.len > c->memory_max)
            spool_to_file(c->kept);
        spool_add(c->kept, octets);
        return;
    case SKUA_CONTENT_END: spool_end(c->kept); return;
    case SKUA_CONTENT_LOST: content_spooled(r, c, form_lost_status(r)); return;
    }
}

skua_status skua_content_spool_sized(skua_request *r, size_t memory_max, uint64_t octets_max,
                                     skua_spooled_fn *fn, void *user, const skua_sizes *sizes)
{
    request_expect(r, __func__);
    CONTRACT_GIVEN(fn);
    CONTRACT_SIZES(sizes);
    CONTRACT_TOLD(sizes->upload, sizeof(skua_upload));
    if (r->reader || r->responding != RESPONSE_NONE) return request_refusal(r);
    content_spooling *c = arena_alloc(&r->memory, sizeof *c);
    spool *kept = c ? spool_new(r, content_spool_settled, c) : NULL;
    if (!kept) return SKUA_ENOMEM;
    *c = (content_spooling){ .kept = kept,
                             .memory_max = memory_max ? memory_max : FORM_MEMORY_OCTETS,
                             .fn = fn,
                             .user = user };
    skua_status limited = form_limit(r, octets_max);
    if (!limited) return skua_content_read(r, content_spool, c);
    content_spooled(r, c, limited);
    return SKUA_OK;
}

// ---- The parts of a form ----

typedef struct form_item form_item;

struct form_item {
    form_item *next;
    skua_part part;
    spool *kept;
};

typedef struct form_collecting {
    form_item *first, **last, *current;
    unsigned count, settling, files;             // parts; those not settled yet; those in files
    size_t memory_max, memory;                   // octets of parts in memory
    bool complete;                               // every part has come
    uint32_t part_octets, upload_octets, stride; // of the caller's structs
    skua_form_fn *fn;                            // NULL: told
    void *user;
} form_collecting;

static void form_tell(skua_request *r, form_collecting *form, skua_status status,
                      const skua_form_part *parts)
{
    skua_form_fn *fn = form->fn;
    form->fn = NULL;
    if (fn) fn(r, status, parts, status ? 0 : form->count, form->user);
}

// A fault to which the server responds.
static void form_refuse(skua_request *r, form_collecting *form, skua_status status)
{
    if (!form->fn) return;
    if (status == SKUA_ELIMIT) request_blame(r, "a form beyond its limits");
    if (status != SKUA_ELIMIT) spool_refuse(r, status);
    else if (r->responding == RESPONSE_NONE) error_respond(r, 413, true);
    form_tell(r, form, status, NULL);
}

_Static_assert(sizeof(skua_form_part) == sizeof(skua_part) + sizeof(skua_upload), "no gap");

// A skua_form_part, as the caller's header has it.
static void form_lay(const form_collecting *form, const form_item *item, char *at)
{
    skua_upload upload;
    spool_upload(item->kept, &upload);
    sized_give(at, form->part_octets, &item->part, sizeof item->part);
    sized_give(at + form->part_octets, form->upload_octets, &upload, sizeof upload);
}

static void form_finish(skua_request *r, form_collecting *form)
{
    if (!form->complete || form->settling || !form->fn) return;
    char *parts = arena_alloc(&r->memory, (form->count + 1) * (size_t)form->stride), *at = parts;
    if (!parts) {
        form_refuse(r, form, SKUA_ENOMEM);
        return;
    }
    for (const form_item *item = form->first; item; item = item->next, at += form->stride)
        form_lay(form, item, at);
    form_tell(r, form, SKUA_OK, (const skua_form_part *)(const void *)parts);
}

static void form_settled(skua_request *r, spool *kept, void *user)
{
    form_collecting *form = user;
    form->settling--;
    skua_status status = spool_status(kept);
    if (status == SKUA_ECLOSED) form_tell(r, form, form_lost_status(r), NULL);
    else if (status) form_refuse(r, form, status);
    else form_finish(r, form);
}

// ---- Copies of heads ----

static bool form_copy_slice(arena *memory, slice *text)
{
    if (!text->ptr) return true;
    *text = arena_copy(memory, *text);
    return text->ptr != NULL;
}

static bool form_copy_part(arena *memory, const skua_part *from, skua_part *to)
{
    skua_field *fields = arena_alloc(memory, (from->fields_count + 1) * sizeof *fields);
    *to = *from;
    to->fields = fields;
    bool ok = fields && form_copy_slice(memory, &to->name) &&
              form_copy_slice(memory, &to->filename) && form_copy_slice(memory, &to->type);
    for (size_t i = 0; i < from->fields_count && ok; i++) {
        fields[i] = from->fields[i];
        ok = form_copy_slice(memory, &fields[i].name) && form_copy_slice(memory, &fields[i].value);
    }
    return ok;
}

static void form_begin(skua_request *r, form_collecting *form, const skua_part *part)
{
    form_item *item = arena_alloc(&r->memory, sizeof *item);
    spool *kept = item ? spool_new(r, form_settled, form) : NULL;
    if (!kept || !form_copy_part(&r->memory, part, &item->part)) {
        form_refuse(r, form, SKUA_ENOMEM);
        return;
    }
    item->next = NULL;
    item->kept = kept;
    form->current = *form->last = item;
    form->last = &item->next;
    form->count++;
    form->settling++;
}

// A part for which there is no memory beside the others goes to a file, and frees the memory that
// it had.
static bool form_make_room(skua_request *r, form_collecting *form, spool *kept, size_t octets)
{
    if (spool_is_file(kept)) return true;
    if (form->memory + octets <= form->memory_max) {
        form->memory += octets;
        return true;
    }
    if (form->files == worker_config(r->worker)->part_files_max) return false;
    form->files++;
    form->memory -= spool_in_memory(kept);
    spool_to_file(kept);
    return true;
}

static void form_add(skua_request *r, form_collecting *form, slice octets)
{
    if (!form_make_room(r, form, form->current->kept, octets.len))
        form_refuse(r, form, SKUA_ELIMIT);
    else spool_add(form->current->kept, octets);
}

static void form_read(skua_request *r, skua_part_event event, const skua_part *part, slice octets,
                      void *user)
{
    form_collecting *form = user;
    if (!form->fn) return; // told already: what comes is not read any more
    switch (event) {
    case SKUA_PART_BEGIN: form_begin(r, form, part); return;
    case SKUA_PART_DATA: form_add(r, form, octets); return;
    case SKUA_PART_END: spool_end(form->current->kept); return;
    case SKUA_PARTS_END:
        form->complete = true;
        form_finish(r, form);
        return;
    case SKUA_PARTS_FAILED: form_tell(r, form, form_lost_status(r), NULL); return;
    }
}

skua_status skua_multipart_collect_sized(skua_request *r, size_t memory_max, uint64_t octets_max,
                                         skua_form_fn *fn, void *user, const skua_sizes *sizes)
{
    request_expect(r, __func__);
    CONTRACT_GIVEN(fn);
    CONTRACT_SIZES(sizes);
    CONTRACT_TOLD(sizes->part, sizeof(skua_part));
    CONTRACT_TOLD(sizes->upload, sizeof(skua_upload));
    CONTRACT_TOLD(sizes->form_part, sizeof(skua_form_part));
    if (r->reader || r->responding != RESPONSE_NONE) return request_refusal(r);
    form_collecting *form = arena_alloc(&r->memory, sizeof *form);
    if (!form) return SKUA_ENOMEM;
    *form = (form_collecting){ .part_octets = sizes->part,
                               .upload_octets = sizes->upload,
                               .stride = sizes->form_part,
                               .memory_max = memory_max ? memory_max : FORM_MEMORY_OCTETS,
                               .fn = fn,
                               .user = user };
    form->last = &form->first;
    if (!request_is_multipart(r)) return SKUA_EINVAL;
    if (!form_limit(r, octets_max)) return skua_multipart_read(r, form_read, form);
    form_tell(r, form, SKUA_ELIMIT, NULL);
    return SKUA_OK;
}
