// SPDX-License-Identifier: MIT
//
// Certificates that are refused, each with its sentence, and those that go together.

#include "net/tls_context.h"
#include "support/support.h"
#include "support/tls_files.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static char folder[] = "/tmp/skua-tls-XXXXXX";

// ---- Files, made once ----

static tls_made authority, middle, leaf, other, rsa, expired, early, nameless;

#define LIST(...) ((const tls_made *const[]){ __VA_ARGS__, NULL })

static void write_file(const char *name, char *text)
{
    char path[128];
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    tls_write(path, text);
}

static void make_certificates(void)
{
    authority = tls_make((tls_want){ .name = "authority", .is_authority = true });
    middle = tls_make((tls_want){ .name = "middle", .issuer = &authority, .is_authority = true });
    leaf = tls_make((tls_want){ .name = "leaf", .issuer = &middle, .alternates = "DNS:a.test" });
    other = tls_make((tls_want){ .name = "other", .alternates = "DNS:a.test,DNS:b.test" });
    rsa = tls_make((tls_want){ .key = "RSA", .name = "rsa", .alternates = "DNS:a.test" });
    expired = tls_make(
        (tls_want){ .name = "old", .alternates = "DNS:c.test", .from_s = -7200, .to_s = -3600 });
    early = tls_make(
        (tls_want){ .name = "new", .alternates = "DNS:d.test", .from_s = 3600, .to_s = 7200 });
    nameless = tls_make((tls_want){ .name = "nameless", .alternates = "IP:127.0.0.1" });
}

static int make_all(void **state)
{
    (void)state;
    assert_non_null(mkdtemp(folder));
    make_certificates();
    write_file("chain.pem", tls_pem_chain(LIST(&leaf, &middle, &authority)));
    write_file("short.pem", tls_pem_chain(LIST(&leaf)));
    write_file("turned.pem", tls_pem_chain(LIST(&leaf, &authority, &middle)));
    write_file("last.pem", tls_pem_chain(LIST(&middle, &leaf)));
    write_file("leaf.key", tls_pem_key(&leaf, NULL));
    write_file("other.pem", tls_pem_chain(LIST(&other)));
    write_file("other.key", tls_pem_key(&other, NULL));
    write_file("rsa.pem", tls_pem_chain(LIST(&rsa)));
    write_file("rsa.key", tls_pem_key(&rsa, NULL));
    write_file("locked.key", tls_pem_key(&leaf, "secret"));
    write_file("expired.pem", tls_pem_chain(LIST(&expired)));
    write_file("expired.key", tls_pem_key(&expired, NULL));
    write_file("early.pem", tls_pem_chain(LIST(&early)));
    write_file("early.key", tls_pem_key(&early, NULL));
    write_file("nameless.pem", tls_pem_chain(LIST(&nameless)));
    write_file("nameless.key", tls_pem_key(&nameless, NULL));
    write_file("ca.pem", tls_pem_chain(LIST(&authority)));
    write_file("text.pem", strdup("hello\n"));
    write_file("empty.pem", strdup(""));
    write_file("broken.pem",
               strdup("-----BEGIN CERTIFICATE-----\nhello\n-----END CERTIFICATE-----\n"));
    write_file("broken.key",
               strdup("-----BEGIN PRIVATE KEY-----\nhello\n-----END PRIVATE KEY-----\n"));
    write_file("short.keys", strdup("too short"));
    return chdir(folder);
}

static int remove_all(void **state)
{
    (void)state;
    static const char *const names[] = {
        "chain.pem", "short.pem",  "turned.pem",   "last.pem",     "leaf.key",    "other.pem",
        "other.key", "rsa.pem",    "rsa.key",      "locked.key",   "expired.pem", "expired.key",
        "early.pem", "early.key",  "nameless.pem", "nameless.key", "ca.pem",      "text.pem",
        "empty.pem", "broken.pem", "broken.key",   "short.keys",
    };
    tls_made *all[] = { &authority, &middle, &leaf, &other, &rsa, &expired, &early, &nameless };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        unlink(names[i]);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        tls_made_free(all[i]);
    return rmdir(folder);
}

// ---- Sentences ----

static char warned[TLS_WHY_OCTETS];

static void warn(const char *sentence, void *user)
{
    (void)user;
    (void)snprintf(warned, sizeof warned, "%s", sentence);
}

// Returns the sentence; "" for none.
static const char *why_not(const skua_tls_desc *desc, skua_status *status)
{
    static tls_load load;
    tls_context *context = NULL;
    load = (tls_load){ .unix_s = (int64_t)time(NULL), .warn = warn };
    warned[0] = '\0';
    *status = tls_context_new(desc, NULL, &load, &context);
    assert_int_equal(*status == SKUA_OK, context != NULL);
    assert_int_equal(*status == SKUA_OK, load.why[0] == '\0');
    tls_context_unref(context);
    return load.why;
}

static void check_why(skua_tls_desc desc, skua_status expected, const char *sentence)
{
    skua_status status;
    assert_string_equal(why_not(&desc, &status), sentence);
    assert_int_equal(status, expected);
}

// A text of which the middle is not looked at, as it is a date or OpenSSL's.
static void check_around(skua_tls_desc desc, const char *start, const char *end)
{
    skua_status status;
    const char *why = why_not(&desc, &status);
    assert_int_equal(status, SKUA_EINVAL);
    assert_true(strlen(why) > strlen(start) + strlen(end));
    assert_memory_equal(why, start, strlen(start));
    assert_string_equal(why + strlen(why) - strlen(end), end);
}

static skua_tls_desc one(const char *file, const char *key_file)
{
    static skua_tls_certificate certificate;
    certificate = (skua_tls_certificate){ .file = file, .key_file = key_file };
    return (skua_tls_desc){ .certificates = &certificate, .certificate_count = 1 };
}

static void test_each_fault_has_a_sentence(void **state)
{
    (void)state;
    static const struct {
        const char *file, *key_file;
        skua_status status;
        const char *sentence;
    } cases[] = {
        { "chain.pem", "leaf.key", SKUA_OK, "" },
        { "short.pem", "leaf.key", SKUA_OK, "" },
        { "none.pem", "leaf.key", SKUA_ENOENT,
          "cannot read the certificate none.pem: there is no such file" },
        { ".", "leaf.key", SKUA_EINVAL, "the certificate . is not a file" },
        { "short.pem", "none.key", SKUA_ENOENT,
          "cannot read the key none.key: there is no such file" },
        { "text.pem", "leaf.key", SKUA_EINVAL,
          "the certificate text.pem has no certificate in PEM" },
        { "empty.pem", "leaf.key", SKUA_EINVAL,
          "the certificate empty.pem has no certificate in PEM" },
        { "leaf.key", "leaf.key", SKUA_EINVAL,
          "the certificate leaf.key has no certificate in PEM" },
        { "short.pem", "text.pem", SKUA_EINVAL, "the key text.pem has no private key in PEM" },
        { "short.pem", NULL, SKUA_EINVAL, "the key short.pem has no private key in PEM" },
        { "short.pem", "other.key", SKUA_EINVAL,
          "the key other.key does not belong to the certificate short.pem" },
        { "short.pem", "rsa.key", SKUA_EINVAL,
          "the key rsa.key does not belong to the certificate short.pem" },
        { "turned.pem", "leaf.key", SKUA_EINVAL,
          "the certificates in turned.pem are in the wrong order: number 2 did not sign number 1" },
        { "last.pem", "leaf.key", SKUA_EINVAL,
          "the certificates in last.pem are in the wrong order: the server's own is number 2 and "
          "must be the first" },
        { "short.pem", "locked.key", SKUA_EINVAL,
          "the key locked.key is encrypted, and nobody could be asked for its passphrase; write it "
          "without one" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        check_why(one(cases[i].file, cases[i].key_file), cases[i].status, cases[i].sentence);
}

static void test_sentences_with_dates_and_openssls_words(void **state)
{
    (void)state;
    check_around(one("expired.pem", "expired.key"), "the certificate expired.pem expired on 2",
                 " UTC");
    check_around(one("early.pem", "early.key"), "the certificate early.pem is not valid before 2",
                 " UTC");
    check_around(one("broken.pem", "leaf.key"), "cannot read the certificate broken.pem: ", "");
    check_around(one("short.pem", "broken.key"), "cannot read the key broken.key: ", "");
}

static void test_a_file_that_nobody_may_read(void **state)
{
    (void)state;
    if (geteuid() == 0) skip(); // who may read everything
    assert_int_equal(chmod("leaf.key", 0), 0);
    check_why(one("short.pem", "leaf.key"), SKUA_EACCES,
              "cannot read the key leaf.key: permission denied");
    assert_int_equal(chmod("leaf.key", 0600), 0);
}

static void test_a_file_that_is_too_long(void **state)
{
    (void)state;
    assert_int_equal(truncate("text.pem", TLS_FILE_OCTETS_MAX - 1), 0);
    check_why(one("text.pem", "leaf.key"), SKUA_EINVAL,
              "the certificate text.pem has no certificate in PEM");
    assert_int_equal(truncate("text.pem", TLS_FILE_OCTETS_MAX), 0);
    check_why(one("text.pem", "leaf.key"), SKUA_ELIMIT,
              "the certificate text.pem has more than 1048575 octets");
    assert_int_equal(truncate("text.pem", 5), 0);
}

static void test_a_key_that_others_can_read_is_warned_of(void **state)
{
    (void)state;
    skua_status status;
    skua_tls_desc desc = one("short.pem", "leaf.key");
    assert_int_equal(chmod("leaf.key", 0640), 0); // a group has been given it
    assert_string_equal(why_not(&desc, &status), "");
    assert_string_equal(warned, "");
    assert_int_equal(chmod("leaf.key", 0644), 0);
    assert_string_equal(why_not(&desc, &status), "");
    assert_string_equal(warned, "the key leaf.key can be read by every user of this machine; chmod "
                                "600 it");
    assert_int_equal(chmod("leaf.key", 0600), 0);
}

// ---- Several certificates ----

static void check_several(const skua_tls_certificate *certificates, unsigned count,
                          const char *sentence)
{
    check_why((skua_tls_desc){ .certificates = certificates, .certificate_count = count },
              *sentence ? SKUA_EINVAL : SKUA_OK, sentence);
}

static void test_several_certificates(void **state)
{
    (void)state;
    const skua_tls_certificate a = { .file = "short.pem", .key_file = "leaf.key" };
    const skua_tls_certificate b = { .file = "other.pem", .key_file = "other.key" };
    const skua_tls_certificate r = { .file = "rsa.pem", .key_file = "rsa.key" };
    const skua_tls_certificate n = { .file = "nameless.pem", .key_file = "nameless.key" };
    skua_tls_certificate a_default = a, b_default = b, n_default = n, b_named = b, n_named = n;
    a_default.is_default = b_default.is_default = n_default.is_default = true;
    b_named.names = "b.test  *.B.test ";
    n_named.names = "n.test";
    b_default.names = "b.test";
    check_several((skua_tls_certificate[]){ a, r }, 2, "");
    check_several(
        (skua_tls_certificate[]){ a, a }, 2,
        "the name a.test belongs to two certificates with ECDSA keys, short.pem and short.pem");
    check_several(
        (skua_tls_certificate[]){ a, r, b_named, b }, 4,
        "the name a.test belongs to two certificates with ECDSA keys, short.pem and other.pem");
    check_several((skua_tls_certificate[]){ a, b_named }, 2, "");
    check_several((skua_tls_certificate[]){ a_default, b_default }, 2,
                  "two certificates are the default, short.pem and other.pem");
    check_several((skua_tls_certificate[]){ n }, 1, "");
    check_several((skua_tls_certificate[]){ a, n_default }, 2, "");
    check_several((skua_tls_certificate[]){ a, n_named }, 2, "");
    check_several((skua_tls_certificate[]){ a, n }, 2,
                  "the certificate nameless.pem has no DNS name in it, and is not the default; say "
                  "what names it is for");
    b_named.names = "b.test,c.test";
    check_several((skua_tls_certificate[]){ a, b_named }, 2,
                  "\"b.test,c.test\" is not a server name; the names of the certificate other.pem "
                  "are host names, as example.org or *.example.org, separated by spaces");
}

static void test_certificates_for_one_name_ask_the_same_of_clients(void **state)
{
    (void)state;
    const skua_tls_clients clients = { .asking = SKUA_TLS_REQUIRE, .ca_file = "ca.pem" };
    skua_tls_certificate both[] = { { .file = "short.pem", .key_file = "leaf.key" },
                                    { .file = "rsa.pem", .key_file = "rsa.key" } };
    both[0].clients = &clients;
    check_several(both, 2,
                  "the certificates rsa.pem and short.pem are for the same name and ask different "
                  "things of clients");
    both[1].clients = &clients;
    check_several(both, 2, "");
}

// ---- The rest of a description ----

static void test_the_rest_of_a_description(void **state)
{
    (void)state;
    skua_tls_desc desc = one("short.pem", "leaf.key");
    check_why((skua_tls_desc){ .listen = ":443" }, SKUA_EINVAL, "there is no certificate for TLS");
    desc.groups = "nothing known";
    char sentence[TLS_WHY_OCTETS];
    (void)snprintf(sentence, sizeof sentence, "none of the groups \"nothing known\" is known to %s",
                   OpenSSL_version(OPENSSL_VERSION));
    check_why(desc, SKUA_EINVAL, sentence);
    desc = one("short.pem", "leaf.key");
    desc.records = "kernel";
    check_why(desc, SKUA_EINVAL,
              "\"kernel\" cannot protect records; \"openssl\" can, or leave it out");
    desc.records = "openssl";
    check_why(desc, SKUA_OK, "");
    desc.handshake_timeout_ns = -1;
    check_why(desc, SKUA_EINVAL, "the time for a handshake is out of range");
    desc = one("short.pem", "leaf.key");
    desc.clients.asking = SKUA_TLS_ASK;
    check_why(desc, SKUA_EINVAL,
              "clients are asked for certificates, and no authority is named that they may have "
              "them from");
    desc.clients.ca_file = "text.pem";
    check_why(desc, SKUA_EINVAL, "the authorities for clients text.pem has no certificate in PEM");
    desc = one("short.pem", "leaf.key");
    desc.ticket_file = "short.keys";
    check_why(desc, SKUA_EINVAL,
              "the ticket keys short.keys have 9 octets; a key has 80, and there are 1 to 16 of "
              "them");
    desc.ticket_file = "none.keys";
    check_why(desc, SKUA_ENOENT, "cannot read the ticket keys none.keys: there is no such file");
    desc = one("short.pem", "leaf.key");
    desc.keylog_file = "none/keys.log";
    check_why(desc, SKUA_ENOENT,
              "cannot write the log of keys none/keys.log: there is no such file");
}

static void test_secrets_are_logged_only_when_asked(void **state)
{
    (void)state;
    skua_tls_desc desc = one("short.pem", "leaf.key");
    tls_load load = { .unix_s = (int64_t)time(NULL) };
    tls_context *context = NULL;
    char octets[32] = "";
    desc.keylog_file = "keys.log";
    assert_int_equal(tls_context_new(&desc, NULL, &load, &context), SKUA_OK);
    tls_context_log_secret(context, "ONE 1");
    tls_context_log_secret(context, "TWO 2");
    tls_context_unref(context);
    desc.keylog_file = NULL;
    assert_int_equal(tls_context_new(&desc, NULL, &load, &context), SKUA_OK);
    tls_context_log_secret(context, "THREE 3");
    tls_context_unref(context);
    FILE *file = fopen("keys.log", "r");
    struct stat info;
    assert_non_null(file);
    assert_int_equal(fread(octets, 1, sizeof octets, file), 12);
    assert_string_equal(octets, "ONE 1\nTWO 2\n");
    assert_int_equal(fstat(fileno(file), &info), 0);
    assert_int_equal(info.st_mode & 0777, 0600);
    fclose(file);
    unlink("keys.log");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_fault_has_a_sentence),
        cmocka_unit_test(test_sentences_with_dates_and_openssls_words),
        cmocka_unit_test(test_a_file_that_nobody_may_read),
        cmocka_unit_test(test_a_file_that_is_too_long),
        cmocka_unit_test(test_a_key_that_others_can_read_is_warned_of),
        cmocka_unit_test(test_several_certificates),
        cmocka_unit_test(test_certificates_for_one_name_ask_the_same_of_clients),
        cmocka_unit_test(test_the_rest_of_a_description),
        cmocka_unit_test(test_secrets_are_logged_only_when_asked),
    };
    return cmocka_run_group_tests(tests, make_all, remove_all);
}
