// SPDX-License-Identifier: MIT
//
// The application of the tests over the simulated kernel.

#include "sim/site.h"

#include <stdlib.h>

// ---- Middleware: passes on at once or later, and is told of heads and ends in their order ----

typedef struct site_pass {
    site *site;
    skua_request *request; // NULL: it has ended
    bool coming, headed;
} site_pass;

static const char site_pass_key;

static void pass_work(void *user)
{
    (void)user;
}

static void pass_done(skua_worker *worker, void *user)
{
    (void)worker;
    site_pass *pass = user;
    pass->coming = false;
    if (pass->request) skua_next(pass->request);
    else free(pass);
}

static void pass_before(skua_request *request, void *user)
{
    site *s = user;
    site_pass *pass = app_alloc(sizeof *pass);
    *pass = (site_pass){ .site = s, .request = request };
    s->entered++;
    if (skua_request_set(request, &site_pass_key, pass)) {
        free(pass);
        skua_next(request);
        return;
    }
    pass->coming = sim_random(s->kernel) % 2 &&
                   !skua_offload(skua_request_worker(request), pass_work, pass_done, pass);
    if (!pass->coming) skua_next(request);
}

static void pass_head(skua_request *request, int status, void *user)
{
    (void)user;
    site_pass *pass = skua_request_get(request, &site_pass_key);
    if (status < 200 || status != skua_request_status(request)) abort();
    if (!pass) return;
    if (pass->headed) abort();
    pass->headed = true;
}

static void pass_end(skua_request *request, skua_end how, void *user)
{
    site *s = user;
    site_pass *pass = skua_request_get(request, &site_pass_key);
    s->left++;
    if (!pass) return;
    if (how == SKUA_END_SENT && !pass->headed) abort();
    pass->request = NULL;
    if (!pass->coming) free(pass);
}

// ---- The manner ----

static uint64_t site_chance(app *a, uint64_t n)
{
    const site *s = a->user;
    return sim_random(s->kernel) % n;
}

// site_act finds it among the visits.
static void site_put_off(visit *v)
{
    (void)v;
}

static const app_manner site_manner = { .chance = site_chance,
                                        .put_off = site_put_off,
                                        .hand_over = site_put_off };

// A second resumption is refused.
static void site_resume(visit *v)
{
    bool gone = !v->request;
    v->wait = VISIT_WAITS_NOT;
    skua_status status = skua_resume(v->ticket, visit_taken_up, v);
    if (status != (gone ? SKUA_ECLOSED : SKUA_OK)) abort();
    if (status) return;
    v->app->granted++;
    if (skua_resume(v->ticket, visit_taken_up, v) != SKUA_ESTATE) abort();
}

bool site_act(site *s)
{
    visit *chosen = NULL;
    unsigned waiting = 0;
    for (visit *v = s->app.visits; v; v = v->next) {
        if (v->wait == VISIT_WAITS_NOT) continue;
        if (sim_random(s->kernel) % ++waiting == 0) chosen = v;
    }
    if (!chosen) return false;
    if (chosen->wait == VISIT_WAITS_RESUME) site_resume(chosen);
    else visit_go_on(chosen);
    return true;
}

// ---- Parts of the file ----

const char site_parts_line[] = "Range: bytes=10-19,40000-89989\r\n";

// Each part's octets come behind its head, and then a delimiter.
bool site_parts_are_right(slice content)
{
    static const size_t from[] = { 10, 40000 }, until[] = { 20, 89990 };
    const char *at = content.ptr, *end = content.ptr + content.len;
    for (int part = 0; part < 2; part++) {
        const char *head = memmem(at, (size_t)(end - at), "\r\n\r\n", 4);
        if (!head || (size_t)(end - head) < 4 + until[part] - from[part]) return false;
        at = head + 4;
        for (size_t i = from[part]; i < until[part]; i++) {
            if (*at++ != app_octet(APP_FILE_TAG, i)) return false;
        }
        if (end - at < 9 || memcmp(at, "\r\n--skua-", 9) != 0) return false;
    }
    return memcmp(end - 4, "--\r\n", 4) == 0;
}

// ---- The site ----

static bool site_route(site *s, const skua_config *config, const char *folder)
{
    size_t piece = config->out_octets_max ? config->out_octets_max : APP_PIECE_OCTETS_MAX;
    s->app = (app){ .user = s,
                    .root = s->root,
                    .folder = folder,
                    .lenient = true,
                    .step_octets = APP_PIECE_OCTETS_MAX,
                    .piece_octets = piece };
    app_init(&s->app, &site_manner, s->server);
    app_add_answers(&s->app);
    app_add_content(&s->app);
    app_add_sources(&s->app);
    app_add_streams(&s->app);
    app_add_unfinished(&s->app);
    app_add_threads(&s->app);
    app_add_files(&s->app);
    const skua_middleware pass = { pass_before, pass_head, pass_end, s };
    return !skua_use(s->server, "POST /", &pass) && !skua_use(s->server, "/missing", &pass);
}

bool site_open(site *s, const skua_config *config, const sim_config *sim, const char *folder)
{
    *s = (site){ .listener = -1 };
    s->kernel = sim_kernel_new(sim);
    s->server = skua_server_new(config);
    if (!s->kernel || !s->server || skua_root_open(folder, &s->root)) return false;
    s->listener = sim_listen(s->kernel);
    if (!site_route(s, config, folder) ||
        server_start_on(s->server, &io_backend_sim, s->kernel, s->listener))
        return false;
    change_allow(s->server);
    return true;
}

enum { SITE_STEP_NS = 100000 };

// Time is all workers', so that none may let more of it pass than the others can wait.
static int64_t site_wait_ns(const site *s, int64_t timeout_ns)
{
    if (!sim_is_quiet(s->kernel)) return timeout_ns < 0 ? SITE_STEP_NS : timeout_ns;
    for (unsigned i = 0; i < server_worker_count(s->server); i++) {
        int64_t ns = s->ended[i] ? -1 : worker_timeout_ns(s->server->workers[i]);
        if (ns >= 0 && (timeout_ns < 0 || ns < timeout_ns)) timeout_ns = ns;
    }
    return timeout_ns;
}

void site_turn(site *s, int64_t timeout_ns)
{
    unsigned count = server_worker_count(s->server), left = 0;
    if (s->over) return;
    uint64_t first = count > 1 ? sim_random(s->kernel) : 0;
    if (count > 1) timeout_ns = site_wait_ns(s, timeout_ns);
    for (unsigned i = 0; i < count; i++) {
        unsigned at = (unsigned)((first + i) % count);
        if (!s->ended[at]) s->ended[at] = !worker_turn(s->server->workers[at], i ? 0 : timeout_ns);
        left += !s->ended[at];
    }
    s->over = left == 0;
}

skua_status site_staff(site *s, unsigned workers)
{
    return s->over ? SKUA_ECLOSED : skua_workers_set(s->server, workers);
}

uint64_t site_handed(const site *s)
{
    uint64_t count = 0;
    for (unsigned i = 1; i < server_worker_count(s->server); i++)
        count += figure_read(&s->server->workers[i]->self.figures->shared.accepted);
    return count;
}

void site_stop(site *s, int64_t grace_ns)
{
    s->stopped = true;
    if (!s->over) skua_stop(s->server, grace_ns);
}

// Each visit has ended once.
static const char *site_judge(site *s)
{
    for (const visit *v = s->app.visits; v; v = v->next) {
        if (!v->told) return "a request did not end";
    }
    return s->entered == s->left ? NULL : "middleware was entered that was not told of the end";
}

const char *site_close(site *s)
{
    site_stop(s, 0);
    for (int i = 0; i < 100000 && !s->over; i++)
        site_turn(s, -1);
    const char *wrong = s->over ? NULL : "the server does not stop";
    sim_listener_close(s->kernel, s->listener);
    skua_server_free(s->server);
    skua_root_close(s->root);
    if (!wrong) wrong = site_judge(s);
    const char *unbalanced = app_free(&s->app);
    if (!wrong) wrong = unbalanced;
    if (!wrong && sim_sockets_open(s->kernel)) wrong = "a socket is still open";
    if (!wrong && sim_files_open(s->kernel)) wrong = "a file is still open";
    sim_kernel_free(s->kernel);
    return wrong;
}
