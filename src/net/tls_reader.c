// SPDX-License-Identifier: MIT
//
// Reader of records.

#include "net/tls_reader.h"

#ifdef SKUA_TLS

#include "base/assert.h"

// Nothing of it may be longer with its type, RFC 8446 §5.4.
enum { INNER_OCTETS_MAX = TLS_PLAIN_OCTETS_MAX + 1 };

void tls_reader_init(tls_reader *r)
{
    *r = (tls_reader){ 0 };
}

void tls_reader_deinit(tls_reader *r)
{
    counted_free(r->record);
    r->record = NULL;
}

void tls_reader_rest(tls_reader *r)
{
    if (!r->is_lent) return;
    tls_reader_deinit(r);
    r->is_lent = false;
}

static size_t header_len(const uint8_t *header)
{
    return (size_t)header[3] << 8 | header[4];
}

size_t tls_reader_octets(const tls_reader *r)
{
    return r->record ? TLS_HEADER_OCTETS + header_len(r->header) : 0;
}

static tls_read reader_end(tls_reader *r, tls_read how, uint8_t alert)
{
    r->ended = (uint8_t)how;
    r->alert = alert;
    r->held = r->message_len = 0;
    tls_reader_deinit(r);
    r->is_lent = false;
    return how;
}

static tls_read reader_fault(tls_reader *r, tls_alert alert)
{
    return reader_end(r, TLS_READ_FAULTY, (uint8_t)alert);
}

// ---- From octets to records ----

// After Finished there is one type, also for alerts: what is in the clear can come from anybody. The
// version is the same for ever (RFC 8446 §5.2). A record that is too short for a type and a tag cannot
// be authentic.
static tls_read header_check(tls_reader *r, const uint8_t *header)
{
    if (header[0] != TLS_CONTENT_APPLICATION) return reader_fault(r, TLS_ALERT_UNEXPECTED_MESSAGE);
    if (header[1] != 3 || header[2] != 3) return reader_fault(r, TLS_ALERT_DECODE_ERROR);
    size_t len = header_len(header);
    if (len > TLS_SEALED_OCTETS_MAX) return reader_fault(r, TLS_ALERT_RECORD_OVERFLOW);
    if (len < TLS_AROUND_OCTETS - TLS_HEADER_OCTETS)
        return reader_fault(r, TLS_ALERT_BAD_RECORD_MAC);
    return TLS_READ_MORE;
}

static void take(char **octets, size_t *len, void *to, size_t n)
{
    memcpy(to, *octets, n);
    *octets += n;
    *len -= n;
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

// Takes the rest of the header, and once it is whole the memory for what it announces.
static tls_read reader_collect_header(tls_reader *r, lease *memory, char **octets, size_t *len)
{
    size_t n = least(*len, (size_t)TLS_HEADER_OCTETS - r->held);
    take(octets, len, r->header + r->held, n);
    r->held = (uint16_t)(r->held + n);
    if (r->held < TLS_HEADER_OCTETS) return TLS_READ_MORE;
    tls_read checked = header_check(r, r->header);
    if (checked != TLS_READ_MORE) return checked;
    r->record = counted_alloc(memory, TLS_HEADER_OCTETS + header_len(r->header));
    if (!r->record) return reader_end(r, TLS_READ_NO_MEMORY, TLS_ALERT_INTERNAL_ERROR);
    memcpy(r->record, r->header, TLS_HEADER_OCTETS);
    return TLS_READ_MORE;
}

// *record: the record with its header if it is whole now, else NULL.
static tls_read reader_collect(tls_reader *r, lease *memory, char **octets, size_t *len,
                               char **record)
{
    if (!r->record) {
        tls_read header = reader_collect_header(r, memory, octets, len);
        if (header != TLS_READ_MORE || !r->record) return header;
    }
    size_t whole = TLS_HEADER_OCTETS + header_len(r->header), n = least(*len, whole - r->held);
    take(octets, len, r->record + r->held, n);
    r->held = (uint16_t)(r->held + n);
    if (r->held < whole) return TLS_READ_MORE;
    r->held = 0;
    r->is_lent = true;
    *record = r->record;
    return TLS_READ_MORE;
}

static tls_read reader_find(tls_reader *r, lease *memory, char **octets, size_t *len, char **record)
{
    *record = NULL;
    if (r->held || *len < TLS_HEADER_OCTETS) return reader_collect(r, memory, octets, len, record);
    tls_read checked = header_check(r, (const uint8_t *)*octets);
    if (checked != TLS_READ_MORE) return checked;
    size_t whole = TLS_HEADER_OCTETS + header_len((const uint8_t *)*octets);
    if (*len < whole) return reader_collect(r, memory, octets, len, record);
    *record = *octets;
    *octets += whole;
    *len -= whole;
    return TLS_READ_MORE;
}

// ---- From records to content ----

// RFC 8446 §6: the level means nothing. What closes is close_notify, what may be ignored is
// user_canceled, and everything else is an error.
static tls_read reader_alert(tls_reader *r, slice content)
{
    if (content.len == 0) return reader_fault(r, TLS_ALERT_UNEXPECTED_MESSAGE); // §5.4
    if (content.len != 2) return reader_fault(r, TLS_ALERT_DECODE_ERROR);
    uint8_t alert = (uint8_t)content.ptr[1];
    if (alert == TLS_ALERT_USER_CANCELED) return TLS_READ_MORE;
    return reader_end(r, alert == TLS_ALERT_CLOSE_NOTIFY ? TLS_READ_CLOSED : TLS_READ_ALERTED,
                      alert);
}

// Refuses a message as soon as it can be told that it is no KeyUpdate: a client has nothing else to
// say after its handshake.
static tls_read message_check(tls_reader *r)
{
    static const uint8_t start[] = { TLS_KEY_UPDATE, 0, 0, 1 };
    if (r->message[0] != TLS_KEY_UPDATE) return reader_fault(r, TLS_ALERT_UNEXPECTED_MESSAGE);
    if (memcmp(r->message, start, least(r->message_len, sizeof start)) != 0)
        return reader_fault(r, TLS_ALERT_DECODE_ERROR);
    if (r->message_len == TLS_KEY_UPDATE_OCTETS && r->message[sizeof start] > 1)
        return reader_fault(r, TLS_ALERT_ILLEGAL_PARAMETER);
    return TLS_READ_MORE;
}

// A message may lie in several records, but nothing may follow it in its last one: that would be
// protected by the old key (RFC 8446 §5.1).
static tls_read reader_handshake(tls_reader *r, tls_protection *p, slice content)
{
    if (content.len == 0) return reader_fault(r, TLS_ALERT_UNEXPECTED_MESSAGE); // §5.4
    size_t n = least(content.len, sizeof r->message - r->message_len);
    memcpy(r->message + r->message_len, content.ptr, n);
    r->message_len = (uint8_t)(r->message_len + n);
    tls_read checked = message_check(r);
    if (checked != TLS_READ_MORE) return checked;
    if (content.len > n) return reader_fault(r, TLS_ALERT_UNEXPECTED_MESSAGE);
    if (r->message_len < sizeof r->message) return TLS_READ_MORE;
    r->message_len = 0;
    if (tls_protection_updated(p, r->message[TLS_KEY_UPDATE_OCTETS - 1] == 1)) return TLS_READ_MORE;
    return reader_end(r, TLS_READ_NO_MEMORY, TLS_ALERT_INTERNAL_ERROR);
}

static tls_read reader_without_data(tls_reader *r, tls_protection *p, uint8_t type, slice content)
{
    if (type == TLS_CONTENT_APPLICATION) return TLS_READ_MORE;
    if (type == TLS_CONTENT_ALERT) return reader_alert(r, content);
    if (type == TLS_CONTENT_HANDSHAKE) return reader_handshake(r, p, content);
    return reader_fault(r, TLS_ALERT_UNEXPECTED_MESSAGE);
}

static tls_read reader_content(tls_reader *r, tls_protection *p, uint8_t type, slice content,
                               slice *plain)
{
    if (content.len > p->plain_max) return reader_fault(r, TLS_ALERT_RECORD_OVERFLOW);
    // No record of another type may come between those of one message (RFC 8446 §5.1).
    if (r->message_len && type != TLS_CONTENT_HANDSHAKE)
        return reader_fault(r, TLS_ALERT_UNEXPECTED_MESSAGE);
    if (type == TLS_CONTENT_APPLICATION && content.len) {
        r->records_without_data = 0;
        *plain = content;
        return TLS_READ_DATA;
    }
    tls_read read = reader_without_data(r, p, type, content);
    if (read != TLS_READ_MORE || ++r->records_without_data <= TLS_RECORDS_WITHOUT_DATA_MAX)
        return read;
    return reader_fault(r, TLS_ALERT_UNEXPECTED_MESSAGE);
}

// The type is the last octet that is not zero; behind it is padding (RFC 8446 §5.4).
static tls_read reader_open(tls_reader *r, tls_protection *p, char *record, slice *plain)
{
    slice inner;
    size_t len = TLS_HEADER_OCTETS + header_len((const uint8_t *)record);
    tls_opened opened = tls_open(p, record, len, &inner);
    if (opened == TLS_OPENED_FORGED) return reader_fault(r, TLS_ALERT_BAD_RECORD_MAC);
    if (opened == TLS_OPENED_NO_MEMORY)
        return reader_end(r, TLS_READ_NO_MEMORY, TLS_ALERT_INTERNAL_ERROR);
    if (inner.len > INNER_OCTETS_MAX) return reader_fault(r, TLS_ALERT_RECORD_OVERFLOW);
    while (inner.len && inner.ptr[inner.len - 1] == 0)
        inner.len--;
    if (inner.len == 0) return reader_fault(r, TLS_ALERT_UNEXPECTED_MESSAGE);
    inner.len--;
    return reader_content(r, p, (uint8_t)inner.ptr[inner.len], inner, plain);
}

// Nothing is read after the end: after close_notify because RFC 8446 §6.1 says so.
static tls_read reader_ignore(const tls_reader *r, char **octets, size_t *len)
{
    *octets += *len;
    *len = 0;
    return r->ended == TLS_READ_CLOSED ? TLS_READ_MORE : (tls_read)r->ended;
}

tls_read tls_reader_next(tls_reader *r, tls_protection *p, char **octets, size_t *len, slice *plain)
{
    if (r->ended) return reader_ignore(r, octets, len);
    for (;;) {
        char *record;
        tls_reader_rest(r);
        tls_read found = reader_find(r, p->contexts->memory, octets, len, &record);
        if (!record) return found;
        tls_read read = reader_open(r, p, record, plain);
        if (read != TLS_READ_MORE) return read;
    }
}

#endif
