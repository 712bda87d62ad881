// SPDX-License-Identifier: MIT

#include "conf/known.h"

#include <string.h>
#include <sys/random.h>
#include <unistd.h>

// The length of the name keeps "a" with "bc" from being "ab" with "c".
conf_known_tag conf_known_tag_of(const conf_known *known, skua_slice name, skua_slice secret)
{
    conf_known_tag tag;
    conf_siphash sip = conf_siphash_begin(known->key);
    char len[sizeof name.len];
    memcpy(len, &name.len, sizeof len);
    conf_siphash_add(&sip, len, sizeof len);
    conf_siphash_add(&sip, name.ptr, name.len);
    conf_siphash_add(&sip, secret.ptr, secret.len);
    conf_siphash_end(&sip, tag.halves);
    return tag;
}

bool conf_known_begin(conf_known *known)
{
    conf_known_forget(known);
    return getentropy(known->key, sizeof known->key) == 0;
}

static bool known_same(conf_known_tag a, conf_known_tag b)
{
    return ((a.halves[0] ^ b.halves[0]) | (a.halves[1] ^ b.halves[1])) == 0;
}

bool conf_known_has(const conf_known *known, conf_known_tag tag)
{
    bool is_empty = !(tag.halves[0] | tag.halves[1]);
    return !is_empty && known_same(known->tags[tag.halves[0] % CONF_KNOWN_MAX], tag);
}

void conf_known_add(conf_known *known, conf_known_tag tag)
{
    known->tags[tag.halves[0] % CONF_KNOWN_MAX] = tag;
}

void conf_known_forget(conf_known *known)
{
    memset(known->tags, 0, sizeof known->tags);
}
