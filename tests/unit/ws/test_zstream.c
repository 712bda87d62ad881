// SPDX-License-Identifier: MIT
//
// Streams of messages: octets of RFC 7692's examples, what one side compresses the other inflates, cut anywhere, and
// what is no DEFLATE. Input and output end at forbidden pages.

#include "ws/zstream.h"

#include "support/support.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#if !defined(SKUA_NO_WEBSOCKET) && defined(SKUA_ZLIB)

enum { OUT_OCTETS_MAX = 70000 };

static const char nothing[OUT_OCTETS_MAX];
static char got[OUT_OCTETS_MAX];

// Inflates with so many octets of room at a time. Returns: the result for all of it.
static ws_inflated inflate_piece(ws_inflater *i, slice input, size_t step, size_t *len)
{
    ws_inflated result = WS_INFLATED_MORE;
    while (result == WS_INFLATED_MORE) {
        size_t octets, room = OUT_OCTETS_MAX - *len < step ? OUT_OCTETS_MAX - *len : step;
        assert_true(room > 0);
        char *out = guarded_copy(nothing, room);
        result = ws_inflater_run(i, &input, out, room, &octets);
        assert_true(octets <= room);
        memcpy(got + *len, out, octets);
        *len += octets;
        guarded_free(out, room);
    }
    return result;
}

// A message, cut at one place. Returns: whether it was whole.
static bool inflate_message(ws_inflater *i, slice message, size_t split, size_t step, size_t *len)
{
    char *copy = guarded_copy(message.ptr, message.len);
    *len = 0;
    ws_inflated result = inflate_piece(i, slice_make(copy, split), step, len);
    if (result == WS_INFLATED_ALL)
        result = inflate_piece(i, slice_make(copy + split, message.len - split), step, len);
    guarded_free(copy, message.len);
    if (result == WS_INFLATED_ALL) result = inflate_piece(i, ws_inflater_tail(i), step, len);
    return result == WS_INFLATED_ALL && ws_inflater_is_whole(i);
}

typedef struct inflate_case {
    slice wire;
    slice text; // ptr NULL: it is no message
} inflate_case;

#define WIRE(octets) { octets, sizeof octets - 1 }

static const inflate_case inflate_cases[] = {
    { WIRE("\xf2\x48\xcd\xc9\xc9\x07\x00"), WIRE("Hello") },                 // RFC 7692 §7.2.3.1
    { WIRE("\x00\x05\x00\xfa\xff\x48\x65\x6c\x6c\x6f\x00"), WIRE("Hello") }, // §7.2.3.3: stored
    { WIRE("\xf3\x48\xcd\xc9\xc9\x07\x00\x00"), WIRE("Hello") }, // §7.2.3.4: a last block
    { WIRE("\xf3\x48\xcd\xc9\xc9\x07\x00"), WIRE("Hello") },     // and nothing behind it
    { WIRE("\xf2\x48\x05\x00\x00\x00\xff\xff\xca\xc9\xc9\x07\x00"),
      WIRE("Hello") }, // §7.2.3.5: two blocks
    { WIRE("\xf3\x48\xcd\xc9\xc9\x07\x00\xf2\x48\xcd\xc9\xc9\x07\x00"), WIRE("HelloHello") },
    { WIRE("\xf3\x48\xcd\xc9\xc9\x07\x00\xf3\x48\xcd\xc9\xc9\x07\x00"), WIRE("HelloHello") },
    // another stream behind the last block refers to what lies before it, and may end too
    { WIRE("\xf3\x48\xcd\xc9\xc9\x07\x00\xf2\x00\x11\x00\x00"), WIRE("HelloHello") },
    { WIRE("\xf3\x48\xcd\xc9\xc9\x07\x00\xf3\x00\x11\x00\xf3\x00\x11\x00"),
      WIRE("HelloHelloHello") },
    // the octets that the sender has left out end a stored block
    { WIRE("\x00\x05\x00\xfa\xff\xf5"), WIRE("\xf5\x00\x00\xff\xff") },
    { WIRE("\x01\x05\x00\xfa\xff\xf5"), WIRE("\xf5\x00\x00\xff\xff") },
    { WIRE("\x00"), WIRE("") },     // §7.2.3.6
    { WIRE("\x02\x00"), WIRE("") }, // an empty block of the fixed code
    { WIRE("\x03\x00"), WIRE("") }, // which is the last
    { WIRE("\x03\x00\x03\x00\x03\x00"), WIRE("") },
    { WIRE("\xf2\x48\xcd\xc9\xc9\x07"), { NULL, 0 } }, // cut off
    { WIRE("\xf2\x48\xcd"), { NULL, 0 } },
    { WIRE("\x00\x05\x00\xfa\xff\x48\x65"), { NULL, 0 } },
    { WIRE("\x06"), { NULL, 0 } }, // a block of the third kind
    { WIRE("\x07"), { NULL, 0 } },
    { WIRE("\xff\xff\xff\xff"), { NULL, 0 } },
    { WIRE("\x00\x05\x00\x05\x00Hello\x00"), { NULL, 0 } }, // the length is not what it is
    { WIRE("\x02\x03\x00\x00"), { NULL, 0 } },              // a distance into nothing
};

static void test_message(const inflate_case *one, size_t split, size_t room)
{
    size_t len;
    ws_inflater *i = ws_inflater_open(NULL, 15);
    assert_non_null(i);
    bool whole = inflate_message(i, one->wire, split, room, &len);
    if (whole != (one->text.ptr != NULL))
        fail_msg("case %td, split %zu, room %zu", one - inflate_cases, split, room);
    if (whole) assert_true(slice_equal(slice_make(got, len), one->text));
    ws_inflater_reset(i); // and it is as good as new
    assert_true(inflate_message(i, inflate_cases[0].wire, 2, 100, &len) && len == 5);
    ws_inflater_close(i);
}

static void test_messages(void **state)
{
    (void)state;
    for (size_t n = 0; n < sizeof inflate_cases / sizeof *inflate_cases; n++) {
        const inflate_case *one = &inflate_cases[n];
        for (size_t split = 0; split <= one->wire.len; split++) {
            for (size_t room = 1; room < 12; room++)
                test_message(one, split, room);
            test_message(one, split, 100);
        }
    }
}

// The second "Hello" of §7.2.3.2 refers to the first, also where that ended by a last block.
static void test_a_window_is_kept(void **state)
{
    (void)state;
    static const slice again = WIRE("\xf2\x00\x11\x00\x00");
    for (int first = 0; first < 5; first++) {
        size_t len;
        ws_inflater *i = ws_inflater_open(NULL, 15);
        assert_true(inflate_message(i, inflate_cases[first].wire, 1, 100, &len));
        assert_true(inflate_message(i, again, 1, 100, &len));
        assert_true(slice_equal(slice_make(got, len), SKUA_SLICE("Hello")));
        ws_inflater_reset(i);
        assert_false(inflate_message(i, again, 1, 100, &len));
        ws_inflater_close(i);
    }
}

static uint32_t dice = 7692;

static unsigned roll(unsigned n)
{
    dice = dice * 1664525 + 1013904223;
    return (dice >> 8) % n;
}

// Words, so that it can be compressed, or noise. Returns: its length.
static size_t make_message(char *out)
{
    size_t len = 1 + roll(roll(3) ? 600 : 60000), at = 0;
    bool noise = roll(4) == 0;
    while (at < len) {
        static const char *const words[] = { "price", "\"volume\":", "skua", " of ", "0.25, " };
        const char *word = words[roll(5)];
        if (noise) out[at++] = (char)roll(256);
        else
            for (; *word && at < len; word++)
                out[at++] = *word;
    }
    return len;
}

static void play_messages(unsigned bits, bool keeps)
{
    static char message[OUT_OCTETS_MAX], packed[OUT_OCTETS_MAX];
    ws_deflater *d = ws_deflater_open(NULL, bits);
    ws_inflater *i = ws_inflater_open(NULL, bits);
    unsigned shorter = 0;
    assert_true(d && i);
    for (unsigned n = 0; n < 40; n++) {
        size_t len = make_message(message), octets, inflated;
        if (!ws_deflater_run(d, slice_make(message, len), packed, &octets)) continue;
        shorter++;
        assert_true(octets < len);
        assert_true(inflate_message(i, slice_make(packed, octets), roll((unsigned)octets + 1),
                                    100 + roll(5000), &inflated));
        assert_true(slice_equal(slice_make(got, inflated), slice_make(message, len)));
        if (keeps) continue;
        ws_deflater_reset(d);
        ws_inflater_reset(i);
    }
    assert_true(shorter > 10 && shorter < 40);
    ws_deflater_close(d);
    ws_inflater_close(i);
}

// Those that do not gain are never seen by the peer's window, and those behind them are inflated all the same.
static void test_there_and_back(void **state)
{
    (void)state;
    for (unsigned bits = 9; bits <= 15; bits++) {
        play_messages(bits, true);
        play_messages(bits, false);
    }
}

static void test_every_length_at_which_it_gains(void **state)
{
    (void)state;
    char message[300], packed[sizeof message + WS_ZSTREAM_TAIL_OCTETS];
    ws_deflater *d = ws_deflater_open(NULL, 9);
    ws_inflater *i = ws_inflater_open(NULL, 9);
    for (size_t len = 1; len <= sizeof message; len++) {
        size_t octets, inflated;
        for (size_t at = 0; at < len; at++)
            message[at] = (char)(at % 16 ? roll(256) : 'a');
        char *out = guarded_copy(nothing, len + WS_ZSTREAM_TAIL_OCTETS);
        bool gains = ws_deflater_run(d, slice_make(message, len), out, &octets);
        if (gains) memcpy(packed, out, octets);
        guarded_free(out, len + WS_ZSTREAM_TAIL_OCTETS);
        if (!gains) continue;
        assert_true(inflate_message(i, slice_make(packed, octets), 0, 100, &inflated) &&
                    inflated == len);
    }
    ws_deflater_close(d);
    ws_inflater_close(i);
}

// Pieces of one message, each to be read at once: what does not get shorter is stored, and nothing refers to it.
static void play_pieces(unsigned bits, bool keeps)
{
    static char piece[OUT_OCTETS_MAX], packed[OUT_OCTETS_MAX + 100];
    ws_deflater *d = ws_deflater_open(NULL, bits);
    ws_inflater *i = ws_inflater_open(NULL, bits);
    for (unsigned n = 0; n < 60; n++) {
        size_t len = make_message(piece), octets, inflated = 0;
        if (ws_deflater_run(d, slice_make(piece, len), packed, &octets))
            octets += WS_ZSTREAM_TAIL_OCTETS;
        else octets = ws_zstream_store(slice_make(piece, len), packed);
        assert_true(octets <= ws_zstream_stored_octets(len));
        assert_int_equal(inflate_piece(i, slice_make(packed, octets), 100 + roll(5000), &inflated),
                         WS_INFLATED_ALL);
        assert_true(slice_equal(slice_make(got, inflated), slice_make(piece, len)));
        assert_true(ws_inflater_is_whole(i));
        if (!keeps) ws_deflater_reset(d);
        if (n % 10) continue;
        assert_true(inflate_message(i, slice_make("", 1), 0, 100, &inflated) && inflated == 0);
    }
    ws_deflater_close(d);
    ws_inflater_close(i);
}

static void test_pieces(void **state)
{
    (void)state;
    for (unsigned bits = 9; bits <= 15; bits++) {
        play_pieces(bits, true);
        play_pieces(bits, false);
    }
}

static void test_stored(void **state)
{
    (void)state;
    static const struct {
        size_t len, octets;
    } cases[] = { { 0, 0 }, { 1, 6 }, { 65535, 65540 }, { 65536, 65546 } };
    for (size_t n = 0; n < sizeof cases / sizeof *cases; n++) {
        size_t inflated = 0, room = ws_zstream_stored_octets(cases[n].len);
        static char packed[OUT_OCTETS_MAX + 100];
        assert_true(cases[n].octets <= room);
        assert_int_equal(ws_zstream_store(slice_make(nothing, cases[n].len), packed),
                         cases[n].octets);
        ws_inflater *i = ws_inflater_open(NULL, 9);
        (void)inflate_piece(i, slice_make(packed, cases[n].octets), 1000, &inflated);
        assert_true(slice_equal(slice_make(got, inflated), slice_make(nothing, cases[n].len)));
        ws_inflater_close(i);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pieces),
        cmocka_unit_test(test_stored),
        cmocka_unit_test(test_messages),
        cmocka_unit_test(test_a_window_is_kept),
        cmocka_unit_test(test_there_and_back),
        cmocka_unit_test(test_every_length_at_which_it_gains),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

int main(void)
{
    return 0;
}

#endif
