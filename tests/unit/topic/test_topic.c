// SPDX-License-Identifier: MIT
//
// The table of topics: all of it counts in memory_max, it becomes small again when readers leave, and while
// memory is short nobody joins.

#include "topic/topic.h"

#include "base/memory.h"
#include "unit/bed.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    READERS = 20,
    TOPICS = 1000,
    MEMORY_MAX = 64 << 20,
    BESIDE = 64, // what an allocation that is counted takes more, at most
    REFUSED_BUCKETS = 8192
};

static const int64_t second_ns = 1000000000;

// ---- The heap ----

static struct {
    size_t octets;
    size_t refused; // one allocation of so many octets, or a few more, fails; 0: none
} heap;

typedef struct piece {
    _Alignas(16) size_t octets;
} piece;

static void *heap_resize(void *memory, size_t octets, void *user)
{
    (void)user;
    piece *before = memory ? (piece *)memory - 1 : NULL;
    size_t freed = before ? before->octets : 0;
    if (heap.refused && octets >= heap.refused && octets < heap.refused + BESIDE) {
        heap.refused = 0;
        return NULL;
    }
    piece *p = realloc(before, sizeof *p + octets);
    if (!p) return NULL;
    p->octets = octets;
    heap.octets += octets - freed;
    return p + 1;
}

static void *heap_alloc(size_t octets, void *user)
{
    return heap_resize(NULL, octets, user);
}

static void heap_free(void *memory, void *user)
{
    (void)user;
    if (!memory) return;
    heap.octets -= ((piece *)memory - 1)->octets;
    free((piece *)memory - 1);
}

// ---- Readers ----

static skua_status joined;        // the last result
static size_t allocated, counted; // by joining, on the heap
static skua_request *last;

// GET /join/{number}: so many topics, of no other reader.
static void on_join(skua_request *r, void *user)
{
    (void)user;
    skua_slice number = skua_request_param(r, "number");
    char name[TOPIC_NAME_OCTETS_MAX];
    memset(name, 'n', sizeof name);
    skua_events_open(r, NULL, NULL);
    joined = SKUA_OK;
    last = r;
    size_t octets = heap.octets, used = r->worker->memory.used;
    for (unsigned i = 0; i < TOPICS && !joined; i++) {
        int len = snprintf(name, 40, "%" SKUA_FMT " %u", SKUA_ARG(number), i);
        name[len] = 'n';
        joined = skua_topic_join(r, slice_make(name, sizeof name));
    }
    allocated += heap.octets - octets;
    counted += r->worker->memory.used - used;
}

static void open_bed(bed *b)
{
    static const skua_allocator allocator = { heap_alloc, heap_resize, heap_free, NULL };
    allocated = counted = 0;
    assert_true(memory_join(&allocator)); // until the kernel is gone, too
    bed_open(b, &(skua_config){ .memory_max = MEMORY_MAX, .allocator = &allocator });
    assert_int_equal(skua_route(b->server, "GET /join/{number}", on_join, NULL), SKUA_OK);
    bed_start(b);
}

static sim_client *add_reader(const bed *b, unsigned number)
{
    char head[80];
    int len =
        snprintf(head, sizeof head, "GET /join/%u HTTP/1.1\r\nHost: localhost\r\n\r\n", number);
    sim_client *client = bed_send(b, slice_make(head, (size_t)len));
    bed_turn_for(b, second_ns / 5);
    return client;
}

static void close_bed(const bed *b)
{
    bed_close(b);
    memory_leave();
    assert_int_equal(heap.octets, 0);
}

// ---- Tests ----

static void test_everything_of_topics_is_counted(void **state)
{
    (void)state;
    bed b;
    open_bed(&b);
    for (unsigned i = 0; i < READERS; i++) {
        (void)add_reader(&b, i);
        assert_int_equal(joined, SKUA_OK);
    }
    assert_int_equal(b.worker->self.topics->count, READERS * TOPICS);
    assert_true(allocated > READERS * TOPICS * TOPIC_NAME_OCTETS_MAX);
    assert_int_equal(counted, allocated);
    close_bed(&b);
}

static void test_the_table_becomes_small_again(void **state)
{
    (void)state;
    bed b;
    open_bed(&b);
    sim_client *clients[READERS];
    for (unsigned i = 0; i < READERS; i++)
        clients[i] = add_reader(&b, i);
    assert_true(b.worker->self.topics->room >= READERS * TOPICS);
    for (unsigned i = 1; i < READERS; i++)
        sim_client_reset(clients[i]);
    bed_turn_for(&b, second_ns);
    const struct topic_table *table = b.worker->self.topics;
    assert_int_equal(table->count, TOPICS);
    assert_true(table->room <= 8 * TOPICS);
    char name[TOPIC_NAME_OCTETS_MAX];
    memset(name, 'n', sizeof name);
    memcpy(name, "0 999", 5);
    assert_non_null(topic_find(b.worker->self.topics, slice_make(name, sizeof name)));
    sim_client_reset(clients[0]);
    bed_turn_for(&b, second_ns);
    assert_null(b.worker->self.topics);
    close_bed(&b);
}

static void test_the_table_grows_after_a_failure(void **state)
{
    (void)state;
    bed b;
    open_bed(&b);
    heap.refused = REFUSED_BUCKETS * sizeof(topic_entry *);
    for (unsigned i = 0; i < READERS; i++) {
        (void)add_reader(&b, i);
        assert_int_equal(joined, SKUA_OK);
    }
    assert_int_equal(heap.refused, 0);
    assert_true(b.worker->self.topics->room >= READERS * TOPICS);
    close_bed(&b);
}

// The readers that are there stay, and may leave and join again what they have not left.
static void test_nobody_joins_while_memory_is_short(void **state)
{
    (void)state;
    bed b;
    open_bed(&b);
    (void)add_reader(&b, 1);
    assert_int_equal(joined, SKUA_OK);
    int64_t filled = (int64_t)MEMORY_MAX / 100 * 91;
    skua_memory_count(&b.worker->self, filled);
    bed_turn_for(&b, second_ns);
    assert_int_equal(skua_topic_join(last, SKUA_SLICE("one more")), SKUA_ENOMEM);
    char name[TOPIC_NAME_OCTETS_MAX];
    memset(name, 'n', sizeof name);
    memcpy(name, "1 0", 3);
    assert_int_equal(skua_topic_join(last, slice_make(name, sizeof name)), SKUA_OK);
    assert_int_equal(b.worker->self.topics->count, TOPICS);
    skua_memory_count(&b.worker->self, -filled);
    bed_turn_for(&b, second_ns);
    assert_int_equal(skua_topic_join(last, SKUA_SLICE("one more")), SKUA_OK);
    close_bed(&b);
}

static void on_listen(skua_request *r, void *user)
{
    (void)user;
    last = r;
    skua_events_open(r, NULL, NULL);
}

static void say(const bed *b, const char *text)
{
    const skua_publication what = { .octets = slice_of(text) };
    assert_int_equal(skua_topic_publish(b->server, SKUA_SLICE("news"), &what), SKUA_OK);
}

static bool heard(const sim_client *client, const char *text)
{
    slice came = sim_client_received(client);
    return memmem(came.ptr, came.len, text, strlen(text)) != NULL;
}

// While a worker has no readers it is sent nothing. A reader who comes then would take it for a loss to hear of one
// that was on its way, and not of the next.
static void test_the_first_reader_hears_of_what_follows_alone(void **state)
{
    (void)state;
    bed b;
    bed_open(&b, NULL);
    assert_int_equal(skua_route(b.server, "GET /listen", on_listen, NULL), SKUA_OK);
    bed_start(&b);
    sim_client *client = bed_send(&b, SKUA_SLICE("GET /listen HTTP/1.1\r\nHost: a\r\n\r\n"));
    bed_turn_for(&b, second_ns / 5);
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(skua_topic_join(last, SKUA_SLICE("news")), SKUA_OK);
        say(&b, i ? "second" : "first");
        assert_int_equal(skua_topic_leave(last, SKUA_SLICE("news")), SKUA_OK);
        say(&b, "nobody");
    }
    assert_int_equal(skua_topic_join(last, SKUA_SLICE("news")), SKUA_OK);
    say(&b, "third");
    bed_turn_for(&b, second_ns / 5);
    assert_true(heard(client, "third"));
    assert_false(heard(client, "first") || heard(client, "second") || heard(client, "nobody"));
    say(&b, "fourth");
    bed_turn_for(&b, second_ns / 5);
    assert_true(heard(client, "fourth"));
    bed_close(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_everything_of_topics_is_counted),
        cmocka_unit_test(test_the_table_becomes_small_again),
        cmocka_unit_test(test_the_table_grows_after_a_failure),
        cmocka_unit_test(test_nobody_joins_while_memory_is_short),
        cmocka_unit_test(test_the_first_reader_hears_of_what_follows_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
