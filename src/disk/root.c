// SPDX-License-Identifier: MIT
//
// Roots. The descriptor is taken once, so that a root that is renamed is still the same directory.

#include "disk/root.h"

#include "base/assert.h"
#include "base/contract.h"
#include "base/memory.h"
#include "base/sized.h"
#include "io/reserve.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <unistd.h>

struct skua_root {
    int fd;
    bool remote;
    uint8_t links; // skua_links
    uint64_t id;
};

static atomic_uint_fast64_t root_ids;

static skua_status root_status(int error)
{
    switch (error) {
    case ENOENT:
    case ENOTDIR:
    case ENAMETOOLONG:
    case ELOOP: return SKUA_ENOENT;
    case EMFILE:
    case ENFILE: return SKUA_ENOFILE;
    case ENOMEM: return SKUA_ENOMEM;
    default: return SKUA_EACCES;
    }
}

// A directory of mode 711 can be gone through, if not listed.
#if defined(O_PATH)
enum { ROOT_PASS = O_PATH };
#elif defined(O_SEARCH)
enum { ROOT_PASS = O_SEARCH };
#else
enum { ROOT_PASS = O_RDONLY };
#endif

static int root_open(const char *path)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0 || errno != EACCES) return fd;
    return open(path, ROOT_PASS | O_DIRECTORY | O_CLOEXEC);
}

__attribute__((cold)) skua_status skua_root_open(const char *path, skua_root **root)
{
    CONTRACT_GIVEN(path);
    CONTRACT_GIVEN(root);
    skua_root *made = memory_lasting(sizeof *made);
    if (!made) return SKUA_ENOMEM;
    made->fd = root_open(path);
    if (made->fd < 0) {
        skua_status status = root_status(errno);
        memory_lasting_free(made);
        return status;
    }
    made->remote = file_is_remote(made->fd);
    made->links = SKUA_LINKS_INSIDE;
    made->id = atomic_fetch_add_explicit(&root_ids, 1, memory_order_relaxed);
    reserve_add_user();
    *root = made;
    return SKUA_OK;
}

void skua_root_close(skua_root *root)
{
    if (!root) return;
    (void)close(root->fd);
    reserve_drop_user();
    memory_lasting_free(root);
}

void skua_root_follow(skua_root *root, skua_links links)
{
    CONTRACT_GIVEN(root);
    root->links = (uint8_t)links;
}

file_root root_files(const skua_root *root)
{
    return (file_root){ .fd = root->fd, .links = root->links };
}

int root_fd(const skua_root *root)
{
    SKUA_ASSERT(root);
    return root->fd;
}

bool root_is_remote(const skua_root *root)
{
    return root->remote;
}

uint64_t root_id(const skua_root *root)
{
    return root->id;
}

bool root_path(slice path, char text[ROOT_PATH_OCTETS])
{
    if (path.len >= ROOT_PATH_OCTETS) return false;
    if (path.len == 0) {
        text[0] = 0;
        return true;
    }
    if (memchr(path.ptr, 0, path.len)) return false;
    memcpy(text, path.ptr, path.len);
    text[path.len] = 0;
    return true;
}

skua_status skua_root_list_sized(skua_root *root, skua_slice path, skua_root_entry_fn *each,
                                 void *user, const skua_sizes *sizes)
{
    CONTRACT_GIVEN(root);
    CONTRACT_SLICE(path);
    CONTRACT_GIVEN(each);
    CONTRACT_SIZES(sizes);
    CONTRACT_TOLD(sizes->file_info, sizeof(skua_file_info));
    char text[ROOT_PATH_OCTETS];
    if (!root_path(path, text)) return SKUA_ENOENT;
    return file_list_beneath(root_files(root), text, SIZE_MAX, each, user);
}
